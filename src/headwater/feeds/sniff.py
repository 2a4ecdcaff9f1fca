"""What a body is by its first bytes, whatever its label says."""

import re

from headwater.feeds.types import FeedParseError, NotAFeed
from headwater.reading.sniff import describe, signature_of

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
    if (form := signature_of(body)) is not None:
        raise NotAFeed(f"it is {describe(body, form)}")


def is_json(text: str) -> bool:
    return _JSON.match(text) is not None


def is_page(text: str) -> bool:
    return _PAGE.match(text[:4096]) is not None


def mentions_feed(text: str) -> bool:
    """Whether the text has a tag that only feeds have."""
    return _FEED.search(text) is not None
