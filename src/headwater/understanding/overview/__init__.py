"""What operators see of labels: how many of each, how far the stages are, the reputation of sources."""
