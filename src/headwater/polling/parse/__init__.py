"""Parsing: the body of a response becomes a ParsedFeed, or an exception that says in plain words why it cannot.

Pure: nothing is fetched, nothing is kept. Any bytes may come in; no exception but NotAFeed and FeedParseError leaves.
"""

from headwater.polling.parse.jsonfeed import parse_json
from headwater.polling.parse.sniff import is_json, refuse_binary
from headwater.polling.parse.tree import read_bytes
from headwater.polling.parse.types import Enclosure, Entry, FeedParseError, NotAFeed, ParsedFeed, Place, UnreadableBody
from headwater.polling.parse.xmlfeed import parse_tree, parse_xml
from headwater.reading.decode import decode, is_labelled_utf8

__all__ = ["Enclosure", "Entry", "FeedParseError", "NotAFeed", "ParsedFeed", "Place", "UnreadableBody", "parse_feed"]


def parse_feed(body: bytes, *, url: str, content_type: str | None = None, max_entries: int | None = None) -> ParsedFeed:
    """Read a feed as it was served from `url`. Raises NotAFeed and FeedParseError, and nothing else."""
    refuse_binary(body)
    if is_labelled_utf8(body, content_type) and (tree := read_bytes(body)) is not None:
        return parse_tree(tree, body, url, max_entries)
    text = decode(body, content_type)
    if is_json(text):
        return parse_json(text, url, max_entries)
    return parse_xml(text, url, max_entries)
