"""Which URL next, from which host, until when."""
