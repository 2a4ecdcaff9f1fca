"""What the search index has yet to be told: the hand-off from those who change content to publishing."""
