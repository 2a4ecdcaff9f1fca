"""Due feed → entries → articles."""
