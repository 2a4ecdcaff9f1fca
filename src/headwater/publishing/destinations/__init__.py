"""Where channels send their messages: one module for each kind of destination."""
