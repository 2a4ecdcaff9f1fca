"""The parser's floor in every clone: all fields of the project's own feeds are read exactly."""

from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from headwater.feeds import GeoPoint, UnreadableBody, parse_feed
from tests.eval.own_feeds import OwnFeed, own_feeds

FEEDS = list(own_feeds())


def plain(value: Any, expected: Any) -> Any:
    """A value of ours in the form of the expectation: of an object only the fields that are expected."""
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case GeoPoint():
            return [value.latitude, value.longitude]
        case tuple() | frozenset():
            inner = expected if isinstance(expected, list) and len(expected) == len(value) else [None] * len(value)
            return [
                plain(one, other)
                for one, other in zip(sorted(value) if isinstance(value, frozenset) else value, inner, strict=True)
            ]
        case _ if is_dataclass(value):
            names = [field.name for field in fields(value) if not isinstance(expected, dict) or field.name in expected]
            return {name: plain(getattr(value, name), expected.get(name) if expected else None) for name in names}
        case _:
            return value


def read(feed: OwnFeed) -> dict[str, Any]:
    expected = dict(feed.expect)
    try:
        parsed = parse_feed(feed.body, url="https://feeds.example/feed", content_type=feed.content_type)
    except UnreadableBody as error:
        return {"error": type(error).__name__}
    return plain(parsed, expected)


@pytest.mark.parametrize("feed", FEEDS, ids=[feed.name for feed in FEEDS])
def test_a_feed_of_our_own_is_read_as_written(feed: OwnFeed) -> None:
    expected = dict(feed.expect)
    for name, seconds in (("ttl", 60), ("update_period", 3600)):
        if name in expected:
            expected[name] *= seconds

    assert read(feed) == expected


def test_the_feeds_cover_every_format() -> None:
    formats = {feed.expect.get("format") for feed in FEEDS}

    assert formats >= {"rss090", "rss091", "rss10", "rss20", "atom03", "atom10", "cdf", "json10", "json11"}
    assert len(FEEDS) >= 40
