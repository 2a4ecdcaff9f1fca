"""The state of sources, hosts and queues, for the operators' pages."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_rows
from headwater.hosts.keys import host_id_of
from headwater.hosts.store.turns import find_host
from headwater.hosts.types import HeldHost
from headwater.polling.policy import policy_of
from headwater.polling.store import claims as feed_claims
from headwater.polling.store.rows import claimed_feed
from headwater.polling.types import ClaimedFeed, PollingOptions
from headwater.sources.health.types import ComingBack, FeedHealth, PausedHost, Period, PollEvent, Queues, Tally, Uptime
from headwater.types import SourceId

NO_WORKER = UUID(int=0)


async def tally(conn: Connection) -> Sequence[Tally]:
    statement = """
        SELECT state, reason, category, count(*) AS sources FROM source_health
        GROUP BY state, reason, category ORDER BY count(*) DESC, state, reason, category
    """
    return await fetch_all(conn, Tally, statement)


async def list_paused(conn: Connection, *, now: datetime, limit: int) -> Sequence[PausedHost]:
    statement = """
        SELECT name AS host, paused_until, failure_class AS reason, pauses,
            (SELECT count(*) FROM feed_state WHERE feed_state.host = hosts.name) AS sources
        FROM hosts WHERE paused_until > %(now)s ORDER BY paused_until, name LIMIT %(limit)s
    """
    return await fetch_all(conn, PausedHost, statement, {"now": now, "limit": limit})


async def list_coming_back(conn: Connection, *, limit: int) -> Sequence[ComingBack]:
    statement = """
        SELECT source_id, name, disable_reason AS reason, disabled_until AS probe_at
        FROM feed_state JOIN sources ON sources.id = source_id
        WHERE disabled_until IS NOT NULL AND disabled_at IS NOT NULL AND enabled
        ORDER BY disabled_until, source_id LIMIT %(limit)s
    """
    return await fetch_all(conn, ComingBack, statement, {"limit": limit})


async def find_queues(conn: Connection, *, now: datetime, most: int) -> Queues:
    """Sizes of the queues, counted up to a limit, since pages refresh every few seconds."""
    statement = """
        SELECT (
            SELECT count(*) FROM (
                SELECT FROM hosts
                WHERE answered_at IS NOT NULL AND feed_due_at < 'infinity' AND feeds_ready_at <= %(now)s
                UNION ALL
                SELECT FROM hosts
                WHERE answered_at IS NULL AND feed_due_at < 'infinity' AND feeds_ready_at <= %(now)s
                LIMIT %(most)s
            ) AS ready
        ) AS hosts_ready, (SELECT count(*) FROM (SELECT FROM bodies LIMIT %(most)s) AS waiting) AS pages_waiting, (
            SELECT count(*) FROM (
                SELECT FROM deliveries WHERE url_key IS NOT NULL AND reason IS NULL LIMIT %(most)s
            ) AS waiting
        ) AS documents_waiting, urls_pending, urls_failed, urls_dead
        FROM (
            SELECT coalesce(sum(pending), 0)::bigint AS urls_pending,
                coalesce(sum(failed), 0)::bigint AS urls_failed, coalesce(sum(dead), 0)::bigint AS urls_dead
            FROM frontier_tally
        ) AS frontier
    """
    found = await fetch_one(conn, Queues, statement, {"now": now, "most": most})
    assert found is not None, "there is always one row"
    return found


async def list_categories(conn: Connection) -> Sequence[str]:
    statement = "SELECT DISTINCT category FROM sources WHERE category IS NOT NULL ORDER BY category"
    return await fetch_column(conn, statement)


async def find_claimed(conn: Connection, *, source_id: SourceId) -> ClaimedFeed | None:
    """The state that a poll of this source would start from, without a lease; None for a source without a feed."""
    row = await feed_claims.find_feed(conn, source_id=source_id)
    if row is None:
        return None
    host = await find_host(conn, name=row.host) or HeldHost(host_id_of(row.host), row.host, 0, 0, None, None)
    return claimed_feed(row, host, NO_WORKER)


async def find_feed(conn: Connection, *, source_id: SourceId, options: PollingOptions) -> FeedHealth | None:
    """What the page of a source shows of its feed; None for a source without one."""
    claimed = await find_claimed(conn, source_id=source_id)
    if claimed is None:
        return None
    statement = """
        SELECT next_poll_at, last_polled_at, (
            SELECT status FROM poll_events WHERE poll_events.source_id = feed_state.source_id ORDER BY at DESC LIMIT 1
        ) AS last_status, enabled AS is_enabled
        FROM feed_state JOIN sources ON sources.id = source_id WHERE source_id = %(id)s
    """
    (times,) = await fetch_rows(conn, statement, {"id": source_id})
    policy = policy_of(claimed.policy or options.policy, options)
    return FeedHealth(state=claimed.state, policy=policy, host=claimed.host_state, **times)


async def list_polls(conn: Connection, *, source_id: SourceId, limit: int) -> Sequence[PollEvent]:
    statement = """
        SELECT at, outcome, status, bytes, took_ms, new_articles FROM poll_events
        WHERE source_id = %(id)s ORDER BY at DESC LIMIT %(limit)s
    """
    return await fetch_all(conn, PollEvent, statement, {"id": source_id, "limit": limit})


async def find_uptime(conn: Connection, *, source_id: SourceId, period: Period, now: datetime) -> Uptime:
    statement = """
        SELECT count(*), count(*) FILTER (WHERE outcome NOT IN ('polled', 'not_modified')),
            coalesce(sum(new_articles), 0)::bigint,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY took_ms) FILTER (WHERE outcome IN ('polled', 'not_modified'))
        FROM poll_events WHERE source_id = %(id)s AND at >= %(since)s
    """
    cur = await conn.execute(statement, {"id": source_id, "since": now - period.length})
    row = await cur.fetchone()
    assert row is not None, "an aggregate is always one row"
    return Uptime(period, *row)
