"""What sources are called, for pages that only name them."""
