"""What we follow."""
