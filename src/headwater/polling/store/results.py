"""Writing the results of polls."""

from collections.abc import Sequence
from datetime import datetime

from headwater.db import Connection, fetch_column, fetch_value
from headwater.hosts.keys import host_key
from headwater.hosts.store import feeds as feed_hosts
from headwater.polling.store.rows import json_of
from headwater.polling.types import ClaimedFeed, PollReport
from headwater.types import SourceId
from headwater.urls import url_key


async def write_results(conn: Connection, *, reports: Sequence[PollReport]) -> set[SourceId]:
    """Write the results of polls; their hosts are released next. A source that was added without a name, and has its
    host's, gets the title of its feed. Returns the feeds whose state was not changed: the lease was lost, or a user
    changed the feed meanwhile.

    One statement, so that the rows are sent and read once; its parts do not see what the others write.
    """
    statement = """
        WITH answer AS MATERIALIZED (
            SELECT *
            FROM jsonb_to_recordset(%(rows)s::jsonb) AS answer (
                source_id uuid, shard smallint, host_id bigint, lease uuid, edits integer, at timestamptz,
                next_poll_at timestamptz, outcome text,
                bytes integer, took_ms integer, status smallint, etag text, last_modified text, item_count integer,
                mean_gap interval, last_new_at timestamptz, last_full_at timestamptz, new_links integer,
                new_articles integer, consecutive_errors integer, last_error text, last_error_type text,
                streak integer, streak_class text, permanent_errors integer, failing_since timestamptz,
                disabled_at timestamptz, disable_reason text, disabled_until timestamptz, times_disabled integer,
                disabled_by_operator boolean, asked_until timestamptz, moved_url text,
                moved_since timestamptz, moved_times integer, adopt_url text, needs_rediscovery boolean,
                is_outage boolean, hinted_gap interval, skip_hours smallint[], skip_days smallint[], title text
            )
        ), scheduled AS (
            UPDATE feed_state SET next_poll_at = a.next_poll_at,
                last_polled_at = CASE WHEN a.is_outage THEN last_polled_at ELSE a.at END,
                last_succeeded_at = CASE
                    WHEN a.outcome IN ('polled', 'not_modified') THEN a.at ELSE last_succeeded_at
                END, last_etag = a.etag, last_modified = a.last_modified,
                last_item_count = coalesce(a.item_count, last_item_count),
                article_count = article_count + coalesce(a.new_links, 0),
                consecutive_errors = coalesce(a.consecutive_errors, 0),
                last_error = a.last_error, last_error_type = a.last_error_type,
                streak = coalesce(a.streak, 0), streak_class = a.streak_class,
                permanent_errors = coalesce(a.permanent_errors, 0), failing_since = a.failing_since,
                disabled_at = a.disabled_at, disable_reason = a.disable_reason, disabled_until = a.disabled_until,
                times_disabled = coalesce(a.times_disabled, 0),
                disabled_by_operator = coalesce(a.disabled_by_operator, false),
                asked_until = CASE
                    WHEN a.outcome IN ('polled', 'not_modified') THEN NULL
                    ELSE greatest(feed_state.asked_until, a.asked_until)
                END,
                moved_url = a.moved_url, moved_since = a.moved_since, moved_times = coalesce(a.moved_times, 0),
                adopt_url = a.adopt_url,
                needs_rediscovery = feed_state.needs_rediscovery OR coalesce(a.needs_rediscovery, false),
                mean_gap = a.mean_gap, last_new_at = a.last_new_at, last_full_at = a.last_full_at,
                hinted_gap = a.hinted_gap, skip_hours = a.skip_hours, skip_days = a.skip_days
            FROM answer AS a
            JOIN hosts ON hosts.shard = a.shard AND hosts.host_id = a.host_id AND hosts.lease = a.lease
            WHERE feed_state.source_id = a.source_id AND feed_state.edits = a.edits
            RETURNING feed_state.source_id, feed_state.host
        ), marked AS (
            UPDATE sources
            SET feed_disabled_at = a.disabled_at, feed_disable_reason = a.disable_reason,
                name = CASE WHEN name = scheduled.host THEN coalesce(a.title, name) ELSE name END
            FROM answer AS a
            JOIN scheduled USING (source_id)
            WHERE sources.id = a.source_id
                AND (
                    (feed_disabled_at, feed_disable_reason) IS DISTINCT FROM (a.disabled_at, a.disable_reason)
                    OR (name = scheduled.host AND a.title <> name)
                )
        ), logged AS (
            INSERT INTO poll_events (source_id, at, outcome, status, bytes, took_ms, new_articles)
            SELECT a.source_id, a.at, a.outcome, a.status, a.bytes, a.took_ms, coalesce(a.new_articles, 0)
            FROM answer AS a
            JOIN sources ON sources.id = a.source_id
        )
        SELECT source_id FROM answer WHERE source_id NOT IN (SELECT source_id FROM scheduled)
    """
    skipped = await fetch_column(conn, statement, {"rows": json_of(reports)})
    return set(skipped)


async def put_off(conn: Connection, *, feed: ClaimedFeed, until: datetime, host: str, now: datetime) -> None:
    """Poll the feed later, without a result; a disabled feed waits for the end of its cooldown as before. If `host`, to
    which it redirects, is paused, the feed fails from now on, without a count, as the feeds of that host do."""
    statement = """
        UPDATE feed_state SET next_poll_at = %(until)s,
            failing_since = CASE WHEN paused.kind IS NULL THEN failing_since ELSE coalesce(failing_since, %(now)s) END,
            last_error = CASE WHEN paused.kind IS NULL THEN last_error ELSE coalesce(last_error, %(error)s) END,
            last_error_type = coalesce(last_error_type, paused.kind)
        FROM (
            SELECT (
                SELECT coalesce(failure_class, 'unexpected') FROM hosts
                WHERE shard = %(shard)s AND host_id = %(host_id)s AND paused_until > %(now)s
            ) AS kind
        ) AS paused
        WHERE source_id = %(source_id)s AND edits = %(edits)s AND disabled_at IS NULL
    """
    error = f"It redirects to {host}, which is paused because it fails."
    values = {"source_id": feed.source_id, "edits": feed.edits, "until": until, "now": now, "error": error}
    await conn.execute(statement, {**values, **host_key(host)})


async def find_existing(conn: Connection, *, source_ids: Sequence[SourceId]) -> set[SourceId]:
    """Those of these sources that exist; they are not deleted before this transaction ends."""
    if not source_ids:
        return set()
    statement = "SELECT id FROM sources WHERE id = ANY (%(ids)s) ORDER BY id FOR KEY SHARE"
    return set(await fetch_column(conn, statement, {"ids": list(source_ids)}))


async def find_working_hosts(conn: Connection, *, hosts: Sequence[str]) -> set[str]:
    """Which of these hosts have a feed whose last poll succeeded."""
    statement = """
        SELECT host FROM unnest(%(hosts)s::text[]) AS given (host)
        WHERE EXISTS (
            SELECT FROM feed_state
            WHERE feed_state.host = given.host AND last_full_at IS NOT NULL AND consecutive_errors = 0
                AND disabled_at IS NULL
        )
    """
    return set(await fetch_column(conn, statement, {"hosts": list(hosts)}))


async def reenable(conn: Connection, *, source_ids: Sequence[SourceId], reason: str, next_poll_at: datetime) -> None:
    """Enable feeds that were disabled for this reason by mistake, as if those polls had not happened."""
    statement = """
        WITH taken_back AS (
            UPDATE feed_state
            SET edits = edits + 1, disabled_at = NULL, disable_reason = NULL, disabled_until = NULL,
                times_disabled = 0, asked_until = NULL, consecutive_errors = 0, streak = 0, streak_class = NULL,
                permanent_errors = 0, failing_since = NULL, last_error = NULL, last_error_type = NULL,
                next_poll_at = CASE WHEN enabled THEN %(next_poll_at)s ELSE next_poll_at END
            FROM sources
            WHERE source_id = ANY (%(source_ids)s) AND disable_reason = %(reason)s
                AND NOT feed_state.disabled_by_operator AND sources.id = source_id
            RETURNING source_id, host
        ), marked AS (
            UPDATE sources SET feed_disabled_at = NULL, feed_disable_reason = NULL FROM taken_back
            WHERE sources.id = taken_back.source_id
        )
        SELECT host FROM taken_back
    """
    hosts = await fetch_column(
        conn, statement, {"source_ids": list(source_ids), "reason": reason, "next_poll_at": next_poll_at}
    )
    await feed_hosts.bring_forward(conn, hosts=hosts)


async def add_count(conn: Connection, *, source_id: SourceId, articles: int) -> None:
    statement = "UPDATE feed_state SET article_count = article_count + %(articles)s WHERE source_id = %(source_id)s"
    await conn.execute(statement, {"source_id": source_id, "articles": articles})


async def find_blocked_domain(conn: Connection, *, source_id: SourceId, host: str) -> str | None:
    """The blocked domain that a host belongs to, for a source that was approved from a user's suggestion. Sources of
    operators, and private ones of users, are not moderated."""
    labels = host.split(".")
    statement = """
        SELECT domain FROM blocked_domains WHERE domain = ANY(%(domains)s::text[])
            AND EXISTS (
                SELECT FROM sources WHERE id = %(id)s AND moderation_status = 'approved' AND NOT is_system
            )
        ORDER BY length(domain) LIMIT 1
    """
    return await fetch_value(
        conn, statement, {"id": source_id, "domains": [".".join(labels[start:]) for start in range(len(labels))]}
    )


async def leads_to_rejected(conn: Connection, *, source_id: SourceId, url: str) -> bool:
    """Whether a redirect of a source that was approved from a user's suggestion leads to a rejected suggestion."""
    statement = """
        SELECT EXISTS (
            SELECT FROM sources AS rejected JOIN sources AS mine ON mine.id = %(id)s
            WHERE rejected.feed_url_key = %(key)b AND rejected.moderation_status = 'rejected'
                AND NOT rejected.is_system AND mine.moderation_status = 'approved' AND NOT mine.is_system
        )
    """
    return await fetch_value(conn, statement, {"id": source_id, "key": url_key(url)})


async def is_of_user(conn: Connection, *, source_id: SourceId) -> bool:
    """Whether a user added this source, not an operator."""
    statement = "SELECT NOT is_system FROM sources WHERE id = %(id)s"
    return bool(await fetch_value(conn, statement, {"id": source_id}))
