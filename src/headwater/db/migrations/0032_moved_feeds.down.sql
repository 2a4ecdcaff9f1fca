DROP INDEX sources_feed_url;
