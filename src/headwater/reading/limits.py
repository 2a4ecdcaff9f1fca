"""How much is read of one document, by every reader. What is over a limit is left out or read as plain text."""

MAX_PAGE_BYTES = 5_000_000
MAX_HTML = 1_000_000  # characters of one text
MAX_DEPTH = 200  # elements inside each other
MAX_ATTRIBUTES = 64  # of one tag
MAX_ATTRIBUTES_LENGTH = 8_192  # characters of one tag
MAX_LINK = 8_192  # characters
MAX_BASE = 1_024  # characters of an xml:base: each short link below it becomes as long
