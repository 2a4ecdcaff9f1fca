DROP TABLE feed_holds;
