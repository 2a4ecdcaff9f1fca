"""Feeds that were found where a reader named a page: offered beside the line of that feed."""
