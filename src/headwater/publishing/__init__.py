"""From content to those outside: the search index."""
