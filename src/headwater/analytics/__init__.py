"""How much each source is read, told by those readers who agreed to be counted."""
