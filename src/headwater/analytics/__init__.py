"""How much each source is read, by readers who agreed to be counted."""
