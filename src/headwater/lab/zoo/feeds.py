"""A feed as it goes over the wire: rendered in its dialect, damaged, encoded, packed, and labelled with validators.

In: a Feed of a Site and the moment. Out: a Document, which changes exactly when the site publishes.
"""

from collections.abc import Callable
from hashlib import blake2b

from headwater.lab.zoo import atom, rss
from headwater.lab.zoo.damage import damaged
from headwater.lab.zoo.documents import Document
from headwater.lab.zoo.packing import packed
from headwater.lab.zoo.press import Press
from headwater.lab.zoo.rss import Channel
from headwater.lab.zoo.sites import SITES, Dialect, Feed, Site, Validators

_RENDERERS: dict[Dialect, Callable[[Channel], str]] = {
    "rss2": rss.rss2,
    "podcast": rss.podcast,
    "microblog": rss.microblog,
    "calendar": rss.calendar,
    "permalink": rss.permalink,
    "patient": rss.patient,
    "rss092": rss.rss092,
    "rss091": rss.rss091,
    "rss090": rss.rss090,
    "rdf": rss.rdf,
    "atom": atom.atom,
    "atom03": atom.atom03,
    "json10": atom.json10,
    "json11": atom.json11,
}

_TYPES: dict[Dialect, str] = {
    "rdf": "application/rdf+xml",
    "rss090": "text/xml",
    "rss091": "text/xml",
    "atom": "application/atom+xml",
    "atom03": "application/atom+xml",
    "json10": "application/json",
    "json11": "application/feed+json",
}


class Newsstand:
    """Keeps the latest printing of every feed, and prints again when there is something new."""

    def __init__(self, press: Press, base_of: Callable[[str], str]) -> None:
        self._press = press
        self._base_of = base_of
        self._printed: dict[tuple[str, str], tuple[int, Document]] = {}

    def document(self, site: Site, feed: Feed, now: float) -> Document:
        author = SITES[feed.articles_of] if feed.articles_of else site
        newest = self._press.newest(author, now)
        number, document = self._printed.get((site.host, feed.path), (-1, None))
        if document is None or number != newest:
            channel = Channel(site, feed, self._base_of(site.host), self._press.since(author, newest, author.listed))
            document = printed(channel, self._press.published_at(author, newest))
            self._printed[site.host, feed.path] = newest, document
        return document


def printed(channel: Channel, changed_at: float) -> Document:
    feed = channel.feed
    body = packed(feed.packing, encoded(feed, _RENDERERS[feed.dialect](channel)))
    etag, last_modified = validators_of(feed.validators, body, changed_at)
    packing = (("Content-Encoding", feed.packing.removeprefix("raw-")),) if feed.packing else ()
    content_type = _TYPES.get(feed.dialect, "application/rss+xml") if feed.content_type is None else feed.content_type
    return Document(body, content_type, etag, last_modified, (*feed.headers, *packing))


def encoded(feed: Feed, text: str) -> bytes:
    """The bytes of a document; what its encoding cannot say becomes a character reference, as publishers do."""
    if not feed.dialect.startswith("json"):
        text = f'<?xml version="1.0" encoding="{feed.declared or feed.encoding}"?>\n{text}'
    return damaged(feed.damage, text).encode(feed.encoding, "xmlcharrefreplace")


def validators_of(kind: Validators, body: bytes, changed_at: float) -> tuple[str | None, float | None]:
    """ETag and Last-Modified; `stuck` is the server whose validators never change although its content does."""
    tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
    match kind:
        case "both":
            return tag, changed_at
        case "etag":
            return tag, None
        case "weak":
            return f"W/{tag}", changed_at
        case "date":
            return None, changed_at
        case "none":
            return None, None
        case "stuck":
            return '"for-ever"', 0.0
