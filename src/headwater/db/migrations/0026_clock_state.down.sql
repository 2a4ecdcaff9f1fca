DROP TABLE clock_state;
