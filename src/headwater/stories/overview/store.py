"""Statements about stories for operators."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.channels.visible import find_visible
from headwater.db import Connection, fetch_all, fetch_one
from headwater.stories.overview.types import ArticleOfStory, LargeStory

_COLUMNS: Final = "id, title, first_at, last_at, article_count, source_count"


async def list_largest(conn: Connection, *, since: datetime, limit: int) -> list[LargeStory]:
    """The stories of several sources with an article since a time, those of most sources first."""
    statement = f"""
        SELECT {_COLUMNS} FROM stories WHERE last_at >= %(since)s AND source_count > 1
        ORDER BY source_count DESC, article_count DESC, last_at DESC, id LIMIT %(limit)s
    """
    return await fetch_all(conn, LargeStory, statement, {"since": since, "limit": limit})


async def find_story(conn: Connection, *, story_id: UUID) -> LargeStory | None:
    """None also for a story of articles that only private feeds list."""
    statement = f"SELECT {_COLUMNS} FROM stories WHERE id = %(id)s AND article_count > 0"
    return await fetch_one(conn, LargeStory, statement, {"id": story_id})


async def list_articles(
    conn: Connection, *, story_ids: Sequence[UUID], limit: int, now: datetime
) -> dict[UUID, list[ArticleOfStory]]:
    """The newest articles of each of these stories, without those that only private feeds list."""
    statement = """
        SELECT wanted.id AS story_id, articles.id, articles.url,
            coalesce(nullif(page.title, ''), nullif(articles.title, ''), articles.url) AS title,
            coalesce(page.published_at, articles.published_at) AS published_at
        FROM unnest(%(ids)s::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT article_id FROM article_state WHERE story_id = wanted.id ORDER BY article_id DESC LIMIT %(limit)s
        ) AS placed
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = placed.article_id OFFSET 0) AS articles
        LEFT JOIN LATERAL (
            SELECT title, published_at FROM content WHERE content.article_id = placed.article_id OFFSET 0
        ) AS page ON true
        ORDER BY articles.id DESC
    """
    found: dict[UUID, list[ArticleOfStory]] = {}
    rows = await fetch_all(conn, ArticleOfStory, statement, {"ids": list(story_ids), "limit": limit})
    visible = set(await find_visible(conn, [row.id for row in rows], now))
    for row in rows:
        if row.id in visible:
            found.setdefault(row.story_id, []).append(row)
    return found
