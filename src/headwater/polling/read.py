"""Parsing a feed in a process of the sandbox, sanitising and hashing included: it returns only what is stored."""

from headwater.feeds import parse_feed
from headwater.polling.entries import articles_of
from headwater.polling.types import ReadFeed
from headwater.reading.text import storable
from headwater.urls import site_of

site_of("https://example.com/")  # loads the public suffix list before the first feed


def read_feed(body: bytes, *, url: str, feed_url: str, content_type: str | None, max_entries: int) -> ReadFeed:
    """What is stored of the feed at `url`. Raises UnreadableBody."""
    site = site_of(url)
    feed = parse_feed(body, url=url, content_type=content_type, max_entries=max_entries)
    return ReadFeed(
        format=feed.format,
        title=storable(feed.title),
        ttl=feed.ttl,
        update_period=feed.update_period,
        skip_hours=feed.skip_hours,
        skip_days=feed.skip_days,
        site=site,
        entries=articles_of(feed, feed_url, site=site),
    )
