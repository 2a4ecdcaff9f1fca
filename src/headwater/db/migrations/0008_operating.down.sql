DROP TABLE clock_state, own_outages, alert_state, alert_samples;
DROP TABLE incident_tellings, incident_messages, incidents;
