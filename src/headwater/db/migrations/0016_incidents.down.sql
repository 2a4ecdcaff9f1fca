DROP TABLE own_outages;
DROP TABLE alert_state;
DROP TABLE alert_samples;
DROP TABLE incident_tellings;
DROP TABLE incident_messages;
DROP TABLE incidents;
