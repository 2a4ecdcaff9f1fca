"""A feed as it is served: rendered in its dialect, damaged, encoded, compressed, with validators."""

from collections.abc import Callable
from hashlib import blake2b

from headwater_lab.zoo.articles import Publisher
from headwater_lab.zoo.compression import compressed
from headwater_lab.zoo.documents import ZooDocument
from headwater_lab.zoo.formats import RENDERERS, FeedContent
from headwater_lab.zoo.sites import SITES, Dialect, Site, Validators, ZooFeed

_OUTSIDE = '<!DOCTYPE rss [<!ENTITY outside SYSTEM "file:///etc/passwd">]>\n'


def _unclosed_tag(text: str) -> str:
    """The last item never closes its category."""
    at = text.rindex("</category>")
    return text[:at] + text[at + len("</category>") :]


# Ways in which real feeds are broken. Every entry before the damage must survive a parser that recovers.
_DAMAGES: dict[str, Callable[[str], str]] = {
    "": lambda text: text,
    "bare ampersand": lambda text: text.replace("<title>", "<title>Fish & chips: "),
    "undefined entities": lambda text: text.replace("</description>", "&nbsp;caf&eacute; &hellip;</description>"),
    "unclosed tag": _unclosed_tag,
    "junk before": lambda text: f"\n\n  \n{text}",
    "junk after": lambda text: f"{text}\n<!-- printed in 0.04 s -->\n<script>track()</script> thanks & goodbye",
    "control characters": lambda text: text.replace("</title>", "\x0b\x1f</title>"),
    "undeclared namespace": lambda text: text.replace('xmlns:content="http://purl.org/rss/1.0/modules/content/" ', ""),
    "cut in the middle": lambda text: text[: text.index("</content:encoded>", len(text) // 2) - 20],
    "external entity": lambda text: text.replace("<rss", f"{_OUTSIDE}<rss", 1).replace(
        "</description>", " &outside;</description>", 2
    ),
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


class FeedRenderer:
    """Renders feeds, and caches each until its site publishes again."""

    def __init__(self, publisher: Publisher, base_of: Callable[[str], str]) -> None:
        self._publisher = publisher
        self._base_of = base_of
        self._printed: dict[tuple[str, str], tuple[int, ZooDocument]] = {}

    def document(self, site: Site, feed: ZooFeed, now: float) -> ZooDocument:
        author = SITES[feed.articles_of] if feed.articles_of else site
        newest = self._publisher.newest(author, now)
        number, document = self._printed.get((site.host, feed.path), (-1, None))
        if document is None or number != newest:
            channel = FeedContent(
                site, feed, self._base_of(site.host), self._publisher.since(author, newest, author.listed)
            )
            document = printed(channel, self._publisher.published_at(author, newest))
            self._printed[site.host, feed.path] = newest, document
        return document


def printed(channel: FeedContent, changed_at: float) -> ZooDocument:
    feed = channel.feed
    body = compressed(feed.compression, encoded(feed, RENDERERS[feed.dialect](channel)))
    etag, last_modified = validators_of(feed.validators, body, changed_at)
    compression = (("Content-Encoding", feed.compression.removeprefix("raw-")),) if feed.compression else ()
    content_type = _TYPES.get(feed.dialect, "application/rss+xml") if feed.content_type is None else feed.content_type
    return ZooDocument(body, content_type, etag, last_modified, (*feed.headers, *compression))


def encoded(feed: ZooFeed, text: str) -> bytes:
    """The bytes of a document; characters that its encoding lacks become character references."""
    if not feed.dialect.startswith("json"):
        text = f'<?xml version="1.0" encoding="{feed.declared or feed.encoding}"?>\n{text}'
    return _DAMAGES[feed.damage](text).encode(feed.encoding, "xmlcharrefreplace")


def validators_of(kind: Validators, body: bytes, changed_at: float) -> tuple[str | None, float | None]:
    """ETag and Last-Modified; those of `stuck` never change although its content does."""
    tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
    chosen: dict[Validators, tuple[str | None, float | None]] = {
        "both": (tag, changed_at),
        "etag": (tag, None),
        "weak": (f"W/{tag}", changed_at),
        "date": (None, changed_at),
        "none": (None, None),
        "stuck": ('"for-ever"', 0.0),
    }
    return chosen[kind]
