"""The zoo, the fetcher and those who read what it brings, on one clock; all as they run, turn by turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from headwater.db import Database
from headwater.fetching.types import FetchingOptions
from headwater.fetching.worker import Fetcher
from headwater.frontier.keys import locate
from headwater.frontier.store import listing
from headwater.frontier.types import FrontierOptions, FrontierUrl, UrlFilter
from headwater.net import Client
from headwater.sandbox import Sandbox
from headwater.sitemaps.types import Limits, SitemapOptions
from headwater.sitemaps.worker import SitemapReader, SitemapResult
from headwater.sources.follow import follow
from headwater.sources.types import Source, SourceOverrides
from headwater.spider.types import SpiderOptions
from headwater.spider.worker import Spider, SpiderResult
from headwater.types import PageKind
from headwater_lab.zoo import DOMAIN, Zoo
from tests.clock import MovableClock

FRONTIER = FrontierOptions(min_delay=timedelta(milliseconds=1))
FETCHING = FetchingOptions(
    concurrency=10,
    timeout=timedelta(seconds=60),
    idle=timedelta(0),
    crawl_delay_max=timedelta(milliseconds=1),
    hold=timedelta(seconds=60),
    lease=timedelta(minutes=5),
    urls_per_host=50,
    sitemap_max_bytes=50_000_000,
    max_bytes=5_000_000,
    robot="Test",
)
LIMITS = Limits(max_age=timedelta(days=7), max_pages=1_000, max_children=100, max_bytes=5_000_000)
SITEMAPS = SitemapOptions(limits=LIMITS)
SPIDER = SpiderOptions()


@dataclass(frozen=True)
class World:
    """A small Headwater: fetching, sitemaps and spider."""

    database: Database
    clock: MovableClock
    zoo: Zoo
    client: Client
    sandbox: Sandbox
    fetcher: Fetcher
    sitemap_reader: SitemapReader
    spider: Spider

    def with_sitemaps(self, **changes: Any) -> "World":
        options = replace(SITEMAPS, **changes)
        return replace(self, sitemap_reader=SitemapReader(self.database, self.sandbox, self.clock, options, FRONTIER))

    async def follow(self, *, feed: str | None = None, **overrides: Any) -> Source:
        async with self.database.transaction() as conn:
            return await follow(conn, url=feed, name=None, now=self.clock(), overrides=SourceOverrides(**overrides))

    async def fetch(self) -> int:
        """One turn with each host that is ready; how many URLs were asked for.

        A minute later: its feeds have had their time, and compete with its pages from then on.
        """
        self.clock.move(minutes=1)
        harvests = await asyncio.gather(*[self.fetcher.work(host) for host in await self.fetcher.claim(100)])
        return sum(len(harvest.answered) for harvest in harvests)

    async def read_sitemaps(self) -> list[SitemapResult]:
        return [await self.sitemap_reader.work(page) for page in await self.sitemap_reader.claim(100)]

    async def crawl(self) -> list[SpiderResult]:
        return [await self.spider.work(page) for page in await self.spider.claim(100)]

    async def run(self, *, turns: int = 20) -> None:
        """Until nothing is left to do."""
        for _ in range(turns):
            asked = await self.fetch()
            read = [*await self.read_sitemaps(), *await self.crawl()]
            if not asked and not read:
                return

    async def find(self, url: str) -> FrontierUrl | None:
        async with self.database.transaction() as conn:
            return await listing.find(conn, id=locate(url).key.id, now=self.clock())

    async def urls(self, kind: PageKind | None = None, **wanted: Any) -> list[FrontierUrl]:
        found: list[FrontierUrl] = []
        after = None
        async with self.database.transaction() as conn:
            while True:
                page = await listing.list_urls(
                    conn, wanted=UrlFilter(**wanted), now=self.clock(), limit=1_000, after=after
                )
                found += [url for url in page.urls if kind in {None, url.kind}]
                if (after := page.next) is None:
                    return found


@asynccontextmanager
async def a_world(database: Database, clock: MovableClock) -> AsyncIterator[World]:
    async with (
        Zoo(clock=lambda: clock().timestamp()) as zoo,
        Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client,
        Sandbox(processes=1, time_limit=timedelta(seconds=20), memory_limit=1_000_000_000) as sandbox,
    ):
        yield World(
            database,
            clock,
            zoo,
            client,
            sandbox,
            Fetcher(database, client, clock, FETCHING, FRONTIER),
            SitemapReader(database, sandbox, clock, SITEMAPS, FRONTIER),
            Spider(database, sandbox, clock, SPIDER, FRONTIER),
        )
