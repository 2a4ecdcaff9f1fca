"""Every statement on `outbox` and `outbox_listening`.

Nothing is queued while no index listens. From the moment one does, every change is, and what was there before is
queued in batches, `fill` by `fill`. One clock, `ready_at`: when an entry came, until when somebody has it, or when to
try it again.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_one, fetch_value
from headwater.outbox.types import Claimed, Counts, Dead, OutboxEntry


async def enqueue(conn: Connection, *, entries: Sequence[OutboxEntry], now: datetime | None = None) -> None:
    """Queue changes, in the transaction that makes them and after they are made: then each one gets a higher version.

    The version is the database's clock, in microseconds. Not a counter: an article that is forgotten and found again,
    or a database that is restored from yesterday, would begin below what the index remembers.
    """
    if not entries:
        return
    # One row per URL, and always in the same order: two writers of the same URLs must not wait for each other.
    last = {entry.url_key: entry for entry in entries}
    ordered = [last[key] for key in sorted(last)]
    await conn.execute(
        """
        INSERT INTO outbox (url_key, article_id, version, queued_version, action, queued_at, ready_at)
        SELECT url_key, article_id, version, extract(epoch FROM clock_timestamp()) * 1000000, action, at, at
        FROM coalesce(%(now)s::timestamptz, now()) AS at,
            unnest(%(url_keys)b::bytea[], %(ids)b::uuid[], %(versions)b::bigint[], %(actions)b::text[])
                AS entry (url_key, article_id, version, action)
        WHERE EXISTS (SELECT FROM outbox_listening)
        ON CONFLICT (url_key) DO UPDATE
        SET article_id = excluded.article_id, version = excluded.version, action = excluded.action,
            queued_version = greatest(outbox.queued_version + 1, excluded.queued_version),
            queued_at = CASE WHEN outbox.reason IS NULL THEN outbox.queued_at ELSE excluded.queued_at END,
            ready_at = excluded.ready_at, lease = NULL, attempts = 0, reason = NULL
        """,
        {
            "now": now,
            "url_keys": [entry.url_key for entry in ordered],
            "ids": [entry.article_id for entry in ordered],
            "versions": [entry.version for entry in ordered],
            "actions": [entry.action.value for entry in ordered],
        },
    )


async def claim(conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, limit: int) -> list[Claimed]:
    """The longest-waiting entries, ours until the lease ends."""
    return await fetch_all(
        conn,
        Claimed,
        """
        WITH ready AS MATERIALIZED (
            SELECT url_key
            FROM outbox WHERE ready_at <= %(now)s ORDER BY ready_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        UPDATE outbox SET ready_at = %(leased_until)s, lease = %(lease)s, attempts = attempts + 1
        FROM ready WHERE outbox.url_key = ready.url_key
        RETURNING article_id, outbox.url_key, version, action, queued_version, lease, attempts - 1 AS attempts
        """,
        {"lease": lease, "now": now, "leased_until": leased_until, "limit": limit},
    )


async def acknowledge(conn: Connection, *, entries: Sequence[Claimed]) -> int:
    """The index has these. One that changed meanwhile, or that somebody else holds, stays. Returns how many went."""
    cur = await conn.execute(
        """
        DELETE FROM outbox USING unnest(%(url_keys)b::bytea[], %(leases)b::uuid[]) AS mine (url_key, lease)
        WHERE outbox.url_key = mine.url_key AND outbox.lease = mine.lease
        """,
        {"url_keys": [entry.url_key for entry in entries], "leases": [entry.lease for entry in entries]},
    )
    return cur.rowcount


async def postpone(conn: Connection, *, entries: Sequence[Claimed], until: datetime) -> None:
    """These did not get through; they are tried again then."""
    await conn.execute(
        """
        UPDATE outbox SET ready_at = %(until)s, lease = NULL
        FROM unnest(%(url_keys)b::bytea[], %(leases)b::uuid[]) AS mine (url_key, lease)
        WHERE outbox.url_key = mine.url_key AND outbox.lease = mine.lease
        """,
        {
            "until": until,
            "url_keys": [entry.url_key for entry in entries],
            "leases": [entry.lease for entry in entries],
        },
    )


async def release(conn: Connection, *, entries: Sequence[Claimed], until: datetime) -> None:
    """These were not even sent: they wait on, and nothing is held against them."""
    await conn.execute(
        """
        UPDATE outbox SET ready_at = %(until)s, lease = NULL, attempts = attempts - 1
        FROM unnest(%(url_keys)b::bytea[], %(leases)b::uuid[]) AS mine (url_key, lease)
        WHERE outbox.url_key = mine.url_key AND outbox.lease = mine.lease
        """,
        {
            "until": until,
            "url_keys": [entry.url_key for entry in entries],
            "leases": [entry.lease for entry in entries],
        },
    )


async def bury(conn: Connection, *, entries: Sequence[Claimed], reasons: Sequence[str]) -> None:
    """The index will never take these; kept with the reason, until a newer version comes or somebody asks."""
    await conn.execute(
        """
        UPDATE outbox SET ready_at = 'infinity', lease = NULL, reason = mine.reason
        FROM unnest(%(url_keys)b::bytea[], %(leases)b::uuid[], %(reasons)b::text[]) AS mine (url_key, lease, reason)
        WHERE outbox.url_key = mine.url_key AND outbox.lease = mine.lease
        """,
        {
            "url_keys": [entry.url_key for entry in entries],
            "leases": [entry.lease for entry in entries],
            "reasons": list(reasons),
        },
    )


async def revive(conn: Connection, *, now: datetime) -> int:
    """Try the dead ones again. Returns how many there are."""
    cur = await conn.execute(
        """
        UPDATE outbox SET reason = NULL, attempts = 0, ready_at = %(now)s, queued_at = %(now)s
        WHERE reason IS NOT NULL
        """,
        {"now": now},
    )
    return cur.rowcount


async def listen(conn: Connection, *, target: str) -> bool:
    """From now on changes are queued. True when the index is another one than before, and is told everything anew."""
    cur = await conn.execute(
        """
        INSERT INTO outbox_listening (target, since)
        VALUES (%(target)s, pg_current_xact_id())
        ON CONFLICT (is_only) DO UPDATE
        SET target = excluded.target, since = excluded.since, filled_to = NULL, filled_at = NULL
        WHERE outbox_listening.target <> excluded.target
        """,
        {"target": target},
    )
    return cur.rowcount == 1


async def stop_listening(conn: Connection) -> int:
    """Nobody will read the outbox any more: nothing is queued from now on. Returns how many entries are dropped."""
    await conn.execute("DELETE FROM outbox_listening")
    cur = await conn.execute("DELETE FROM outbox")
    return cur.rowcount


async def refill(conn: Connection) -> bool:
    """Tell the index everything anew, from the beginning. False when no index listens."""
    cur = await conn.execute(
        "UPDATE outbox_listening SET since = pg_current_xact_id(), filled_to = NULL, filled_at = NULL"
    )
    return cur.rowcount == 1


async def fill(conn: Connection, *, now: datetime, limit: int) -> int:
    """Queue the next articles of those that were there before the index was. Returns how many; 0 when there is no more.

    Waits for transactions that began before the index listened: what they write is not queued, and not to be seen yet.
    """
    return (
        await fetch_value(
            conn,
            """
            WITH listening AS MATERIALIZED (
                SELECT filled_to
                FROM outbox_listening
                WHERE filled_at IS NULL AND since < pg_snapshot_xmin(pg_current_snapshot())
                FOR UPDATE SKIP LOCKED
            ), known AS MATERIALIZED (
                SELECT content.*
                FROM listening
                CROSS JOIN LATERAL (
                    SELECT article_id, url_key, version, extracted_at
                    FROM content
                    WHERE article_id > coalesce(listening.filled_to, '00000000-0000-0000-0000-000000000000')
                    ORDER BY article_id LIMIT %(limit)s
                ) AS content
            ), queued AS (
                -- No newer than what was queued when it changed: an index that has it writes nothing twice.
                INSERT INTO outbox (url_key, article_id, version, queued_version, action, queued_at, ready_at)
                SELECT url_key, article_id, version,
                    extract(epoch FROM least(extracted_at, clock_timestamp())) * 1000000, 'index', at, at
                FROM known, CAST(%(now)s AS timestamptz) AS at
                ORDER BY url_key
                ON CONFLICT (url_key) DO UPDATE
                SET queued_at = excluded.queued_at, ready_at = excluded.ready_at, attempts = 0, reason = NULL
                WHERE outbox.reason IS NOT NULL
            ), moved AS (
                UPDATE outbox_listening SET filled_to = coalesce(
                        (SELECT article_id FROM known ORDER BY article_id DESC LIMIT 1), outbox_listening.filled_to
                    ),
                    filled_at = CASE WHEN NOT EXISTS (SELECT FROM known) THEN %(now)s::timestamptz END
                FROM listening
            )
            SELECT count(*) FROM known
            """,
            {"now": now, "limit": limit},
        )
        or 0
    )


async def oldest_at(conn: Connection) -> datetime | None:
    """Since when the longest-waiting entry has been waiting, postponed or not; None when there is none."""
    return await fetch_value(conn, "SELECT queued_at FROM outbox WHERE reason IS NULL ORDER BY queued_at LIMIT 1")


async def count(conn: Connection) -> Counts:
    """How the outbox stands."""
    found = await fetch_one(
        conn,
        Counts,
        """
        SELECT count(*) FILTER (WHERE reason IS NULL) AS waiting, count(reason) AS dead,
            min(queued_at) FILTER (WHERE reason IS NULL) AS oldest_at,
            EXISTS (SELECT FROM outbox_listening) AS is_listening,
            EXISTS (SELECT FROM outbox_listening WHERE filled_at IS NULL) AS is_filling
        FROM outbox
        """,
    )
    assert found is not None
    return found


async def list_dead(conn: Connection, *, limit: int) -> list[Dead]:
    """What was given up, the latest first."""
    return await fetch_all(
        conn,
        Dead,
        """
        SELECT article_id, url_key, version, reason, queued_at
        FROM outbox WHERE reason IS NOT NULL ORDER BY queued_at DESC LIMIT %(limit)s
        """,
        {"limit": limit},
    )


async def repair_schedules(conn: Connection, *, now: datetime) -> int:
    """Make ready what waits for more than a day, as a clock that was ahead wrote it. Returns how many."""
    cur = await conn.execute(
        """
        UPDATE outbox SET ready_at = %(now)s, lease = NULL
        WHERE ready_at > %(now)s::timestamptz + interval '1 day' AND ready_at < 'infinity'
        """,
        {"now": now},
    )
    return cur.rowcount
