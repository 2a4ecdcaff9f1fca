"""Entries become articles. Pure: what a feed lists in, what is kept out."""

import hashlib

from headwater.articles.types import NewArticle
from headwater.errors import InvalidUrl
from headwater.feeds.types import Entry, ParsedFeed
from headwater.reading.text import storable, without_markup
from headwater.urls import site_of, url_and_key, url_key

TITLE_WORDS = 12
MAX_ID_BYTES = 2048  # an index holds no more than a third of a page


def articles_of(feed: ParsedFeed, feed_url: str, *, site: str) -> tuple[NewArticle, ...]:
    """An article for each entry that has something to show. `site` is the one that the feed was served from."""
    return tuple(_article(entry, feed, feed_url, site) for entry in feed.entries if not entry.is_empty)


def _article(entry: Entry, feed: ParsedFeed, feed_url: str, site: str) -> NewArticle:
    own = _followable(entry.url)
    url, key = own or _borrowed(entry, feed, feed_url)
    return NewArticle(
        entry_id=_indexable(storable(entry.id)),
        url=url,
        url_key=key,
        title=storable(entry.title or title_from(entry.summary or entry.content or "") or url),
        author=storable(", ".join(entry.authors)) or None,
        summary=storable(entry.summary or "") or None,
        content=storable(entry.content or "") or None,
        published_at=entry.published_at or entry.updated_at,
        has_page=own is not None,
        is_own=own is None or site_of(url) == site,
    )


def _borrowed(entry: Entry, feed: ParsedFeed, feed_url: str) -> tuple[str, bytes]:
    """An entry with no usable link is known by its feed and its id, and leads to the site."""
    key = hashlib.sha256(b"entry:" + url_key(feed_url) + storable(entry.id).encode()).digest()
    site = _followable(feed.site_url)
    return (site[0] if site else feed_url), key


def _followable(url: str | None) -> tuple[str, bytes] | None:
    """The URL and its key, if it is one that a browser may open: never `javascript:` and its like."""
    try:
        return url_and_key(url) if url else None
    except InvalidUrl:
        return None


def _indexable(identity: str) -> str:
    """An id that an index can hold: of one that is too long, its digest, since two may begin alike."""
    written = identity.encode()
    return identity if len(written) <= MAX_ID_BYTES else f"sha256:{hashlib.sha256(written).hexdigest()}"


def title_from(markup: str) -> str:
    """The first words of a text that has no title."""
    words = without_markup(markup).split()
    return " ".join(words[:TITLE_WORDS]) + ("…" if len(words) > TITLE_WORDS else "")
