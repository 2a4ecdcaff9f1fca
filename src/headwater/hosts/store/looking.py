"""What is read of `hosts` and `host_robots` for operators, and for who only wants to know."""

from datetime import datetime, timedelta

from psycopg.rows import args_row, class_row

from headwater.db import Connection
from headwater.hosts.keys import ALL_SHARDS, host_id_of, shard_of
from headwater.hosts.shown import ShownHost
from headwater.hosts.store.pages import EVERY_BAND, parts
from headwater.hosts.types import HeldHost

LOOKED_AT = 500  # hosts in each part of the queue, those that come next
POLITE = timedelta(minutes=1)  # whoever waits no longer than this only waits for its turn
LONGEST_LEASE = timedelta(hours=1)


async def list_waiting(conn: Connection, *, now: datetime, limit: int) -> list[ShownHost]:
    """Hosts whose pages are held back, the next to come first, of the thousands that come next. They are found by their
    turn, so it costs the same however many there are.
    """
    async with conn.cursor(row_factory=class_row(ShownHost)) as cur:
        await cur.execute(
            """
            SELECT name, url_count, pages_ready_at AS ready_at, waiting.until AS not_before, false AS is_held,
                robots_delay_ms * interval '1 millisecond' AS robots_delay, slowed, unreachable_since,
                coalesce(paused_until > %(after)s, false) AS is_paused
            FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
            CROSS JOIN LATERAL (
                SELECT shard, host_id, name, url_count, pages_ready_at, not_before, paused_until, pages_paused_until,
                    lease, robots_delay_ms, slowed
                FROM hosts
                WHERE hosts.shard = part.shard
                    AND hosts.band = part.band
                    AND page_due_at < 'infinity'
                    AND pages_ready_at > %(after)s
                ORDER BY pages_ready_at
                LIMIT %(look)s
            ) AS next
            CROSS JOIN LATERAL (SELECT greatest(not_before, paused_until, pages_paused_until) AS until) AS waiting
            LEFT JOIN LATERAL (
                SELECT min(unreachable_since) AS unreachable_since
                FROM host_robots
                WHERE host_robots.shard = next.shard AND host_robots.host_id = next.host_id
            ) AS robots ON true
            WHERE lease IS NULL AND waiting.until > %(after)s
            ORDER BY waiting.until, name
            LIMIT %(limit)s
            """,
            {**parts(EVERY_BAND, ALL_SHARDS), "after": now + POLITE, "look": LOOKED_AT, "limit": limit},
        )
        return await cur.fetchall()


async def find_shown(conn: Connection, *, name: str, now: datetime) -> ShownHost | None:
    """One host, by its name, as operators see it."""
    host_id = host_id_of(name.lower())
    async with conn.cursor(row_factory=class_row(ShownHost)) as cur:
        await cur.execute(
            """
            SELECT name, url_count, CASE WHEN page_due_at < 'infinity' THEN pages_ready_at END AS ready_at,
                nullif(greatest(not_before, paused_until, pages_paused_until), '-infinity') AS not_before,
                lease IS NOT NULL AND claimed > 0 AND free_at > %(now)s AS is_held,
                robots_delay_ms * interval '1 millisecond' AS robots_delay, slowed,
                (
                    SELECT min(unreachable_since)
                    FROM host_robots
                    WHERE host_robots.shard = hosts.shard AND host_robots.host_id = hosts.host_id
                ) AS unreachable_since,
                coalesce(paused_until > %(now)s, false) AS is_paused
            FROM hosts
            WHERE shard = %(shard)s AND host_id = %(host_id)s
            """,
            {"shard": shard_of(host_id), "host_id": host_id, "now": now},
        )
        return await cur.fetchone()


async def find_host(conn: Connection, *, name: str) -> HeldHost | None:
    """What a claim of this host would start from; it is in nobody's hands by this."""
    host_id = host_id_of(name)
    async with conn.cursor(row_factory=args_row(HeldHost)) as cur:
        await cur.execute(
            """
            SELECT host_id, name, slowed, successes, robots_delay_ms, answered_at, 0, NULL::timestamptz,
                NULL::timestamptz, alike_sources, alike_class, paused_until, pauses
            FROM hosts
            WHERE shard = %(shard)s AND host_id = %(host_id)s
            """,
            {"shard": shard_of(host_id), "host_id": host_id},
        )
        return await cur.fetchone()


async def find_busy(conn: Connection, *, now: datetime) -> set[str]:
    """Which stages hold hosts: `polling` with what else asks for single URLs, `fetching`."""
    cur = await conn.execute(
        """
        SELECT 'polling'
        WHERE EXISTS (
            SELECT
            FROM hosts
            WHERE feed_due_at < 'infinity'
                AND answered_at IS NULL
                AND feeds_ready_at > %(now)s
                AND feeds_ready_at < %(until)s
                AND lease IS NOT NULL
                AND claimed = 0
        ) OR EXISTS (
            SELECT
            FROM hosts
            WHERE feed_due_at < 'infinity'
                AND answered_at IS NOT NULL
                AND feeds_ready_at > %(now)s
                AND feeds_ready_at < %(until)s
                AND lease IS NOT NULL
                AND claimed = 0
        )
        UNION ALL
        SELECT 'fetching'
        WHERE EXISTS (
            SELECT
            FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
            JOIN hosts USING (band, shard)
            WHERE page_due_at < 'infinity'
                AND pages_ready_at > %(now)s
                AND pages_ready_at < %(until)s
                AND lease IS NOT NULL
                AND claimed > 0
        )
        """,
        {"now": now, "until": now + LONGEST_LEASE, **parts(EVERY_BAND, ALL_SHARDS)},
    )
    return {row[0] for row in await cur.fetchall()}
