"""A site with images on loopback, and the stage that fetches them, on one clock."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from PIL import Image

from headwater.db import Connection, Database
from headwater.hosts.outage import OutageDetector
from headwater.hosts.robots_cache import PageRequests
from headwater.hosts.turns import Turns
from headwater.ids import new_id
from headwater.images import store
from headwater.images.types import ImageOptions, WantedIcon, WantedLead
from headwater.images.worker import ImageFetcher
from headwater.net import Client
from headwater.sandbox import Sandbox
from headwater.types import ArticleId, SourceId
from tests.builders import a_source
from tests.clock import MovableClock
from tests.site import Answer, Site, a_site


def picture(width: int = 640, height: int = 360, form: str = "PNG", colour: str = "teal") -> bytes:
    """An image of one colour."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, form)
    return out.getvalue()


def an_image(width: int = 640, height: int = 360) -> Answer:
    return 200, "image/png", picture(width, height)


@dataclass
class ImageWorld:
    database: Database
    clock: MovableClock
    site: Site
    stage: ImageFetcher
    client: Client
    outage: OutageDetector = field(default_factory=OutageDetector)

    async def want_lead(self, place: str, article_id: UUID | None = None) -> UUID:
        chosen = article_id or new_id()
        async with self.database.transaction() as conn:
            leads = [WantedLead(ArticleId(chosen), self.site.url(place))]
            await store.want_leads(conn, leads=leads, now=self.clock())
        return chosen

    async def want_icon(self, page: str | None, icon: str | None = None, source_id: SourceId | None = None) -> SourceId:
        async with self.database.transaction() as conn:
            chosen = source_id or (await a_source(conn)).id
            urls = [self.site.url(place) if place is not None else None for place in (page, icon)]
            wanted = WantedIcon(chosen, urls[0], urls[1])
            settled = self.clock() - timedelta(days=1)
            await store.want_icons(conn, icons=[wanted], now=self.clock(), settled=settled)
        return chosen

    async def run(self) -> int:
        """Fetch what is due; how many images that were."""
        count = 0
        while claimed := await self.stage.claim(10):
            await asyncio.gather(*(self.stage.work(image) for image in claimed))
            count += len(claimed)
            self.clock.move(seconds=1)
        return count

    async def row(self, owner_id: UUID) -> dict[str, Any]:
        async with self.database.transaction() as conn:
            return await find_row(conn, owner_id)

    def asked(self, ending: str = "") -> list[str]:
        """The requests, without robots.txt."""
        return [one.removeprefix("GET ") for one in self.site.asked if "robots.txt" not in one and one.endswith(ending)]


async def find_row(conn: Connection, owner_id: UUID) -> dict[str, Any]:
    statement = "SELECT data, digest, reason, tries, ready_at, lease FROM images WHERE owner_id = %(id)s"
    cur = await conn.execute(statement, {"id": owner_id})
    row = await cur.fetchone()
    names = [column.name for column in cur.description or ()]
    return dict(zip(names, row, strict=True)) if row else {}


@asynccontextmanager
async def an_image_world(database: Database, clock: MovableClock) -> AsyncIterator[ImageWorld]:
    async with (
        a_site() as site,
        Client(user_agent="Test", allow_loopback=True, resolve={"example": "127.0.0.1"}) as client,
        Sandbox(processes=1, time_limit=timedelta(minutes=1), memory_limit=512_000_000) as sandbox,
    ):
        turns = Turns(database, clock, delay=timedelta(milliseconds=1), lease=timedelta(minutes=5))
        pages = PageRequests(client, turns, clock, "test", timedelta(milliseconds=1))
        outage = OutageDetector()
        chosen = ImageOptions(timeout=timedelta(minutes=1))
        stage = ImageFetcher(database, pages, turns, sandbox, clock, chosen, outage)
        yield ImageWorld(database, clock, site, stage, client, outage)
