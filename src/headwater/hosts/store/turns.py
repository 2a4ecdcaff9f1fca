"""One host for one request: taken when it is free, renewed, released, deleted when it is unused."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from psycopg.rows import args_row

from headwater.db import Connection, fetch_value
from headwater.hosts.keys import host_key
from headwater.hosts.types import HeldHost, Release

HELD: Final = """
    hosts.host_id, name, slowed, successes, robots_delay_ms, answered_at, 0, NULL::timestamptz, NULL::timestamptz,
    failing_sources, failure_class, paused_until, pauses
"""
UNUSED_FOR = timedelta(days=1)


async def take(
    conn: Connection, *, host: str, lease: UUID, now: datetime, leased_until: datetime, through_pause: bool = False
) -> HeldHost | None:
    """Hold this host if it is free. A pause of the breaker may be ignored."""
    cur = conn.cursor(row_factory=args_row(HeldHost))
    statement = f"""
        INSERT INTO hosts (shard, host_id, name, lease, free_at)
        VALUES (%(shard)s, %(host_id)s, %(name)s, %(lease)s, %(leased_until)s)
        ON CONFLICT ON CONSTRAINT hosts_pkey DO UPDATE
        SET lease = excluded.lease, free_at = excluded.free_at, claimed = 0,
            strikes = hosts.strikes + (hosts.lease IS NOT NULL AND hosts.claimed > 0)::integer
        WHERE (hosts.lease IS NULL OR hosts.free_at <= %(now)s) AND hosts.not_before <= %(now)s
            AND (%(through_pause)s OR coalesce(hosts.paused_until, '-infinity') <= %(now)s)
        RETURNING {HELD}
    """
    await cur.execute(
        statement,
        {**host_key(host), "name": host, "lease": lease, "now": now, "leased_until": leased_until,
         "through_pause": through_pause},
    )  # fmt: skip
    return await cur.fetchone()


async def find_host(conn: Connection, *, name: str) -> HeldHost | None:
    """What a claim of this host would return; no lease is taken."""
    cur = conn.cursor(row_factory=args_row(HeldHost))
    await cur.execute(f"SELECT {HELD} FROM hosts WHERE shard = %(shard)s AND host_id = %(host_id)s", host_key(name))
    return await cur.fetchone()


async def reserve(conn: Connection, *, host: str) -> datetime | None:
    """Let a borrower that waits go before the host's own feeds and pages, which are many. Returns until when no request
    may be sent; None while the host is held."""
    statement = """
        UPDATE hosts
        SET free_at = CASE WHEN lease IS NULL THEN greatest(free_at, not_before + interval '1 s') ELSE free_at END
        WHERE shard = %(shard)s AND host_id = %(host_id)s
        RETURNING CASE WHEN lease IS NULL THEN nullif(greatest(not_before, paused_until), '-infinity') END
    """
    return await fetch_value(conn, statement, host_key(host))


async def renew(conn: Connection, *, host: str, lease: UUID, leased_until: datetime) -> bool:
    """Extend the lease. Returns whether it was still held."""
    statement = """
        UPDATE hosts SET free_at = %(leased_until)s
        WHERE shard = %(shard)s AND host_id = %(host_id)s AND lease = %(lease)s
    """
    cur = await conn.execute(statement, {**host_key(host), "lease": lease, "leased_until": leased_until})
    return cur.rowcount == 1


async def release(conn: Connection, *, release: Release) -> None:
    """End the lease on a borrowed host; its feeds and pages are due as before."""
    await conn.execute(
        """
        UPDATE hosts SET lease = NULL, not_before = greatest(not_before, %(not_before)s),
            free_at = greatest(not_before, %(not_before)s, paused_until),
            slowed = %(slowed)s, successes = %(successes)s, answered_at = greatest(answered_at, %(answered_at)s)
        WHERE shard = %(shard)s AND host_id = %(host_id)s AND lease = %(lease)s
        """,
        {**host_key(release.host), "lease": release.lease, "not_before": release.not_before,
         "slowed": release.pace.slowed, "successes": release.pace.successes, "answered_at": release.answered_at},
    )  # fmt: skip


async def delete_unused(conn: Connection, *, now: datetime, limit: int) -> int:
    """Delete hosts, and their robots.txt, that have no feeds and no URLs and were not used for a day: borrowed once,
    for a user's request or a redirect. Returns how many."""
    statement = """
        WITH unused AS MATERIALIZED (
            SELECT shard, host_id FROM hosts
            WHERE feed_due_at = 'infinity' AND page_due_at = 'infinity' AND url_count = 0
                AND free_at < %(before)s AND not_before < %(before)s
                AND coalesce(greatest(paused_until, pages_paused_until), '-infinity') < %(before)s
                AND NOT EXISTS (SELECT FROM feed_state WHERE feed_state.host = hosts.name)
                AND NOT EXISTS (
                    SELECT FROM frontier_url WHERE (shard, host_id) = (hosts.shard, hosts.host_id)
                )
            ORDER BY shard, host_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        ), robots AS (
            DELETE FROM host_robots USING unused
            WHERE host_robots.shard = unused.shard AND host_robots.host_id = unused.host_id
        ), deleted AS (
            DELETE FROM hosts USING unused WHERE hosts.shard = unused.shard AND hosts.host_id = unused.host_id
            RETURNING hosts.host_id
        )
        SELECT count(*) FROM deleted
    """
    return await fetch_value(conn, statement, {"before": now - UNUSED_FOR, "limit": limit})
