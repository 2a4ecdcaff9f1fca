"""Claimed URL → stored body; robots."""
