"""Pages that were fetched and wait to be read: the hand-off from fetching to those who read."""
