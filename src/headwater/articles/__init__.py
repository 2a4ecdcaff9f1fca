"""The record that the stages fill in: one article per URL, whichever feeds list it."""
