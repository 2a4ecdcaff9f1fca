"""Full-text search in a user's articles."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from headwater.db import Connection, fetch_all, fetch_column
from headwater.library.store.lists import BEFORE, DESCRIBED, IN_FEED, IS_READ, NEWEST_ARTICLES, page_values
from headwater.library.types import ArticleLine, ArticlesQuery
from headwater.types import ArticleId

_TEXT_MATCHES: Final = """
    EXISTS (
        SELECT FROM asked
        WHERE coalesce(content.search, original.search) @@ asked.query
            AND content_config(coalesce(original.language, content.language)) = ANY (asked.configs)
    )
"""


async def find_hits(conn: Connection, *, words: str, most: int) -> list[ArticleId] | None:
    """Articles with these words in text or title, or in what a feed of the user says. None: `most` or more."""
    statement = """
        WITH texts AS MATERIALIZED (
            SELECT article_id
            FROM search_queries(%(words)s) AS asked
            JOIN content ON content.search @@ asked.query AND content_config(content.language) = ANY (asked.configs)
            LIMIT %(most)s
        ), titled AS MATERIALIZED (
            SELECT id
            FROM articles WHERE to_tsvector('simple', title) @@ websearch_to_tsquery('simple', %(words)s)
            LIMIT %(most)s
        ), listed AS MATERIALIZED (
            SELECT article_id, source_id
            FROM article_sources
            WHERE title IS NOT NULL AND to_tsvector('simple', title) @@ websearch_to_tsquery('simple', %(words)s)
            LIMIT %(most)s
        )
        SELECT article_id, true FROM texts
        UNION
        SELECT content.article_id, true FROM texts JOIN content ON content.duplicate_of = texts.article_id
        UNION
        SELECT id, true FROM titled
        UNION
        SELECT article_id, EXISTS (SELECT FROM subscriptions WHERE subscriptions.source_id = listed.source_id)
        FROM listed
    """
    cur = await conn.execute(statement, {"words": words, "most": most})
    hits: list[tuple[ArticleId, bool]] = await cur.fetchall()
    return [article_id for article_id, is_visible in hits if is_visible] if len(hits) < most else None


async def find_hits_among(conn: Connection, *, words: str, article_ids: Sequence[ArticleId]) -> list[ArticleId]:
    statement = f"""
        WITH asked AS MATERIALIZED (SELECT query, configs FROM search_queries(%(words)s))
        SELECT articles.id
        FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = wanted.id OFFSET 0) AS articles
        LEFT JOIN LATERAL (SELECT * FROM content WHERE article_id = wanted.id OFFSET 0) AS content ON true
        LEFT JOIN LATERAL (
            SELECT * FROM content AS whose WHERE whose.article_id = content.duplicate_of OFFSET 0
        ) AS original ON true
        WHERE to_tsvector('simple', articles.title) @@ websearch_to_tsquery('simple', %(words)s)
            OR EXISTS (
                SELECT FROM article_sources
                JOIN subscriptions USING (source_id)
                WHERE article_sources.article_id = wanted.id
                    AND to_tsvector('simple', article_sources.title) @@ websearch_to_tsquery('simple', %(words)s)
            )
            OR {_TEXT_MATCHES}
    """
    return await fetch_column(conn, statement, {"words": words, "article_ids": list(article_ids)})


async def list_among(
    conn: Connection, *, article_ids: Sequence[ArticleId], query: ArticlesQuery, since: datetime | None
) -> list[ArticleLine]:
    statement = f"""
        WITH newest AS MATERIALIZED (
            SELECT listed_at, article_id, name
            FROM (
                SELECT DISTINCT ON (article_id) listed_at, article_id, subscriptions.name
                FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
                CROSS JOIN LATERAL (
                    SELECT article_id, source_id, listed_at
                    FROM article_sources WHERE article_id = wanted.id OFFSET 0
                ) AS listed
                JOIN subscriptions USING (source_id)
                WHERE {IN_FEED}
                ORDER BY article_id, listed_at DESC, subscriptions.name
            ) AS placed
            WHERE {BEFORE} AND listed_at >= coalesce(%(since)s::timestamptz, '-infinity')
            ORDER BY listed_at DESC, article_id DESC LIMIT %(limit)s
        )
        SELECT articles.id, number, url, {DESCRIBED}, newest.listed_at, newest.name AS feed_name, {IS_READ},
            starred_at IS NOT NULL AS is_starred
        {NEWEST_ARTICLES}
        LEFT JOIN LATERAL article_for_user(newest.article_id) AS described ON true
        ORDER BY newest.listed_at DESC, newest.article_id DESC
    """
    values = {**page_values(query), "article_ids": list(article_ids), "since": since}
    return await fetch_all(conn, ArticleLine, statement, values)


async def search_starred(
    conn: Connection, *, words: str, query: ArticlesQuery, since: datetime | None
) -> list[ArticleLine]:
    """Starred articles that match these words, in the order of `list_starred`."""
    statement = f"""
        WITH asked AS MATERIALIZED (SELECT query, configs FROM search_queries(%(words)s))
        SELECT articles.id, number, articles.url, {DESCRIBED}, marks.starred_at AS listed_at,
            coalesce(mine.name, '') AS feed_name, coalesce(marks.is_read, mine.is_read, false) AS is_read,
            true AS is_starred
        FROM marks
        JOIN articles ON articles.id = marks.article_id
        LEFT JOIN content ON content.article_id = articles.id
        LEFT JOIN content AS original ON original.article_id = content.duplicate_of
        CROSS JOIN LATERAL (
            SELECT min(subscriptions.name) AS name, max(article_sources.listed_at) AS listed_at,
                bool_and(article_sources.listed_at <= read_until) AS is_read,
                bool_or(subscriptions.id = %(feed)s) AS is_of_feed,
                bool_or(subscriptions.category = %(category)s) AS is_of_category
            FROM article_sources JOIN subscriptions USING (source_id)
            WHERE article_sources.article_id = articles.id
        ) AS mine
        LEFT JOIN LATERAL article_for_user(articles.id) AS described ON true
        WHERE starred_at IS NOT NULL
            AND (starred_at, marks.article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
            AND coalesce(mine.listed_at, articles.listed_at) >= coalesce(%(since)s::timestamptz, '-infinity')
            AND (%(feed)s::uuid IS NULL OR mine.is_of_feed)
            AND (%(category)s::text IS NULL OR mine.is_of_category)
            AND (
                to_tsvector('simple', articles.title) @@ websearch_to_tsquery('simple', %(words)s)
                OR to_tsvector('simple', coalesce(described.title, '')) @@ websearch_to_tsquery('simple', %(words)s)
                OR {_TEXT_MATCHES}
            )
        ORDER BY starred_at DESC, marks.article_id DESC LIMIT %(limit)s
    """
    return await fetch_all(conn, ArticleLine, statement, {**page_values(query), "words": words, "since": since})
