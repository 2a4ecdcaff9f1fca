"""Deletion of old polls, and repair after a clock that was ahead."""

from datetime import datetime

from headwater.db import Connection
from headwater.types import SourceId


async def delete_events(conn: Connection, *, before: datetime, limit: int) -> int:
    statement = """
        DELETE FROM poll_events
        WHERE ctid IN (SELECT ctid FROM poll_events WHERE at < %(before)s LIMIT %(limit)s)
    """
    cur = await conn.execute(statement, {"before": before, "limit": limit})
    return cur.rowcount


async def delete_events_of(conn: Connection, *, source_id: SourceId, limit: int) -> int:
    statement = """
        DELETE FROM poll_events
        WHERE ctid = ANY(ARRAY(SELECT ctid FROM poll_events WHERE source_id = %(source_id)s LIMIT %(limit)s))
            AND source_id = %(source_id)s
    """
    cur = await conn.execute(statement, {"source_id": source_id, "limit": limit})
    return cur.rowcount


async def repair_schedules(conn: Connection, *, now: datetime, latest: datetime) -> int:
    """Make due what a clock that was ahead scheduled: what waits beyond `latest`, and what was polled in the future.

    Feeds that only a user can enable are not changed, and NULL stays NULL, unlike with `least`. Returns how many feeds.
    """
    feeds = """
        UPDATE feed_state SET next_poll_at = CASE
                WHEN next_poll_at >= '9999-01-01' THEN next_poll_at
                WHEN next_poll_at > %(latest)s THEN %(now)s
                WHEN last_polled_at > %(now)s::timestamptz + interval '1 hour' THEN %(now)s
                ELSE next_poll_at
            END,
            disabled_until = CASE
                WHEN disabled_until > %(latest)s OR disabled_at > %(now)s::timestamptz + interval '1 hour' THEN %(now)s
                ELSE disabled_until
            END, disabled_at = CASE WHEN disabled_at > %(now)s THEN %(now)s ELSE disabled_at END,
            asked_until = CASE WHEN asked_until <= %(latest)s THEN asked_until END,
            last_polled_at = CASE WHEN last_polled_at > %(now)s THEN %(now)s ELSE last_polled_at END,
            last_succeeded_at = CASE WHEN last_succeeded_at > %(now)s THEN %(now)s ELSE last_succeeded_at END,
            last_new_at = CASE WHEN last_new_at > %(now)s THEN %(now)s ELSE last_new_at END,
            last_full_at = CASE WHEN last_full_at > %(now)s THEN %(now)s ELSE last_full_at END,
            failing_since = CASE WHEN failing_since > %(now)s THEN %(now)s ELSE failing_since END,
            moved_since = CASE WHEN moved_since > %(now)s THEN %(now)s ELSE moved_since END
        WHERE (next_poll_at > %(latest)s AND next_poll_at < '9999-01-01')
            OR asked_until > %(latest)s
            OR greatest(
                disabled_at, last_polled_at, last_succeeded_at, last_new_at, last_full_at, failing_since, moved_since
            ) > %(now)s::timestamptz + interval '1 hour'
    """
    cur = await conn.execute(feeds, {"now": now, "latest": latest})
    sources = """
        UPDATE sources SET feed_disabled_at = %(now)s
        WHERE feed_disabled_at > %(now)s::timestamptz + interval '1 hour'
    """
    await conn.execute(sources, {"now": now})
    return cur.rowcount
