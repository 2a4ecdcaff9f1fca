"""What is read of `host` and `host_robots` for operators. They are written by `frontier/store.py` alone."""

from datetime import datetime, timedelta

from psycopg.rows import class_row

from headwater.db import Connection
from headwater.frontier.hosts.types import HostState
from headwater.frontier.keys import host_id_of, shard_of
from headwater.frontier.store import ALL_SHARDS, parts

LOOKED_AT = 500  # hosts in each part of the queue, those that come next
POLITE = timedelta(minutes=1)  # whoever waits no longer than this only waits for its turn


async def list_waiting(conn: Connection, *, now: datetime, limit: int) -> list[HostState]:
    """Hosts that are held back, the next to come first, of the thousands that come next. They are found by their turn,
    so it costs the same however many there are.
    """
    async with conn.cursor(row_factory=class_row(HostState)) as cur:
        await cur.execute(
            """
            SELECT name, url_count, ready_at, not_before, false AS is_held,
                robots_delay_ms * interval '1 millisecond' AS robots_delay, slowed, unreachable_since
            FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
            CROSS JOIN LATERAL (
                SELECT shard, host_id, name, url_count, ready_at, not_before, lease, robots_delay_ms, slowed
                FROM host
                WHERE host.shard = part.shard
                    AND host.band = part.band
                    AND ready_at > %(after)s
                    AND ready_at < 'infinity'
                ORDER BY ready_at
                LIMIT %(look)s
            ) AS next
            LEFT JOIN LATERAL (
                SELECT min(unreachable_since) AS unreachable_since
                FROM host_robots
                WHERE host_robots.shard = next.shard AND host_robots.host_id = next.host_id
            ) AS robots ON true
            WHERE lease IS NULL AND not_before > %(after)s
            ORDER BY not_before, name
            LIMIT %(limit)s
            """,
            {**parts((0, 1, 2, 3), ALL_SHARDS), "after": now + POLITE, "look": LOOKED_AT, "limit": limit},
        )
        return await cur.fetchall()


async def find_host(conn: Connection, *, name: str, now: datetime) -> HostState | None:
    """One host, by its name."""
    host_id = host_id_of(name.lower())
    async with conn.cursor(row_factory=class_row(HostState)) as cur:
        await cur.execute(
            """
            SELECT name, url_count, nullif(ready_at, 'infinity') AS ready_at,
                nullif(not_before, '-infinity') AS not_before,
                lease IS NOT NULL AND ready_at > %(now)s AS is_held,
                robots_delay_ms * interval '1 millisecond' AS robots_delay, slowed,
                (
                    SELECT min(unreachable_since)
                    FROM host_robots
                    WHERE host_robots.shard = host.shard AND host_robots.host_id = host.host_id
                ) AS unreachable_since
            FROM host
            WHERE shard = %(shard)s AND host_id = %(host_id)s
            """,
            {"shard": shard_of(host_id), "host_id": host_id, "now": now},
        )
        return await cur.fetchone()
