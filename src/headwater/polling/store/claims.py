"""Claiming due feeds, each with its host, and what is waiting."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value
from headwater.hosts.outage import KNOWN_FOR
from headwater.hosts.store import feeds as feed_hosts
from headwater.hosts.store import turns
from headwater.polling.store.rows import ClaimRow, claimed_feed
from headwater.polling.types import ClaimedFeed
from headwater.types import SourceId, UserId

FEED: Final = """
    feed_state.source_id, feed_state.feed_url, feed_state.host, policy, feed_poll_interval_minutes AS own_minutes,
    min_delay_ms, last_etag, last_modified, consecutive_errors, streak, streak_class, permanent_errors, failing_since,
    disabled_at, disable_reason, disabled_until, times_disabled, feed_state.disabled_by_operator, moved_url,
    moved_since, moved_times, mean_gap, last_new_at, last_full_at, last_error, last_error_type, hinted_gap, skip_hours,
    skip_days, edits, submitted_by, is_system
"""

# Ready hosts, by the two indexes for them.
_IS_READY: Final = "feed_due_at < 'infinity' AND feeds_ready_at <= %(now)s"
_NEW: Final = f"SELECT name, free_at, feeds_ready_at FROM hosts WHERE answered_at IS NULL AND {_IS_READY}"
_ANSWERING: Final = f"SELECT name, free_at, feeds_ready_at FROM hosts WHERE answered_at IS NOT NULL AND {_IS_READY}"


async def claim(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, limit: int, new_limit: int | None = None
) -> Sequence[ClaimedFeed]:
    """Claim up to `limit` ready hosts, and one due feed of each: a new one first, then the one that is due longest.

    At most `new_limit` of them are hosts that never answered, unless no others are ready. A host without a due feed
    is released.
    """
    new_limit = limit if new_limit is None else min(limit, new_limit)
    held = await feed_hosts.claim(
        conn, lease=lease, now=now, leased_until=leased_until, limit=limit, new_limit=new_limit
    )
    if not held:
        return []
    due = {row.host: row for row in await _list_due(conn, hosts=[host.name for host in held], now=now)}
    if idle := [host for host in held if host.name not in due]:
        await feed_hosts.release_idle(conn, lease=lease, hosts=idle)
    return [claimed_feed(due[host.name], host, lease) for host in held if host.name in due]


async def _list_due(conn: Connection, *, hosts: Sequence[str], now: datetime) -> Sequence[ClaimRow]:
    statement = f"""
        SELECT {FEED}
        FROM unnest(%(hosts)s::text[]) AS held (host)
        CROSS JOIN LATERAL (
            (
                SELECT source_id FROM feed_state
                WHERE feed_state.host = held.host AND last_polled_at IS NULL AND next_poll_at <= %(now)s LIMIT 1
            )
            UNION ALL
            (
                SELECT source_id FROM feed_state WHERE feed_state.host = held.host AND next_poll_at <= %(now)s
                ORDER BY next_poll_at LIMIT 1
            )
            LIMIT 1
        ) AS due
        JOIN feed_state ON feed_state.source_id = due.source_id
        JOIN sources ON sources.id = due.source_id
    """
    return await fetch_all(conn, ClaimRow, statement, {"hosts": list(hosts), "now": now})


async def list_due_of_others(
    conn: Connection, *, now: datetime, readers: Sequence[UserId], limit: int
) -> Sequence[SourceId]:
    """Due feeds that none of these users added, one for each of some ready hosts, the longest ready first."""
    statement = f"""
        SELECT feed.source_id
        FROM ({_ANSWERING} UNION ALL {_NEW}) AS ready
        CROSS JOIN LATERAL (
            SELECT source_id
            FROM feed_state
            JOIN sources ON sources.id = source_id
            WHERE feed_state.host = ready.name AND next_poll_at <= %(now)s
                AND (submitted_by IS NULL OR submitted_by <> ALL(%(readers)s::uuid[]))
            ORDER BY next_poll_at LIMIT 1
        ) AS feed
        ORDER BY feeds_ready_at LIMIT %(limit)s
    """
    return await fetch_column(conn, statement, {"now": now, "readers": list(readers), "limit": limit})


async def list_probes(conn: Connection, *, now: datetime, limit: int) -> Sequence[SourceId]:
    """Feeds, due or not, whose polls show whether our own network works: one for each of some hosts known to answer.

    A host counts as known for so long after its last answer, measured from the last answer of any host: during a long
    outage no host answers. One host of each site is chosen, the site that was asked longest ago first, so that one
    owner's thousand dead hosts do not hide other sites. A site is two labels here, which is close enough.
    """
    statement = """
        WITH known AS MATERIALIZED (
            SELECT name AS host, not_before, substring(name FROM '[^.]+(?:\\.[^.]+)?$') AS site,
                (lease IS NULL OR free_at <= %(now)s) AND greatest(not_before, paused_until) <= %(now)s AS is_free
            FROM hosts
            WHERE feed_due_at < 'infinity' AND answered_at >= (
                SELECT least(max(answered_at), %(now)s::timestamptz) - %(known_for)s::interval FROM hosts
            )
        ), chosen AS (
            SELECT DISTINCT ON (known.site) known.site, feed.source_id
            FROM known
            JOIN (
                SELECT DISTINCT ON (host) host, source_id FROM feed_state
                WHERE disabled_at IS NULL AND next_poll_at < '9999-01-01'
                    AND (asked_until IS NULL OR asked_until <= %(now)s)
                ORDER BY host, next_poll_at
            ) AS feed USING (host)
            WHERE is_free ORDER BY known.site, known.not_before
        )
        SELECT source_id
        FROM chosen
        JOIN (SELECT site, max(not_before) AS asked_at FROM known GROUP BY site) AS sites USING (site)
        ORDER BY asked_at, source_id LIMIT %(limit)s
    """
    return await fetch_column(conn, statement, {"now": now, "known_for": KNOWN_FOR, "limit": limit})


async def claim_one(
    conn: Connection, *, source_id: SourceId, lease: UUID, now: datetime, leased_until: datetime
) -> ClaimedFeed | None:
    """Claim this feed, due or not; None while its host is held or within its delay."""
    found = await find_feed(conn, source_id=source_id)
    if found is None:
        return None
    held = await turns.take(conn, host=found.host, lease=lease, now=now, leased_until=leased_until, through_pause=True)
    return claimed_feed(found, held, lease) if held else None


async def find_feed(conn: Connection, *, source_id: SourceId) -> ClaimRow | None:
    statement = f"""
        SELECT {FEED}
        FROM feed_state
        JOIN sources ON sources.id = feed_state.source_id
        WHERE feed_state.source_id = %(source_id)s
    """
    return await fetch_one(conn, ClaimRow, statement, {"source_id": source_id})


async def oldest_due_at(conn: Connection, *, now: datetime) -> datetime | None:
    """Since when the oldest due feed of a ready host has been waiting; delays, pauses and leases do not count.

    A host whose last feed was deleted may still be ready. Hosts with a new feed are ready since '-infinity', and must
    not hide those that have been waiting for longer.
    """
    statement = f"""
        SELECT min(greatest(free_at, due.next_poll_at))
        FROM (
            ({_NEW} AND feeds_ready_at = '-infinity' LIMIT 100)
            UNION ALL ({_ANSWERING} AND feeds_ready_at = '-infinity' LIMIT 100)
            UNION ALL ({_NEW} AND feeds_ready_at > '-infinity' ORDER BY feeds_ready_at LIMIT 100)
            UNION ALL ({_ANSWERING} AND feeds_ready_at > '-infinity' ORDER BY feeds_ready_at LIMIT 100)
        ) AS ready
        CROSS JOIN LATERAL (
            SELECT next_poll_at FROM feed_state WHERE feed_state.host = ready.name ORDER BY next_poll_at LIMIT 1
        ) AS due
        WHERE due.next_poll_at <= %(now)s
    """
    return await fetch_value(conn, statement, {"now": now})
