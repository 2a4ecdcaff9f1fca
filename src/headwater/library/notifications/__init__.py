"""Notifications of articles that match a rule: a daily email, a webhook, or web push."""
