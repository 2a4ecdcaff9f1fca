"""Channels: which articles are sent where, and what is still to be sent."""
