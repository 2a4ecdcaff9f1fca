DROP TABLE clock_state, own_outages, alert_state, alert_samples;
DROP TABLE incident_notices, incident_messages, incidents;
