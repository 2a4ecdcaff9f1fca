"""The stage `delivering`: sends the deliveries of channels to their destinations, in order."""
