"""Reading what sites send: bytes to text, dates, clean HTML, links. One set of guards for all who read."""
