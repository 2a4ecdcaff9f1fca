"""Every statement on `outbox` and `outbox_listening`.

Changes are queued only once an index is registered (`listen`); older content is queued in batches then (`fill`).
`ready_at` is when an entry was queued, when its lease ends, or when it is sent again.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_one, fetch_value
from headwater.outbox.types import ClaimedEntry, OutboxCounts, OutboxEntry, RefusedEntry

_MINE: Final = "unnest(%(url_keys)b::bytea[], %(leases)b::uuid[]) AS mine (url_key, lease)"
_IS_MINE: Final = "outbox.url_key = mine.url_key AND outbox.lease = mine.lease"


async def enqueue(conn: Connection, *, entries: Sequence[OutboxEntry], now: datetime) -> None:
    """Queue changes, after they are made and in the same transaction, so that each gets a higher version.

    The version is the database's clock, in microseconds. A counter would start below the versions in the index after an
    article was deleted and found again, or the database restored from a backup.
    """
    if not entries:
        return
    # One row per URL, always in the same order, so that two writers of the same URLs cannot deadlock.
    last = {entry.url_key: entry for entry in entries}
    ordered = [last[key] for key in sorted(last)]
    statement = """
        INSERT INTO outbox (url_key, article_id, version, queued_version, action, queued_at, ready_at)
        SELECT url_key, article_id, version, extract(epoch FROM clock_timestamp()) * 1000000, action, at, at
        FROM CAST(%(now)s AS timestamptz) AS at,
            unnest(%(url_keys)b::bytea[], %(ids)b::uuid[], %(versions)b::bigint[], %(actions)b::text[])
                AS entry (url_key, article_id, version, action)
        WHERE EXISTS (SELECT FROM outbox_listening)
        ON CONFLICT (url_key) DO UPDATE
        SET article_id = excluded.article_id, version = excluded.version, action = excluded.action,
            queued_version = greatest(outbox.queued_version + 1, excluded.queued_version),
            queued_at = CASE WHEN outbox.reason IS NULL THEN outbox.queued_at ELSE excluded.queued_at END,
            ready_at = excluded.ready_at, lease = NULL, attempts = 0, reason = NULL
    """
    keys = {"url_keys": [entry.url_key for entry in ordered], "ids": [entry.article_id for entry in ordered]}
    versions, actions = [entry.version for entry in ordered], [entry.action.value for entry in ordered]
    await conn.execute(statement, {**keys, "versions": versions, "actions": actions, "now": now})


async def claim(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, limit: int
) -> list[ClaimedEntry]:
    statement = """
        WITH ready AS MATERIALIZED (
            SELECT url_key
            FROM outbox WHERE ready_at <= %(now)s ORDER BY ready_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        UPDATE outbox SET ready_at = %(leased_until)s, lease = %(lease)s, attempts = attempts + 1
        FROM ready WHERE outbox.url_key = ready.url_key
        RETURNING article_id, outbox.url_key, version, action, queued_version, lease, attempts - 1 AS attempts
    """
    return await fetch_all(
        conn, ClaimedEntry, statement, {"lease": lease, "now": now, "leased_until": leased_until, "limit": limit}
    )


async def acknowledge(conn: Connection, *, entries: Sequence[ClaimedEntry]) -> int:
    """Delete entries that the index has; not those that changed or lost their lease. Returns how many were deleted."""
    return (await conn.execute(f"DELETE FROM outbox USING {_MINE} WHERE {_IS_MINE}", _keys(entries))).rowcount


async def postpone(
    conn: Connection, *, entries: Sequence[ClaimedEntry], until: datetime, was_sent: bool = True
) -> None:
    """Send entries again at a time. If they were not sent, this does not count as an attempt."""
    statement = f"""
        UPDATE outbox SET ready_at = %(until)s, lease = NULL, attempts = attempts - (NOT %(was_sent)s)::integer
        FROM {_MINE} WHERE {_IS_MINE}
    """
    await conn.execute(statement, {**_keys(entries), "until": until, "was_sent": was_sent})


async def reject(conn: Connection, *, rejected: Sequence[tuple[ClaimedEntry, str]]) -> None:
    """Keep refused entries with the reason, until a newer version is queued or an operator retries them."""
    statement = f"""
        UPDATE outbox SET ready_at = 'infinity', lease = NULL, reason = mine.reason
        FROM unnest(%(url_keys)b::bytea[], %(leases)b::uuid[], %(reasons)b::text[]) AS mine (url_key, lease, reason)
        WHERE {_IS_MINE}
    """
    await conn.execute(
        statement, {**_keys([entry for entry, _ in rejected]), "reasons": [reason for _, reason in rejected]}
    )


def _keys(entries: Sequence[ClaimedEntry]) -> dict[str, object]:
    return {"url_keys": [entry.url_key for entry in entries], "leases": [entry.lease for entry in entries]}


async def revive(conn: Connection, *, now: datetime) -> int:
    statement = """
        UPDATE outbox SET reason = NULL, attempts = 0, ready_at = %(now)s, queued_at = %(now)s
        WHERE reason IS NOT NULL
    """
    return (await conn.execute(statement, {"now": now})).rowcount


async def listen(conn: Connection, *, target: str) -> bool:
    """Queue changes from now on. True if this is another index than before: then all content is queued."""
    statement = """
        INSERT INTO outbox_listening (target, since)
        VALUES (%(target)s, pg_current_xact_id())
        ON CONFLICT (is_only) DO UPDATE
        SET target = excluded.target, since = excluded.since, filled_to = NULL, filled_at = NULL
        WHERE outbox_listening.target <> excluded.target
    """
    return (await conn.execute(statement, {"target": target})).rowcount == 1


async def stop_listening(conn: Connection) -> int:
    """Queue nothing from now on. Returns how many entries were deleted."""
    await conn.execute("DELETE FROM outbox_listening")
    return (await conn.execute("DELETE FROM outbox")).rowcount


async def refill(conn: Connection) -> bool:
    """Queue all content again. False if no index is registered."""
    statement = "UPDATE outbox_listening SET since = pg_current_xact_id(), filled_to = NULL, filled_at = NULL"
    cur = await conn.execute(statement)
    return cur.rowcount == 1


async def fill(conn: Connection, *, now: datetime, limit: int) -> int:
    """Queue the next articles that are older than the index. Returns how many; 0 at the end. Waits for transactions
    that began before `listen`: what they write was not queued, and is not visible yet."""
    statement = """
        WITH listening AS MATERIALIZED (
            SELECT filled_to FROM outbox_listening
            WHERE filled_at IS NULL AND since < pg_snapshot_xmin(pg_current_snapshot()) FOR UPDATE SKIP LOCKED
        ), known AS MATERIALIZED (
            SELECT content.*
            FROM listening
            CROSS JOIN LATERAL (
                SELECT article_id, url_key, version, extracted_at FROM content
                WHERE article_id > coalesce(listening.filled_to, '00000000-0000-0000-0000-000000000000')
                ORDER BY article_id LIMIT %(limit)s
            ) AS content
        ), queued AS (
            -- No newer than what was queued when it changed: the index does not write it twice.
            INSERT INTO outbox (url_key, article_id, version, queued_version, action, queued_at, ready_at)
            SELECT url_key, article_id, version,
                extract(epoch FROM least(extracted_at, clock_timestamp())) * 1000000, 'index', at, at
            FROM known, CAST(%(now)s AS timestamptz) AS at ORDER BY url_key
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
    """
    return await fetch_value(conn, statement, {"now": now, "limit": limit}) or 0


async def oldest_at(conn: Connection) -> datetime | None:
    return await fetch_value(conn, "SELECT queued_at FROM outbox WHERE reason IS NULL ORDER BY queued_at LIMIT 1")


async def count(conn: Connection) -> OutboxCounts:
    statement = """
        SELECT count(*) FILTER (WHERE reason IS NULL) AS waiting, count(reason) AS dead,
            min(queued_at) FILTER (WHERE reason IS NULL) AS oldest_at,
            EXISTS (SELECT FROM outbox_listening) AS is_listening,
            EXISTS (SELECT FROM outbox_listening WHERE filled_at IS NULL) AS is_filling
        FROM outbox
    """
    found = await fetch_one(conn, OutboxCounts, statement)
    assert found is not None
    return found


async def list_refused(conn: Connection, *, limit: int) -> list[RefusedEntry]:
    statement = """
        SELECT article_id, url_key, version, reason, queued_at
        FROM outbox WHERE reason IS NOT NULL ORDER BY queued_at DESC LIMIT %(limit)s
    """
    return await fetch_all(conn, RefusedEntry, statement, {"limit": limit})


async def repair_schedules(conn: Connection, *, now: datetime) -> int:
    """Make entries ready that wait for more than a day, as a clock that was ahead wrote it. Returns how many."""
    statement = """
        UPDATE outbox SET ready_at = %(now)s, lease = NULL
        WHERE ready_at > %(now)s::timestamptz + interval '1 day' AND ready_at < 'infinity'
    """
    return (await conn.execute(statement, {"now": now})).rowcount
