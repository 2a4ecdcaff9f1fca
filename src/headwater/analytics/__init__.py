"""How much each source is read, by users who consented."""
