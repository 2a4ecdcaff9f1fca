"""A parser with a bug, for a sandbox: it breaks on feeds that say so, and reads all others."""

from headwater.feeds import ParsedFeed
from headwater.feeds import parse_feed as parse_well


def parse_feed(body: bytes, *, url: str, content_type: str | None) -> ParsedFeed:
    if b"break the parser" in body:
        raise ZeroDivisionError("a bug,\nof two lines")
    return parse_well(body, url=url, content_type=content_type)
