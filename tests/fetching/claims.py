"""Claimed hosts and URLs, valid by default; a test names only what it is about."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from headwater.fetching.types import FetchingOptions
from headwater.frontier.types import ClaimedHost, ClaimedUrl, Origin
from headwater.hosts.types import Pace
from headwater.ids import new_id
from headwater.types import PageKind
from tests.clock import START

SECOND = timedelta(seconds=1)
OPTIONS = FetchingOptions(
    concurrency=10,
    timeout=5 * SECOND,
    idle=timedelta(0),
    crawl_delay_max=timedelta(milliseconds=60),
    hold=10 * SECOND,
    lease=20 * SECOND,
    urls_per_host=10,
    max_bytes=6_000_000,
    sitemap_max_bytes=20_000_000,
    robot="headwater",
)


def a_url(url: str = "https://example.com/a", **more: Any) -> ClaimedUrl:
    claimed = ClaimedUrl(
        id=new_id(),
        url=url,
        kind=PageKind.ARTICLE,
        origin=Origin.FEED,
        source_id=None,
        depth=0,
        priority=7,
        etag=None,
        last_modified=None,
        fetch_count=0,
        retry_count=0,
        failing_since=None,
        interval=None,
    )
    return replace(claimed, **more)


def a_host(*urls: ClaimedUrl, slowed: int = 0) -> ClaimedHost:
    return ClaimedHost("example.com", new_id(), SECOND, START, urls, Pace(slowed))
