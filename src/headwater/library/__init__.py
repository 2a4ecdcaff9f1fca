"""One user's view: subscriptions, read, starred, search, summaries, export."""
