"""What incidents are evaluated by: the state of feeds, stages and queues, read from all packages' tables."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from psycopg.types.json import Jsonb

from headwater.ai import store as ai
from headwater.ai.decide import month_of
from headwater.alerts.types import (
    BudgetFact,
    ChannelFact,
    Facts,
    FactSample,
    FeedCounts,
    FeedFact,
    StageFact,
    Thresholds,
)
from headwater.bodies import store as bodies
from headwater.channels.overview import list_overviews
from headwater.channels.types import ChannelOverview
from headwater.db import Connection, fetch_all, fetch_column, fetch_row, fetch_value
from headwater.hosts.store.outages import list_outages
from headwater.hosts.store.pages import next_ready_at
from headwater.hosts.store.status import find_busy
from headwater.types import PageKind

LISTED = 1000  # disabled or critical feeds; the others are only counted
PAGE_STAGES = {"extracting": PageKind.ARTICLE, "sitemaps": PageKind.SITEMAP, "spider": PageKind.LIST}
# Pauses that are worth an alert: those for 429 only after several in a row.
_IS_PAUSED: Final = """
    paused_until IS NOT NULL AND (failure_class IS DISTINCT FROM 'rate_limited' OR pauses > %(most_refusals)s)
"""
# A feed that is due does not count as failing: after a pause all feeds of a host are due, and polled within minutes.
_IS_FAILING: Final = "failing_since < %(failed_before)s AND next_poll_at > %(now)s"
_PAUSED: Final = f"""
    WITH paused AS MATERIALIZED (
        SELECT name AS host, failure_class,
            (SELECT min(failing_since) FROM feed_state WHERE feed_state.host = hosts.name) AS since
        FROM hosts WHERE {_IS_PAUSED}
    )
"""
_FEEDS: Final = """
    consecutive_errors AS errors, paused.host, paused.failure_class AS paused_for
    FROM sources
    JOIN feed_state ON feed_state.source_id = sources.id
    LEFT JOIN paused ON paused.host = feed_state.host
"""


async def read_facts(conn: Connection, *, now: datetime, limits: Thresholds) -> Facts:
    values = {
        "most_refusals": limits.critical_errors, "failed_before": now - limits.no_success, "now": now, "limit": LISTED
    }  # fmt: skip
    return Facts(
        sample=FactSample(now, await _stages(conn, now=now), await _queues(conn)),
        counts=await _count_feeds(conn, values),
        disabled=await _disabled(conn, values),
        critical=[*await _critical(conn, values), *await _critical_sites(conn, values)],
        outages=await list_outages(conn, now=now),
        budget=await _budget(conn, now=now),
        channels=[_channel(one) for one in await list_overviews(conn, now=now)],
    )


def _channel(found: ChannelOverview) -> ChannelFact:
    channel, counts = found.channel, found.counts
    return ChannelFact(
        channel.id, channel.name, channel.is_paused, channel.delivered, counts.waiting, counts.refused,
        counts.oldest_waiting_at, channel.failed_since, channel.reason,
    )  # fmt: skip


async def _budget(conn: Connection, *, now: datetime) -> BudgetFact:
    budget = await ai.read_budget(conn, month=month_of(now), ceiling_micros=0)  # the ceiling is not read
    return BudgetFact(budget.spent_micros, budget.reached_at)


async def _count_feeds(conn: Connection, values: Mapping[str, object]) -> FeedCounts:
    statement = f"""
        SELECT state, count(*), count(*) FILTER (WHERE is_system AND has_feed), count(*) FILTER (
                WHERE is_system AND has_feed
                    AND (NOT enabled OR feed_disabled_at IS NOT NULL OR ({_IS_PAUSED}) OR ({_IS_FAILING}))
            )
        FROM source_health LEFT JOIN feed_state ON feed_state.source_id = source_health.id
        LEFT JOIN hosts USING (shard, host_id) GROUP BY state
    """
    rows = await (await conn.execute(statement, values)).fetchall()
    return FeedCounts({row[0]: row[1] for row in rows}, sum(row[2] for row in rows), sum(row[3] for row in rows))


async def _disabled(conn: Connection, values: Mapping[str, object]) -> list[FeedFact]:
    """System feeds that are disabled, failing or on a paused host; there they fail since the first of them did."""
    statement = f"""
        {_PAUSED}
        SELECT id, name,
            coalesce(feed_disabled_at, CASE WHEN NOT enabled THEN coalesce(inactive_since, sources.updated_at) END)
                AS disabled_at,
            coalesce(feed_disable_reason, CASE WHEN NOT enabled THEN 'is_active: false' END) AS reason,
            least(failing_since, paused.since) AS failing_since, {_FEEDS}
        WHERE is_system
            AND (feed_disabled_at IS NOT NULL OR NOT enabled OR paused.host IS NOT NULL OR ({_IS_FAILING}))
        ORDER BY disabled_at, failing_since, id LIMIT %(limit)s
    """
    return await fetch_all(conn, FeedFact, statement, values)


async def _critical(conn: Connection, values: Mapping[str, object]) -> list[FeedFact]:
    statement = f"""
        {_PAUSED}
        SELECT id, name, feed_disabled_at AS disabled_at, feed_disable_reason AS reason,
            CASE WHEN paused.host IS NOT NULL OR next_poll_at > %(now)s THEN least(failing_since, paused.since) END
                AS failing_since, {_FEEDS}
        WHERE is_critical AND enabled
        ORDER BY (paused.host IS NOT NULL) DESC, consecutive_errors DESC, failing_since NULLS LAST, id
        LIMIT %(limit)s
    """
    return await fetch_all(conn, FeedFact, statement, values)


async def _critical_sites(conn: Connection, values: Mapping[str, object]) -> list[FeedFact]:
    """Critical sources without a feed that fail: none of their start pages can be fetched."""
    statement = """
        SELECT sources.id, sources.name, start.failing_since
        FROM sources
        JOIN source_health ON source_health.id = sources.id
        CROSS JOIN LATERAL (
            SELECT min(coalesce(failing_since, last_fetched_at, discovered_at)) AS failing_since
            FROM frontier_url WHERE frontier_url.source_id = sources.id AND parent_url IS NULL
        ) AS start
        WHERE is_critical AND sources.enabled AND NOT has_feed AND state = 'failing'
        ORDER BY start.failing_since, sources.id LIMIT %(limit)s
    """
    return await fetch_all(conn, FeedFact, statement, values)


async def _stages(conn: Connection, *, now: datetime) -> dict[str, StageFact]:
    """Since when each stage has due work. Moving and rediscovery are not included: they are not urgent."""
    kinds = "SELECT DISTINCT kind FROM bodies WHERE lease IS NOT NULL AND ready_at > %(now)s"
    busy = {*await find_busy(conn, now=now), *await fetch_column(conn, kinds, {"now": now})}
    # Not `oldest_due_at` of polling, which reads the next host only: a new one comes before all others.
    statement = """
        SELECT min(greatest(free_at, next_poll_at)) FROM hosts JOIN feed_state USING (shard, host_id)
        WHERE feed_due_at < 'infinity' AND free_at <= %(now)s AND next_poll_at <= %(now)s
    """
    found = {"polling": StageFact(await fetch_value(conn, statement, {"now": now}), "polling" in busy)}
    ready_at = await next_ready_at(conn)
    found["fetching"] = StageFact(ready_at if ready_at and ready_at <= now else None, "fetching" in busy)
    for stage, kind in PAGE_STAGES.items():
        found[stage] = StageFact(await bodies.oldest_ready_at(conn, kind=kind, now=now), kind.value in busy)
    classifying = """
        SELECT (SELECT min(classify_at) FROM article_state WHERE classify_at <= %(now)s),
            EXISTS (SELECT FROM article_state WHERE classify_at > %(now)s AND classify_lease IS NOT NULL)
    """
    found["classifying"] = StageFact(*await fetch_row(conn, classifying, {"now": now}) or ())
    stories = """
        SELECT (SELECT classified_at FROM article_state WHERE story_due ORDER BY article_id LIMIT 1),
            EXISTS (SELECT FROM story_state WHERE leased_until > %(now)s)
    """
    found["stories"] = StageFact(*await fetch_row(conn, stories, {"now": now}) or ())
    # A destination that fails is an incident of its channel, not of the stage.
    delivering = """
        SELECT min(greatest(ready_at, oldest.queued_at)) FILTER (WHERE ready_at <= %(now)s AND failures = 0),
            coalesce(bool_or(lease IS NOT NULL AND ready_at > %(now)s), false)
        FROM channels
        CROSS JOIN LATERAL (
            SELECT queued_at FROM deliveries
            WHERE channel_id = channels.id AND revision > channels.settled_to
                AND delivered_at IS NULL AND reason IS NULL
            ORDER BY revision LIMIT 1
        ) AS oldest
        WHERE NOT is_paused
    """
    found["delivering"] = StageFact(*await fetch_row(conn, delivering, {"now": now}) or ())
    # Retention is due once a day; while it runs, `due_at` is the end of its lease.
    retention = """
        SELECT CASE WHEN due_at <= %(now)s THEN due_at END, lease IS NOT NULL AND due_at > %(now)s
        FROM retention_state
    """
    found["retaining"] = StageFact(*await fetch_row(conn, retention, {"now": now}) or ())
    return found


async def _queues(conn: Connection) -> dict[str, int]:
    statement = """
        SELECT jsonb_build_object(
            'frontier', (SELECT greatest(coalesce(sum(pending), 0), 0)::bigint FROM frontier_tally),
            'bodies', (SELECT count(*) FROM bodies),
            'documents', (SELECT count(*) FROM deliveries WHERE url_key IS NOT NULL AND reason IS NULL)
        )
    """
    return await fetch_value(conn, statement)


async def try_lock(conn: Connection) -> bool:
    """Lock evaluation until the transaction ends; False if another process evaluates."""
    return await fetch_value(conn, "SELECT pg_try_advisory_xact_lock(hashtext('alerting'))")


async def evaluated_at(conn: Connection) -> datetime | None:
    return await fetch_value(conn, "SELECT evaluated_at FROM alert_state")


async def save(conn: Connection, *, facts: Facts) -> None:
    statement = """
        WITH seen AS (
            INSERT INTO alert_samples (at, stages, queues)
            VALUES (%(at)s, %(facts)s::jsonb -> 'sample' -> 'stages', %(facts)s::jsonb -> 'sample' -> 'queues')
            ON CONFLICT (at) DO NOTHING
        )
        UPDATE alert_state SET evaluated_at = %(at)s, facts = %(facts)s
    """
    await conn.execute(statement, {"at": facts.sample.at, "facts": Jsonb(msgspec.to_builtins(facts))})


async def find_last(conn: Connection) -> tuple[Facts | None, Mapping[str, int]]:
    statement = """
        SELECT facts, (
            SELECT coalesce(jsonb_object_agg(condition, incidents), '{}')
            FROM (SELECT condition, count(*) AS incidents FROM incidents WHERE ended_at IS NULL GROUP BY condition)
                AS counted
        )
        FROM alert_state WHERE evaluated_at IS NOT NULL
    """
    row = await fetch_row(conn, statement)
    return (msgspec.convert(row[0], Facts), row[1]) if row else (None, {})


async def list_samples(conn: Connection, *, after: datetime) -> list[FactSample]:
    statement = "SELECT at, stages, queues FROM alert_samples WHERE at >= %(after)s ORDER BY at"
    cur = await conn.execute(statement, {"after": after})
    return [FactSample(row[0], msgspec.convert(row[1], dict[str, StageFact]), row[2]) for row in await cur.fetchall()]


async def remove_old(conn: Connection, *, samples_before: datetime, incidents_before: datetime) -> None:
    await conn.execute("DELETE FROM alert_samples WHERE at < %(before)s", {"before": samples_before})
    await conn.execute("DELETE FROM incidents WHERE ended_at < %(before)s", {"before": incidents_before})
    statement = """
        DELETE FROM incident_messages WHERE sent_at < %(before)s
            AND NOT EXISTS (SELECT FROM incident_notices WHERE message_id = incident_messages.id)
    """
    await conn.execute(statement, {"before": incidents_before})


async def repair_schedules(conn: Connection, *, now: datetime) -> None:
    """Set times that a clock wrote while it was ahead to now: they would suppress alerts or keep incidents open."""
    await conn.execute(
        """
        WITH repaired AS (
            UPDATE incidents SET since = least(since, %(now)s), began_at = least(began_at, %(now)s),
                last_held_at = least(last_held_at, %(now)s),
                ended_at = CASE WHEN ended_at IS NOT NULL THEN least(ended_at, %(now)s) END
            WHERE greatest(since, began_at, last_held_at, ended_at) > %(now)s::timestamptz + interval '1 hour'
        ), removed AS (DELETE FROM alert_samples WHERE at > %(now)s::timestamptz + interval '1 hour')
        UPDATE alert_state SET evaluated_at = NULL WHERE evaluated_at > %(now)s::timestamptz + interval '1 hour'
        """,
        {"now": now},
    )
    messages = """
        UPDATE incident_messages
        SET made_at = %(now)s, sent_at = CASE WHEN sent_at IS NOT NULL THEN least(sent_at, %(now)s) END
        WHERE made_at > %(now)s::timestamptz + interval '1 hour'
    """
    await conn.execute(messages, {"now": now})
    unsent = """
        UPDATE incident_messages SET ready_at = %(now)s
        WHERE sent_at IS NULL AND ready_at > %(now)s::timestamptz + interval '1 day'
    """
    await conn.execute(unsent, {"now": now})
