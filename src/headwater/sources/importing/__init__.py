"""Feeds that a reader brings along in a file: kept line by line, then followed line by line."""
