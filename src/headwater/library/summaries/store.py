"""Every statement on `summaries`, and the articles of a day.

Run under `Database.as_user`: row-level security leaves only the user's rows, so no statement names a user.
"""

from dataclasses import asdict
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_column, fetch_one
from headwater.library.summaries.decide import by_story, plain
from headwater.library.summaries.types import DayArticle, Summary, Written
from headwater.types import ArticleId, UserId

_COLUMNS: Final = "id, status, content, model, article_count, error, created_at, finished_at"


async def list_articles(conn: Connection, *, since: datetime, limit: int) -> list[DayArticle]:
    """The newest articles of the user's feeds: the extracted text if there is one, else what the feed says.

    Those of one story come together, larger stories first.
    """
    statement = """
        WITH newest AS (
            SELECT listed_at, article_id, name
            FROM (
                -- An article has a place in each feed that lists it: the newest counts.
                SELECT DISTINCT ON (article_id) listed_at, article_id, name
                FROM subscriptions
                CROSS JOIN LATERAL (
                    SELECT listed_at, article_id
                    FROM article_sources
                    WHERE article_sources.source_id = subscriptions.source_id AND listed_at >= %(since)s
                        AND NOT EXISTS (
                            SELECT FROM marks
                            WHERE marks.article_id = article_sources.article_id AND hidden_at IS NOT NULL
                            OFFSET 0
                        )
                    ORDER BY listed_at DESC, article_id DESC LIMIT %(limit)s
                ) AS listed
                ORDER BY article_id, listed_at DESC, name
            ) AS placed
            ORDER BY listed_at DESC, article_id DESC LIMIT %(limit)s
        )
        SELECT articles.id,
            coalesce(nullif(described.title, ''), nullif(articles.title, ''), content.title, articles.url), newest.name,
            coalesce(described.published_at, articles.published_at, newest.listed_at),
            left(coalesce(nullif(content.text, ''), original.text), 4000),
            left(coalesce(
                nullif(described.content, ''), described.summary, nullif(articles.content, ''), articles.summary
            ), 12000),
            state.story_id
        FROM newest
        JOIN articles ON articles.id = newest.article_id
        LEFT JOIN content ON content.article_id = articles.id
        LEFT JOIN content AS original ON original.article_id = content.duplicate_of
        LEFT JOIN LATERAL article_for_user(newest.article_id) AS described ON true
        LEFT JOIN LATERAL (
            SELECT story_id FROM article_state WHERE article_state.article_id = newest.article_id OFFSET 0
        ) AS state ON true
        ORDER BY newest.listed_at DESC, newest.article_id DESC
    """
    cur = await conn.execute(statement, {"since": since, "limit": limit})
    return by_story(
        [
            DayArticle(ArticleId(article_id), title, feed_name, published_at, text or plain(html or ""), story_id)
            for article_id, title, feed_name, published_at, text, html, story_id in await cur.fetchall()
        ]
    )


async def find_newest(conn: Connection) -> Summary | None:
    statement = f"SELECT {_COLUMNS} FROM summaries ORDER BY created_at DESC, id DESC LIMIT 1"
    return await fetch_one(conn, Summary, statement)


async def find_ready(conn: Connection) -> Summary | None:
    statement = f"SELECT {_COLUMNS} FROM summaries WHERE status = 'ready' ORDER BY created_at DESC, id DESC LIMIT 1"
    return await fetch_one(conn, Summary, statement)


async def repair_future(conn: Connection, *, after: datetime, began_at: datetime) -> None:
    """Change the start of summaries that a clock which was ahead dated after a time."""
    statement = """
        UPDATE summaries
        SET created_at = %(began_at)s,
            finished_at = CASE WHEN finished_at IS NOT NULL THEN %(began_at)s::timestamptz END
        WHERE created_at > %(after)s
    """
    await conn.execute(statement, {"after": after, "began_at": began_at})


async def begin(conn: Connection, *, summary_id: UUID, user_id: UserId, now: datetime) -> bool:
    """Start a summary; False if one is being made."""
    statement = """
        INSERT INTO summaries (id, user_id, status, created_at)
        VALUES (%(id)s, %(user_id)s, 'making', %(now)s)
        ON CONFLICT (user_id) WHERE status = 'making' DO NOTHING
    """
    return (await conn.execute(statement, {"id": summary_id, "user_id": user_id, "now": now})).rowcount == 1


async def remove_failed(conn: Connection, *, before: datetime) -> None:
    """Delete failed summaries that were started before a time; later ones count against the daily limit."""
    await conn.execute("DELETE FROM summaries WHERE status = 'failed' AND created_at <= %(before)s", {"before": before})


async def list_begun(conn: Connection, *, since: datetime, limit: int) -> list[datetime]:
    """When the user's summaries since a time were started, the latest first; failed ones cost too."""
    statement = """
        SELECT created_at
        FROM summaries WHERE created_at > %(since)s ORDER BY created_at DESC, id DESC LIMIT %(limit)s
    """
    return await fetch_column(conn, statement, {"since": since, "limit": limit})


async def finish(
    conn: Connection, *, summary_id: UUID, written: Written, article_count: int, now: datetime
) -> Summary | None:
    """Store a summary, also if it was marked as failed meanwhile. None if the user was deleted."""
    statement = f"""
        UPDATE summaries
        SET status = 'ready', content = %(content)s, model = %(model)s, article_count = %(article_count)s,
            prompt_tokens = %(prompt_tokens)s, completion_tokens = %(completion_tokens)s, cost = %(cost)s,
            error = NULL, finished_at = %(now)s
        WHERE id = %(id)s
        RETURNING {_COLUMNS}
    """
    values = {**asdict(written), "id": summary_id, "article_count": article_count, "now": now}
    return await fetch_one(conn, Summary, statement, values)


async def fail(
    conn: Connection, *, error: str, now: datetime, summary_id: UUID | None = None, before: datetime | None = None
) -> None:
    """Mark an unfinished summary as failed, or all that were started before a time. The error is for the user."""
    statement = """
        UPDATE summaries SET status = 'failed', error = %(error)s, finished_at = %(now)s
        WHERE status = 'making' AND (id = %(id)s::uuid OR created_at <= %(before)s::timestamptz)
    """
    await conn.execute(statement, {"id": summary_id, "before": before, "error": error, "now": now})


async def remove_of(conn: Connection, *, user_id: UserId, limit: int) -> int:
    statement = """
        DELETE FROM summaries
        WHERE id = ANY(ARRAY(SELECT id FROM summaries WHERE user_id = %(user_id)s LIMIT %(limit)s))
    """
    return (await conn.execute(statement, {"user_id": user_id, "limit": limit})).rowcount
