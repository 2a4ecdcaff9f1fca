"""Every statement on `channels`, `deliveries` and `publishing_state`."""
