"""Every statement on `search_index` and on the deliveries of its channel.

Changes are queued only once an index is registered (`listen`); older content is queued in batches then (`fill`).
So are the documents of a source that became public or private (`fill_source`): a trigger of `sources` notes it.
`ready_at` is when an entry was queued, when its lease ends, or when it is sent again. An entry that changes gets
another revision, so that what was sent before it changed does not end it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_row, fetch_value
from headwater.documents.types import Action, ClaimedEntry, DocumentCounts, DocumentEntry, RefusedEntry
from headwater.ids import new_id
from headwater.types import ArticleId, SourceId

CHANNEL_NAME: Final = "search-index"
COUNTED_MOST: Final = 100_000
_MINE: Final = """
    search_index, unnest(%(revisions)b::bigint[], %(leases)b::uuid[]) AS mine (revision, lease)
"""
_IS_MINE: Final = """
    deliveries.channel_id = search_index.channel_id AND deliveries.revision = mine.revision
        AND deliveries.lease = mine.lease
"""
_IS_WAITING: Final = "url_key IS NOT NULL AND reason IS NULL"
# Whether all transactions that began before `listen` have ended. A number that this server has not reached is from
# another one, of which the database was restored: none of its transactions is left.
_MAY_FILL: Final = """
    filled_at IS NULL AND (
        since < pg_snapshot_xmin(pg_current_snapshot()) OR since >= pg_snapshot_xmax(pg_current_snapshot())
    )
"""
_IS_REFUSED: Final = "url_key IS NOT NULL AND reason IS NOT NULL"


async def enqueue(conn: Connection, *, entries: Sequence[DocumentEntry], now: datetime) -> None:
    """Queue changes, after they are made and in the same transaction, so that each gets a higher version.

    The version is the database's clock, in microseconds, and never goes back: a trigger gives it (migration 0025). A
    counter would start below the versions in the index after an article was deleted and found again, or the database
    restored from a backup.
    """
    if not entries:
        return
    # One row per URL, always in the same order, so that two writers of the same URLs cannot deadlock.
    last = {entry.url_key: entry for entry in entries}
    ordered = [last[key] for key in sorted(last)]
    statement = """
        INSERT INTO deliveries (channel_id, article_id, queued_at, url_key, version, action, ready_at)
        SELECT channel_id, article_id, at, url_key, version, action, at
        FROM search_index, CAST(%(now)s AS timestamptz) AS at,
            unnest(%(url_keys)b::bytea[], %(ids)b::uuid[], %(versions)b::bigint[], %(actions)b::text[])
                AS entry (url_key, article_id, version, action)
        ON CONFLICT (channel_id, url_key) WHERE url_key IS NOT NULL DO UPDATE
        SET revision = excluded.revision, article_id = excluded.article_id, version = excluded.version,
            action = excluded.action,
            queued_version = greatest(deliveries.queued_version + 1, excluded.queued_version),
            queued_at = CASE WHEN deliveries.reason IS NULL THEN deliveries.queued_at ELSE excluded.queued_at END,
            ready_at = excluded.ready_at, lease = NULL, attempts = 0, reason = NULL
    """
    keys = {"url_keys": [entry.url_key for entry in ordered], "ids": [entry.article_id for entry in ordered]}
    versions, actions = [entry.version for entry in ordered], [entry.action.value for entry in ordered]
    await conn.execute(statement, {**keys, "versions": versions, "actions": actions, "now": now})


async def claim(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, limit: int
) -> list[ClaimedEntry]:
    """Entries that are due; none while the channel is paused."""
    statement = """
        WITH ready AS MATERIALIZED (
            SELECT channel_id, revision
            FROM deliveries
            WHERE url_key IS NOT NULL AND reason IS NULL AND ready_at <= %(now)s AND EXISTS (
                SELECT FROM search_index JOIN channels ON id = search_index.channel_id WHERE NOT is_paused
            )
            ORDER BY ready_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        UPDATE deliveries SET ready_at = %(leased_until)s, lease = %(lease)s, attempts = least(attempts + 1, 1000)
        FROM ready WHERE deliveries.channel_id = ready.channel_id AND deliveries.revision = ready.revision
        RETURNING article_id, url_key, version, action, deliveries.revision, queued_version, lease,
            attempts - 1 AS attempts
    """
    return await fetch_all(
        conn, ClaimedEntry, statement, {"lease": lease, "now": now, "leased_until": leased_until, "limit": limit}
    )


async def is_due(conn: Connection, *, now: datetime) -> bool:
    """Whether an entry may be claimed, or older content queued."""
    statement = f"""
        SELECT EXISTS (
            SELECT FROM search_index JOIN channels ON id = channel_id
            WHERE NOT is_paused AND (
                {_MAY_FILL} OR EXISTS (
                    SELECT FROM deliveries WHERE url_key IS NOT NULL AND reason IS NULL AND ready_at <= %(now)s
                ) OR EXISTS (SELECT FROM reindexed_sources)
            )
        )
    """
    return bool(await fetch_value(conn, statement, {"now": now}))


async def acknowledge(conn: Connection, *, entries: Sequence[ClaimedEntry]) -> int:
    """Delete entries that the index has; not those that changed or lost their lease. Returns how many were deleted."""
    return (await conn.execute(f"DELETE FROM deliveries USING {_MINE} WHERE {_IS_MINE}", _keys(entries))).rowcount


async def postpone(
    conn: Connection, *, entries: Sequence[ClaimedEntry], until: datetime, was_sent: bool = True
) -> None:
    """Send entries again at a time. If they were not sent, this does not count as an attempt."""
    statement = f"""
        UPDATE deliveries SET ready_at = %(until)s, lease = NULL, attempts = attempts - (NOT %(was_sent)s)::integer
        FROM {_MINE} WHERE {_IS_MINE}
    """
    await conn.execute(statement, {**_keys(entries), "until": until, "was_sent": was_sent})


async def raise_versions(conn: Connection, *, entries: Sequence[ClaimedEntry]) -> list[ClaimedEntry]:
    """These entries with the version of this moment, higher than that of any document in the index.

    It is written, so that a change that is being queued gets a higher one. An entry that changed keeps its own.
    """
    statement = f"""
        UPDATE deliveries SET queued_version = NULL  -- that is, a new one, by the trigger
        FROM {_MINE} WHERE {_IS_MINE} RETURNING deliveries.revision, queued_version
    """
    cur = await conn.execute(statement, _keys(entries))
    versions: dict[int, int] = dict(await cur.fetchall())
    return [replace(one, queued_version=versions.get(one.revision, one.queued_version)) for one in entries]


async def reject(conn: Connection, *, rejected: Sequence[tuple[ClaimedEntry, str]]) -> None:
    """Keep refused entries with the reason, until a newer version is queued or an operator retries them."""
    statement = f"""
        UPDATE deliveries SET ready_at = queued_at, lease = NULL, reason = mine.reason
        FROM search_index, unnest(%(revisions)b::bigint[], %(leases)b::uuid[], %(reasons)b::text[])
            AS mine (revision, lease, reason)
        WHERE {_IS_MINE}
    """
    await conn.execute(
        statement, {**_keys([entry for entry, _ in rejected]), "reasons": [reason for _, reason in rejected]}
    )


def _keys(entries: Sequence[ClaimedEntry]) -> dict[str, object]:
    return {"revisions": [entry.revision for entry in entries], "leases": [entry.lease for entry in entries]}


async def revive(conn: Connection, *, now: datetime) -> int:
    statement = f"""
        UPDATE deliveries SET reason = NULL, attempts = 0, ready_at = %(now)s, queued_at = %(now)s WHERE {_IS_REFUSED}
    """
    return (await conn.execute(statement, {"now": now})).rowcount


async def listen(conn: Connection, *, target: str) -> bool:
    """Queue changes from now on. True if this is another index than before: then all content is queued."""
    statement = """
        INSERT INTO search_index (target, since, channel_id)
        VALUES (%(target)s, pg_current_xact_id(), %(channel_id)s)
        ON CONFLICT (is_only) DO UPDATE
        SET target = excluded.target, since = excluded.since, filled_to = NULL, filled_at = NULL
        WHERE search_index.target <> excluded.target
    """
    is_new = (await conn.execute(statement, {"target": target, "channel_id": new_id()})).rowcount == 1
    if is_new:
        await _add_channel(conn)
    return is_new


async def _add_channel(conn: Connection) -> None:
    """The channel of the index, with another name if an operator has used this one."""
    statement = """
        INSERT INTO channels (id, name, query, destination)
        SELECT channel_id, name || CASE
                WHEN EXISTS (SELECT FROM channels WHERE channels.name = given.name) THEN '-' || channel_id ELSE ''
            END, '*', 'search_index'
        FROM search_index, (SELECT %(name)s::text) AS given (name)
        ON CONFLICT (id) DO NOTHING
    """
    await conn.execute(statement, {"name": CHANNEL_NAME})


async def stop_listening(conn: Connection) -> int:
    """Queue nothing from now on. Returns how many entries were deleted.

    It does not wait for entries that others write at this moment, who may wait for us: they are left to
    `deliveries.sweep`.
    """
    await conn.execute("DELETE FROM channels USING search_index WHERE id = channel_id")
    await conn.execute("DELETE FROM search_index")
    await conn.execute("DELETE FROM reindexed_sources")
    statement = """
        WITH waiting AS MATERIALIZED (
            SELECT channel_id, revision FROM deliveries WHERE url_key IS NOT NULL FOR UPDATE SKIP LOCKED
        )
        DELETE FROM deliveries USING waiting
        WHERE deliveries.channel_id = waiting.channel_id AND deliveries.revision = waiting.revision
    """
    return (await conn.execute(statement)).rowcount


async def is_listening(conn: Connection) -> bool:
    """Whether changes are queued for a search index."""
    return bool(await fetch_value(conn, "SELECT EXISTS (SELECT FROM search_index)"))


async def note_delivered(conn: Connection, *, count: int, now: datetime) -> None:
    """The index answered: what operators see of its channel."""
    statement = """
        UPDATE channels
        SET delivered = delivered + %(count)s,
            delivered_at = CASE WHEN %(count)s > 0 THEN %(now)s ELSE delivered_at END,
            failures = 0, failed_since = NULL, reason = NULL
        FROM search_index
        WHERE id = channel_id AND (%(count)s > 0 OR failures > 0)
    """
    await conn.execute(statement, {"count": count, "now": now})


async def note_failure(conn: Connection, *, reason: str, now: datetime) -> None:
    statement = """
        UPDATE channels
        SET failures = failures + 1, failed_since = coalesce(failed_since, %(now)s), reason = %(reason)s
        FROM search_index WHERE id = channel_id
    """
    await conn.execute(statement, {"reason": reason, "now": now})


async def refill(conn: Connection) -> int:
    """Queue all content again, in the background. Returns how much there is, counted up to a limit; 0 if no index is
    registered."""
    statement = "UPDATE search_index SET since = pg_current_xact_id(), filled_to = NULL, filled_at = NULL"
    if (await conn.execute(statement)).rowcount == 0:
        return 0
    counted = "SELECT count(*) FROM (SELECT FROM content LIMIT %(most)s) AS counted"
    return await fetch_value(conn, counted, {"most": COUNTED_MOST})


async def fill(conn: Connection, *, now: datetime, limit: int) -> int:
    """Queue the next articles that are older than the index. Returns how many; 0 at the end. Waits for transactions
    that began before `listen`: what they write was not queued, and is not visible yet."""
    statement = f"""
        WITH listening AS MATERIALIZED (
            SELECT filled_to, channel_id FROM search_index
            WHERE {_MAY_FILL} FOR UPDATE SKIP LOCKED
        ), known AS MATERIALIZED (
            SELECT listening.channel_id, content.*
            FROM listening
            CROSS JOIN LATERAL (
                SELECT article_id, url_key, version, extracted_at FROM content
                WHERE article_id > coalesce(listening.filled_to, '00000000-0000-0000-0000-000000000000')
                ORDER BY article_id LIMIT %(limit)s
            ) AS content
        ), queued AS (
            -- No newer than what was queued when it changed: the index does not write it twice.
            INSERT INTO deliveries (
                channel_id, article_id, queued_at, url_key, version, queued_version, action, ready_at
            )
            SELECT channel_id, article_id, at, url_key, version,
                extract(epoch FROM least(extracted_at, clock_timestamp())) * 1000000, 'index', at
            FROM (SELECT * FROM known ORDER BY url_key) AS known, CAST(%(now)s AS timestamptz) AS at
            ON CONFLICT (channel_id, url_key) WHERE url_key IS NOT NULL DO UPDATE
            SET queued_at = excluded.queued_at, ready_at = excluded.ready_at, attempts = 0, reason = NULL
            WHERE deliveries.reason IS NOT NULL
        ), moved AS (
            UPDATE search_index SET filled_to = coalesce(
                    (SELECT article_id FROM known ORDER BY article_id DESC LIMIT 1), search_index.filled_to
                ),
                filled_at = CASE WHEN NOT EXISTS (SELECT FROM known) THEN %(now)s::timestamptz END
            FROM listening
        )
        SELECT count(*) FROM known
    """
    return await fetch_value(conn, statement, {"now": now, "limit": limit}) or 0


async def fill_source(conn: Connection, *, now: datetime, limit: int) -> int:
    """Queue the next documents of a source that became public or private. Returns how many; 0: none is left."""
    found = """
        SELECT source_id, filled_to FROM reindexed_sources ORDER BY source_id LIMIT 1 FOR UPDATE SKIP LOCKED
    """
    row: tuple[SourceId, ArticleId | None] | None = await fetch_row(conn, found)
    if row is None:
        return 0
    source_id, after = row
    listed = """
        SELECT article_id FROM article_sources
        WHERE source_id = %(source_id)s AND article_id > coalesce(%(after)s::uuid, %(first)s::uuid)
        ORDER BY article_id LIMIT %(limit)s
    """
    values = {"source_id": source_id, "after": after, "first": UUID(int=0), "limit": limit}
    ids: list[ArticleId] = await fetch_column(conn, listed, values)
    await enqueue(conn, entries=await find_entries(conn, article_ids=ids), now=now)
    if len(ids) < limit:
        await conn.execute("DELETE FROM reindexed_sources WHERE source_id = %(id)s", {"id": source_id})
    else:
        moved = "UPDATE reindexed_sources SET filled_to = %(to)s WHERE source_id = %(id)s"
        await conn.execute(moved, {"to": ids[-1], "id": source_id})
    return len(ids)


async def find_entries(conn: Connection, *, article_ids: Sequence[ArticleId]) -> list[DocumentEntry]:
    """Entries that send these articles again, without those that have no content."""
    statement = "SELECT article_id, url_key, version FROM content WHERE article_id = ANY(%(ids)s)"
    cur = await conn.execute(statement, {"ids": list(article_ids)})
    rows = await cur.fetchall()
    return [DocumentEntry(article_id, bytes(key), version, Action.INDEX) for article_id, key, version in rows]


async def oldest_at(conn: Connection) -> datetime | None:
    """When the entry was queued that has waited longest; None while the channel is paused."""
    statement = f"""
        SELECT queued_at FROM deliveries
        WHERE {_IS_WAITING} AND EXISTS (
            SELECT FROM search_index JOIN channels ON id = search_index.channel_id WHERE NOT is_paused
        )
        ORDER BY queued_at LIMIT 1
    """
    return await fetch_value(conn, statement)


async def count(conn: Connection) -> DocumentCounts:
    statement = """
        SELECT count(*) FILTER (WHERE reason IS NULL) AS waiting, count(reason) AS dead,
            min(queued_at) FILTER (WHERE reason IS NULL) AS oldest_at,
            EXISTS (SELECT FROM search_index) AS is_listening,
            EXISTS (SELECT FROM search_index WHERE filled_at IS NULL) OR EXISTS (SELECT FROM reindexed_sources)
                AS is_filling
        FROM deliveries WHERE url_key IS NOT NULL
    """
    found = await fetch_one(conn, DocumentCounts, statement)
    assert found is not None
    return found


async def list_refused(conn: Connection, *, limit: int) -> list[RefusedEntry]:
    statement = f"""
        SELECT article_id, url_key, version, reason, queued_at
        FROM deliveries WHERE {_IS_REFUSED} ORDER BY queued_at DESC LIMIT %(limit)s
    """
    return await fetch_all(conn, RefusedEntry, statement, {"limit": limit})


async def repair_schedules(conn: Connection, *, now: datetime) -> int:
    """Make entries ready that wait for more than a day, as a clock that was ahead wrote it. Returns how many."""
    statement = f"""
        UPDATE deliveries SET ready_at = %(now)s, lease = NULL
        WHERE {_IS_WAITING} AND ready_at > %(now)s::timestamptz + interval '1 day'
    """
    return (await conn.execute(statement, {"now": now})).rowcount
