"""What operators and alerts read of `hosts` and `host_robots`."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from headwater.db import Connection, fetch_all, fetch_column, fetch_one
from headwater.hosts.decide import delay_of
from headwater.hosts.keys import ALL_SHARDS, host_key
from headwater.hosts.store.pages import EVERY_BAND, parts

LOOKED_AT = 500  # hosts in each part of the queue, those that come next
POLITE = timedelta(minutes=1)  # a shorter wait is the normal delay
LONGEST_LEASE = timedelta(hours=1)
_IS_POLLED: Final = """
    feed_due_at < 'infinity' AND feeds_ready_at > %(now)s AND feeds_ready_at < %(until)s
    AND lease IS NOT NULL AND claimed = 0
"""


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A host as operators see it."""

    name: str
    url_count: int
    ready_at: datetime | None  # None: no page is due
    not_before: datetime | None  # pages wait until then
    is_held: bool  # a fetcher has its lease
    robots_delay: timedelta | None
    slowed: int  # how often its delay was doubled, after 429
    unreachable_since: datetime | None  # its robots.txt
    is_paused: bool  # by the breaker

    def delay(self, least: timedelta) -> timedelta:
        """Between two requests for pages, not counting the delays of sources."""
        return delay_of(least, self.robots_delay, slowed=self.slowed)

    def waits(self, now: datetime) -> bool:
        return self.not_before is not None and self.not_before > now

    @property
    def reason(self) -> str:
        if self.unreachable_since is not None:
            return "Its robots.txt cannot be read"
        if self.is_paused:
            return "Paused: its feeds fail in the same way"
        return "It answered 429: too many requests" if self.slowed else "It sent Retry-After"


async def list_waiting(conn: Connection, *, now: datetime, limit: int) -> list[HostStatus]:
    """Hosts whose pages wait for more than the delay, the shortest wait first, among the thousands that are due next.
    They are found by an index, so the cost does not depend on the number of hosts."""
    statement = """
        SELECT name, url_count, pages_ready_at AS ready_at, waiting.until AS not_before, false AS is_held,
            robots_delay_ms * interval '1 millisecond' AS robots_delay, slowed, unreachable_since,
            coalesce(paused_until > %(after)s, false) AS is_paused
        FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
        CROSS JOIN LATERAL (
            SELECT shard, host_id, name, url_count, pages_ready_at, not_before, paused_until, pages_paused_until,
                lease, robots_delay_ms, slowed
            FROM hosts WHERE hosts.shard = part.shard AND hosts.band = part.band AND page_due_at < 'infinity'
                AND pages_ready_at > %(after)s
            ORDER BY pages_ready_at LIMIT %(look)s
        ) AS next
        CROSS JOIN LATERAL (SELECT greatest(not_before, paused_until, pages_paused_until) AS until) AS waiting
        LEFT JOIN LATERAL (
            SELECT min(unreachable_since) AS unreachable_since FROM host_robots
            WHERE host_robots.shard = next.shard AND host_robots.host_id = next.host_id
        ) AS robots ON true
        WHERE lease IS NULL AND waiting.until > %(after)s ORDER BY waiting.until, name LIMIT %(limit)s
    """
    values = {**parts(EVERY_BAND, ALL_SHARDS), "after": now + POLITE, "look": LOOKED_AT, "limit": limit}
    return await fetch_all(conn, HostStatus, statement, values)


async def find_status(conn: Connection, *, name: str, now: datetime) -> HostStatus | None:
    statement = """
        SELECT name, url_count, CASE WHEN page_due_at < 'infinity' THEN pages_ready_at END AS ready_at,
            nullif(greatest(not_before, paused_until, pages_paused_until), '-infinity') AS not_before,
            lease IS NOT NULL AND claimed > 0 AND free_at > %(now)s AS is_held,
            robots_delay_ms * interval '1 millisecond' AS robots_delay, slowed,
            (
                SELECT min(unreachable_since) FROM host_robots
                WHERE host_robots.shard = hosts.shard AND host_robots.host_id = hosts.host_id
            ) AS unreachable_since, coalesce(paused_until > %(now)s, false) AS is_paused
        FROM hosts WHERE shard = %(shard)s AND host_id = %(host_id)s
    """
    return await fetch_one(conn, HostStatus, statement, {**host_key(name.lower()), "now": now})


async def find_busy(conn: Connection, *, now: datetime) -> set[str]:
    """Which stages hold hosts: `polling`, which includes borrowed hosts, and `fetching`."""
    statement = f"""
        SELECT 'polling'
        WHERE EXISTS (SELECT FROM hosts WHERE {_IS_POLLED} AND answered_at IS NULL)
            OR EXISTS (SELECT FROM hosts WHERE {_IS_POLLED} AND answered_at IS NOT NULL)
        UNION ALL
        SELECT 'fetching'
        WHERE EXISTS (
            SELECT
            FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
            JOIN hosts USING (band, shard)
            WHERE page_due_at < 'infinity'
                AND pages_ready_at > %(now)s AND pages_ready_at < %(until)s AND lease IS NOT NULL AND claimed > 0
        )
    """
    values = {"now": now, "until": now + LONGEST_LEASE, **parts(EVERY_BAND, ALL_SHARDS)}
    return set(await fetch_column(conn, statement, values))
