"""Rules of readers: a query, and what happens to articles that arrive and match it."""
