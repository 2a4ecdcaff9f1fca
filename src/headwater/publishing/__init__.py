"""From changed content to the search index."""
