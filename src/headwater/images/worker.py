"""The stage `images`: claims icons and lead images that are due, requests each in its host's turn, resizes it in the
sandbox, stores it.

Every exit path writes an outcome: an image, a reason why there is none, or, while a host is busy, a later time. An
image has at most three attempts; what its site refuses is not tried again before its URL changes.
"""

import time
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

from headwater.db import Database
from headwater.errors import HeadwaterError, HostBusy, InvalidUrl
from headwater.hosts.outage import OutageDetector
from headwater.hosts.robots_cache import Closed, PageRequests
from headwater.hosts.turns import Turn, Turns
from headwater.ids import new_id
from headwater.images import store
from headwater.images.decide import (
    next_try_at,
    refusal_of_status,
    renewed_at,
    stored_of,
)
from headwater.images.page_icons import page_icons
from headwater.images.resize import resize
from headwater.images.types import ClaimedImage, ImageKind, ImageOptions, Refusal, StoredImage, WantedIcon
from headwater.net import FetchError, FetchFailure, Response
from headwater.observability.log import get_logger
from headwater.sandbox import Overrun, Sandbox
from headwater.timekeeping import store as clocks
from headwater.types import Clock
from headwater.urls import parse_url

log = get_logger()

LEASE = timedelta(minutes=15)  # an icon takes up to seven requests
WAIT = timedelta(seconds=30)  # for a host
BUSY_LEAST = timedelta(minutes=1)
PAGE_BYTES = 2_000_000
TIDIED_EVERY_S = 600.0
TIDIED_AT_ONCE = 1_000
UNFETCHED_KEPT = timedelta(days=3)
FEED_FIRST = timedelta(hours=1)  # a new source is polled before its icon is looked for without what its feed says
IMAGE_TYPES = "image/webp, image/png, image/jpeg, image/gif, image/x-icon, image/avif"

_PERMANENT = {
    FetchFailure.TOO_LARGE: Refusal.TOO_LARGE, FetchFailure.REDIRECT_LOOP: Refusal.NOT_FOUND,
    FetchFailure.BAD_ENCODING: Refusal.UNREADABLE, FetchFailure.BLOCKED: Refusal.DISALLOWED,
}  # fmt: skip


class ImageFetcher:
    name = "images"

    def __init__(
        self, database: Database, pages: PageRequests, turns: Turns, sandbox: Sandbox, clock: Clock,
        options: ImageOptions, outage: OutageDetector,
    ) -> None:  # fmt: skip
        self._database, self._pages, self._turns, self._sandbox = database, pages, turns, sandbox
        self._clock, self._options, self._outage = clock, options, outage
        self._running: set[str] = set()  # hosts of images that are fetched now
        self._busy: dict[str, datetime] = {}  # hosts that were busy, until when they are left out
        self._tidy_at = 0.0
        self.concurrency = options.concurrency

    async def claim(self, limit: int) -> Sequence[ClaimedImage]:
        """Due images of hosts that none is fetched from now; none while our own network is down. Raises
        DatabaseUnavailable."""
        now = self._clock()
        await self._tidy(now)
        wanted = {ImageKind.ICON: self._options.icons, ImageKind.LEAD: self._options.lead_images}
        kinds = [kind for kind, is_wanted in wanted.items() if is_wanted]
        if not kinds or self._outage.is_outage:
            return ()
        self._busy = {host: until for host, until in self._busy.items() if until > now}
        async with self._database.transaction() as conn:
            claimed = await store.claim(
                conn, kinds=kinds, busy_hosts=self._running | self._busy.keys(), lease=new_id(), now=now,
                leased_until=now + LEASE, limit=limit,
            )  # fmt: skip
        self._running.update(image.host for image in claimed)
        return claimed

    async def work(self, image: ClaimedImage) -> None:
        """Fetch one image and write the outcome. Raises DatabaseUnavailable: the lease then frees the image."""
        try:
            await self._write(image, await self._find(image))
        except HostBusy as busy:
            await self._put_off(image, busy)
        finally:
            self._running.discard(image.host)

    async def lag(self) -> timedelta:
        """Always 0: pages are complete without images, and no user waits for this stage."""
        return timedelta(0)

    async def _find(self, image: ClaimedImage) -> StoredImage | Refusal:
        try:
            same = await self._find_same(image)
            if same is not None:
                return same
            async with self._turns.borrow(wait=WAIT) as turn:
                if image.kind is ImageKind.LEAD and image.url is not None:
                    return await self._get(turn, image.url, image.kind)
                return await self._find_icon(turn, image)
        except HeadwaterError:
            raise
        except Exception:  # a bug of ours must not leave the image without an outcome
            log.exception("image broke", owner_id=str(image.owner_id), url=image.url)
            return Refusal.UNREADABLE

    async def _find_same(self, image: ClaimedImage) -> StoredImage | None:
        """The image of another article: many sites have one for all that have none of their own."""
        if image.kind is ImageKind.ICON or image.url is None:
            return None
        async with self._database.transaction() as conn:
            return await store.find_same(conn, url=image.url)

    async def _find_icon(self, turn: Turn, image: ClaimedImage) -> StoredImage | Refusal:
        """That of the feed, else those that the site's page declares, else the one at the usual place."""
        refused = Refusal.NOT_FOUND
        async for url in self._icon_urls(turn, image):
            found = await self._get(turn, url, image.kind)
            if isinstance(found, StoredImage):
                return found
            refused = refused if refused is Refusal.UNREACHABLE else found
        return refused

    async def _icon_urls(self, turn: Turn, image: ClaimedImage) -> AsyncIterator[str]:
        if image.url is not None:
            yield image.url
        if image.page_url is not None:
            for url in await self._page_icons(turn, image.page_url):
                yield url

    async def _page_icons(self, turn: Turn, page_url: str) -> Sequence[str]:
        """What the front page declares, and /favicon.ico. A page that cannot be read declares nothing."""
        try:
            page = await self._request(turn, page_url, accept="text/html", max_bytes=PAGE_BYTES)
            here = page.url if isinstance(page, Response) else page_url
            usual = parse_url("/favicon.ico", base=here)
            if isinstance(page, Refusal):
                return [usual]
            given = page.headers.get("Content-Type")
            declared = await self._sandbox.run(page_icons, page.body, url=page.url, content_type=given)
        except (InvalidUrl, Overrun):
            return []
        return [*declared, usual]

    async def _get(self, turn: Turn, url: str, kind: ImageKind) -> StoredImage | Refusal:
        response = await self._request(turn, url, accept=IMAGE_TYPES, max_bytes=self._options.max_bytes)
        if isinstance(response, Refusal):
            return response
        try:
            made = await self._sandbox.run(resize, response.body, kind=kind)
        except Overrun:
            return Refusal.UNREADABLE
        return made if isinstance(made, Refusal) else stored_of(made.data)

    async def _request(self, turn: Turn, url: str, *, accept: str, max_bytes: int) -> Response | Refusal:
        try:
            response = await self._pages.get_in(
                turn, turn.ask, url, within=self._options.timeout, max_bytes=max_bytes, headers={"Accept": accept}
            )
        except FetchError as error:
            return _PERMANENT.get(error.kind, Refusal.UNREACHABLE)
        except Closed:
            return Refusal.UNREACHABLE
        except InvalidUrl:
            return Refusal.NOT_FOUND
        return refusal_of_status(response.status) or response

    async def _write(self, image: ClaimedImage, found: StoredImage | Refusal) -> None:
        now = self._clock()
        async with self._database.transaction() as conn:
            if isinstance(found, StoredImage):
                await store.save(conn, image=image, found=found, again_at=renewed_at(image.kind, now))
            else:
                again_at = next_try_at(image, found, now)
                await store.note_failure(conn, image=image, reason=found.value, again_at=again_at)
        outcome = "stored" if isinstance(found, StoredImage) else found.value
        log.debug("image fetched", owner_id=str(image.owner_id), kind=image.kind, url=image.url, outcome=outcome)

    async def _put_off(self, image: ClaimedImage, busy: HostBusy) -> None:
        until = max(busy.until or self._clock(), self._clock() + BUSY_LEAST)
        self._busy[image.host] = until
        async with self._database.transaction() as conn:
            await store.put_off(conn, image=image, until=until)

    async def _tidy(self, now: datetime) -> None:
        """Delete what is no longer wanted, and queue icons of sources that polling does not queue. A few at a time."""
        if time.monotonic() < self._tidy_at:
            return
        async with self._database.transaction() as conn:
            count = await store.remove_expired(conn, limit=TIDIED_AT_ONCE)
            before = await clocks.deletes_until(conn, now=now, jump=timedelta(0)) - UNFETCHED_KEPT
            count += await store.remove_unfetched(conn, before=before, limit=TIDIED_AT_ONCE)
            budget = self._options.budget_bytes
            count += await store.remove_beyond(conn, budget_bytes=budget, limit=TIDIED_AT_ONCE)
            if self._options.icons:
                found = await store.list_sources_without(conn, before=now - FEED_FIRST, limit=TIDIED_AT_ONCE)
                icons = [WantedIcon(one.id, parse_url("/", base=one.url), None) for one in found]
                await store.want_icons(conn, icons=icons, now=now, settled=now)
        if count < TIDIED_AT_ONCE:
            self._tidy_at = time.monotonic() + TIDIED_EVERY_S
