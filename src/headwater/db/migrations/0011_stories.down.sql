DROP TABLE reading_options, story_state, stories;
