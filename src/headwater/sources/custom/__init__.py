"""Custom feeds: suggestions for all users, and moderation."""
