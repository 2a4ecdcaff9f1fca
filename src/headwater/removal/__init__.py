"""Deletes the rows of deleted sources and users in the background."""
