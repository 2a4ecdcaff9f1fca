"""Articles as programs read them: in the order of their revisions, each in full, or as a stream."""
