"""Bodies that were fetched and wait to be read: the hand-off from fetching to the stages that read them."""
