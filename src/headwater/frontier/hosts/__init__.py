"""Hosts as an operator sees them: how fast they may be asked, and which of them wait."""
