"""Every statement on `feed_state` and `poll_events`, and on what polling may change of `sources`."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row

from headwater.db import Connection
from headwater.hosts.store import feeds as feed_hosts
from headwater.hosts.store import turns
from headwater.hosts.store.waking import wake_for_feed
from headwater.polling.rows import Answer, ClaimRow, claimed_feed, json_of
from headwater.polling.types import ClaimedFeed, Hold, LostFeed, MovedFeed, Standing
from headwater.types import SourceId, UserId

FEED = """
    feed_state.source_id, feed_state.feed_url, feed_state.host, policy, feed_poll_interval_minutes AS own_minutes,
    min_delay_ms, last_etag, last_modified, consecutive_errors, streak, streak_class, permanent_errors, failing_since,
    off_at, off_reason, off_until, off_times, off_by_operator, moved_url, moved_since, moved_times, mean_gap,
    last_new_at, last_full_at, last_error, last_error_type, wished_gap, skip_hours, skip_days, edits,
    submitted_by
"""


async def schedule_first(conn: Connection, *, source_id: SourceId, feed_url: str, host: str, now: datetime) -> None:
    """A new feed is due at once, before all others."""
    await conn.execute(
        """
        INSERT INTO feed_state (source_id, feed_url, host, next_poll_at)
        VALUES (%(source_id)s, %(feed_url)s, %(host)s, %(now)s)
        """,
        {"source_id": source_id, "feed_url": feed_url, "host": host, "now": now},
    )
    await wake_for_feed(conn, host=host, due_at=now, now=now, is_new=True, lifts_pause=True)


async def start_over(conn: Connection, *, source_id: SourceId, feed_url: str, host: str, now: datetime) -> None:
    """Somebody enabled the feed or changed its URL: what was held against it is forgotten, and it is due at once."""
    await conn.execute(
        """
        UPDATE feed_state
        SET edits = edits + 1, feed_url = %(feed_url)s, host = %(host)s, next_poll_at = %(now)s, last_polled_at = NULL,
            last_etag = NULL, last_modified = NULL, consecutive_errors = 0, last_error = NULL, last_error_type = NULL,
            streak = 0, streak_class = NULL, permanent_errors = 0, failing_since = NULL, off_at = NULL,
            off_reason = NULL, off_until = NULL, off_times = 0, off_by_operator = false, asked_until = NULL,
            moved_url = NULL, moved_since = NULL, moved_times = 0, adopt_url = NULL,
            last_full_at = NULL, wished_gap = NULL, skip_hours = NULL, skip_days = NULL
        WHERE source_id = %(source_id)s
        """,
        {"source_id": source_id, "feed_url": feed_url, "host": host, "now": now},
    )
    await wake_for_feed(conn, host=host, due_at=now, now=now, is_new=True, lifts_pause=True)


async def claim(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, limit: int, new_limit: int | None = None
) -> Sequence[ClaimedFeed]:
    """Take up to `limit` ready hosts, and of each the feed that is due: never-polled ones first, then the longest due.

    At most `new_limit` of them are hosts that never answered, unless no others are ready. Nobody else gets a claimed
    host before the lease ends. A host with nothing due goes back to sleep.
    """
    new_limit = limit if new_limit is None else min(limit, new_limit)
    held = await feed_hosts.claim(
        conn, lease=lease, now=now, leased_until=leased_until, limit=limit, new_limit=new_limit
    )
    if not held:
        return []
    due = {row.host: row for row in await _list_due(conn, hosts=[host.name for host in held], now=now)}
    if idle := [host for host in held if host.name not in due]:
        await feed_hosts.sleep(conn, lease=lease, hosts=idle)
    return [claimed_feed(due[host.name], host, lease) for host in held if host.name in due]


async def _list_due(conn: Connection, *, hosts: Sequence[str], now: datetime) -> Sequence[ClaimRow]:
    async with conn.cursor(row_factory=class_row(ClaimRow)) as cur:
        await cur.execute(
            f"""
            SELECT {FEED}
            FROM unnest(%(hosts)s::text[]) AS held (host)
            CROSS JOIN LATERAL (
                (
                    SELECT source_id
                    FROM feed_state
                    WHERE feed_state.host = held.host AND last_polled_at IS NULL AND next_poll_at <= %(now)s
                    LIMIT 1
                )
                UNION ALL
                (
                    SELECT source_id
                    FROM feed_state
                    WHERE feed_state.host = held.host AND next_poll_at <= %(now)s
                    ORDER BY next_poll_at
                    LIMIT 1
                )
                LIMIT 1
            ) AS due
            JOIN feed_state ON feed_state.source_id = due.source_id
            JOIN sources ON sources.id = due.source_id
            """,
            {"hosts": list(hosts), "now": now},
        )
        return await cur.fetchall()


async def list_due_of_others(
    conn: Connection, *, now: datetime, readers: Sequence[UserId], limit: int
) -> Sequence[SourceId]:
    """Due feeds that none of these readers brought, one for each of some ready hosts, the longest ready first."""
    cur = await conn.execute(
        """
        SELECT feed.source_id
        FROM (
            SELECT name, feeds_ready_at
            FROM hosts
            WHERE answered_at IS NOT NULL AND feed_due_at < 'infinity' AND feeds_ready_at <= %(now)s
            UNION ALL
            SELECT name, feeds_ready_at
            FROM hosts
            WHERE answered_at IS NULL AND feed_due_at < 'infinity' AND feeds_ready_at <= %(now)s
        ) AS ready
        CROSS JOIN LATERAL (
            SELECT source_id
            FROM feed_state
            JOIN sources ON sources.id = source_id
            WHERE feed_state.host = ready.name
                AND next_poll_at <= %(now)s
                AND (submitted_by IS NULL OR submitted_by <> ALL(%(readers)s::uuid[]))
            ORDER BY next_poll_at
            LIMIT 1
        ) AS feed
        ORDER BY feeds_ready_at
        LIMIT %(limit)s
        """,
        {"now": now, "readers": list(readers), "limit": limit},
    )
    return [row[0] for row in await cur.fetchall()]


async def list_probes(conn: Connection, *, now: datetime, known_for: timedelta, limit: int) -> Sequence[SourceId]:
    """Feeds, due or not, that tell whether our own network works: one for each of some hosts known to answer.

    A host counts as known for so long after its last answer, reckoned from the last answer of any host: during a long
    outage nobody answers. One host of each site is chosen, and the sites that were asked longest ago come first: one
    owner's thousand dead hosts keep no other site from being asked. Two labels are a site here, which is close enough.
    """
    cur = await conn.execute(
        """
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
                SELECT DISTINCT ON (host) host, source_id
                FROM feed_state
                WHERE off_at IS NULL
                    AND next_poll_at < '9999-01-01'
                    AND (asked_until IS NULL OR asked_until <= %(now)s)
                ORDER BY host, next_poll_at
            ) AS feed USING (host)
            WHERE is_free
            ORDER BY known.site, known.not_before
        )
        SELECT source_id
        FROM chosen
        JOIN (SELECT site, max(not_before) AS asked_at FROM known GROUP BY site) AS sites USING (site)
        ORDER BY asked_at, source_id
        LIMIT %(limit)s
        """,
        {"now": now, "known_for": known_for, "limit": limit},
    )
    return [row[0] for row in await cur.fetchall()]


async def claim_one(
    conn: Connection, *, source_id: SourceId, lease: UUID, now: datetime, leased_until: datetime
) -> ClaimedFeed | None:
    """Take this feed, due or not; None while its host is held by another worker or inside its delay."""
    found = await find_feed(conn, source_id=source_id)
    if found is None:
        return None
    held = await turns.take(conn, host=found.host, lease=lease, now=now, leased_until=leased_until, through_pause=True)
    return claimed_feed(found, held, lease) if held else None


async def find_feed(conn: Connection, *, source_id: SourceId) -> ClaimRow | None:
    """What is known of a feed; None where there is none."""
    async with conn.cursor(row_factory=class_row(ClaimRow)) as cur:
        await cur.execute(
            f"""
            SELECT {FEED}
            FROM feed_state
            JOIN sources ON sources.id = feed_state.source_id
            WHERE feed_state.source_id = %(source_id)s
            """,
            {"source_id": source_id},
        )
        return await cur.fetchone()


async def answer(conn: Connection, *, answers: Sequence[Answer]) -> set[SourceId]:
    """Write what polls came to; their hosts are given back next. Returns the feeds whose state was left as it is: the
    lease was lost, or somebody changed the feed meanwhile.

    One statement, so that the rows are sent and read once; its parts do not see what the others write.
    """
    cur = await conn.execute(
        """
        WITH answer AS MATERIALIZED (
            SELECT *
            FROM jsonb_to_recordset(%(rows)s::jsonb) AS answer (
                source_id uuid, shard smallint, host_id bigint, lease uuid, edits integer, at timestamptz,
                next_poll_at timestamptz, outcome text,
                bytes integer, took_ms integer, status smallint, etag text, last_modified text, item_count integer,
                mean_gap interval, last_new_at timestamptz, last_full_at timestamptz, new_links integer,
                new_articles integer, consecutive_errors integer, last_error text, last_error_type text,
                streak integer, streak_class text, permanent_errors integer, failing_since timestamptz,
                off_at timestamptz, off_reason text, off_until timestamptz, off_times integer,
                off_by_operator boolean, asked_until timestamptz, moved_url text,
                moved_since timestamptz, moved_times integer, adopt_url text, wants_discovery boolean,
                is_outage boolean, wished_gap interval, skip_hours smallint[], skip_days smallint[]
            )
        ), scheduled AS (
            UPDATE feed_state
            SET next_poll_at = a.next_poll_at,
                last_polled_at = CASE WHEN a.is_outage THEN last_polled_at ELSE a.at END,
                last_succeeded_at = CASE
                    WHEN a.outcome IN ('polled', 'not_modified') THEN a.at
                    ELSE last_succeeded_at
                END,
                last_etag = a.etag,
                last_modified = a.last_modified,
                last_item_count = coalesce(a.item_count, last_item_count),
                article_count = article_count + coalesce(a.new_links, 0),
                consecutive_errors = coalesce(a.consecutive_errors, 0),
                last_error = a.last_error,
                last_error_type = a.last_error_type,
                streak = coalesce(a.streak, 0),
                streak_class = a.streak_class,
                permanent_errors = coalesce(a.permanent_errors, 0),
                failing_since = a.failing_since,
                off_at = a.off_at,
                off_reason = a.off_reason,
                off_until = a.off_until,
                off_times = coalesce(a.off_times, 0),
                off_by_operator = coalesce(a.off_by_operator, false),
                asked_until = CASE
                    WHEN a.outcome IN ('polled', 'not_modified') THEN NULL
                    ELSE greatest(feed_state.asked_until, a.asked_until)
                END,
                moved_url = a.moved_url,
                moved_since = a.moved_since,
                moved_times = coalesce(a.moved_times, 0),
                adopt_url = a.adopt_url,
                wants_discovery = feed_state.wants_discovery OR coalesce(a.wants_discovery, false),
                mean_gap = a.mean_gap,
                last_new_at = a.last_new_at,
                last_full_at = a.last_full_at,
                wished_gap = a.wished_gap,
                skip_hours = a.skip_hours,
                skip_days = a.skip_days
            FROM answer AS a
            JOIN hosts ON hosts.shard = a.shard AND hosts.host_id = a.host_id AND hosts.lease = a.lease
            WHERE feed_state.source_id = a.source_id AND feed_state.edits = a.edits
            RETURNING feed_state.source_id
        ), marked AS (
            UPDATE sources
            SET feed_disabled_at = a.off_at, feed_disable_reason = a.off_reason
            FROM answer AS a
            JOIN scheduled USING (source_id)
            WHERE sources.id = a.source_id
                AND (feed_disabled_at, feed_disable_reason) IS DISTINCT FROM (a.off_at, a.off_reason)
        ), remembered AS (
            INSERT INTO poll_events (source_id, at, outcome, status, bytes, took_ms, new_articles)
            SELECT a.source_id, a.at, a.outcome, a.status, a.bytes, a.took_ms, coalesce(a.new_articles, 0)
            FROM answer AS a
            JOIN sources ON sources.id = a.source_id
        )
        SELECT source_id FROM answer WHERE source_id NOT IN (SELECT source_id FROM scheduled)
        """,
        {"rows": json_of(answers)},
    )
    return {row[0] for row in await cur.fetchall()}


async def put_off(conn: Connection, *, feed: ClaimedFeed, until: datetime) -> None:
    """The feed is asked for later, as if nothing had happened; one that is off waits for its end as before."""
    await conn.execute(
        """
        UPDATE feed_state
        SET next_poll_at = %(until)s
        WHERE source_id = %(source_id)s AND edits = %(edits)s AND off_at IS NULL
        """,
        {"source_id": feed.source_id, "edits": feed.edits, "until": until},
    )


async def find_blocked_domain(conn: Connection, *, source_id: SourceId, host: str) -> str | None:
    """The blocked domain that a host belongs to, for a source that was approved from a reader's suggestion.

    Sources of operators, and what readers follow for themselves alone, are not moderated.
    """
    labels = host.split(".")
    cur = await conn.execute(
        """
        SELECT domain
        FROM blocked_domains
        WHERE domain = ANY(%(domains)s::text[])
            AND EXISTS (
                SELECT FROM sources WHERE id = %(id)s AND moderation_status = 'approved' AND NOT is_system
            )
        ORDER BY length(domain)
        LIMIT 1
        """,
        {"id": source_id, "domains": [".".join(labels[start:]) for start in range(len(labels))]},
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def still_followed(conn: Connection, *, source_ids: Sequence[SourceId]) -> set[SourceId]:
    """Those of these sources that are there, and stay until this transaction ends."""
    if not source_ids:
        return set()
    cur = await conn.execute(
        "SELECT id FROM sources WHERE id = ANY (%(ids)s) ORDER BY id FOR KEY SHARE", {"ids": list(source_ids)}
    )
    return {row[0] for row in await cur.fetchall()}


async def take_back(conn: Connection, *, source_ids: Sequence[SourceId], reason: str, next_poll_at: datetime) -> None:
    """Feeds that went off for this reason, and should not have: as if those polls had never been."""
    cur = await conn.execute(
        """
        WITH taken_back AS (
            UPDATE feed_state
            SET edits = edits + 1, off_at = NULL, off_reason = NULL, off_until = NULL, off_times = 0,
                asked_until = NULL, consecutive_errors = 0, streak = 0, streak_class = NULL, permanent_errors = 0,
                failing_since = NULL,
                last_error = NULL, last_error_type = NULL,
                next_poll_at = CASE WHEN enabled THEN %(next_poll_at)s ELSE next_poll_at END
            FROM sources
            WHERE source_id = ANY (%(source_ids)s) AND off_reason = %(reason)s AND NOT off_by_operator
                AND sources.id = source_id
            RETURNING source_id, host
        ), marked AS (
            UPDATE sources
            SET feed_disabled_at = NULL, feed_disable_reason = NULL
            FROM taken_back
            WHERE sources.id = taken_back.source_id
        )
        SELECT host FROM taken_back
        """,
        {"source_ids": list(source_ids), "reason": reason, "next_poll_at": next_poll_at},
    )
    await feed_hosts.stay_awake(conn, hosts=[row[0] for row in await cur.fetchall()])


async def list_moved(conn: Connection, *, limit: int) -> Sequence[MovedFeed]:
    """Feeds that are to get another URL."""
    async with conn.cursor(row_factory=class_row(MovedFeed)) as cur:
        await cur.execute(
            "SELECT source_id, adopt_url AS url FROM feed_state WHERE adopt_url IS NOT NULL LIMIT %(limit)s",
            {"limit": limit},
        )
        return await cur.fetchall()


async def is_moving(conn: Connection, *, moved: MovedFeed) -> bool:
    """Whether the feed is still to get this URL; nobody says otherwise before this transaction ends."""
    cur = await conn.execute(
        """
        SELECT adopt_url = %(url)s
        FROM sources
        JOIN feed_state ON source_id = sources.id
        WHERE sources.id = %(source_id)s
        FOR UPDATE
        """,
        {"source_id": moved.source_id, "url": moved.url},
    )
    row = await cur.fetchone()
    return row is not None and bool(row[0])


async def adopt(conn: Connection, *, source_id: SourceId, feed_url: str, host: str, now: datetime) -> None:
    """The feed has another URL from now on; what is known of it stays."""
    cur = await conn.execute(
        """
        UPDATE feed_state
        SET edits = edits + 1, feed_url = %(feed_url)s, host = %(host)s, adopt_url = NULL, moved_url = NULL,
            moved_since = NULL, moved_times = 0
        WHERE source_id = %(source_id)s
        RETURNING next_poll_at
        """,
        {"source_id": source_id, "feed_url": feed_url, "host": host},
    )
    for (next_poll_at,) in await cur.fetchall():
        await wake_for_feed(conn, host=host, due_at=next_poll_at, now=now)


async def count_in(conn: Connection, *, source_id: SourceId, articles: int) -> None:
    """The feed has so many articles more, which came from another."""
    await conn.execute(
        "UPDATE feed_state SET article_count = article_count + %(articles)s WHERE source_id = %(source_id)s",
        {"source_id": source_id, "articles": articles},
    )


async def stay(conn: Connection, *, source_id: SourceId) -> None:
    """The feed keeps its URL after all."""
    await conn.execute(
        "UPDATE feed_state SET adopt_url = NULL, moved_url = NULL WHERE source_id = %(source_id)s",
        {"source_id": source_id},
    )


async def list_lost(conn: Connection, *, limit: int) -> Sequence[LostFeed]:
    """Feeds that are no feeds any more, and that nobody has looked for yet."""
    async with conn.cursor(row_factory=class_row(LostFeed)) as cur:
        await cur.execute(
            "SELECT source_id, feed_url FROM feed_state WHERE wants_discovery LIMIT %(limit)s",
            {"limit": limit},
        )
        return await cur.fetchall()


async def found_or_not(conn: Connection, *, source_id: SourceId) -> None:
    """Somebody has looked for this feed."""
    await conn.execute(
        "UPDATE feed_state SET wants_discovery = false WHERE source_id = %(source_id)s", {"source_id": source_id}
    )


async def oldest_due_at(conn: Connection, *, now: datetime) -> datetime | None:
    """Since when the longest-waiting ready host has been waiting; politeness, pauses and leases are no waiting.

    A host whose last feed was deleted may still be ready: nothing waits there. Hosts with a new feed come first, and
    must not hide those that have been waiting for longer.
    """
    cur = await conn.execute(
        """
        SELECT min(greatest(free_at, due.next_poll_at))
        FROM (
            (
                SELECT name, free_at
                FROM hosts
                WHERE answered_at IS NULL AND feed_due_at < 'infinity' AND feeds_ready_at = '-infinity'
                LIMIT 100
            )
            UNION ALL
            (
                SELECT name, free_at
                FROM hosts
                WHERE answered_at IS NOT NULL AND feed_due_at < 'infinity' AND feeds_ready_at = '-infinity'
                LIMIT 100
            )
            UNION ALL
            (
                SELECT name, free_at
                FROM hosts
                WHERE answered_at IS NULL
                    AND feed_due_at < 'infinity'
                    AND feeds_ready_at > '-infinity'
                    AND feeds_ready_at <= %(now)s
                ORDER BY feeds_ready_at
                LIMIT 100
            )
            UNION ALL
            (
                SELECT name, free_at
                FROM hosts
                WHERE answered_at IS NOT NULL
                    AND feed_due_at < 'infinity'
                    AND feeds_ready_at > '-infinity'
                    AND feeds_ready_at <= %(now)s
                ORDER BY feeds_ready_at
                LIMIT 100
            )
        ) AS ready
        CROSS JOIN LATERAL (
            SELECT next_poll_at FROM feed_state WHERE feed_state.host = ready.name ORDER BY next_poll_at LIMIT 1
        ) AS due
        WHERE due.next_poll_at <= %(now)s
        """,
        {"now": now},
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def forget_events(conn: Connection, *, before: datetime, limit: int) -> int:
    """Delete some of the polls from before a moment. Returns how many went."""
    cur = await conn.execute(
        """
        DELETE FROM poll_events
        WHERE ctid IN (SELECT ctid FROM poll_events WHERE at < %(before)s LIMIT %(limit)s)
        """,
        {"before": before, "limit": limit},
    )
    return cur.rowcount


async def forget_events_of(conn: Connection, *, source_id: SourceId, limit: int) -> int:
    """Delete events of a removed source. Returns how many went."""
    cur = await conn.execute(
        """
        DELETE FROM poll_events
        WHERE ctid = ANY(ARRAY(SELECT ctid FROM poll_events WHERE source_id = %(source_id)s LIMIT %(limit)s))
            AND source_id = %(source_id)s
        """,
        {"source_id": source_id, "limit": limit},
    )
    return cur.rowcount


async def reschedule(conn: Connection, *, source_id: SourceId, next_poll_at: datetime, now: datetime) -> None:
    """Somebody decided when the feed is polled next; where that is later, a poll under way cannot decide otherwise."""
    cur = await conn.execute(
        """
        UPDATE feed_state
        SET next_poll_at = %(next_poll_at)s,
            edits = edits + CASE WHEN %(next_poll_at)s::timestamptz > %(now)s THEN 1 ELSE 0 END
        WHERE source_id = %(source_id)s
        RETURNING host
        """,
        {"source_id": source_id, "next_poll_at": next_poll_at, "now": now},
    )
    for (host,) in await cur.fetchall():
        await wake_for_feed(conn, host=host, due_at=next_poll_at, now=now, lifts_pause=next_poll_at <= now)


async def turn_off(conn: Connection, *, source_id: SourceId, at: datetime, reason: str, until: datetime | None) -> None:
    """Somebody switched the feed off; when it is polled next is said by `reschedule`."""
    await conn.execute(
        """
        UPDATE feed_state
        SET edits = edits + 1, off_at = %(at)s, off_reason = %(reason)s, off_until = %(until)s, off_times = 1,
            off_by_operator = true
        WHERE source_id = %(source_id)s
        """,
        {"source_id": source_id, "at": at, "reason": reason, "until": until},
    )


async def forget_errors(conn: Connection, *, source_id: SourceId) -> None:
    """What was counted against the feed is not; whether it is off, and when it is polled, stays."""
    await conn.execute(
        """
        UPDATE feed_state
        SET edits = edits + 1, consecutive_errors = 0, last_error = NULL, last_error_type = NULL, streak = 0,
            streak_class = NULL, permanent_errors = 0, failing_since = NULL
        WHERE source_id = %(source_id)s
        """,
        {"source_id": source_id},
    )


async def find_standing(conn: Connection, *, source_id: SourceId) -> Standing | None:
    """What a retry of this feed has to respect; None where there is no feed."""
    async with conn.cursor(row_factory=class_row(Standing)) as cur:
        await cur.execute(
            """
            SELECT off_at, off_reason, off_until, off_by_operator, asked_until, paused_until
            FROM feed_state
            LEFT JOIN hosts USING (shard, host_id)
            WHERE source_id = %(source_id)s
            """,
            {"source_id": source_id},
        )
        return await cur.fetchone()


async def keep_hold(conn: Connection, *, source_id: SourceId, was_suggested: bool, now: datetime) -> None:
    """Remember what an operator or the site decided about a feed whose source is about to be deleted.

    One that was suggested may be switched off because nobody follows it; that is no operator's decision.
    """
    await conn.execute(
        """
        INSERT INTO feed_holds (feed_url_key, is_switched_off, off_at, off_reason, off_until, asked_until)
        SELECT *
        FROM (
            SELECT feed_url_key, NOT enabled AND NOT %(was_suggested)s AS is_switched_off,
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
        {"source_id": source_id, "was_suggested": was_suggested, "now": now},
    )


async def take_hold(conn: Connection, *, feed_url_key: bytes) -> Hold | None:
    """What was remembered about a feed, for the source that it has again; remembered no more."""
    async with conn.cursor(row_factory=class_row(Hold)) as cur:
        await cur.execute(
            """
            DELETE FROM feed_holds
            WHERE feed_url_key = %(key)s
            RETURNING is_switched_off, off_at, off_reason, off_until, asked_until
            """,
            {"key": feed_url_key},
        )
        return await cur.fetchone()


async def forget_holds(conn: Connection, *, now: datetime) -> None:
    """Forget holds that are over."""
    await conn.execute(
        """
        DELETE FROM feed_holds
        WHERE NOT is_switched_off
            AND (off_at IS NULL OR off_until <= %(now)s)
            AND (asked_until IS NULL OR asked_until <= %(now)s)
        """,
        {"now": now},
    )


async def wait_as_asked(conn: Connection, *, source_id: SourceId, until: datetime) -> None:
    """A new feed whose site asked us to wait before the feed was added again."""
    await conn.execute(
        "UPDATE feed_state SET asked_until = %(until)s, next_poll_at = %(until)s WHERE source_id = %(source_id)s",
        {"source_id": source_id, "until": until},
    )


async def apply_interval(conn: Connection, *, source_id: SourceId, interval: timedelta, now: datetime) -> None:
    """A feed that is well is due as soon as its new interval has passed since the last poll."""
    cur = await conn.execute(
        """
        UPDATE feed_state
        SET edits = edits + 1,
            next_poll_at = least(
                next_poll_at, greatest(%(now)s, last_polled_at + greatest(%(interval)s::interval, wished_gap))
            )
        WHERE source_id = %(source_id)s
            AND last_polled_at IS NOT NULL
            AND off_at IS NULL
            AND consecutive_errors = 0
            AND next_poll_at < '9999-01-01'
        RETURNING host
        """,
        {"source_id": source_id, "interval": interval, "now": now},
    )
    await feed_hosts.stay_awake(conn, hosts=[row[0] for row in await cur.fetchall()])


async def off_until(conn: Connection, *, source_id: SourceId) -> tuple[bool, datetime | None]:
    """Whether the feed is off, and until when; without an end when only a person can enable it."""
    cur = await conn.execute(
        "SELECT off_at IS NOT NULL, off_until FROM feed_state WHERE source_id = %(source_id)s", {"source_id": source_id}
    )
    return await cur.fetchone() or (False, None)


async def repair_schedules(conn: Connection, *, now: datetime, latest: datetime) -> int:
    """Make due what a clock that was ahead scheduled: what waits beyond `latest`, and what was polled in the future.

    What only a person can enable is left as it is, and what is NULL stays so, which `least` would not do. Returns how
    many feeds.
    """
    cur = await conn.execute(
        """
        UPDATE feed_state
        SET next_poll_at = CASE
                WHEN next_poll_at >= '9999-01-01' THEN next_poll_at
                WHEN next_poll_at > %(latest)s THEN %(now)s
                WHEN last_polled_at > %(now)s::timestamptz + interval '1 hour' THEN %(now)s
                ELSE next_poll_at
            END,
            off_until = CASE
                WHEN off_until > %(latest)s OR off_at > %(now)s::timestamptz + interval '1 hour' THEN %(now)s
                ELSE off_until
            END,
            off_at = CASE WHEN off_at > %(now)s THEN %(now)s ELSE off_at END,
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
                off_at, last_polled_at, last_succeeded_at, last_new_at, last_full_at, failing_since, moved_since
            ) > %(now)s::timestamptz + interval '1 hour'
        """,
        {"now": now, "latest": latest},
    )
    repaired = cur.rowcount
    await conn.execute(
        """
        UPDATE sources
        SET feed_disabled_at = %(now)s
        WHERE feed_disabled_at > %(now)s::timestamptz + interval '1 hour'
        """,
        {"now": now},
    )
    return repaired
