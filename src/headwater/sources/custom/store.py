"""Every statement on `submissions` and `blocked_domains`, and the list of sources that everybody may find."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from psycopg.rows import kwargs_row
from psycopg.types.json import Jsonb

from headwater.audit.types import Actor
from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value, translate
from headwater.errors import SourceExists
from headwater.sources.custom.types import (
    BlockedDomain,
    CustomFeed,
    DomainRecord,
    Known,
    Likeness,
    ModerationStatus,
    Proposal,
    PublicSource,
    QueueCursor,
    QueueFilter,
    QueuePage,
    Sample,
    Submission,
    SubmitterRecord,
)
from headwater.types import SourceId, UserId

EVERYTHING = QueueFilter()
LIKENESSES_MOST = 5  # for one suggestion


async def find_known(conn: Connection, *, url_keys: Sequence[bytes]) -> Known | None:
    """The source that has one of these addresses."""
    cur = await conn.execute(
        """
        SELECT id, name, is_system, moderation_status
        FROM sources
        WHERE feed_url_key = ANY(%(keys)b::bytea[]) OR (url_key = ANY(%(keys)b::bytea[]) AND feed_url_key IS NULL)
        ORDER BY is_system OR moderation_status IS NOT NULL DESC, id
        LIMIT 1
        """,
        {"keys": list(url_keys)},
    )
    row = await cur.fetchone()
    return Known(SourceId(row[0]), row[1], row[2], ModerationStatus(row[3]) if row[3] else None) if row else None


async def add(
    conn: Connection,
    *,
    source_id: SourceId,
    user_id: UserId,
    proposal: Proposal,
    host: str,
    sample: Sample,
    now: datetime,
) -> None:
    """Somebody suggests a source for everybody. Raises SourceExists: somebody else has."""
    with translate(submissions_pkey=SourceExists(proposal.url)):
        await conn.execute(
            """
            INSERT INTO submissions (source_id, user_id, name, category, interval_minutes, host, sample, submitted_at)
            VALUES (
                %(source_id)s, %(user_id)s, %(name)s, %(category)s, %(interval)s, %(host)s, %(sample)s, %(now)s
            )
            """,
            {
                "source_id": source_id,
                "user_id": user_id,
                "name": proposal.name,
                "category": proposal.category,
                "interval": proposal.interval_minutes,
                "host": host,
                "sample": Jsonb(msgspec.to_builtins(sample)),
                "now": now,
            },
        )


async def list_own(conn: Connection, *, after: QueueCursor | None = None, limit: int) -> list[CustomFeed]:
    """What a person has suggested, the newest first. Under `Database.as_user`."""
    async with conn.cursor(row_factory=kwargs_row(_custom_feed)) as cur:
        await cur.execute(
            """
            SELECT source_id AS id, submissions.name, coalesce(feed_url, url, '') AS url, submissions.category,
                submissions.interval_minutes, moderation_status AS status, enabled AS is_active, sample,
                submitted_at AS created_at, decided_at, reason
            FROM submissions
            JOIN sources ON sources.id = source_id
            WHERE %(after_at)s::timestamptz IS NULL OR (submitted_at, source_id) < (%(after_at)s, %(after_id)s::uuid)
            ORDER BY submitted_at DESC, source_id DESC
            LIMIT %(limit)s
            """,
            {"after_at": after.at if after else None, "after_id": after.id if after else None, "limit": limit},
        )
        return await cur.fetchall()


async def find_own(conn: Connection, *, source_id: SourceId, user_id: UserId) -> CustomFeed | None:
    """One of a person's suggestions, held until the transaction ends."""
    async with conn.cursor(row_factory=kwargs_row(_custom_feed)) as cur:
        await cur.execute(
            """
            SELECT source_id AS id, submissions.name, coalesce(feed_url, url, '') AS url, submissions.category,
                submissions.interval_minutes, moderation_status AS status, enabled AS is_active, sample,
                submitted_at AS created_at, decided_at, reason
            FROM submissions
            JOIN sources ON sources.id = source_id
            WHERE source_id = %(source_id)s AND user_id = %(user_id)s
            FOR UPDATE OF submissions
            """,
            {"source_id": source_id, "user_id": user_id},
        )
        return await cur.fetchone()


async def remove(conn: Connection, *, source_id: SourceId) -> None:
    """Nobody suggests it any more."""
    await conn.execute("DELETE FROM submissions WHERE source_id = %(id)s", {"id": source_id})


async def hold(conn: Connection, *, source_id: SourceId) -> Submission | None:
    """A suggestion to decide on, held until the transaction ends."""
    async with conn.cursor(row_factory=kwargs_row(_submission)) as cur:
        await cur.execute(
            """
            SELECT source_id AS id, submissions.name, coalesce(feed_url, url, '') AS url, submissions.host,
                submissions.category, submissions.interval_minutes, moderation_status AS status, enabled AS is_active,
                sample, submitted_at, submissions.user_id AS submitter_id, email AS submitter, karma, approved_count,
                rejected_count,
                (SELECT count(*) FROM subscriptions WHERE subscriptions.source_id = sources.id) AS subscriber_count,
                decided_at, decided_by_name, reason
            FROM submissions
            JOIN sources ON sources.id = source_id
            JOIN users ON users.id = submissions.user_id
            CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE judged.moderation_status = 'approved') AS approved_count,
                    count(*) FILTER (WHERE judged.moderation_status = 'rejected') AS rejected_count
                FROM submissions AS theirs
                JOIN sources AS judged ON judged.id = theirs.source_id
                WHERE theirs.user_id = users.id
            ) AS record
            WHERE source_id = %(id)s
            FOR UPDATE OF submissions
            """,
            {"id": source_id},
        )
        return await cur.fetchone()


async def decide(conn: Connection, *, source_id: SourceId, actor: Actor, reason: str | None, now: datetime) -> None:
    """A person has decided; how is kept with the source."""
    await conn.execute(
        """
        UPDATE submissions
        SET decided_at = %(now)s, decided_by = %(by)s, decided_by_name = %(by_name)s, reason = %(reason)s
        WHERE source_id = %(id)s
        """,
        {"id": source_id, "now": now, "by": actor.user_id, "by_name": actor.name, "reason": reason},
    )


async def list_undecided(
    conn: Connection,
    *,
    status: ModerationStatus,
    wanted: QueueFilter = EVERYTHING,
    after: QueueCursor | None = None,
    limit: int,
) -> QueuePage:
    """What no person has decided on, the oldest first: what waits, or what is live by trust."""
    async with conn.cursor(row_factory=kwargs_row(_submission)) as cur:
        await cur.execute(
            """
            SELECT source_id AS id, submissions.name, coalesce(feed_url, url, '') AS url, submissions.host,
                submissions.category, submissions.interval_minutes, moderation_status AS status, enabled AS is_active,
                sample, submitted_at, submissions.user_id AS submitter_id, email AS submitter, karma, approved_count,
                rejected_count,
                (SELECT count(*) FROM subscriptions WHERE subscriptions.source_id = sources.id) AS subscriber_count,
                decided_at, decided_by_name, reason
            FROM submissions
            JOIN sources ON sources.id = source_id
            JOIN users ON users.id = submissions.user_id
            CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE judged.moderation_status = 'approved') AS approved_count,
                    count(*) FILTER (WHERE judged.moderation_status = 'rejected') AS rejected_count
                FROM submissions AS theirs
                JOIN sources AS judged ON judged.id = theirs.source_id
                WHERE theirs.user_id = users.id
            ) AS record
            WHERE decided_at IS NULL
                AND moderation_status = %(status)s
                AND (%(submitter_id)s::uuid IS NULL OR submissions.user_id = %(submitter_id)s)
                AND (%(host)s::text IS NULL OR submissions.host = %(host)s)
                AND (%(text)s::text IS NULL
                    OR strpos(lower(submissions.name), lower(%(text)s)) > 0
                    OR strpos(lower(coalesce(feed_url, url)), lower(%(text)s)) > 0
                    OR strpos(lower(email), lower(%(text)s)) > 0)
                AND (%(after_at)s::timestamptz IS NULL
                    OR (submitted_at, source_id) > (%(after_at)s, %(after_id)s::uuid))
            ORDER BY submitted_at, source_id
            LIMIT %(limit)s + 1
            """,
            {"status": status.value, **_filter_values(wanted, after), "limit": limit},
        )
        found = await cur.fetchall()
    shown = found[:limit]
    return QueuePage(shown, QueueCursor(shown[-1].submitted_at, shown[-1].id) if len(found) > limit else None)


async def list_decided(
    conn: Connection,
    *,
    status: ModerationStatus | None = None,
    wanted: QueueFilter = EVERYTHING,
    after: QueueCursor | None = None,
    limit: int,
) -> QueuePage:
    """What a person has decided on, the latest decision first."""
    async with conn.cursor(row_factory=kwargs_row(_submission)) as cur:
        await cur.execute(
            """
            SELECT source_id AS id, submissions.name, coalesce(feed_url, url, '') AS url, submissions.host,
                submissions.category, submissions.interval_minutes, moderation_status AS status, enabled AS is_active,
                sample, submitted_at, submissions.user_id AS submitter_id, email AS submitter, karma, approved_count,
                rejected_count,
                (SELECT count(*) FROM subscriptions WHERE subscriptions.source_id = sources.id) AS subscriber_count,
                decided_at, decided_by_name, reason
            FROM submissions
            JOIN sources ON sources.id = source_id
            JOIN users ON users.id = submissions.user_id
            CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE judged.moderation_status = 'approved') AS approved_count,
                    count(*) FILTER (WHERE judged.moderation_status = 'rejected') AS rejected_count
                FROM submissions AS theirs
                JOIN sources AS judged ON judged.id = theirs.source_id
                WHERE theirs.user_id = users.id
            ) AS record
            WHERE decided_at IS NOT NULL
                AND (%(status)s::text IS NULL OR moderation_status = %(status)s)
                AND (%(submitter_id)s::uuid IS NULL OR submissions.user_id = %(submitter_id)s)
                AND (%(host)s::text IS NULL OR submissions.host = %(host)s)
                AND (%(text)s::text IS NULL
                    OR strpos(lower(submissions.name), lower(%(text)s)) > 0
                    OR strpos(lower(coalesce(feed_url, url)), lower(%(text)s)) > 0
                    OR strpos(lower(email), lower(%(text)s)) > 0)
                AND (%(after_at)s::timestamptz IS NULL
                    OR (decided_at, source_id) < (%(after_at)s, %(after_id)s::uuid))
            ORDER BY decided_at DESC, source_id DESC
            LIMIT %(limit)s + 1
            """,
            {"status": status.value if status else None, **_filter_values(wanted, after), "limit": limit},
        )
        found = await cur.fetchall()
    shown = found[:limit]
    last = shown[-1] if len(found) > limit else None
    return QueuePage(shown, QueueCursor(last.decided_at, last.id) if last and last.decided_at else None)


def _filter_values(wanted: QueueFilter, after: QueueCursor | None) -> dict[str, object]:
    return {
        "submitter_id": wanted.submitter_id,
        "host": wanted.host,
        "text": wanted.text,
        "after_at": after.at if after else None,
        "after_id": after.id if after else None,
    }


async def count_waiting(conn: Connection) -> int:
    """How many suggestions wait for a moderator."""
    return await fetch_value(
        conn,
        """
        SELECT count(*)
        FROM submissions
        JOIN sources ON sources.id = source_id
        WHERE decided_at IS NULL AND moderation_status = 'pending'
        """,
    )


async def list_waiting_of(conn: Connection, *, domain: str) -> list[SourceId]:
    """What waits and is of a domain or below it, the oldest first; held until the transaction ends."""
    return await fetch_column(
        conn,
        """
        SELECT source_id
        FROM submissions
        JOIN sources ON sources.id = source_id
        WHERE decided_at IS NULL
            AND moderation_status = 'pending'
            AND (host = %(domain)s OR right(host, length(%(domain)s) + 1) = '.' || %(domain)s)
        ORDER BY submitted_at, source_id
        FOR UPDATE OF submissions
        """,
        {"domain": domain},
    )


async def list_approved_of(conn: Connection, *, domain: str) -> list[SourceId]:
    """Approved suggestions of a domain or below it, the oldest first; held until the transaction ends."""
    return await fetch_column(
        conn,
        """
        SELECT source_id
        FROM submissions
        JOIN sources ON sources.id = source_id
        WHERE moderation_status = 'approved'
            AND NOT is_system
            AND (host = %(domain)s OR right(host, length(%(domain)s) + 1) = '.' || %(domain)s)
        ORDER BY submitted_at, source_id
        FOR UPDATE OF submissions
        """,
        {"domain": domain},
    )


async def list_like(conn: Connection, *, source_ids: Sequence[SourceId]) -> list[Likeness]:
    """Sources that these suggestions may be duplicates of: of the same host, or of nearly the same name."""
    return await fetch_all(
        conn,
        Likeness,
        """
        SELECT submissions.source_id AS suggestion_id, alike.*
        FROM submissions
        CROSS JOIN LATERAL (
            SELECT sources.id, sources.name, coalesce(sources.feed_url, sources.url, '') AS url,
                moderation_status AS status, is_system, bool_or(is_same_host) AS is_same_host,
                bool_or(is_same_name) AS is_same_name
            FROM (
                (
                    SELECT source_id, true AS is_same_host, false AS is_same_name
                    FROM feed_state
                    WHERE feed_state.host = submissions.host AND source_id <> submissions.source_id
                    LIMIT %(limit)s
                )
                UNION ALL
                (
                    SELECT named.id, false, true
                    FROM sources AS named
                    WHERE plain_name(named.name) IN (
                            plain_name(submissions.name), plain_name(submissions.sample->>'title')
                        )
                        AND plain_name(named.name) <> ''
                        AND named.id <> submissions.source_id
                    LIMIT %(limit)s
                )
            ) AS found
            JOIN sources ON sources.id = found.source_id
            GROUP BY sources.id
            ORDER BY is_same_name DESC, lower(sources.name), sources.id
            LIMIT %(limit)s
        ) AS alike
        WHERE submissions.source_id = ANY(%(ids)s::uuid[])
        """,
        {"ids": list(source_ids), "limit": LIKENESSES_MOST},
    )


async def block(conn: Connection, *, domain: str, reason: str, actor: Actor, now: datetime) -> bool:
    """Take nothing from a domain any more. False: it is blocked already."""
    cur = await conn.execute(
        """
        INSERT INTO blocked_domains (domain, reason, blocked_by, blocked_by_name, blocked_at)
        VALUES (%(domain)s, %(reason)s, %(by)s, %(by_name)s, %(now)s)
        ON CONFLICT (domain) DO NOTHING
        """,
        {"domain": domain, "reason": reason, "by": actor.user_id, "by_name": actor.name, "now": now},
    )
    return cur.rowcount == 1


async def unblock(conn: Connection, *, domain: str) -> bool:
    """Take from it again. False: it is not blocked."""
    cur = await conn.execute("DELETE FROM blocked_domains WHERE domain = %(domain)s", {"domain": domain})
    return cur.rowcount == 1


async def find_blocked(conn: Connection, *, domains: Sequence[str]) -> list[BlockedDomain]:
    """Those of these domains that are blocked, the widest first."""
    return await fetch_all(
        conn,
        BlockedDomain,
        """
        SELECT domain, reason, blocked_by_name, blocked_at
        FROM blocked_domains
        WHERE domain = ANY(%(domains)s::text[])
        ORDER BY length(domain), domain
        """,
        {"domains": list(domains)},
    )


async def list_records(conn: Connection, *, domains: Sequence[str]) -> dict[str, DomainRecord]:
    """What was decided about suggestions of these domains and of what is below them."""
    rows = await fetch_all(
        conn,
        DomainRecord,
        """
        SELECT domain, count(*) FILTER (WHERE moderation_status = 'approved') AS approved,
            count(*) FILTER (WHERE moderation_status = 'rejected') AS rejected,
            EXISTS (SELECT FROM blocked_domains WHERE blocked_domains.domain = wanted.domain) AS is_blocked
        FROM unnest(%(domains)s::text[]) AS wanted (domain)
        LEFT JOIN submissions ON decided_at IS NOT NULL
            AND (host = wanted.domain OR right(host, length(wanted.domain) + 1) = '.' || wanted.domain)
        LEFT JOIN sources ON sources.id = source_id
        GROUP BY domain
        """,
        {"domains": list(domains)},
    )
    return {one.domain: one for one in rows}


async def find_submitter_record(conn: Connection, *, user_id: UserId) -> SubmitterRecord:
    """What was decided about a reader's suggestions."""
    found = await fetch_one(
        conn,
        SubmitterRecord,
        """
        SELECT count(*) FILTER (WHERE moderation_status = 'approved') AS approved,
            count(*) FILTER (WHERE moderation_status = 'rejected') AS rejected
        FROM submissions
        JOIN sources ON sources.id = source_id
        WHERE user_id = %(user_id)s AND decided_at IS NOT NULL
        """,
        {"user_id": user_id},
    )
    return found or SubmitterRecord()


async def list_blocked(conn: Connection, *, after: str = "", limit: int) -> list[BlockedDomain]:
    """Blocked domains after one, in order of the alphabet."""
    return await fetch_all(
        conn,
        BlockedDomain,
        """
        SELECT domain, reason, blocked_by_name, blocked_at
        FROM blocked_domains
        WHERE domain COLLATE "C" > %(after)s
        ORDER BY domain COLLATE "C"
        LIMIT %(limit)s
        """,
        {"after": after, "limit": limit},
    )


async def list_public(
    conn: Connection, *, user_id: UserId, text: str = "", category: str = "", limit: int, offset: int
) -> list[PublicSource]:
    """What everybody may find, those that most people follow first. Not under row-level security: followers are
    counted, and no more is told of them."""
    return await fetch_all(
        conn,
        PublicSource,
        """
        SELECT sources.id, sources.name, coalesce(sources.feed_url, sources.url) AS url,
            coalesce(sources.url, submissions.sample->>'site_url') AS site_url, sources.category,
            coalesce(followed.count, 0) AS subscriber_count,
            coalesce(
                article_count,
                -- A site without a feed has no counter.
                (SELECT count(*) FROM (SELECT FROM article_sources WHERE source_id = sources.id LIMIT 10000) AS one)
            ) AS article_count,
            EXISTS (
                SELECT FROM subscriptions WHERE source_id = sources.id AND subscriptions.user_id = %(user_id)s
            ) AS is_followed,
            NOT is_system AS is_custom
        FROM sources
        LEFT JOIN feed_state ON feed_state.source_id = sources.id
        LEFT JOIN submissions ON submissions.source_id = sources.id
        LEFT JOIN (
            SELECT source_id, count(*) AS count FROM subscriptions GROUP BY source_id
        ) AS followed ON followed.source_id = sources.id
        WHERE (is_system OR moderation_status = 'approved')
            AND enabled
            AND coalesce(sources.feed_url, sources.url) IS NOT NULL
            AND (%(category)s = '' OR sources.category = %(category)s)
            AND (%(text)s = ''
                OR strpos(lower(sources.name || ' ' || coalesce(sources.feed_url, '') || ' '
                    || coalesce(sources.url, '') || ' ' || coalesce(sources.category, '')), lower(%(text)s)) > 0)
        ORDER BY subscriber_count DESC, lower(sources.name), sources.id
        LIMIT %(limit)s
        OFFSET %(offset)s
        """,
        {"user_id": user_id, "text": text, "category": category, "limit": limit, "offset": offset},
    )


async def find_public(conn: Connection, *, source_id: SourceId, user_id: UserId) -> PublicSource | None:
    """One of those that everybody may find."""
    return await fetch_one(
        conn,
        PublicSource,
        """
        SELECT sources.id, sources.name, coalesce(sources.feed_url, sources.url) AS url,
            coalesce(sources.url, submissions.sample->>'site_url') AS site_url, sources.category,
            (SELECT count(*) FROM subscriptions WHERE source_id = sources.id) AS subscriber_count,
            coalesce(
                article_count,
                -- A site without a feed has no counter.
                (SELECT count(*) FROM (SELECT FROM article_sources WHERE source_id = sources.id LIMIT 10000) AS one)
            ) AS article_count,
            EXISTS (
                SELECT FROM subscriptions WHERE source_id = sources.id AND subscriptions.user_id = %(user_id)s
            ) AS is_followed,
            NOT is_system AS is_custom
        FROM sources
        LEFT JOIN feed_state ON feed_state.source_id = sources.id
        LEFT JOIN submissions ON submissions.source_id = sources.id
        WHERE sources.id = %(id)s
            AND (is_system OR moderation_status = 'approved')
            AND enabled
            AND coalesce(sources.feed_url, sources.url) IS NOT NULL
        """,
        {"id": source_id, "user_id": user_id},
    )


async def count_public(conn: Connection, *, text: str = "", category: str = "") -> int:
    """How many there are of those."""
    return await fetch_value(
        conn,
        """
        SELECT count(*)
        FROM sources
        WHERE (is_system OR moderation_status = 'approved')
            AND enabled
            AND coalesce(feed_url, url) IS NOT NULL
            AND (%(category)s = '' OR category = %(category)s)
            AND (%(text)s = ''
                OR strpos(lower(name || ' ' || coalesce(feed_url, '') || ' ' || coalesce(url, '') || ' '
                    || coalesce(category, '')), lower(%(text)s)) > 0)
        """,
        {"text": text, "category": category},
    )


async def list_categories(conn: Connection) -> list[str]:
    """The categories of what everybody may find."""
    return await fetch_column(
        conn,
        """
        SELECT category
        FROM sources
        WHERE (is_system OR moderation_status = 'approved') AND enabled AND category IS NOT NULL
        GROUP BY category
        ORDER BY lower(category), category
        """,
    )


def _custom_feed(**row: object) -> CustomFeed:
    return msgspec.convert(row, CustomFeed)


def _submission(**row: object) -> Submission:
    return msgspec.convert(row, Submission)


async def forget_of(conn: Connection, *, user_id: UserId, limit: int) -> list[SourceId]:
    """Delete submissions of a removed user. Returns their sources."""
    return await fetch_column(
        conn,
        """
        DELETE FROM submissions
        WHERE source_id = ANY(ARRAY(SELECT source_id FROM submissions WHERE user_id = %(user_id)s LIMIT %(limit)s))
        RETURNING source_id
        """,
        {"user_id": user_id, "limit": limit},
    )


async def clear_moderator(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Decisions and blocked domains refer to a removed user no more; the name stays. Returns how many were changed."""
    decided = await conn.execute(
        """
        UPDATE submissions
        SET decided_by = NULL
        WHERE source_id = ANY(ARRAY(SELECT source_id FROM submissions WHERE decided_by = %(user_id)s LIMIT %(limit)s))
        """,
        {"user_id": user_id, "limit": limit},
    )
    blocked = await conn.execute(
        """
        UPDATE blocked_domains
        SET blocked_by = NULL
        WHERE domain = ANY(ARRAY(SELECT domain FROM blocked_domains WHERE blocked_by = %(user_id)s LIMIT %(limit)s))
        """,
        {"user_id": user_id, "limit": limit},
    )
    return decided.rowcount + blocked.rowcount
