"""Counts of polls by hour, day and source, and the sources that stand out."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Final

from headwater.db import Connection, fetch_one
from headwater.sources.health.types import Bar, Counting, Leader, Period
from headwater.types import SourceId

LEADERS = 10
# At first, counting begins with the hour of the first poll.
_COUNTING: Final = """
    SELECT coalesce(counted_until, (SELECT date_trunc('hour', min(at), 'UTC') FROM poll_events)) AS counted_until,
        ranked_at
    FROM poll_counting
"""


async def find_counting(conn: Connection) -> Counting:
    return await fetch_one(conn, Counting, _COUNTING) or Counting(None, None)


async def take_counting(conn: Connection) -> Counting | None:
    """Locked until the transaction ends; None if another process has locked it."""
    return await fetch_one(conn, Counting, _COUNTING + " FOR UPDATE SKIP LOCKED")


async def count_span(conn: Connection, *, since: datetime, until: datetime) -> None:
    statement = """
        WITH counted AS MATERIALIZED (
            SELECT source_id, date_trunc('hour', at, 'UTC') AS hour, outcome, count(*) AS polls,
                sum(new_articles) AS new_articles, sum(took_ms) AS took_ms,
                outcome NOT IN ('polled', 'not_modified') AS has_failed
            FROM poll_events WHERE at >= %(since)s AND at < %(until)s
            GROUP BY source_id, date_trunc('hour', at, 'UTC'), outcome
        ), by_hour AS (
            INSERT INTO poll_hours (hour, outcome, polls)
            SELECT hour, outcome, sum(polls) FROM counted GROUP BY hour, outcome
            ON CONFLICT (hour, outcome) DO UPDATE SET polls = poll_hours.polls + excluded.polls
        ), by_day AS (
            INSERT INTO poll_days (day, source_id, polls, failures, new_articles, took_ms)
            SELECT (hour AT TIME ZONE 'UTC')::date, source_id, sum(polls),
                coalesce(sum(polls) FILTER (WHERE has_failed), 0), sum(new_articles),
                coalesce(sum(took_ms) FILTER (WHERE NOT has_failed), 0)
            FROM counted GROUP BY (hour AT TIME ZONE 'UTC')::date, source_id
            ON CONFLICT (day, source_id) DO UPDATE
            SET polls = poll_days.polls + excluded.polls, failures = poll_days.failures + excluded.failures,
                new_articles = poll_days.new_articles + excluded.new_articles,
                took_ms = poll_days.took_ms + excluded.took_ms
        ) UPDATE poll_counting SET counted_until = %(until)s
    """
    await conn.execute(statement, {"since": since, "until": until})


async def recount(conn: Connection, *, since: datetime) -> None:
    """Delete the counts from this midnight on: their polls are counted again."""
    await conn.execute("DELETE FROM poll_hours WHERE hour >= %(since)s", {"since": since})
    await conn.execute("DELETE FROM poll_days WHERE day >= (%(since)s AT TIME ZONE 'UTC')::date", {"since": since})
    await conn.execute("UPDATE poll_counting SET counted_until = %(since)s", {"since": since})


async def remove_before(conn: Connection, *, before: datetime) -> None:
    await conn.execute("DELETE FROM poll_hours WHERE hour < %(before)s", {"before": before})
    await conn.execute("DELETE FROM poll_days WHERE day < %(before)s::date", {"before": before})


async def remove_of_source(conn: Connection, *, source_id: SourceId) -> None:
    """Delete the counts of a removed source. Waits for a running count."""
    await conn.execute("SELECT FROM poll_counting FOR UPDATE")
    statement = """
        DELETE FROM poll_days
        WHERE source_id = %(source_id)s AND day = ANY (ARRAY(
            SELECT generate_series(min(kept.day), max(kept.day), interval '1 day')::date FROM poll_days AS kept
        ))
    """
    await conn.execute(statement, {"source_id": source_id})
    await conn.execute("DELETE FROM poll_leaders WHERE source_id = %(source_id)s", {"source_id": source_id})


async def rank(
    conn: Connection, *, period: Period, days_since: date, events_since: datetime, polls_since: datetime
) -> None:
    """Store the ranking of a period: the slowest, most failing and busiest sources, by whole days and single polls.
    Exact times are read for the 40 that are slowest on average: the slowest by median are among them."""
    statement = """
        WITH counted AS (
            SELECT source_id, polls, failures, new_articles, took_ms FROM poll_days WHERE day >= %(days_since)s
            UNION ALL
            SELECT source_id, 1, (outcome NOT IN ('polled', 'not_modified'))::integer, new_articles,
                CASE WHEN outcome IN ('polled', 'not_modified') THEN took_ms ELSE 0 END
            FROM poll_events WHERE at >= %(events_since)s
        ), tally AS MATERIALIZED (
            SELECT source_id, sum(polls) AS polls, sum(failures) AS failures, sum(new_articles) AS new_articles,
                sum(took_ms) / nullif(sum(polls) - sum(failures), 0) AS mean_ms
            FROM counted GROUP BY source_id
        ), slow AS (
            SELECT source_id, polls, failures, new_articles, median_ms, p95_ms
            FROM (
                SELECT * FROM tally
                WHERE mean_ms IS NOT NULL AND EXISTS (SELECT FROM sources WHERE sources.id = tally.source_id)
                ORDER BY mean_ms DESC, source_id LIMIT 40
            ) AS candidate CROSS JOIN LATERAL (
                SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY poll.took_ms) AS median_ms,
                    percentile_disc(0.95) WITHIN GROUP (ORDER BY poll.took_ms) AS p95_ms
                FROM poll_events AS poll
                WHERE poll.source_id = candidate.source_id AND poll.at >= %(polls_since)s
                    AND poll.outcome IN ('polled', 'not_modified')
            ) AS exact WHERE median_ms IS NOT NULL
        ), failing AS (
            SELECT * FROM tally WHERE failures > 0 ORDER BY failures DESC, source_id LIMIT %(limit)s * 2
        ), busy AS (
            SELECT * FROM tally WHERE new_articles > 0 ORDER BY new_articles DESC, source_id LIMIT %(limit)s * 2
        ), placed AS (
            SELECT 'slowest' AS kind, row_number() OVER (ORDER BY median_ms DESC, p95_ms DESC, source_id) AS place,
                source_id, polls, failures, new_articles, median_ms, p95_ms FROM slow
            UNION ALL
            SELECT 'failing', row_number() OVER (ORDER BY failures DESC, source_id), source_id, polls, failures,
                new_articles, NULL, NULL
            FROM failing WHERE EXISTS (SELECT FROM sources WHERE sources.id = failing.source_id)
            UNION ALL
            SELECT 'busiest', row_number() OVER (ORDER BY new_articles DESC, source_id), source_id, polls, failures,
                new_articles, NULL, NULL
            FROM busy WHERE EXISTS (SELECT FROM sources WHERE sources.id = busy.source_id)
        )
        INSERT INTO poll_leaders (period, kind, place, source_id, polls, failures, new_articles, median_ms, p95_ms)
        SELECT %(period)s, kind, place, source_id, polls, failures, new_articles, median_ms, p95_ms
        FROM placed WHERE place <= %(limit)s
    """
    since = {"days_since": days_since, "events_since": events_since, "polls_since": polls_since}
    await conn.execute(statement, {**since, "period": period, "limit": LEADERS})


async def begin_ranking(conn: Connection, *, at: datetime) -> None:
    """Delete the last ranking and store the time of the new one."""
    await conn.execute("DELETE FROM poll_leaders")
    await conn.execute("UPDATE poll_counting SET ranked_at = %(at)s", {"at": at})


async def list_leaders(conn: Connection, *, period: Period) -> dict[str, list[Leader]]:
    statement = """
        SELECT kind, source_id, name, polls, failures, new_articles, median_ms, p95_ms
        FROM poll_leaders JOIN sources ON sources.id = source_id WHERE period = %(period)s
        ORDER BY kind, place
    """
    cur = await conn.execute(statement, {"period": period})
    found: dict[str, list[Leader]] = {"slowest": [], "failing": [], "busiest": []}
    for kind, *row in await cur.fetchall():
        found[kind].append(Leader(*row))
    return found


async def trend(
    conn: Connection, *, since: datetime, step: timedelta, tail_most: timedelta, now: datetime
) -> Sequence[Bar]:
    """Polls by outcome for each bar of the chart: the counted ones, and later ones up to a limit."""
    statement = """
        WITH counted AS (
            SELECT hour AS at, outcome, polls FROM poll_hours WHERE hour >= %(since)s
            UNION ALL
            SELECT date_trunc('hour', at, 'UTC'), outcome, count(*) FROM poll_events
            WHERE at >= greatest(%(since)s, coalesce((SELECT counted_until FROM poll_counting), %(earliest)s))
                AND at < coalesce((SELECT counted_until FROM poll_counting), %(earliest)s) + %(tail_most)s
            GROUP BY date_trunc('hour', at, 'UTC'), outcome
        )
        SELECT date_bin(%(step)s, at, %(since)s), outcome, sum(polls)::bigint FROM counted
        GROUP BY 1, 2 ORDER BY 1
    """
    values = {"since": since, "step": step, "tail_most": tail_most, "earliest": now - tail_most}
    cur = await conn.execute(statement, values)
    columns: dict[datetime, dict[str, int]] = {}
    for at, outcome, polls in await cur.fetchall():
        columns.setdefault(at, {})[outcome] = polls
    return [Bar(at, outcomes) for at, outcomes in columns.items()]


async def write_numbers(conn: Connection, *, days_since: date, events_since: datetime) -> None:
    """Write what the table of sources is sorted by, where it changed: numbers of a week, and readers."""
    statement = """
        WITH counted AS (
            SELECT source_id, polls, failures, new_articles FROM poll_days WHERE day >= %(days_since)s
            UNION ALL
            SELECT source_id, 1, (outcome NOT IN ('polled', 'not_modified'))::integer, new_articles
            FROM poll_events WHERE at >= %(events_since)s
        ), of_week AS (
            SELECT source_id, sum(new_articles)::integer AS articles,
                (sum(failures)::double precision / sum(polls))::real AS error_rate
            FROM counted GROUP BY source_id
        ), of_readers AS (
            SELECT source_id, count(*)::integer AS readers FROM subscriptions GROUP BY source_id
        ), fresh AS (
            SELECT id, coalesce(articles, 0) AS articles, coalesce(error_rate, 0) AS error_rate,
                coalesce(readers, 0) AS readers
            FROM sources LEFT JOIN of_week ON of_week.source_id = id LEFT JOIN of_readers ON of_readers.source_id = id
        )
        UPDATE source_numbers
        SET articles = fresh.articles, error_rate = fresh.error_rate, readers = fresh.readers
        FROM fresh WHERE source_id = fresh.id AND (source_numbers.articles, source_numbers.error_rate,
            source_numbers.readers) IS DISTINCT FROM (fresh.articles, fresh.error_rate, fresh.readers)
    """
    await conn.execute(statement, {"days_since": days_since, "events_since": events_since})
