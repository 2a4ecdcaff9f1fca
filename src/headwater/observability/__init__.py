"""What Headwater says about itself: log and metrics."""
