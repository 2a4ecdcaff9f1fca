DROP TABLE read_undo;
