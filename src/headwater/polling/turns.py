"""Turns: where redirects lead a poll to other hosts, each of them is waited for, held and given back as its own is."""

import asyncio
from datetime import timedelta

from headwater.db import Database
from headwater.errors import HostBusy
from headwater.net import FetchError, FetchFailure
from headwater.polling import store
from headwater.polling.types import ClaimedFeed, PollingOptions
from headwater.types import Clock
from headwater.urls import host_of

PATIENCE = timedelta(seconds=10)
LOOK_EVERY_S = 0.5


class Turns:
    """The hosts that one poll asks after its own, one at a time."""

    def __init__(self, feed: ClaimedFeed, database: Database, clock: Clock, options: PollingOptions) -> None:
        self._feed = feed
        self._database = database
        self._clock = clock
        self._options = options
        self._held: str | None = None

    async def wait_for(self, url: str) -> None:
        """Returns when the host of this URL may be asked, and is ours.

        Raises FetchError where moderators blocked its domain, HostBusy, DatabaseUnavailable.
        """
        host = host_of(url)
        if host in {self._feed.host, self._held}:  # which is ours already
            await asyncio.sleep(self._options.host_delay.total_seconds())
            return
        await self.end()
        await self._check_domain(url, host)
        for _ in range(round(PATIENCE.total_seconds() / LOOK_EVERY_S)):
            if await self._borrow(host):
                self._held = host
                return
            await asyncio.sleep(LOOK_EVERY_S)
        raise HostBusy(host, self._clock())

    async def end(self) -> None:
        """Give back what is held, if anything is. Raises DatabaseUnavailable."""
        host, self._held = self._held, None
        if host is None:
            return
        async with self._database.transaction() as conn:
            await store.give_back(
                conn, host=host, lease=self._feed.lease, now=self._clock(), delay=self._options.host_delay
            )

    async def _check_domain(self, url: str, host: str) -> None:
        async with self._database.transaction() as conn:
            domain = await store.find_blocked_domain(conn, source_id=self._feed.source_id, host=host)
        if domain is not None:
            raise FetchError(url, FetchFailure.BLOCKED, f"it redirects to {host}, and {domain} is a blocked domain")

    async def _borrow(self, host: str) -> bool:
        now = self._clock()
        leased_until = now + self._options.held_for
        async with self._database.transaction() as conn:
            if await store.borrow(conn, host=host, lease=self._feed.lease, now=now, leased_until=leased_until):
                return True
            free_at = await store.reserve(conn, host=host)
        if free_at is not None and free_at - now > PATIENCE:
            raise HostBusy(host, free_at)
        return False
