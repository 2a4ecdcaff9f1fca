"""When a feed is polled next, as users and operators decide."""

from collections.abc import Collection
from datetime import datetime, timedelta

from headwater.db import Connection, fetch_column, fetch_one
from headwater.hosts.store import feeds as feed_hosts
from headwater.hosts.store.due import wake
from headwater.hosts.types import Wake
from headwater.polling.types import Standing
from headwater.types import SourceId


async def schedule_first(
    conn: Connection, *, source_id: SourceId, feed_url: str, host: str, now: datetime, wakes: Collection[Wake] = ()
) -> None:
    """Insert a new feed, due at once, before all others. `wakes`: hosts that this transaction wakes for pages."""
    statement = """
        INSERT INTO feed_state (source_id, feed_url, host, next_poll_at)
        VALUES (%(source_id)s, %(feed_url)s, %(host)s, %(now)s)
    """
    await conn.execute(statement, {"source_id": source_id, "feed_url": feed_url, "host": host, "now": now})
    await wake(conn, host=host, due_at=now, now=now, is_new=True, lifts_pause=True, wakes=wakes)


async def reset_feed(
    conn: Connection, *, source_id: SourceId, feed_url: str, host: str, now: datetime, wakes: Collection[Wake] = ()
) -> None:
    """Enable the feed or change its URL: errors are cleared, and it is due at once."""
    statement = """
        UPDATE feed_state
        SET edits = edits + 1, feed_url = %(feed_url)s, host = %(host)s, next_poll_at = %(now)s, last_polled_at = NULL,
            last_etag = NULL, last_modified = NULL, consecutive_errors = 0, last_error = NULL, last_error_type = NULL,
            streak = 0, streak_class = NULL, permanent_errors = 0, failing_since = NULL, disabled_at = NULL,
            disable_reason = NULL, disabled_until = NULL, times_disabled = 0, disabled_by_operator = false,
            asked_until = NULL, moved_url = NULL, moved_since = NULL, moved_times = 0, adopt_url = NULL,
            last_full_at = NULL, hinted_gap = NULL, skip_hours = NULL, skip_days = NULL
        WHERE source_id = %(source_id)s
    """
    await conn.execute(statement, {"source_id": source_id, "feed_url": feed_url, "host": host, "now": now})
    await wake(conn, host=host, due_at=now, now=now, is_new=True, lifts_pause=True, wakes=wakes)


async def reschedule(
    conn: Connection, *, source_id: SourceId, next_poll_at: datetime, now: datetime, wakes: Collection[Wake] = ()
) -> None:
    """Set the next poll; a later time is not overwritten by a poll that is under way. `wakes` as above."""
    statement = """
        UPDATE feed_state SET next_poll_at = %(next_poll_at)s,
            edits = edits + CASE WHEN %(next_poll_at)s::timestamptz > %(now)s THEN 1 ELSE 0 END
        WHERE source_id = %(source_id)s RETURNING host
    """
    hosts = await fetch_column(conn, statement, {"source_id": source_id, "next_poll_at": next_poll_at, "now": now})
    for host in hosts:
        await wake(conn, host=host, due_at=next_poll_at, now=now, lifts_pause=next_poll_at <= now, wakes=wakes)


async def disable(conn: Connection, *, source_id: SourceId, at: datetime, reason: str, until: datetime | None) -> None:
    """Disable the feed; `reschedule` sets its next poll."""
    statement = """
        UPDATE feed_state
        SET edits = edits + 1, disabled_at = %(at)s, disable_reason = %(reason)s, disabled_until = %(until)s,
            times_disabled = 1, disabled_by_operator = true
        WHERE source_id = %(source_id)s
    """
    await conn.execute(statement, {"source_id": source_id, "at": at, "reason": reason, "until": until})


async def clear_errors(conn: Connection, *, source_id: SourceId) -> None:
    """Clear the errors of the feed; whether it is disabled, and its next poll, stay."""
    statement = """
        UPDATE feed_state
        SET edits = edits + 1, consecutive_errors = 0, last_error = NULL, last_error_type = NULL, streak = 0,
            streak_class = NULL, permanent_errors = 0, failing_since = NULL
        WHERE source_id = %(source_id)s
    """
    await conn.execute(statement, {"source_id": source_id})


async def apply_interval(conn: Connection, *, source_id: SourceId, interval: timedelta, now: datetime) -> None:
    """A working feed is due as soon as its new interval has passed since the last poll."""
    statement = """
        UPDATE feed_state SET edits = edits + 1,
            next_poll_at = least(
                next_poll_at, greatest(%(now)s, last_polled_at + greatest(%(interval)s::interval, hinted_gap))
            )
        WHERE source_id = %(source_id)s
            AND last_polled_at IS NOT NULL AND disabled_at IS NULL AND consecutive_errors = 0
            AND next_poll_at < '9999-01-01'
        RETURNING host
    """
    hosts = await fetch_column(conn, statement, {"source_id": source_id, "interval": interval, "now": now})
    await feed_hosts.bring_forward(conn, hosts=hosts)


async def disabled_until(conn: Connection, *, source_id: SourceId) -> tuple[bool, datetime | None]:
    """Whether the feed is disabled, and until when; None if only a user can enable it."""
    statement = "SELECT disabled_at IS NOT NULL, disabled_until FROM feed_state WHERE source_id = %(source_id)s"
    cur = await conn.execute(statement, {"source_id": source_id})
    return await cur.fetchone() or (False, None)


async def delay_until(conn: Connection, *, source_id: SourceId, until: datetime) -> None:
    """Delay a new feed whose site sent Retry-After before the feed was added again."""
    await conn.execute(
        "UPDATE feed_state SET asked_until = %(until)s, next_poll_at = %(until)s WHERE source_id = %(source_id)s",
        {"source_id": source_id, "until": until},
    )


async def find_standing(conn: Connection, *, source_id: SourceId) -> Standing | None:
    statement = """
        SELECT disabled_at, disable_reason, disabled_until, disabled_by_operator, asked_until, paused_until
        FROM feed_state
        LEFT JOIN hosts USING (shard, host_id)
        WHERE source_id = %(source_id)s
    """
    return await fetch_one(conn, Standing, statement, {"source_id": source_id})
