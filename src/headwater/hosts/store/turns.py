"""One host for one request: taken when it is free, kept for longer, given back."""

from datetime import datetime
from uuid import UUID

from psycopg.rows import args_row

from headwater.db import Connection
from headwater.hosts.keys import host_id_of, shard_of
from headwater.hosts.types import HeldHost, Release


async def take(
    conn: Connection, *, host: str, lease: UUID, now: datetime, leased_until: datetime, through_pause: bool = False
) -> HeldHost | None:
    """Hold this host if it is free; None where it is not. A pause that the breaker guessed may be passed through."""
    host_id = host_id_of(host)
    async with conn.cursor(row_factory=args_row(HeldHost)) as cur:
        await cur.execute(
            """
            INSERT INTO hosts AS h (shard, host_id, name, lease, free_at)
            VALUES (%(shard)s, %(host_id)s, %(name)s, %(lease)s, %(leased_until)s)
            ON CONFLICT ON CONSTRAINT hosts_pkey DO UPDATE
            SET lease = excluded.lease,
                free_at = excluded.free_at,
                strikes = h.strikes + (h.lease IS NOT NULL AND h.claimed > 0)::integer,
                claimed = 0
            WHERE (h.lease IS NULL OR h.free_at <= %(now)s)
                AND h.not_before <= %(now)s
                AND (%(through_pause)s OR coalesce(h.paused_until, '-infinity') <= %(now)s)
            RETURNING host_id, name, slowed, successes, robots_delay_ms, answered_at, 0, NULL::timestamptz,
                NULL::timestamptz, alike_sources, alike_class, paused_until, pauses
            """,
            {
                "shard": shard_of(host_id),
                "host_id": host_id,
                "name": host,
                "lease": lease,
                "now": now,
                "leased_until": leased_until,
                "through_pause": through_pause,
            },
        )
        return await cur.fetchone()


async def reserve(conn: Connection, *, host: str) -> datetime | None:
    """Who waits for a host comes before its own feeds and pages, which are many.

    Returns until when nobody may ask it; None while somebody holds it.
    """
    host_id = host_id_of(host)
    cur = await conn.execute(
        """
        UPDATE hosts
        SET free_at = CASE WHEN lease IS NULL THEN greatest(free_at, not_before + interval '1 s') ELSE free_at END
        WHERE shard = %(shard)s AND host_id = %(host_id)s
        RETURNING CASE WHEN lease IS NULL THEN nullif(greatest(not_before, paused_until), '-infinity') END
        """,
        {"shard": shard_of(host_id), "host_id": host_id},
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def renew(conn: Connection, *, host: str, lease: UUID, leased_until: datetime) -> bool:
    """Hold this host for longer. Returns whether it was still ours."""
    host_id = host_id_of(host)
    cur = await conn.execute(
        """
        UPDATE hosts
        SET free_at = %(leased_until)s
        WHERE shard = %(shard)s AND host_id = %(host_id)s AND lease = %(lease)s
        """,
        {"shard": shard_of(host_id), "host_id": host_id, "lease": lease, "leased_until": leased_until},
    )
    return cur.rowcount == 1


async def give_back(conn: Connection, *, release: Release) -> None:
    """A host that was asked, or not, is free for others; whose feeds and pages wait there has not changed."""
    host_id = host_id_of(release.host)
    await conn.execute(
        """
        UPDATE hosts
        SET lease = NULL,
            not_before = greatest(not_before, %(not_before)s),
            free_at = greatest(not_before, %(not_before)s, paused_until),
            slowed = %(slowed)s,
            successes = %(successes)s,
            answered_at = greatest(answered_at, %(answered_at)s)
        WHERE shard = %(shard)s AND host_id = %(host_id)s AND lease = %(lease)s
        """,
        {
            "shard": shard_of(host_id),
            "host_id": host_id,
            "lease": release.lease,
            "not_before": release.not_before,
            "slowed": release.pace.slowed,
            "successes": release.pace.successes,
            "answered_at": release.answered_at,
        },
    )
