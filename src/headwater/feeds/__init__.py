"""The feed parser: RSS, Atom, CDF and JSON Feed, the bytes of a response in, a ParsedFeed out. Pure.

Raises NotAFeed and FeedParseError, with the reason in plain words, and no other exception for any bytes.
"""

from headwater.feeds.jsonfeed import parse_json
from headwater.feeds.sniff import is_json, refuse_binary
from headwater.feeds.types import Enclosure, Entry, FeedParseError, GeoPoint, NotAFeed, ParsedFeed, UnreadableBody
from headwater.feeds.xml_tree import read_bytes
from headwater.feeds.xmlfeed import parse_tree, parse_xml
from headwater.reading.decode import decode, is_labelled_utf8

__all__ = ["Enclosure", "Entry", "FeedParseError", "GeoPoint", "NotAFeed", "ParsedFeed", "UnreadableBody", "parse_feed"]


def parse_feed(body: bytes, *, url: str, content_type: str | None = None, max_entries: int | None = None) -> ParsedFeed:
    """Read a feed as it was served from `url`. Raises NotAFeed and FeedParseError, and nothing else."""
    refuse_binary(body)
    if is_labelled_utf8(body, content_type) and (tree := read_bytes(body)) is not None:
        return parse_tree(tree, body, url, max_entries)
    text = decode(body, content_type)
    if is_json(text):
        return parse_json(text, url, max_entries)
    return parse_xml(text, url, max_entries)
