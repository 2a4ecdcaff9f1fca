"""The articles with the newest revisions, on which a query is tried."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from headwater.channels.types import PreviewedArticle
from headwater.db import Connection, fetch_all
from headwater.types import ArticleId


class RevisedArticle(NamedTuple):
    revision: int
    article_id: ArticleId
    revised_at: datetime


async def list_revised(conn: Connection, *, before: int, limit: int) -> list[RevisedArticle]:
    """The articles of the revisions before one, the newest first."""
    statement = """
        SELECT revision, article_id, revised_at FROM article_state
        WHERE revision < %(before)s ORDER BY revision DESC LIMIT %(limit)s
    """
    return await fetch_all(conn, RevisedArticle, statement, {"before": before, "limit": limit})


async def describe(conn: Connection, *, article_ids: Sequence[ArticleId]) -> list[PreviewedArticle]:
    """Title and URL of articles, in their order."""
    statement = """
        SELECT wanted.id AS article_id, articles.url, articles.listed_at,
            coalesce(nullif(content.title, ''), nullif(articles.title, ''), articles.url) AS title
        FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS wanted (id, place)
        -- OFFSET 0: each in its month, where a join would read all of them
        CROSS JOIN LATERAL (
            SELECT url, title, listed_at FROM articles WHERE articles.id = wanted.id OFFSET 0
        ) AS articles
        LEFT JOIN LATERAL (SELECT title FROM content WHERE content.article_id = wanted.id OFFSET 0) AS content ON true
        ORDER BY wanted.place
    """
    return await fetch_all(conn, PreviewedArticle, statement, {"ids": list(article_ids)})
