"""What pages and API share: health, headers, and the way from an error to a response."""
