"""The export of a user's data."""
