"""Suggestions of sources for all users, decisions on them, blocked domains, and sources that all users may find."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

import msgspec
from psycopg.types.json import Jsonb

from headwater.audit.types import Actor
from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_rows, fetch_value, translate
from headwater.errors import SourceExists
from headwater.sources.custom.types import (
    BlockedDomain,
    CustomFeed,
    DomainRecord,
    ExistingSource,
    FeedSubmission,
    ModerationStatus,
    PossibleDuplicate,
    Proposal,
    PublicSource,
    QueueFilter,
    QueuePage,
    Sample,
    Shown,
    SubmitterRecord,
)
from headwater.types import PageCursor, SourceId, UserId

EVERYTHING = QueueFilter()
MOST_SIMILAR = 5  # for one suggestion
_COLUMNS: Final = """
    source_id AS id, submissions.name, coalesce(feed_url, url, '') AS url, submissions.category,
    submissions.interval_minutes, moderation_status AS status, enabled AS is_active, sample,
    submitted_at AS created_at, decided_at, reason
"""
_OWN: Final = f"SELECT {_COLUMNS} FROM submissions JOIN sources ON sources.id = source_id"
_QUEUE: Final = f"""
    SELECT {_COLUMNS}, submissions.host, submissions.user_id AS submitter_id, email AS submitter, karma,
        approved_count, rejected_count, decided_by_name,
        (SELECT count(*) FROM subscriptions WHERE subscriptions.source_id = sources.id) AS subscriber_count
    FROM submissions JOIN sources ON sources.id = source_id JOIN users ON users.id = submissions.user_id
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE judged.moderation_status = 'approved') AS approved_count,
            count(*) FILTER (WHERE judged.moderation_status = 'rejected') AS rejected_count
        FROM submissions AS theirs JOIN sources AS judged ON judged.id = theirs.source_id
        WHERE theirs.user_id = users.id
    ) AS record
"""
_MATCHES: Final = """
    (%(submitter_id)s::uuid IS NULL OR submissions.user_id = %(submitter_id)s)
    AND (%(host)s::text IS NULL OR submissions.host = %(host)s)
    AND (%(text)s::text IS NULL
        OR strpos(lower(submissions.name), lower(%(text)s)) > 0
        OR strpos(lower(coalesce(feed_url, url)), lower(%(text)s)) > 0
        OR strpos(lower(email), lower(%(text)s)) > 0)
"""
_UNDECIDED: Final = f"""
    {_QUEUE}
    WHERE decided_at IS NULL AND moderation_status = %(status)s AND {_MATCHES}
        AND (%(after_at)s::timestamptz IS NULL OR (submitted_at, source_id) > (%(after_at)s, %(after_id)s::uuid))
    ORDER BY submitted_at, source_id LIMIT %(limit)s + 1
"""
_DECIDED: Final = f"""
    {_QUEUE}
    WHERE decided_at IS NOT NULL AND moderation_status = %(status)s AND {_MATCHES}
        AND (%(after_at)s::timestamptz IS NULL OR (decided_at, source_id) < (%(after_at)s, %(after_id)s::uuid))
    ORDER BY decided_at DESC, source_id DESC LIMIT %(limit)s + 1
"""


async def add(
    conn: Connection, *, source_id: SourceId, user_id: UserId, proposal: Proposal, host: str, sample: Sample,
    now: datetime,
) -> None:  # fmt: skip
    """Suggest a source for all users. Raises SourceExists if it is suggested already."""
    statement = """
        INSERT INTO submissions (source_id, user_id, name, category, interval_minutes, host, sample, submitted_at)
        VALUES (%(source_id)s, %(user_id)s, %(name)s, %(category)s, %(interval_minutes)s, %(host)s, %(sample)s, %(now)s)
    """
    kept = Jsonb(msgspec.to_builtins(sample))
    values = {**asdict(proposal), "source_id": source_id, "user_id": user_id, "host": host, "sample": kept, "now": now}
    with translate(submissions_pkey=SourceExists(proposal.url)):
        await conn.execute(statement, values)


async def list_own(conn: Connection, *, after: PageCursor | None = None, limit: int) -> list[CustomFeed]:
    """The user's own suggestions, the newest first. Under `Database.as_user`."""
    statement = f"""
        {_OWN}
        WHERE %(after_at)s::timestamptz IS NULL OR (submitted_at, source_id) < (%(after_at)s, %(after_id)s::uuid)
        ORDER BY submitted_at DESC, source_id DESC LIMIT %(limit)s
    """
    rows = await fetch_rows(conn, statement, {**_cursor_values(after), "limit": limit})
    return msgspec.convert(rows, list[CustomFeed])


async def lock_own(conn: Connection, *, source_id: SourceId, user_id: UserId) -> CustomFeed | None:
    statement = _OWN + " WHERE source_id = %(source_id)s AND user_id = %(user_id)s FOR UPDATE OF submissions"
    rows = await fetch_rows(conn, statement, {"source_id": source_id, "user_id": user_id})
    return msgspec.convert(rows[0], CustomFeed) if rows else None


async def remove(conn: Connection, *, source_id: SourceId) -> None:
    await conn.execute("DELETE FROM submissions WHERE source_id = %(id)s", {"id": source_id})


async def lock(conn: Connection, *, source_id: SourceId) -> FeedSubmission | None:
    statement = _QUEUE + " WHERE source_id = %(id)s FOR UPDATE OF submissions"
    rows = await fetch_rows(conn, statement, {"id": source_id})
    return msgspec.convert(rows[0], FeedSubmission) if rows else None


async def set_decision(
    conn: Connection, *, source_id: SourceId, actor: Actor, reason: str | None, now: datetime
) -> None:
    """Store a moderator's decision; the status itself is kept with the source."""
    statement = """
        UPDATE submissions
        SET decided_at = %(now)s, decided_by = %(by)s, decided_by_name = %(by_name)s, reason = %(reason)s
        WHERE source_id = %(id)s
    """
    values = {"id": source_id, "now": now, "by": actor.user_id, "by_name": actor.name, "reason": reason}
    await conn.execute(statement, values)


async def list_queue(
    conn: Connection, shown: Shown, *, wanted: QueueFilter = EVERYTHING, after: PageCursor | None = None, limit: int
) -> QueuePage:
    """Suggestions: undecided ones the oldest first, decided ones the latest decision first."""
    is_unreviewed = shown is Shown.UNREVIEWED  # approved by karma
    status = ModerationStatus.APPROVED if is_unreviewed else ModerationStatus(shown.value)
    values = {**asdict(wanted), **_cursor_values(after), "status": status.value, "limit": limit}
    if is_unreviewed or shown is Shown.PENDING:
        rows = await fetch_rows(conn, _UNDECIDED, values)
    else:
        rows = await fetch_rows(conn, _DECIDED, values)
    found = msgspec.convert(rows[:limit], list[FeedSubmission])
    last = found[-1] if len(rows) > limit else None
    return QueuePage(found, PageCursor(last.decided_at or last.created_at, last.id) if last else None)


def _cursor_values(after: PageCursor | None) -> dict[str, object]:
    return {"after_at": after.at if after else None, "after_id": after.id if after else None}


async def count_pending(conn: Connection) -> int:
    statement = """
        SELECT count(*) FROM submissions JOIN sources ON sources.id = source_id
        WHERE decided_at IS NULL AND moderation_status = 'pending'
    """
    return await fetch_value(conn, statement)


async def lock_of_domain(conn: Connection, *, domain: str, with_pending: bool) -> list[SourceId]:
    """Lock and return approved sources of a domain and its subdomains, also pending ones on request. A source is of the
    domain if its suggestion was, or if its feed is there now. The submitter of an approved source may have deleted
    their account: then it has no suggestion any more."""
    statement = """
        SELECT sources.id FROM sources LEFT JOIN submissions ON submissions.source_id = sources.id
        LEFT JOIN feed_state ON feed_state.source_id = sources.id
        WHERE (
                moderation_status = 'approved' AND NOT is_system
                OR (%(with_pending)s AND decided_at IS NULL AND moderation_status = 'pending')
            )
            AND EXISTS (
                SELECT FROM (VALUES (submissions.host), (feed_state.host)) AS place (host)
                WHERE host = %(domain)s OR right(host, length(%(domain)s) + 1) = '.' || %(domain)s
            )
        ORDER BY submitted_at, sources.id FOR UPDATE OF sources
    """
    return await fetch_column(conn, statement, {"domain": domain, "with_pending": with_pending})


async def list_similar(conn: Connection, *, source_ids: Sequence[SourceId]) -> list[PossibleDuplicate]:
    statement = """
        SELECT submissions.source_id AS suggestion_id, other.*
        FROM submissions CROSS JOIN LATERAL (
            SELECT sources.id, sources.name, coalesce(sources.feed_url, sources.url, '') AS url,
                moderation_status AS status, is_system, bool_or(is_same_host) AS is_same_host,
                bool_or(is_same_name) AS is_same_name
            FROM (
                (
                    SELECT source_id, true AS is_same_host, false AS is_same_name FROM feed_state
                    WHERE feed_state.host = submissions.host AND source_id <> submissions.source_id LIMIT %(limit)s
                ) UNION ALL (
                    SELECT named.id, false, true FROM sources AS named
                    WHERE plain_name(named.name)
                            IN (plain_name(submissions.name), plain_name(submissions.sample->>'title'))
                        AND plain_name(named.name) <> '' AND named.id <> submissions.source_id
                    LIMIT %(limit)s
                )
            ) AS found JOIN sources ON sources.id = found.source_id
            GROUP BY sources.id ORDER BY is_same_name DESC, lower(sources.name), sources.id LIMIT %(limit)s
        ) AS other
        WHERE submissions.source_id = ANY(%(ids)s::uuid[])
    """
    return await fetch_all(conn, PossibleDuplicate, statement, {"ids": list(source_ids), "limit": MOST_SIMILAR})


async def find_submitter_record(conn: Connection, *, user_id: UserId) -> SubmitterRecord:
    statement = """
        SELECT count(*) FILTER (WHERE moderation_status = 'approved') AS approved,
            count(*) FILTER (WHERE moderation_status = 'rejected') AS rejected
        FROM submissions JOIN sources ON sources.id = source_id
        WHERE user_id = %(user_id)s AND decided_at IS NOT NULL
    """
    return await fetch_one(conn, SubmitterRecord, statement, {"user_id": user_id}) or SubmitterRecord()


async def remove_of(conn: Connection, *, user_id: UserId, limit: int) -> list[SourceId]:
    """Delete submissions of a removed user. Returns their sources."""
    statement = """
        DELETE FROM submissions
        WHERE source_id = ANY(ARRAY(SELECT source_id FROM submissions WHERE user_id = %(user_id)s LIMIT %(limit)s))
        RETURNING source_id
    """
    return await fetch_column(conn, statement, {"user_id": user_id, "limit": limit})


async def clear_moderator(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Clear a removed user's id from decisions and blocked domains; the name stays. Returns how many were changed."""
    values = {"user_id": user_id, "limit": limit}
    statement = """
        UPDATE submissions SET decided_by = NULL
        WHERE source_id = ANY(ARRAY(SELECT source_id FROM submissions WHERE decided_by = %(user_id)s LIMIT %(limit)s))
    """
    decided = await conn.execute(statement, values)
    of_domains = """
        UPDATE blocked_domains SET blocked_by = NULL
        WHERE domain = ANY(ARRAY(SELECT domain FROM blocked_domains WHERE blocked_by = %(user_id)s LIMIT %(limit)s))
    """
    blocked = await conn.execute(of_domains, values)
    return decided.rowcount + blocked.rowcount


_BLOCKED: Final = "SELECT domain, reason, blocked_by_name, blocked_at FROM blocked_domains"


async def block(conn: Connection, *, domain: str, reason: str, actor: Actor, now: datetime) -> bool:
    """Block a domain. False if it is blocked already."""
    statement = """
        INSERT INTO blocked_domains (domain, reason, blocked_by, blocked_by_name, blocked_at)
        VALUES (%(domain)s, %(reason)s, %(by)s, %(by_name)s, %(now)s) ON CONFLICT (domain) DO NOTHING
    """
    values = {"domain": domain, "reason": reason, "by": actor.user_id, "by_name": actor.name, "now": now}
    return (await conn.execute(statement, values)).rowcount == 1


async def unblock(conn: Connection, *, domain: str) -> bool:
    """Unblock a domain. False if it is not blocked."""
    statement = "DELETE FROM blocked_domains WHERE domain = %(domain)s"
    return (await conn.execute(statement, {"domain": domain})).rowcount == 1


async def find_blocked(conn: Connection, *, domains: Sequence[str]) -> list[BlockedDomain]:
    """Those of these domains that are blocked, the widest first."""
    statement = _BLOCKED + " WHERE domain = ANY(%(domains)s::text[]) ORDER BY length(domain), domain"
    return await fetch_all(conn, BlockedDomain, statement, {"domains": list(domains)})


async def list_blocked(conn: Connection, *, after: str = "", limit: int) -> list[BlockedDomain]:
    statement = f"""
        {_BLOCKED}
        WHERE domain COLLATE "C" > %(after)s ORDER BY domain COLLATE "C" LIMIT %(limit)s
    """
    return await fetch_all(conn, BlockedDomain, statement, {"after": after, "limit": limit})


async def list_records(conn: Connection, *, domains: Sequence[str]) -> dict[str, DomainRecord]:
    statement = """
        SELECT domain, count(*) FILTER (WHERE moderation_status = 'approved') AS approved,
            count(*) FILTER (WHERE moderation_status = 'rejected') AS rejected,
            EXISTS (SELECT FROM blocked_domains WHERE blocked_domains.domain = wanted.domain) AS is_blocked
        FROM unnest(%(domains)s::text[]) AS wanted (domain)
        LEFT JOIN submissions ON decided_at IS NOT NULL
            AND (host = wanted.domain OR right(host, length(wanted.domain) + 1) = '.' || wanted.domain)
        LEFT JOIN sources ON sources.id = source_id GROUP BY domain
    """
    return {one.domain: one for one in await fetch_all(conn, DomainRecord, statement, {"domains": list(domains)})}


_PUBLIC: Final = """
    SELECT sources.id, sources.name, coalesce(sources.feed_url, sources.url) AS url,
        coalesce(sources.url, submissions.sample->>'site_url') AS site_url, sources.category,
        coalesce(followed.count, 0) AS subscriber_count,
        coalesce(
            article_count,  -- only a feed has this counter
            (SELECT count(*) FROM (SELECT FROM article_sources WHERE source_id = sources.id LIMIT 10000) AS one)
        ) AS article_count,
        EXISTS (
            SELECT FROM subscriptions WHERE source_id = sources.id AND subscriptions.user_id = %(user_id)s
        ) AS is_followed, NOT is_system AS is_custom
    FROM sources LEFT JOIN feed_state ON feed_state.source_id = sources.id
    LEFT JOIN submissions ON submissions.source_id = sources.id
"""
_IS_PUBLIC: Final = """
    (is_system OR moderation_status = 'approved') AND enabled AND coalesce(sources.feed_url, sources.url) IS NOT NULL
"""
_IS_MATCH: Final = """
    (%(category)s = '' OR sources.category = %(category)s)
    AND (%(text)s = ''
        OR strpos(lower(sources.name || ' ' || coalesce(sources.feed_url, '') || ' '
            || coalesce(sources.url, '') || ' ' || coalesce(sources.category, '')), lower(%(text)s)) > 0)
"""


async def find_existing(conn: Connection, *, url_keys: Sequence[bytes]) -> ExistingSource | None:
    statement = """
        SELECT id, name, is_system, moderation_status AS status FROM sources
        WHERE feed_url_key = ANY(%(keys)b::bytea[]) OR (url_key = ANY(%(keys)b::bytea[]) AND feed_url_key IS NULL)
        ORDER BY is_system OR moderation_status IS NOT NULL DESC, id LIMIT 1
    """
    rows = await fetch_rows(conn, statement, {"keys": list(url_keys)})
    return msgspec.convert(rows[0], ExistingSource) if rows else None


async def list_public(
    conn: Connection, *, user_id: UserId, text: str = "", category: str = "", limit: int, offset: int
) -> list[PublicSource]:
    """Public sources, those with most subscriptions first. Not under row-level security: subscriptions are counted."""
    statement = f"""
        {_PUBLIC}
        LEFT JOIN (SELECT source_id, count(*) FROM subscriptions GROUP BY source_id) AS followed
            ON followed.source_id = sources.id
        WHERE {_IS_PUBLIC} AND {_IS_MATCH} ORDER BY subscriber_count DESC, lower(sources.name), sources.id
        LIMIT %(limit)s OFFSET %(offset)s
    """
    values = {"user_id": user_id, "text": text, "category": category, "limit": limit, "offset": offset}
    return await fetch_all(conn, PublicSource, statement, values)


async def find_public(conn: Connection, *, source_id: SourceId, user_id: UserId) -> PublicSource | None:
    statement = f"""
        {_PUBLIC}
        CROSS JOIN LATERAL (SELECT count(*) FROM subscriptions WHERE source_id = sources.id) AS followed
        WHERE sources.id = %(id)s AND {_IS_PUBLIC}
    """
    return await fetch_one(conn, PublicSource, statement, {"id": source_id, "user_id": user_id})


async def count_public(conn: Connection, *, text: str = "", category: str = "") -> int:
    values = {"text": text, "category": category}
    return await fetch_value(conn, f"SELECT count(*) FROM sources WHERE {_IS_PUBLIC} AND {_IS_MATCH}", values)


async def list_categories(conn: Connection) -> list[str]:
    statement = """
        SELECT category FROM sources
        WHERE (is_system OR moderation_status = 'approved') AND enabled AND category IS NOT NULL
        GROUP BY category ORDER BY lower(category), category
    """
    return await fetch_column(conn, statement)
