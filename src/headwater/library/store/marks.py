"""Marks: which articles a user has read, starred or tagged, and which a rule of theirs hid."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from headwater.db import Connection, fetch_column, fetch_value
from headwater.library.rules.types import MarkChange
from headwater.library.store.lists import IN_FEED, IS_UNREAD
from headwater.types import ArticleId, PageCursor, UserId


async def mark(
    conn: Connection, *, user_id: UserId, article_id: ArticleId, now: datetime, is_read: bool | None = None,
    is_starred: bool | None = None, is_saved: bool | None = None,
) -> None:  # fmt: skip
    """Set read, starred or saved for later; None keeps it. A star, and saving, keeps what feeds of other sites say of
    the article. Removing it from Read later can be undone for a day."""
    statement = """
        INSERT INTO marks (
            user_id, article_id, is_read, read_at, starred_at, saved_at, title, author, summary, content, published_at
        )
        SELECT %(user_id)s, %(article_id)s, %(is_read)s, CASE WHEN %(is_read)s THEN %(now)s::timestamptz END,
            CASE WHEN %(is_starred)s THEN %(now)s::timestamptz END,
            CASE WHEN %(is_saved)s THEN %(now)s::timestamptz END, described.title, described.author,
            described.summary, described.content, described.published_at
        FROM (SELECT) AS nothing LEFT JOIN LATERAL article_for_user(%(article_id)s) AS described ON %(keeps)s
        ON CONFLICT (user_id, article_id) DO UPDATE SET is_read = coalesce(excluded.is_read, marks.is_read),
            read_at = CASE WHEN %(is_read)s IS NULL THEN marks.read_at ELSE excluded.read_at END,
            starred_at = CASE
                WHEN %(is_starred)s IS NULL THEN marks.starred_at
                WHEN %(is_starred)s THEN coalesce(marks.starred_at, excluded.starred_at)
            END,
            saved_at = CASE
                WHEN %(is_saved)s IS NULL THEN marks.saved_at
                WHEN %(is_saved)s THEN coalesce(marks.saved_at, excluded.saved_at)
            END,
            unsaved_at = CASE
                WHEN %(is_saved)s IS NULL THEN marks.unsaved_at
                WHEN NOT %(is_saved)s AND marks.saved_at IS NOT NULL THEN %(now)s::timestamptz
            END,
            title = CASE WHEN %(keeps)s THEN excluded.title ELSE marks.title END,
            author = CASE WHEN %(keeps)s THEN excluded.author ELSE marks.author END,
            summary = CASE WHEN %(keeps)s THEN excluded.summary ELSE marks.summary END,
            content = CASE WHEN %(keeps)s THEN excluded.content ELSE marks.content END,
            published_at = CASE WHEN %(keeps)s THEN excluded.published_at ELSE marks.published_at END
    """
    values = {"user_id": user_id, "article_id": article_id, "is_read": is_read, "is_starred": is_starred, "now": now}
    keeps = bool(is_starred or is_saved)
    await conn.execute(statement, {**values, "is_saved": is_saved, "keeps": keeps})


async def restore_saved(conn: Connection, *, article_id: ArticleId, since: datetime, now: datetime) -> bool:
    """Put an article back into Read later that was removed since then. False: it was not."""
    statement = """
        UPDATE marks SET saved_at = %(now)s, unsaved_at = NULL
        WHERE article_id = %(article_id)s AND unsaved_at >= %(since)s RETURNING true
    """
    return bool(await fetch_value(conn, statement, {"article_id": article_id, "since": since, "now": now}))


async def count_saved(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM marks WHERE saved_at IS NOT NULL") or 0


async def is_saved(conn: Connection, *, article_id: ArticleId) -> bool:
    statement = "SELECT EXISTS (SELECT FROM marks WHERE article_id = %(article_id)s AND saved_at IS NOT NULL)"
    return bool(await fetch_value(conn, statement, {"article_id": article_id}))


async def move_saved(conn: Connection, *, from_id: ArticleId, to_id: ArticleId) -> None:
    """What users saved as one article is another, to which its page redirects. Needs all users' rows."""
    statement = """
        WITH moved AS (
            DELETE FROM marks WHERE article_id = %(from_id)s
            RETURNING user_id, is_read, read_at, starred_at, saved_at, unsaved_at, tags
        )
        INSERT INTO marks (user_id, article_id, is_read, read_at, starred_at, saved_at, unsaved_at, tags)
        SELECT user_id, %(to_id)s, is_read, read_at, starred_at, saved_at, unsaved_at, tags FROM moved ORDER BY user_id
        ON CONFLICT (user_id, article_id) DO UPDATE
        SET starred_at = coalesce(marks.starred_at, excluded.starred_at),
            saved_at = coalesce(marks.saved_at, excluded.saved_at),
            unsaved_at = coalesce(marks.unsaved_at, excluded.unsaved_at),
            tags = CASE WHEN marks.tags = '{}' THEN excluded.tags ELSE marks.tags END
    """
    await conn.execute(statement, {"from_id": from_id, "to_id": to_id})


async def forget_unsaved(conn: Connection, *, before: datetime, limit: int) -> list[ArticleId]:
    """Articles that users removed from Read later before then: it can no longer be undone."""
    statement = """
        UPDATE marks SET unsaved_at = NULL
        WHERE (user_id, article_id) IN (
            SELECT user_id, article_id FROM marks WHERE unsaved_at < %(before)s ORDER BY unsaved_at LIMIT %(limit)s
        )
        RETURNING article_id
    """
    return list(dict.fromkeys(await fetch_column(conn, statement, {"before": before, "limit": limit})))


async def mark_some(
    conn: Connection, *, user_id: UserId, article_ids: Sequence[ArticleId], is_read: bool, now: datetime
) -> None:
    """Set these articles read or unread."""
    statement = """
        INSERT INTO marks (user_id, article_id, is_read, read_at)
        SELECT %(user_id)s, id, %(is_read)s, CASE WHEN %(is_read)s THEN %(now)s::timestamptz END
        FROM unnest(%(article_ids)s::uuid[]) AS id
        ORDER BY id
        ON CONFLICT (user_id, article_id) DO UPDATE SET is_read = excluded.is_read, read_at = excluded.read_at
    """
    values = {"user_id": user_id, "article_ids": list(article_ids), "is_read": is_read, "now": now}
    await conn.execute(statement, values)


async def set_hidden(
    conn: Connection, *, user_id: UserId, article_ids: Sequence[ArticleId], hidden_at: datetime | None
) -> None:
    """Hide these articles from lists, or list them again: None."""
    statement = """
        INSERT INTO marks (user_id, article_id, hidden_at)
        SELECT %(user_id)s, id, %(hidden_at)s FROM unnest(%(article_ids)s::uuid[]) AS id ORDER BY id
        ON CONFLICT (user_id, article_id) DO UPDATE SET hidden_at = excluded.hidden_at
    """
    await conn.execute(statement, {"user_id": user_id, "article_ids": list(article_ids), "hidden_at": hidden_at})


async def add_tag(
    conn: Connection, *, user_id: UserId, article_ids: Sequence[ArticleId], tag: str, most: int
) -> list[ArticleId]:
    """Add a tag to these articles. Returns those that have it now: an article has at most so many tags."""
    statement = """
        INSERT INTO marks (user_id, article_id, tags)
        SELECT %(user_id)s, id, ARRAY[%(tag)s] FROM unnest(%(article_ids)s::uuid[]) AS id ORDER BY id
        ON CONFLICT (user_id, article_id) DO UPDATE
        SET tags = CASE WHEN %(tag)s = ANY(marks.tags) THEN marks.tags ELSE marks.tags || excluded.tags END
        WHERE %(tag)s = ANY(marks.tags) OR cardinality(marks.tags) < %(most)s
        RETURNING article_id
    """
    values = {"user_id": user_id, "article_ids": list(article_ids), "tag": tag, "most": most}
    return await fetch_column(conn, statement, values)


async def find_tags(conn: Connection, *, article_id: ArticleId) -> list[str]:
    """The tags of an article, in the order in which they were added."""
    statement = "SELECT tags FROM marks WHERE article_id = %(article_id)s"
    return await fetch_value(conn, statement, {"article_id": article_id}) or []


async def remove_tag(conn: Connection, *, article_id: ArticleId, tag: str) -> None:
    statement = """
        UPDATE marks SET tags = array_remove(tags, %(tag)s)
        WHERE article_id = %(article_id)s AND %(tag)s = ANY(tags)
    """
    await conn.execute(statement, {"article_id": article_id, "tag": tag})


async def advance(conn: Connection, *, article_id: ArticleId) -> None:
    """Move `read_until` of feeds that list an article up to their oldest unread one. Each article is passed once."""
    statement = f"""
        UPDATE subscriptions SET read_until = coalesce((
            SELECT listed_at - interval '1 microsecond'
            FROM article_sources
            WHERE article_sources.source_id = subscriptions.source_id AND listed_at > read_until AND {IS_UNREAD}
            ORDER BY listed_at LIMIT 1
        ), greatest(read_until, (
            SELECT listed_at
            FROM article_sources WHERE article_sources.source_id = subscriptions.source_id
            ORDER BY listed_at DESC LIMIT 1
        )))
        WHERE source_id IN (SELECT source_id FROM article_sources WHERE article_id = %(article_id)s)
    """
    await conn.execute(statement, {"article_id": article_id})


async def mark_all_read(conn: Connection, *, feed: UUID | None, category: str | None, until: datetime) -> None:
    """Mark articles listed up to a time as read, in one feed, a category or all feeds."""
    statement = f"""
        WITH read AS (
            UPDATE subscriptions SET read_until = greatest(read_until, %(until)s) WHERE {IN_FEED} RETURNING source_id
        )
        UPDATE marks SET is_read = NULL
        FROM read JOIN article_sources USING (source_id)
        WHERE marks.article_id = article_sources.article_id AND marks.is_read = false
            AND article_sources.listed_at <= %(until)s
    """
    await conn.execute(statement, {"feed": feed, "category": category, "until": until})


async def repair_read_until(conn: Connection, *, now: datetime, latest: datetime) -> None:
    """Where a clock that was ahead set it: all that is listed until then would count as read."""
    statement = "UPDATE subscriptions SET read_until = %(now)s WHERE read_until > %(latest)s"
    await conn.execute(statement, {"now": now, "latest": latest})


async def mark_above_read(
    conn: Connection, *, user_id: UserId, feed: UUID | None, category: str | None, place: PageCursor, now: datetime,
    is_oldest_first: bool = False,
) -> int:  # fmt: skip
    """Mark what a list shows down to a position as read: what is newer, or what is older. Returns how many."""
    statement = f"""
        INSERT INTO marks (user_id, article_id, is_read, read_at)
        SELECT DISTINCT %(user_id)s::uuid, article_id, true, %(now)s::timestamptz
        FROM subscriptions
        JOIN article_sources USING (source_id)
        LEFT JOIN marks USING (article_id)
        WHERE {IN_FEED}
            AND (listed_at > read_until OR NOT is_read) AND hidden_at IS NULL
            AND (listed_at, article_id) >= (%(from_at)s::timestamptz, %(from_id)s::uuid)
            AND (listed_at, article_id) <= (%(to_at)s::timestamptz, %(to_id)s::uuid)
        ON CONFLICT (user_id, article_id) DO UPDATE SET is_read = true, read_at = excluded.read_at
        WHERE marks.is_read IS DISTINCT FROM true
    """
    first, last = ("-infinity", UUID(int=0)), ("infinity", UUID(int=2**128 - 1))
    (from_at, from_id), (to_at, to_id) = (first, place) if is_oldest_first else (place, last)
    values = {"user_id": user_id, "feed": feed, "category": category, "now": now}
    bounds = {"from_at": from_at, "from_id": from_id, "to_at": to_at, "to_id": to_id}
    return (await conn.execute(statement, {**values, **bounds})).rowcount


async def remove_of(conn: Connection, *, user_id: UserId, limit: int) -> tuple[int, list[ArticleId]]:
    """Delete marks of a removed user. Returns how many were deleted, and which articles were starred or saved."""
    statement = """
        DELETE FROM marks
        WHERE user_id = %(user_id)s
            AND article_id = ANY(ARRAY(SELECT article_id FROM marks WHERE user_id = %(user_id)s LIMIT %(limit)s))
        RETURNING article_id, coalesce(starred_at, saved_at, unsaved_at) IS NOT NULL
    """
    cur = await conn.execute(statement, {"user_id": user_id, "limit": limit})
    rows = await cur.fetchall()
    return len(rows), [ArticleId(article_id) for article_id, is_kept in rows if is_kept]


async def apply_rules(conn: Connection, *, changes: Sequence[MarkChange], most_tags: int, now: datetime) -> None:
    """Change the marks of readers. What they did themselves stays: a star, when it was read, and their tags. A star
    keeps what feeds of other sites say of the article, as in `mark`."""
    statement = """
        INSERT INTO marks (
            user_id, article_id, is_read, read_at, starred_at, hidden_at, tags, title, author, summary, content,
            published_at
        )
        SELECT wanted.user_id, wanted.article_id, nullif(wanted.marks_read, false),
            CASE WHEN wanted.marks_read THEN %(now)s::timestamptz END,
            CASE WHEN wanted.stars THEN %(now)s::timestamptz END,
            CASE WHEN wanted.hides THEN %(now)s::timestamptz END, wanted.tags[:%(most)s], described.title,
            described.author, described.summary, described.content, described.published_at
        FROM jsonb_to_recordset(%(rows)s) AS wanted (
            user_id uuid, article_id uuid, marks_read boolean, stars boolean, hides boolean, tags text[]
        )
        -- As article_for_user, for many readers at once.
        LEFT JOIN LATERAL (
            SELECT links.title, links.author, links.summary, links.content, links.published_at
            FROM (SELECT * FROM article_sources WHERE article_sources.article_id = wanted.article_id OFFSET 0) AS links
            JOIN subscriptions ON subscriptions.source_id = links.source_id AND subscriptions.user_id = wanted.user_id
            ORDER BY links.title IS NOT NULL, links.seen_at, links.source_id
            LIMIT 1
        ) AS described ON wanted.stars
        ORDER BY wanted.user_id, wanted.article_id
        ON CONFLICT (user_id, article_id) DO UPDATE SET
            is_read = coalesce(excluded.is_read, marks.is_read),
            read_at = CASE WHEN marks.is_read THEN marks.read_at ELSE coalesce(excluded.read_at, marks.read_at) END,
            starred_at = coalesce(marks.starred_at, excluded.starred_at),
            hidden_at = coalesce(marks.hidden_at, excluded.hidden_at),
            tags = (
                marks.tags || ARRAY(SELECT tag FROM unnest(excluded.tags) AS tag WHERE tag <> ALL(marks.tags))
            )[:greatest(%(most)s, cardinality(marks.tags))],
            title = CASE WHEN marks.starred_at IS NULL THEN excluded.title ELSE marks.title END,
            author = CASE WHEN marks.starred_at IS NULL THEN excluded.author ELSE marks.author END,
            summary = CASE WHEN marks.starred_at IS NULL THEN excluded.summary ELSE marks.summary END,
            content = CASE WHEN marks.starred_at IS NULL THEN excluded.content ELSE marks.content END,
            published_at = CASE WHEN marks.starred_at IS NULL THEN excluded.published_at ELSE marks.published_at END
    """
    rows = [asdict(one) | {"user_id": str(one.user_id), "article_id": str(one.article_id)} for one in changes]
    await conn.execute(statement, {"rows": Jsonb(rows), "most": most_tags, "now": now})
