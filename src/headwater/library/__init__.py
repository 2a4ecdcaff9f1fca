"""One person's view of the stream: what they follow, read, star, search and sum up."""
