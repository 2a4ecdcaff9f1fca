"""Parsing a feed in a process of the sandbox, sanitising and hashing included: it returns only what is stored."""

import hashlib
from datetime import timedelta

from headwater.articles.enclosures import as_json
from headwater.articles.types import NewArticle
from headwater.errors import InvalidUrl
from headwater.feeds import parse_feed
from headwater.feeds.types import Entry, ParsedFeed
from headwater.images.types import URL_MAX
from headwater.polling.types import PollHints, ReadFeed
from headwater.reading.text import searchable, storable, without_markup
from headwater.urls import masked, parse_url, site_of, url_and_key, url_key

TITLE_WORDS = 12
MAX_ID_BYTES = 2048  # an index entry has at most a third of a page

site_of("https://example.com/")  # loads the public suffix list before the first feed


def read_feed(
    body: bytes, *, url: str, feed_url: str, content_type: str | None, max_entries: int, is_private: bool = False
) -> ReadFeed:
    """What is stored of the feed at `url`. A private feed writes no shared record. Raises UnreadableBody."""
    site = "" if is_private else site_of(url)
    feed = parse_feed(body, url=url, content_type=content_type, max_entries=max_entries)
    return ReadFeed(
        feed.format, searchable(feed.title), hints_of(feed), site, articles_of(feed, feed_url, site=site),
        page_url=_page_of(feed) or _short(parse_url("/", url)), icon_url=_short(_parsed(feed.icon_url)),
    )  # fmt: skip


def _page_of(feed: ParsedFeed) -> str | None:
    """The front page of the site that the feed names, without the key that the URL of a private feed may have."""
    url = _short(_parsed(feed.site_url))
    return url if url is None or masked(url) == url else parse_url("/", url)


def _parsed(url: str | None) -> str | None:
    found = _followable(url)
    return found[0] if found else None


def _short(url: str | None) -> str | None:
    return url if url and len(url) <= URL_MAX else None


def hints_of(feed: ParsedFeed) -> PollHints | None:
    """The longer of ttl and sy:update* counts."""
    gap = max(feed.ttl or timedelta(0), feed.update_period or timedelta(0))
    return PollHints(gap, feed.skip_hours, feed.skip_days) if gap or feed.skip_hours or feed.skip_days else None


def articles_of(feed: ParsedFeed, feed_url: str, *, site: str) -> tuple[NewArticle, ...]:
    """An article for each entry that is not empty. `site` served the feed; it is empty for a private feed."""
    return tuple(_article(entry, feed, feed_url, site) for entry in feed.entries if not entry.is_empty)


def _article(entry: Entry, feed: ParsedFeed, feed_url: str, site: str) -> NewArticle:
    own = _followable(entry.url)
    url, key = own or _borrowed(entry, feed, feed_url, is_private=not site)
    return NewArticle(
        entry_id=_indexable(storable(entry.id)), url=url, url_key=key,
        title=searchable(entry.title or title_from(entry.summary or entry.content or "") or url),
        author=searchable(", ".join(entry.authors)) or None,
        summary=storable(entry.summary or "") or None, content=storable(entry.content or "") or None,
        published_at=entry.published_at or entry.updated_at,
        has_page=own is not None, is_own=bool(site) and (own is None or site_of(url) == site),
        enclosures=as_json(entry.enclosures) if entry.enclosures else None,
    )  # fmt: skip


def _borrowed(entry: Entry, feed: ParsedFeed, feed_url: str, *, is_private: bool) -> tuple[str, bytes]:
    """An entry without a usable link is identified by its feed and id, and links to the site.

    The URL of an article is shown to operators: that of a private feed is without the key.
    """
    key = hashlib.sha256(b"entry:" + url_key(feed_url) + storable(entry.id).encode()).digest()
    site = _followable(feed.site_url)
    url = site[0] if site else feed_url
    return (parse_url("/", url) if is_private and masked(url) != url else url), key


def _followable(url: str | None) -> tuple[str, bytes] | None:
    """The URL and its key, if it is http or https."""
    try:
        return url_and_key(url) if url else None
    except InvalidUrl:
        return None


def _indexable(identity: str) -> str:
    """An id that fits into an index: the digest of a long one, since two may have the same beginning."""
    written = identity.encode()
    return identity if len(written) <= MAX_ID_BYTES else f"sha256:{hashlib.sha256(written).hexdigest()}"


def title_from(markup: str) -> str:
    words = without_markup(markup).split()
    return " ".join(words[:TITLE_WORDS]) + ("…" if len(words) > TITLE_WORDS else "")
