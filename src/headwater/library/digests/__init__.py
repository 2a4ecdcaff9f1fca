"""The newest unread articles by email, daily or weekly."""
