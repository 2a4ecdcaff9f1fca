"""robots.txt by scheme, host and port. Only the holder of a host requests it."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta

from headwater.db import Connection, fetch_all, fetch_value
from headwater.hosts.arrays import numbers, texts
from headwater.hosts.keys import host_id_of, host_key, shard_of
from headwater.hosts.types import Robots
from headwater.urls import host_of


async def find(conn: Connection, *, origins: Sequence[str]) -> dict[str, Robots]:
    """The stored robots.txt of these origins, expired or not."""
    ids = [host_id_of(host_of(origin)) for origin in origins]
    found = await fetch_all(
        conn,
        Robots,
        """
        SELECT origin, status, body, fetched_at, expires_at, unreachable_since,
            crawl_delay_ms * interval '1 millisecond' AS crawl_delay, sitemaps
        FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(origins)s::text[])
            AS given (shard, host_id, origin)
        JOIN host_robots USING (shard, host_id, origin)
        """,
        {"shards": numbers(map(shard_of, ids)), "host_ids": numbers(ids), "origins": texts(origins)},
    )
    return {robots.origin: robots for robots in found}


async def keep(conn: Connection, *, robots: Robots) -> bool:
    """Store a robots.txt for all workers. Returns whether it has changed."""
    delay_ms = None if robots.crawl_delay is None else int(robots.crawl_delay / timedelta(milliseconds=1))
    is_changed = await fetch_value(
        conn,
        """
        WITH old AS MATERIALIZED (
            SELECT body, unreachable_since IS NULL AS is_reachable FROM host_robots
            WHERE shard = %(shard)s AND host_id = %(host_id)s AND origin = %(origin)s
        ), kept AS (
            INSERT INTO host_robots AS r (
                shard, host_id, origin, status, body, fetched_at, expires_at, unreachable_since, crawl_delay_ms,
                sitemaps
            )
            VALUES (
                %(shard)s, %(host_id)s, %(origin)s, %(status)s, %(body)s, %(fetched_at)s, %(expires_at)s,
                %(unreachable_since)s, %(delay_ms)s, %(sitemaps)s
            )
            ON CONFLICT ON CONSTRAINT host_robots_pkey DO UPDATE
            SET status = excluded.status, body = excluded.body, fetched_at = excluded.fetched_at,
                expires_at = excluded.expires_at, unreachable_since = excluded.unreachable_since,
                crawl_delay_ms = excluded.crawl_delay_ms, sitemaps = excluded.sitemaps
        ), slowed AS (
            UPDATE hosts
            SET robots_delay_ms = greatest(
                %(delay_ms)s,
                (
                    SELECT max(crawl_delay_ms) FROM host_robots
                    WHERE shard = %(shard)s AND host_id = %(host_id)s AND origin <> %(origin)s
                )
            )
            WHERE shard = %(shard)s AND host_id = %(host_id)s
        )
        SELECT (body, is_reachable) IS DISTINCT FROM (%(body)s::text, %(unreachable_since)s::timestamptz IS NULL)
        FROM old
        """,
        {**host_key(host_of(robots.origin)), **asdict(robots), "delay_ms": delay_ms, "sitemaps": list(robots.sitemaps)},
    )
    return is_changed is not False
