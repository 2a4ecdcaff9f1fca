DROP TABLE frontier_tally;
DROP TABLE host_robots;
DROP TABLE frontier_alias;
DROP TABLE frontier_url;
DROP TABLE host;
