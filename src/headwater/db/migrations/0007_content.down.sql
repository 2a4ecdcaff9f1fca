DROP TABLE content;
DROP FUNCTION content_hand_on;
DROP FUNCTION content_config;
