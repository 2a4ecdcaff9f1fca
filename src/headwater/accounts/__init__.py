"""People: accounts, sessions, tokens, roles."""
