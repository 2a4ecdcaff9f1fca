"""Articles of several sources about one event."""
