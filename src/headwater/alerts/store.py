"""Every statement on incidents and what is told of them; and what they are judged by, read from everybody's tables."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from headwater.alerts.rows import (
    IncidentRow,
    MessageRow,
    ShownRow,
    TellingRow,
    facts_of,
    json_of_facts,
    sample_of,
    stage_rows,
)
from headwater.alerts.types import (
    Board,
    Facts,
    FeedCounts,
    FeedFact,
    Holding,
    Incident,
    Message,
    OutageFact,
    Sample,
    StageFact,
    Telling,
    Thresholds,
)
from headwater.db import Connection
from headwater.hosts.store.looking import find_busy
from headwater.hosts.store.outages import list_outages
from headwater.hosts.store.pages import next_ready_at
from headwater.ids import new_id
from headwater.outbox import store as outbox
from headwater.pages import store as pages
from headwater.types import PageKind

LISTED = 1000  # feeds that are off or critical; the others are counted
PAGE_STAGES = {"extracting": PageKind.ARTICLE, "mapping": PageKind.SITEMAP, "spidering": PageKind.LIST}


# What is known


async def read_facts(conn: Connection, *, now: datetime, limits: Thresholds) -> Facts:
    """Everything as it is now."""
    outages = [OutageFact(outage.stage, outage.since) for outage in await list_outages(conn, now=now)]
    return Facts(
        sample=Sample(now, await _stages(conn, now=now), await _queues(conn)),
        counts=await _count_feeds(conn, now=now, limits=limits),
        disabled=await _disabled(conn, now=now, limits=limits),
        critical=await _critical(conn, now=now, limits=limits),
        outages=outages,
    )


async def _count_feeds(conn: Connection, *, now: datetime, limits: Thresholds) -> FeedCounts:
    cur = await conn.execute(
        """
        SELECT state, count(*) AS sources,
            count(*) FILTER (WHERE is_system AND has_feed) AS system,
            count(*) FILTER (
                WHERE is_system
                    AND has_feed
                    AND (
                        NOT enabled
                        OR feed_disabled_at IS NOT NULL
                        OR (
                            paused_until IS NOT NULL
                            AND (alike_class IS DISTINCT FROM 'rate_limited' OR pauses > %(most_refusals)s)
                        )
                        OR (failing_since < %(failed_before)s AND next_poll_at > %(now)s)
                    )
            ) AS system_disabled
        FROM source_health
        LEFT JOIN feed_state ON feed_state.source_id = source_health.id
        LEFT JOIN hosts USING (shard, host_id)
        GROUP BY state
        """,
        {"most_refusals": limits.critical_errors, "failed_before": now - limits.no_success, "now": now},
    )
    rows = await cur.fetchall()
    return FeedCounts({row[0]: row[1] for row in rows}, sum(row[2] for row in rows), sum(row[3] for row in rows))


async def _disabled(conn: Connection, *, now: datetime, limits: Thresholds) -> list[FeedFact]:
    """System feeds that bring nothing. On a paused host they fail since the first of them did.

    One that is due is not called failing: after a pause all feeds of a host are, and are read within minutes.
    """
    async with conn.cursor(row_factory=class_row(FeedFact)) as cur:
        await cur.execute(
            """
            WITH paused AS MATERIALIZED (
                SELECT name AS host, alike_class, (
                        SELECT min(failing_since) FROM feed_state WHERE feed_state.host = hosts.name
                    ) AS since
                FROM hosts
                WHERE paused_until IS NOT NULL
                    AND (alike_class IS DISTINCT FROM 'rate_limited' OR pauses > %(most_refusals)s)
            )
            SELECT id, name,
                coalesce(feed_disabled_at, CASE WHEN NOT enabled THEN coalesce(inactive_since, sources.updated_at) END)
                    AS disabled_at,
                coalesce(feed_disable_reason, CASE WHEN NOT enabled THEN 'is_active: false' END) AS reason,
                consecutive_errors AS errors, least(failing_since, paused.since) AS failing_since, paused.host,
                paused.alike_class AS paused_for
            FROM sources
            JOIN feed_state ON feed_state.source_id = sources.id
            LEFT JOIN paused ON paused.host = feed_state.host
            WHERE is_system
                AND (
                    feed_disabled_at IS NOT NULL
                    OR NOT enabled
                    OR paused.host IS NOT NULL
                    OR (failing_since < %(failed_before)s AND next_poll_at > %(now)s)
                )
            ORDER BY disabled_at, failing_since, id
            LIMIT %(limit)s
            """,
            {
                "most_refusals": limits.critical_errors,
                "failed_before": now - limits.no_success,
                "now": now,
                "limit": LISTED,
            },
        )
        return await cur.fetchall()


async def _critical(conn: Connection, *, now: datetime, limits: Thresholds) -> list[FeedFact]:
    async with conn.cursor(row_factory=class_row(FeedFact)) as cur:
        await cur.execute(
            """
            WITH paused AS MATERIALIZED (
                SELECT name AS host, alike_class, (
                        SELECT min(failing_since) FROM feed_state WHERE feed_state.host = hosts.name
                    ) AS since
                FROM hosts
                WHERE paused_until IS NOT NULL
                    AND (alike_class IS DISTINCT FROM 'rate_limited' OR pauses > %(most_refusals)s)
            )
            SELECT id, name, feed_disabled_at AS disabled_at, feed_disable_reason AS reason,
                consecutive_errors AS errors,
                CASE WHEN paused.host IS NOT NULL OR next_poll_at > %(now)s THEN least(failing_since, paused.since) END
                    AS failing_since,
                paused.host, paused.alike_class AS paused_for
            FROM sources
            JOIN feed_state ON feed_state.source_id = sources.id
            LEFT JOIN paused ON paused.host = feed_state.host
            WHERE is_critical AND enabled
            ORDER BY (paused.host IS NOT NULL) DESC, consecutive_errors DESC, failing_since NULLS LAST, id
            LIMIT %(limit)s
            """,
            {"most_refusals": limits.critical_errors, "now": now, "limit": LISTED},
        )
        return await cur.fetchall()


async def _stages(conn: Connection, *, now: datetime) -> dict[str, StageFact]:
    """Since when each stage has work that is due. Moving and searching are not here: nobody waits for them."""
    busy = await _busy(conn, now=now)
    found = {"polling": StageFact(await _feed_due_since(conn, now=now), "polling" in busy)}
    ready_at = await next_ready_at(conn)
    found["fetching"] = StageFact(ready_at if ready_at and ready_at <= now else None, "fetching" in busy)
    for stage, kind in PAGE_STAGES.items():
        found[stage] = StageFact(await pages.oldest_ready_at(conn, kind=kind, now=now), kind.value in busy)
    # That a batch is in hand tells nothing here: while the index does not answer, it is tried again and again.
    found["indexing"] = StageFact(await outbox.oldest_at(conn))
    found["retaining"] = await _retaining(conn, now=now)
    return found


async def _retaining(conn: Connection, *, now: datetime) -> StageFact:
    """Retention is due once a day; while somebody is at it, `due_at` is when their lease ends."""
    cur = await conn.execute(
        """
        SELECT CASE WHEN due_at <= %(now)s THEN due_at END, lease IS NOT NULL AND due_at > %(now)s
        FROM retention_state
        """,
        {"now": now},
    )
    row = await cur.fetchone()
    return StageFact(*row) if row else StageFact()


async def _feed_due_since(conn: Connection, *, now: datetime) -> datetime | None:
    """Not `oldest_due_at` of polling, which looks at the next host only: one that is new comes before all others."""
    cur = await conn.execute(
        """
        SELECT min(greatest(free_at, next_poll_at))
        FROM hosts
        JOIN feed_state USING (shard, host_id)
        WHERE feed_due_at < 'infinity' AND free_at <= %(now)s AND next_poll_at <= %(now)s
        """,
        {"now": now},
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def _busy(conn: Connection, *, now: datetime) -> set[str]:
    """Which stages have something in hand: polling, fetching, and the kinds of pages that are being read."""
    cur = await conn.execute(
        "SELECT DISTINCT kind FROM pages WHERE lease IS NOT NULL AND ready_at > %(now)s", {"now": now}
    )
    return await find_busy(conn, now=now) | {row[0] for row in await cur.fetchall()}


async def _queues(conn: Connection) -> dict[str, int]:
    cur = await conn.execute(
        """
        SELECT (SELECT greatest(coalesce(sum(pending), 0), 0)::bigint FROM frontier_tally),
            (SELECT count(*) FROM pages),
            (SELECT count(*) FROM outbox WHERE reason IS NULL)
        """
    )
    row = await cur.fetchone()
    assert row is not None
    return dict(zip(("frontier", "pages", "outbox"), row, strict=True))


# One evaluation at a time


async def take_turn(conn: Connection) -> bool:
    """Whether nobody else evaluates until this transaction ends."""
    cur = await conn.execute("SELECT pg_try_advisory_xact_lock(hashtext('alerting'))")
    row = await cur.fetchone()
    return row is not None and row[0]


async def evaluated_at(conn: Connection) -> datetime | None:
    """When anybody last evaluated."""
    cur = await conn.execute("SELECT evaluated_at FROM alert_state")
    row = await cur.fetchone()
    return row[0] if row else None


async def keep_facts(conn: Connection, *, facts: Facts) -> None:
    """What was seen, for later evaluations and for Prometheus."""
    await conn.execute(
        """
        WITH seen AS (
            INSERT INTO alert_samples (at, stages, queues)
            VALUES (%(at)s, %(stages)s, %(queues)s)
            ON CONFLICT (at) DO NOTHING
        )
        UPDATE alert_state
        SET evaluated_at = %(at)s, facts = %(facts)s
        """,
        {
            "at": facts.sample.at,
            "stages": Jsonb(stage_rows(facts.sample)),
            "queues": Jsonb(dict(facts.sample.queues)),
            "facts": Jsonb(json_of_facts(facts)),
        },
    )


async def last_facts(conn: Connection) -> tuple[Facts | None, Mapping[str, int]]:
    """What the last evaluation saw, and how many incidents of each condition are open."""
    cur = await conn.execute(
        """
        SELECT evaluated_at, facts,
            (
                SELECT coalesce(jsonb_object_agg(condition, incidents), '{}')
                FROM (SELECT condition, count(*) AS incidents FROM incidents WHERE ended_at IS NULL GROUP BY condition)
                    AS counted
            )
        FROM alert_state
        """
    )
    row = await cur.fetchone()
    if row is None or row[0] is None:
        return None, {}
    return facts_of(row[0], row[1]), row[2]


async def list_samples(conn: Connection, *, after: datetime) -> list[Sample]:
    """What earlier evaluations saw, in order of time."""
    cur = await conn.execute(
        "SELECT at, stages, queues FROM alert_samples WHERE at >= %(after)s ORDER BY at", {"after": after}
    )
    return [sample_of(*row) for row in await cur.fetchall()]


async def forget(conn: Connection, *, samples_before: datetime, incidents_before: datetime) -> None:
    """Drop samples that nothing looks back to, and incidents that are long over."""
    await conn.execute("DELETE FROM alert_samples WHERE at < %(before)s", {"before": samples_before})
    await conn.execute("DELETE FROM incidents WHERE ended_at < %(before)s", {"before": incidents_before})
    await conn.execute(
        """
        DELETE FROM incident_messages
        WHERE sent_at < %(before)s
            AND NOT EXISTS (SELECT FROM incident_tellings WHERE message_id = incident_messages.id)
        """,
        {"before": incidents_before},
    )


# Incidents


async def list_open(conn: Connection) -> list[Incident]:
    """Incidents that are not over, the oldest first."""
    async with conn.cursor(row_factory=class_row(IncidentRow)) as cur:
        await cur.execute(
            """
            SELECT id, condition::text, subject, summary, since, began_at, last_held_at, ended_at
            FROM incidents
            WHERE ended_at IS NULL
            ORDER BY began_at, id
            """
        )
        return [row.incident for row in await cur.fetchall()]


async def begin(conn: Connection, *, holds: Sequence[Holding], now: datetime) -> list[Incident]:
    """New incidents."""
    begun = [
        Incident(new_id(), held.condition, held.subject, held.summary, min(held.since, now), now, now) for held in holds
    ]
    if begun:
        await conn.execute(
            """
            INSERT INTO incidents (id, condition, subject, summary, since, began_at, last_held_at)
            SELECT id, condition, subject, summary, since, %(now)s, %(now)s
            FROM unnest(
                %(ids)s::uuid[], %(conditions)s::text[], %(subjects)s::text[], %(summaries)s::text[],
                %(sinces)s::timestamptz[]
            ) AS begun (id, condition, subject, summary, since)
            """,
            {
                "ids": [one.id for one in begun],
                "conditions": [one.condition.value for one in begun],
                "subjects": [one.subject for one in begun],
                "summaries": [one.summary for one in begun],
                "sinces": [one.since for one in begun],
                "now": now,
            },
        )
    return begun


async def go_on(conn: Connection, *, incidents: Sequence[Incident]) -> None:
    """These still hold."""
    await conn.execute(
        """
        UPDATE incidents
        SET summary = held.summary, last_held_at = held.at
        FROM unnest(%(ids)s::uuid[], %(summaries)s::text[], %(times)s::timestamptz[]) AS held (id, summary, at)
        WHERE incidents.id = held.id
        """,
        {
            "ids": [one.id for one in incidents],
            "summaries": [one.summary for one in incidents],
            "times": [one.last_held_at for one in incidents],
        },
    )


async def end(conn: Connection, *, incidents: Sequence[Incident], now: datetime) -> None:
    """These are over; whoever is told that they began is told that, too."""
    ids = [one.id for one in incidents]
    await conn.execute("UPDATE incidents SET ended_at = %(now)s WHERE id = ANY(%(ids)s)", {"now": now, "ids": ids})
    await conn.execute(
        """
        INSERT INTO incident_tellings (incident_id, channel, kind)
        SELECT incident_id, channel, 'ended'
        FROM incident_tellings
        WHERE incident_id = ANY(%(ids)s) AND kind = 'began'
        ON CONFLICT ON CONSTRAINT incident_tellings_pkey DO NOTHING
        """,
        {"ids": ids},
    )


async def read_board(conn: Connection, *, past: int, limit: int = LISTED) -> Board:
    """What is open, and the last incidents that are over, with who was told."""
    async with conn.cursor(row_factory=class_row(ShownRow)) as cur:
        await cur.execute(
            """
            WITH shown AS (
                (SELECT * FROM incidents WHERE ended_at IS NULL ORDER BY began_at DESC, id DESC LIMIT %(limit)s)
                UNION ALL
                (SELECT * FROM incidents WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT %(past)s)
            )
            SELECT shown.id, condition::text, subject, summary, since, began_at, last_held_at, ended_at,
                coalesce(
                    jsonb_agg(
                        jsonb_build_object(
                            'channel', telling.channel, 'kind', kind, 'sent_at', sent_at,
                            'attempts', coalesce(attempts, 0), 'error', error
                        )
                        ORDER BY telling.channel, kind
                    ) FILTER (WHERE telling.channel IS NOT NULL),
                    '[]'
                ) AS told
            FROM shown
            LEFT JOIN incident_tellings AS telling ON telling.incident_id = shown.id
            LEFT JOIN incident_messages AS message ON message.id = telling.message_id
            GROUP BY shown.id, condition, subject, summary, since, began_at, last_held_at, ended_at
            ORDER BY ended_at DESC NULLS FIRST, began_at DESC, shown.id DESC
            """,
            {"past": past, "limit": limit},
        )
        shown = [row.shown for row in await cur.fetchall()]
    is_open = [one for one in shown if one.incident.ended_at is None]
    return Board(
        sorted(is_open, key=lambda one: one.incident.severity),  # what is critical first, each the newest first
        [one for one in shown if one.incident.ended_at is not None],
        await evaluated_at(conn),
    )


async def count_open(conn: Connection) -> int:
    """How many incidents are not over."""
    cur = await conn.execute("SELECT count(*) FROM incidents WHERE ended_at IS NULL")
    row = await cur.fetchone()
    return row[0] if row else 0


# Telling


async def owe(conn: Connection, *, channels: Sequence[str]) -> None:
    """Every incident that is open is to be told to these channels; what was told already stays told."""
    await conn.execute(
        """
        INSERT INTO incident_tellings (incident_id, channel, kind)
        SELECT id, channel, 'began'
        FROM incidents
        CROSS JOIN unnest(%(channels)s::text[]) AS channel
        WHERE ended_at IS NULL
        ON CONFLICT ON CONSTRAINT incident_tellings_pkey DO NOTHING
        """,
        {"channels": list(channels)},
    )


async def list_untold(conn: Connection, *, channels: Sequence[str]) -> list[Telling]:
    """What these channels have yet to be told, save those that a message is under way to."""
    async with conn.cursor(row_factory=class_row(TellingRow)) as cur:
        await cur.execute(
            """
            SELECT id, condition::text, subject, summary, since, began_at, last_held_at, ended_at, channel, kind::text,
                NULL::uuid AS message_id
            FROM incident_tellings
            JOIN incidents ON incidents.id = incident_id
            WHERE message_id IS NULL
                AND channel = ANY(%(channels)s)
                AND NOT EXISTS (
                    SELECT
                    FROM incident_messages
                    WHERE incident_messages.channel = incident_tellings.channel AND sent_at IS NULL
                )
            ORDER BY began_at, id, kind
            """,
            {"channels": list(channels)},
        )
        return [row.telling for row in await cur.fetchall()]


async def feeds_told_at(conn: Connection, *, channels: Sequence[str]) -> dict[str, datetime]:
    """When each channel was last written a message about single feeds."""
    cur = await conn.execute(
        """
        SELECT channel, max(made_at)
        FROM incident_messages
        WHERE is_of_feeds AND channel = ANY(%(channels)s)
        GROUP BY channel
        """,
        {"channels": list(channels)},
    )
    return dict(await cur.fetchall())


async def write_message(
    conn: Connection, *, channel: str, tellings: Sequence[Telling], is_of_feeds: bool, now: datetime
) -> None:
    """A message to be sent, and what is in it."""
    message_id = new_id()
    await conn.execute(
        """
        INSERT INTO incident_messages (id, channel, is_of_feeds, made_at, ready_at)
        VALUES (%(id)s, %(channel)s, %(is_of_feeds)s, %(now)s, %(now)s)
        """,
        {"id": message_id, "channel": channel, "is_of_feeds": is_of_feeds, "now": now},
    )
    await conn.execute(
        """
        UPDATE incident_tellings
        SET message_id = %(message_id)s
        FROM unnest(%(ids)s::uuid[], %(kinds)s::text[]) AS told (incident_id, kind)
        WHERE incident_tellings.incident_id = told.incident_id
            AND incident_tellings.kind = told.kind
            AND channel = %(channel)s
        """,
        {
            "message_id": message_id,
            "channel": channel,
            "ids": [telling.incident.id for telling in tellings],
            "kinds": [telling.kind.value for telling in tellings],
        },
    )


async def claim_messages(
    conn: Connection, *, channels: Sequence[str], now: datetime, leased_until: datetime, limit: int
) -> list[Message]:
    """Messages to be sent now, ours until the lease ends; then they are sent again, under the same id."""
    async with conn.cursor(row_factory=class_row(MessageRow)) as cur:
        await cur.execute(
            """
            WITH ready AS (
                SELECT id
                FROM incident_messages
                WHERE sent_at IS NULL AND ready_at <= %(now)s AND channel = ANY(%(channels)s)
                ORDER BY ready_at
                LIMIT %(limit)s
                FOR UPDATE SKIP LOCKED
            )
            UPDATE incident_messages
            SET ready_at = %(leased_until)s, attempts = attempts + 1
            FROM ready
            WHERE incident_messages.id = ready.id
            RETURNING incident_messages.id, channel, made_at, attempts
            """,
            {"channels": list(channels), "now": now, "leased_until": leased_until, "limit": limit},
        )
        found = await cur.fetchall()
    tellings = await _tellings(conn, message_ids=[row.id for row in found]) if found else {}
    return [Message(row.id, row.channel, row.made_at, row.attempts, tellings.get(row.id, ())) for row in found]


async def _tellings(conn: Connection, *, message_ids: Sequence[UUID]) -> dict[UUID, list[Telling]]:
    async with conn.cursor(row_factory=class_row(TellingRow)) as cur:
        await cur.execute(
            """
            SELECT id, condition::text, subject, summary, since, began_at, last_held_at, ended_at, channel, kind::text,
                message_id
            FROM incident_tellings
            JOIN incidents ON incidents.id = incident_id
            WHERE message_id = ANY(%(ids)s)
            ORDER BY began_at, id, kind
            """,
            {"ids": list(message_ids)},
        )
        found: dict[UUID, list[Telling]] = {}
        for row in await cur.fetchall():
            assert row.message_id is not None
            found.setdefault(row.message_id, []).append(row.telling)
        return found


async def sent(conn: Connection, *, message_id: UUID, now: datetime) -> None:
    """The message was taken."""
    await conn.execute(
        "UPDATE incident_messages SET sent_at = %(now)s, error = NULL WHERE id = %(id)s AND sent_at IS NULL",
        {"id": message_id, "now": now},
    )


async def not_sent(conn: Connection, *, message_id: UUID, until: datetime, error: str) -> None:
    """The message was not taken; it is sent again then."""
    await conn.execute(
        """
        UPDATE incident_messages
        SET ready_at = %(until)s, error = %(error)s
        WHERE id = %(id)s AND sent_at IS NULL
        """,
        {"id": message_id, "until": until, "error": error},
    )


async def repair_schedules(conn: Connection, *, now: datetime) -> None:
    """Set times that a clock which was ahead wrote to now: they would silence alerts, or keep incidents open."""
    await conn.execute(
        """
        UPDATE incidents
        SET since = least(since, %(now)s), began_at = least(began_at, %(now)s),
            last_held_at = least(last_held_at, %(now)s),
            ended_at = CASE WHEN ended_at IS NOT NULL THEN least(ended_at, %(now)s) END
        WHERE greatest(since, began_at, last_held_at, ended_at) > %(now)s::timestamptz + interval '1 hour'
        """,
        {"now": now},
    )
    await conn.execute(
        """
        UPDATE incident_messages
        SET made_at = %(now)s, sent_at = CASE WHEN sent_at IS NOT NULL THEN least(sent_at, %(now)s) END
        WHERE made_at > %(now)s::timestamptz + interval '1 hour'
        """,
        {"now": now},
    )
    await conn.execute(
        "UPDATE alert_state SET evaluated_at = NULL WHERE evaluated_at > %(now)s::timestamptz + interval '1 hour'",
        {"now": now},
    )
    await conn.execute(
        "DELETE FROM alert_samples WHERE at > %(now)s::timestamptz + interval '1 hour'",
        {"now": now},
    )
    await conn.execute(
        """
        UPDATE incident_messages
        SET ready_at = %(now)s
        WHERE sent_at IS NULL AND ready_at > %(now)s::timestamptz + interval '1 day'
        """,
        {"now": now},
    )
