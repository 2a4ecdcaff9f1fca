DROP TABLE daily_reads, sitemaps, bodies;
DROP TABLE frontier_tally, frontier_alias, frontier_url, host_robots, hosts;
DROP FUNCTION shard_of, host_id_of;
