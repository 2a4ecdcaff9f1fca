"""What a body is by its first bytes, whatever its label says."""

import re

from headwater.feeds.types import FeedParseError, NotAFeed

_BINARY = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "gzip data that was never unpacked"),
    (b"\x89PNG", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"RIFF", "a media file"),
    (b"ID3", "an MP3 file"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a rar archive"),
    (b"BM", "a bitmap image"),
    (b"OggS", "a media file"),
    (b"\x7fELF", "a program"),
)
_JSON = re.compile(r"\s*+[{\[]")
_PAGE = re.compile(r"\s*+(?:<!--.*?-->\s*+)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_FEED = re.compile(r"<(?:[\w.-]+:)?(?:rss|feed|rdf|channel|item|entry)[\s>/]", re.IGNORECASE)
PAGE_TAGS = frozenset(
    {"head", "body", "meta", "base", "script", "style", "noscript", "iframe", "frameset", "center", "font", "form"}
    | {"div", "p", "span", "a", "b", "i", "br", "hr", "img", "table", "ul", "ol", "pre", "h1", "h2", "h3", "h4", "h5"}
    | {"header", "main", "nav"}
)
"""Tags with which a page begins when its <html> is missing."""


def refuse_binary(body: bytes) -> None:
    """Raises FeedParseError for an empty body, and NotAFeed for one that is not text."""
    if not body.strip():
        raise FeedParseError("the body is empty")
    for mark, kind in _BINARY:
        if body.startswith(mark):
            raise NotAFeed(f"it is {kind}")


def is_json(text: str) -> bool:
    """Whether the text begins like JSON."""
    return _JSON.match(text) is not None


def is_page(text: str) -> bool:
    """Whether the text begins like a web page."""
    return _PAGE.match(text[:4096]) is not None


def mentions_feed(text: str) -> bool:
    """Whether the text has a tag that only feeds have."""
    return _FEED.search(text) is not None
