"""Every statement on the counts of polls; and what else is read of how sources do."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row

from headwater.db import Connection
from headwater.hosts.keys import host_id_of
from headwater.hosts.store.looking import find_host
from headwater.hosts.types import HeldHost
from headwater.polling import store as polling
from headwater.polling.policy import policy_of
from headwater.polling.rows import claimed_feed
from headwater.polling.types import ClaimedFeed, PollingOptions
from headwater.sources.health.types import (
    Bar,
    ComingBack,
    Counting,
    Feed,
    Leader,
    Leaders,
    PausedHost,
    Period,
    PollEvent,
    Queues,
    SourceCursor,
    SourceLine,
    SourcePage,
    SourcesWanted,
    Tally,
    Uptime,
)
from headwater.sources.types import SourceOrder, Suggestion
from headwater.types import SourceId

LEADERS = 10
NOBODY = UUID(int=0)


async def find_counting(conn: Connection) -> Counting:
    """How far polls are counted."""
    async with conn.cursor(row_factory=class_row(Counting)) as cur:
        await cur.execute("SELECT counted_until, ranked_at FROM poll_counting")
        return await cur.fetchone() or Counting(None, None)


async def take_counting(conn: Connection) -> Counting | None:
    """The same, and nobody else counts until the transaction ends; None when somebody does."""
    async with conn.cursor(row_factory=class_row(Counting)) as cur:
        await cur.execute("SELECT counted_until, ranked_at FROM poll_counting FOR UPDATE SKIP LOCKED")
        return await cur.fetchone()


async def count_span(conn: Connection, *, since: datetime, until: datetime) -> None:
    """Count the polls of some hours of one day, and note that they are counted."""
    await conn.execute(
        """
        WITH counted AS MATERIALIZED (
            SELECT source_id, date_trunc('hour', at, 'UTC') AS hour, outcome, count(*) AS polls,
                sum(new_articles) AS new_articles, sum(took_ms) AS took_ms,
                outcome NOT IN ('polled', 'not_modified') AS has_failed
            FROM poll_events
            WHERE at >= %(since)s AND at < %(until)s
            GROUP BY source_id, date_trunc('hour', at, 'UTC'), outcome
        ), by_hour AS (
            INSERT INTO poll_hours (hour, outcome, polls)
            SELECT hour, outcome, sum(polls)
            FROM counted
            GROUP BY hour, outcome
            ON CONFLICT (hour, outcome) DO UPDATE
            SET polls = poll_hours.polls + excluded.polls
        ), by_day AS (
            INSERT INTO poll_days (day, source_id, polls, failures, new_articles, took_ms)
            SELECT (hour AT TIME ZONE 'UTC')::date, source_id, sum(polls),
                coalesce(sum(polls) FILTER (WHERE has_failed), 0), sum(new_articles),
                coalesce(sum(took_ms) FILTER (WHERE NOT has_failed), 0)
            FROM counted
            GROUP BY (hour AT TIME ZONE 'UTC')::date, source_id
            ON CONFLICT (day, source_id) DO UPDATE
            SET polls = poll_days.polls + excluded.polls,
                failures = poll_days.failures + excluded.failures,
                new_articles = poll_days.new_articles + excluded.new_articles,
                took_ms = poll_days.took_ms + excluded.took_ms
        )
        UPDATE poll_counting SET counted_until = %(until)s
        """,
        {"since": since, "until": until},
    )


async def forget_counts(conn: Connection, *, before: datetime) -> None:
    """Forget what was counted before a day."""
    await conn.execute("DELETE FROM poll_hours WHERE hour < %(before)s", {"before": before})
    await conn.execute("DELETE FROM poll_days WHERE day < %(before)s::date", {"before": before})


async def forget_source(conn: Connection, *, source_id: SourceId) -> None:
    """Forget what was counted of a removed source. Waits for a counting that is under way."""
    await conn.execute("SELECT FROM poll_counting FOR UPDATE")
    await conn.execute(
        """
        DELETE FROM poll_days
        WHERE source_id = %(source_id)s AND day = ANY (ARRAY(
            SELECT generate_series(min(kept.day), max(kept.day), interval '1 day')::date FROM poll_days AS kept
        ))
        """,
        {"source_id": source_id},
    )
    await conn.execute("DELETE FROM poll_leaders WHERE source_id = %(source_id)s", {"source_id": source_id})


async def forget_leaders(conn: Connection, *, period: Period) -> None:
    """They are found anew."""
    await conn.execute("DELETE FROM poll_leaders WHERE period = %(period)s", {"period": period})


async def rank(
    conn: Connection, *, period: Period, days_since: date, events_since: datetime, polls_since: datetime
) -> None:
    """Keep who stands out: of whole days from one on, and of single polls from a moment on.

    Exact times are looked up for the forty that are slowest on average: whose usual poll is slow is among them.
    """
    await conn.execute(
        """
        WITH counted AS (
            SELECT source_id, polls, failures, new_articles, took_ms
            FROM poll_days
            WHERE day >= %(days_since)s
            UNION ALL
            SELECT source_id, 1, (outcome NOT IN ('polled', 'not_modified'))::integer, new_articles,
                CASE WHEN outcome IN ('polled', 'not_modified') THEN took_ms ELSE 0 END
            FROM poll_events
            WHERE at >= %(events_since)s
        ), tally AS MATERIALIZED (
            SELECT source_id, sum(polls) AS polls, sum(failures) AS failures, sum(new_articles) AS new_articles,
                sum(took_ms) / nullif(sum(polls) - sum(failures), 0) AS mean_ms
            FROM counted
            GROUP BY source_id
        ), slow AS (
            SELECT source_id, polls, failures, new_articles, median_ms, p95_ms
            FROM (
                SELECT *
                FROM tally
                WHERE mean_ms IS NOT NULL AND EXISTS (SELECT FROM sources WHERE sources.id = tally.source_id)
                ORDER BY mean_ms DESC, source_id
                LIMIT 40
            ) AS candidate
            CROSS JOIN LATERAL (
                SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY poll.took_ms) AS median_ms,
                    percentile_disc(0.95) WITHIN GROUP (ORDER BY poll.took_ms) AS p95_ms
                FROM poll_events AS poll
                WHERE poll.source_id = candidate.source_id
                    AND poll.at >= %(polls_since)s
                    AND poll.outcome IN ('polled', 'not_modified')
            ) AS exact
            WHERE median_ms IS NOT NULL
        ), failing AS (
            SELECT * FROM tally WHERE failures > 0 ORDER BY failures DESC, source_id LIMIT %(limit)s * 2
        ), busy AS (
            SELECT * FROM tally WHERE new_articles > 0 ORDER BY new_articles DESC, source_id LIMIT %(limit)s * 2
        ), placed AS (
            SELECT 'slowest' AS kind, row_number() OVER (ORDER BY median_ms DESC, p95_ms DESC, source_id) AS place,
                source_id, polls, failures, new_articles, median_ms, p95_ms
            FROM slow
            UNION ALL
            SELECT 'failing', row_number() OVER (ORDER BY failures DESC, source_id), source_id, polls, failures,
                new_articles, NULL, NULL
            FROM failing
            WHERE EXISTS (SELECT FROM sources WHERE sources.id = failing.source_id)
            UNION ALL
            SELECT 'busiest', row_number() OVER (ORDER BY new_articles DESC, source_id), source_id, polls, failures,
                new_articles, NULL, NULL
            FROM busy
            WHERE EXISTS (SELECT FROM sources WHERE sources.id = busy.source_id)
        )
        INSERT INTO poll_leaders (period, kind, place, source_id, polls, failures, new_articles, median_ms, p95_ms)
        SELECT %(period)s, kind, place, source_id, polls, failures, new_articles, median_ms, p95_ms
        FROM placed
        WHERE place <= %(limit)s
        """,
        {
            "period": period,
            "days_since": days_since,
            "events_since": events_since,
            "polls_since": polls_since,
            "limit": LEADERS,
        },
    )


async def set_ranked(conn: Connection, *, at: datetime) -> None:
    """Note when the sources were ranked."""
    await conn.execute("UPDATE poll_counting SET ranked_at = %(at)s", {"at": at})


async def list_leaders(conn: Connection, *, period: Period) -> Leaders:
    """Who stood out when that was last looked at."""
    cur = await conn.execute(
        """
        SELECT kind, source_id, name, polls, failures, new_articles, median_ms, p95_ms
        FROM poll_leaders
        JOIN sources ON sources.id = source_id
        WHERE period = %(period)s
        ORDER BY kind, place
        """,
        {"period": period},
    )
    found: dict[str, list[Leader]] = {"slowest": [], "failing": [], "busiest": []}
    for kind, *row in await cur.fetchall():
        found[kind].append(Leader(*row))
    return Leaders(**found)


async def trend(
    conn: Connection, *, since: datetime, step: timedelta, tail_most: timedelta, now: datetime
) -> Sequence[Bar]:
    """How many polls came to what, column by column: what is counted, and what came since, up to a limit."""
    cur = await conn.execute(
        """
        WITH counted AS (
            SELECT hour AS at, outcome, polls
            FROM poll_hours
            WHERE hour >= %(since)s
            UNION ALL
            SELECT date_trunc('hour', at, 'UTC'), outcome, count(*)
            FROM poll_events
            WHERE at >= greatest(%(since)s, coalesce((SELECT counted_until FROM poll_counting), %(earliest)s))
                AND at < coalesce((SELECT counted_until FROM poll_counting), %(earliest)s) + %(tail_most)s
            GROUP BY date_trunc('hour', at, 'UTC'), outcome
        )
        SELECT date_bin(%(step)s, at, %(since)s), outcome, sum(polls)::bigint
        FROM counted
        GROUP BY 1, 2
        ORDER BY 1
        """,
        {"since": since, "step": step, "tail_most": tail_most, "earliest": now - tail_most},
    )
    columns: dict[datetime, dict[str, int]] = {}
    for at, outcome, polls in await cur.fetchall():
        columns.setdefault(at, {})[outcome] = polls
    return [Bar(at, outcomes) for at, outcomes in columns.items()]


async def tally(conn: Connection) -> Sequence[Tally]:
    """How many sources stand where, by reason and category."""
    async with conn.cursor(row_factory=class_row(Tally)) as cur:
        await cur.execute(
            """
            SELECT state, reason, category, count(*) AS sources
            FROM source_health
            GROUP BY state, reason, category
            ORDER BY count(*) DESC, state, reason, category
            """
        )
        return await cur.fetchall()


async def list_paused(conn: Connection, *, now: datetime, limit: int) -> Sequence[PausedHost]:
    """Hosts that are left alone, the first to be asked again first."""
    async with conn.cursor(row_factory=class_row(PausedHost)) as cur:
        await cur.execute(
            """
            SELECT name AS host, paused_until, alike_class AS reason, pauses,
                (SELECT count(*) FROM feed_state WHERE feed_state.host = hosts.name) AS sources
            FROM hosts
            WHERE paused_until > %(now)s
            ORDER BY paused_until, name
            LIMIT %(limit)s
            """,
            {"now": now, "limit": limit},
        )
        return await cur.fetchall()


async def list_coming_back(conn: Connection, *, limit: int) -> Sequence[ComingBack]:
    """Sources that are off for a while, the first to be probed first."""
    async with conn.cursor(row_factory=class_row(ComingBack)) as cur:
        await cur.execute(
            """
            SELECT source_id, name, off_reason AS reason, off_until AS probe_at
            FROM feed_state
            JOIN sources ON sources.id = source_id
            WHERE off_until IS NOT NULL AND off_at IS NOT NULL AND enabled
            ORDER BY off_until, source_id
            LIMIT %(limit)s
            """,
            {"limit": limit},
        )
        return await cur.fetchall()


async def find_queues(conn: Connection, *, now: datetime, most: int) -> Queues:
    """What waits; counted up to a limit, since this is asked for every few seconds."""
    async with conn.cursor(row_factory=class_row(Queues)) as cur:
        await cur.execute(
            """
            SELECT (
                SELECT count(*)
                FROM (
                    SELECT
                    FROM hosts
                    WHERE answered_at IS NOT NULL AND feed_due_at < 'infinity' AND feeds_ready_at <= %(now)s
                    UNION ALL
                    SELECT
                    FROM hosts
                    WHERE answered_at IS NULL AND feed_due_at < 'infinity' AND feeds_ready_at <= %(now)s
                    LIMIT %(most)s
                ) AS ready
            ) AS hosts_ready, (
                SELECT count(*) FROM (SELECT FROM pages LIMIT %(most)s) AS waiting
            ) AS pages_waiting, (
                SELECT count(*) FROM (SELECT FROM outbox WHERE reason IS NULL LIMIT %(most)s) AS waiting
            ) AS outbox_waiting, (
                SELECT count(*) FROM (SELECT FROM outbox WHERE reason IS NOT NULL LIMIT %(most)s) AS dead
            ) AS outbox_dead, urls_pending, urls_failed, urls_dead
            FROM (
                SELECT coalesce(sum(pending), 0)::bigint AS urls_pending,
                    coalesce(sum(failed), 0)::bigint AS urls_failed, coalesce(sum(dead), 0)::bigint AS urls_dead
                FROM frontier_tally
            ) AS frontier
            """,
            {"now": now, "most": most},
        )
        found = await cur.fetchone()
    assert found is not None, "there is always one row"
    return found


async def list_sources(
    conn: Connection, *, wanted: SourcesWanted, after: SourceCursor | None, limit: int
) -> SourcePage:
    """Sources by name, or the latest success first."""
    by_fetch = wanted.order is SourceOrder.LAST_FETCHED
    async with conn.cursor(row_factory=class_row(SourceLine)) as cur:
        await cur.execute(
            """
            SELECT id, name, sort_name, address, feed_url, sitemap_url, ingestion_mode, category, state,
                coalesce(reason, feed_disable_reason) AS reason, last_error,
                next_try(next_try_at, host) AS next_try_at, last_polled_at, last_succeeded_at,
                consecutive_errors, is_system
            FROM source_health
            WHERE (%(state)s::text IS NULL OR state = %(state)s)
                AND (%(reason)s::text IS NULL OR reason = %(reason)s)
                AND (%(category)s::text IS NULL OR coalesce(category, '') = %(category)s)
                AND (%(host)s::text IS NULL OR host = %(host)s)
                AND (%(words)s::text IS NULL OR strpos(lower(name || ' ' || address), lower(%(words)s)) > 0)
                AND (%(fetched_before)s::timestamptz IS NULL OR last_succeeded_at < %(fetched_before)s)
                AND (NOT %(has_errors)s OR consecutive_errors > 0)
                AND (
                    %(after_name)s::text IS NULL
                    OR %(by_fetch)s
                    OR (sort_name, id) > (%(after_name)s, %(after_id)s::uuid)
                )
                AND (
                    %(after_at)s::timestamptz IS NULL
                    OR (coalesce(last_succeeded_at, '-infinity'), id) < (%(after_at)s, %(after_id)s::uuid)
                )
            ORDER BY
                CASE WHEN %(by_fetch)s THEN coalesce(last_succeeded_at, '-infinity') END DESC,
                CASE WHEN %(by_fetch)s THEN id END DESC,
                CASE WHEN NOT %(by_fetch)s THEN sort_name END,
                CASE WHEN NOT %(by_fetch)s THEN id END
            LIMIT %(limit)s + 1
            """,
            {
                "fetched_before": wanted.fetched_before,
                "has_errors": wanted.has_errors,
                "by_fetch": by_fetch,
                "after_at": (after.sort_name or "-infinity") if after and by_fetch else None,
                "state": wanted.state,
                "reason": wanted.reason,
                "category": wanted.category,
                "host": wanted.host,
                "words": wanted.words,
                "after_name": after.sort_name if after else None,
                "after_id": after.id if after else None,
                "limit": limit,
            },
            prepare=False,  # each order has its own plan
        )
        found = await cur.fetchall()
    shown = found[:limit]
    return SourcePage(shown, _cursor_of(shown[-1], by_fetch=by_fetch) if len(found) > limit else None)


def _cursor_of(line: SourceLine, *, by_fetch: bool) -> SourceCursor:
    fetched = line.last_succeeded_at.isoformat() if line.last_succeeded_at else ""
    return SourceCursor(fetched if by_fetch else line.sort_name, line.id)


async def list_categories(conn: Connection) -> Sequence[str]:
    """Every category that a source has."""
    cur = await conn.execute("SELECT DISTINCT category FROM sources WHERE category IS NOT NULL ORDER BY category")
    return [row[0] for row in await cur.fetchall()]


async def find_line(conn: Connection, *, source_id: SourceId) -> SourceLine | None:
    """One source, as the list shows it."""
    async with conn.cursor(row_factory=class_row(SourceLine)) as cur:
        await cur.execute(
            """
            SELECT id, name, sort_name, address, feed_url, sitemap_url, ingestion_mode, category, state,
                coalesce(reason, feed_disable_reason) AS reason, last_error,
                next_try(next_try_at, host) AS next_try_at, last_polled_at, last_succeeded_at,
                consecutive_errors, is_system
            FROM source_health
            WHERE id = %(id)s
            """,
            {"id": source_id},
        )
        return await cur.fetchone()


async def find_claimed(conn: Connection, *, source_id: SourceId) -> ClaimedFeed | None:
    """What a poll of this source would start from, in nobody's hands; None for a source without a feed."""
    row = await polling.find_feed(conn, source_id=source_id)
    if row is None:
        return None
    host = await find_host(conn, name=row.host) or HeldHost(host_id_of(row.host), row.host, 0, 0, None, None)
    return claimed_feed(row, host, NOBODY)


async def find_feed(conn: Connection, *, source_id: SourceId, options: PollingOptions) -> Feed | None:
    """All that the story of a feed rests on; None for a source without one."""
    claimed = await find_claimed(conn, source_id=source_id)
    if claimed is None:
        return None
    next_poll_at, last_polled_at, last_succeeded_at, last_status, is_enabled = await _find_times(
        conn, source_id=source_id
    )
    return Feed(
        state=claimed.state,
        policy=policy_of(claimed.policy or options.policy, options),
        host=claimed.host_state,
        next_poll_at=next_poll_at,
        last_polled_at=last_polled_at,
        last_succeeded_at=last_succeeded_at,
        last_status=last_status,
        is_enabled=is_enabled,
    )


async def _find_times(
    conn: Connection, *, source_id: SourceId
) -> tuple[datetime, datetime | None, datetime | None, int | None, bool]:
    cur = await conn.execute(
        """
        SELECT next_poll_at, last_polled_at, last_succeeded_at, (
            SELECT status FROM poll_events WHERE poll_events.source_id = feed_state.source_id ORDER BY at DESC LIMIT 1
        ), enabled
        FROM feed_state
        JOIN sources ON sources.id = source_id
        WHERE source_id = %(id)s
        """,
        {"id": source_id},
    )
    row = await cur.fetchone()
    assert row is not None, "the feed was there a moment ago, in this transaction"
    return row


async def list_polls(conn: Connection, *, source_id: SourceId, limit: int) -> Sequence[PollEvent]:
    """The last polls of a source, the newest first."""
    async with conn.cursor(row_factory=class_row(PollEvent)) as cur:
        await cur.execute(
            """
            SELECT at, outcome, status, bytes, took_ms, new_articles
            FROM poll_events
            WHERE source_id = %(id)s
            ORDER BY at DESC
            LIMIT %(limit)s
            """,
            {"id": source_id, "limit": limit},
        )
        return await cur.fetchall()


async def find_uptime(conn: Connection, *, source_id: SourceId, period: Period, now: datetime) -> Uptime:
    """How the polls of one source went."""
    cur = await conn.execute(
        """
        SELECT count(*), count(*) FILTER (WHERE outcome NOT IN ('polled', 'not_modified')),
            coalesce(sum(new_articles), 0)::bigint,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY took_ms)
                FILTER (WHERE outcome IN ('polled', 'not_modified'))
        FROM poll_events
        WHERE source_id = %(id)s AND at >= %(since)s
        """,
        {"id": source_id, "since": now - period.length},
    )
    row = await cur.fetchone()
    assert row is not None, "an aggregate is always one row"
    return Uptime(period, *row)


async def list_suggestions(conn: Connection, *, source_id: SourceId) -> Sequence[Suggestion]:
    """Where this source's feed may have gone."""
    async with conn.cursor(row_factory=class_row(Suggestion)) as cur:
        await cur.execute(
            """
            SELECT source_id, name AS source_name, source_suggestions.feed_url, title, entry_count
            FROM source_suggestions
            JOIN sources ON sources.id = source_id
            WHERE source_id = %(id)s
            ORDER BY entry_count DESC, source_suggestions.feed_url
            """,
            {"id": source_id},
        )
        return await cur.fetchall()
