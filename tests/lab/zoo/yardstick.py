"""What feedparser, the yardstick of correctness, makes of a feed; typed, which feedparser is not."""

from dataclasses import dataclass
from typing import Any, cast

import feedparser


@dataclass(frozen=True, slots=True)
class Entry:
    id: str
    title: str
    link: str
    published: str


@dataclass(frozen=True, slots=True)
class Parsed:
    version: str
    title: str
    entries: list[Entry]


def parsed(body: bytes, url: str = "", content_type: str = "application/rss+xml") -> Parsed:
    headers = {"content-location": url, "content-type": content_type}
    parse = cast("Any", feedparser).parse
    found = parse(body, response_headers=headers, sanitize_html=False)
    entries = [Entry(*(str(one.get(key, "")) for key in ("id", "title", "link", "published"))) for one in found.entries]
    return Parsed(str(found.version), str(found.feed.get("title", "")), entries)
