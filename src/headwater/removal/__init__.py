"""Removal: what belonged to deleted sources and users is deleted in the background."""
