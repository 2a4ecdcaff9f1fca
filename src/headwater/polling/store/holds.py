"""Every statement on `feed_holds`: decisions about a feed that outlive its source."""

from datetime import datetime

from headwater.db import Connection, fetch_one
from headwater.polling.types import Hold
from headwater.types import SourceId


async def keep_hold(conn: Connection, *, source_id: SourceId, now: datetime) -> None:
    """Remember what an operator or the site decided about a feed whose source is about to be deleted."""
    await conn.execute(
        """
        INSERT INTO feed_holds (feed_url_key, is_switched_off, off_at, off_reason, off_until, asked_until)
        SELECT *
        FROM (
            SELECT feed_url_key, disabled_by_operator AS is_switched_off,
                CASE WHEN by_operator THEN off_at END AS off_at, CASE WHEN by_operator THEN off_reason END,
                CASE WHEN by_operator THEN off_until END,
                CASE WHEN asked_until > %(now)s THEN asked_until END AS asked_until
            FROM sources
            JOIN feed_state ON feed_state.source_id = sources.id
            CROSS JOIN LATERAL (
                SELECT off_by_operator AND (off_until IS NULL OR off_until > %(now)s) AS by_operator
            ) AS decided
            WHERE sources.id = %(source_id)s
        ) AS held
        WHERE is_switched_off OR off_at IS NOT NULL OR asked_until IS NOT NULL
        ON CONFLICT (feed_url_key) DO UPDATE
        SET is_switched_off = excluded.is_switched_off, off_at = excluded.off_at, off_reason = excluded.off_reason,
            off_until = excluded.off_until, asked_until = excluded.asked_until
        """,
        {"source_id": source_id, "now": now},
    )


async def take_hold(conn: Connection, *, feed_url_key: bytes) -> Hold | None:
    """Delete and return the hold of a feed, for its new source."""
    return await fetch_one(
        conn,
        Hold,
        """
        DELETE FROM feed_holds
        WHERE feed_url_key = %(key)s
        RETURNING is_switched_off, off_at, off_reason, off_until, asked_until
        """,
        {"key": feed_url_key},
    )


async def forget_holds(conn: Connection, *, now: datetime) -> None:
    """Delete holds that have ended."""
    await conn.execute(
        """
        DELETE FROM feed_holds
        WHERE NOT is_switched_off AND (off_at IS NULL OR off_until <= %(now)s)
            AND (asked_until IS NULL OR asked_until <= %(now)s)
        """,
        {"now": now},
    )
