"""Every statement on `feed_state`."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from headwater.db import Connection
from headwater.polling.types import ClaimedFeed, Plan, Validators
from headwater.types import SourceId


async def schedule_first(conn: Connection, *, source_id: SourceId, feed_url: str, now: datetime) -> None:
    """A new feed is due at once."""
    await conn.execute(
        """
        INSERT INTO feed_state (source_id, feed_url, next_poll_at)
        VALUES (%(source_id)s, %(feed_url)s, %(now)s)
        """,
        {"source_id": source_id, "feed_url": feed_url, "now": now},
    )


async def schedule_now(conn: Connection, *, source_id: SourceId, now: datetime) -> None:
    """Somebody wants this feed polled at once."""
    await conn.execute(
        "UPDATE feed_state SET next_poll_at = %(now)s WHERE source_id = %(source_id)s",
        {"source_id": source_id, "now": now},
    )


async def claim(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, limit: int
) -> Sequence[ClaimedFeed]:
    """Take up to `limit` due feeds, the longest due first. No other worker gets them before the lease ends."""
    async with conn.cursor(row_factory=class_row(ClaimedFeed)) as cur:
        await cur.execute(
            """
            WITH due AS MATERIALIZED (
                SELECT source_id
                FROM feed_state
                WHERE next_poll_at <= %(now)s
                    AND (leased_until IS NULL OR leased_until <= %(now)s)
                ORDER BY next_poll_at
                LIMIT %(limit)s
                FOR UPDATE SKIP LOCKED
            )
            UPDATE feed_state
            SET lease = %(lease)s, leased_until = %(leased_until)s
            FROM due
            WHERE feed_state.source_id = due.source_id
            RETURNING feed_state.source_id, feed_url, lease, next_poll_at, last_etag, last_modified, consecutive_errors
            """,
            {"lease": lease, "now": now, "leased_until": leased_until, "limit": limit},
        )
        return await cur.fetchall()


async def claim_one(
    conn: Connection, *, source_id: SourceId, lease: UUID, now: datetime, leased_until: datetime
) -> ClaimedFeed | None:
    """Take this feed, due or not; None while another worker polls it."""
    async with conn.cursor(row_factory=class_row(ClaimedFeed)) as cur:
        await cur.execute(
            """
            UPDATE feed_state
            SET lease = %(lease)s, leased_until = %(leased_until)s
            WHERE source_id = %(source_id)s
                AND (leased_until IS NULL OR leased_until <= %(now)s)
            RETURNING source_id, feed_url, lease, next_poll_at, last_etag, last_modified, consecutive_errors
            """,
            {"source_id": source_id, "lease": lease, "now": now, "leased_until": leased_until},
        )
        return await cur.fetchone()


async def answer(
    conn: Connection,
    *,
    feed: ClaimedFeed,
    plan: Plan,
    validators: Validators,
    item_count: int | None,
    new_links: int,
    now: datetime,
) -> bool:
    """Write a poll's outcome and give the feed back. False when the lease was lost, and nothing was written."""
    cur = await conn.execute(
        """
        UPDATE feed_state
        SET next_poll_at = %(next_poll_at)s,
            lease = NULL,
            leased_until = NULL,
            last_polled_at = %(now)s,
            last_succeeded_at = CASE WHEN %(last_error)s::text IS NULL THEN %(now)s ELSE last_succeeded_at END,
            last_etag = %(etag)s,
            last_modified = %(last_modified)s,
            last_item_count = coalesce(%(item_count)s, last_item_count),
            article_count = article_count + %(new_links)s,
            consecutive_errors = %(consecutive_errors)s,
            last_error = %(last_error)s,
            last_error_type = %(last_error_type)s
        WHERE source_id = %(source_id)s AND lease = %(lease)s
        """,
        {
            "source_id": feed.source_id,
            "lease": feed.lease,
            "now": now,
            "etag": validators.etag,
            "last_modified": validators.last_modified,
            "item_count": item_count,
            "new_links": new_links,
            "next_poll_at": plan.next_poll_at,
            "consecutive_errors": plan.consecutive_errors,
            "last_error": plan.last_error,
            "last_error_type": plan.last_error_type,
        },
    )
    return cur.rowcount == 1


async def oldest_due_at(conn: Connection, *, now: datetime) -> datetime | None:
    """Since when the longest-waiting due feed has been waiting."""
    cur = await conn.execute(
        """
        SELECT next_poll_at
        FROM feed_state
        WHERE next_poll_at <= %(now)s
            AND (leased_until IS NULL OR leased_until <= %(now)s)
        ORDER BY next_poll_at
        LIMIT 1
        """,
        {"now": now},
    )
    row = await cur.fetchone()
    return row[0] if row else None
