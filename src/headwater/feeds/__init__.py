"""The feed parser: RSS, Atom, CDF and JSON Feed, the bytes of a response in, a ParsedFeed out. Pure.

Raises NotAFeed and FeedParseError, with the reason in plain words, and no other exception for any bytes.
"""

import re

from headwater.feeds.jsonfeed import parse_json
from headwater.feeds.types import Enclosure, Entry, FeedParseError, GeoPoint, NotAFeed, ParsedFeed, UnreadableBody
from headwater.feeds.xml_tree import read_bytes
from headwater.feeds.xmlfeed import parse_tree, parse_xml
from headwater.reading.decode import decode, is_labelled_utf8
from headwater.reading.sniff import describe, signature_of

__all__ = ["Enclosure", "Entry", "FeedParseError", "GeoPoint", "NotAFeed", "ParsedFeed", "UnreadableBody", "parse_feed"]

_JSON = re.compile(r"\s*+[{\[]")


def parse_feed(body: bytes, *, url: str, content_type: str | None = None, max_entries: int | None = None) -> ParsedFeed:
    """Read a feed as it was served from `url`. Raises NotAFeed and FeedParseError, and nothing else."""
    if not body.strip():
        raise FeedParseError("the body is empty")
    if (form := signature_of(body)) is not None:
        raise NotAFeed(f"it is {describe(body, form)}")
    if is_labelled_utf8(body, content_type) and (tree := read_bytes(body)) is not None:
        return parse_tree(tree, body, url, max_entries)
    text = decode(body, content_type)
    return (parse_json if _JSON.match(text) else parse_xml)(text, url, max_entries)
