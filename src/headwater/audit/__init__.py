"""Who changed what for everybody, and when."""
