"""Articles that an index finds for one part of a query, and their lines in a list.

What is found here may still fail the query, or be of feeds that the user does not follow.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column
from headwater.library.store.lists import (
    BEFORE,
    CONTENT_OF_WANTED,
    DESCRIBED,
    IN_FEED,
    IS_KEPT,
    IS_READ,
    NEWEST_ARTICLES,
    READING_TIME,
    page_values,
)
from headwater.library.types import ArticleLine, ArticlesQuery
from headwater.types import ArticleId

# The query for a word or phrase by the rules of each language; languages with equal queries share a row.
_ASKED: Final = """
    asked AS MATERIALIZED (
        SELECT phraseto_tsquery(config, %(words)s) AS query, array_agg(config) AS configs
        FROM unnest(ARRAY[
            'arabic', 'danish', 'dutch', 'english', 'finnish', 'french', 'german', 'greek', 'hungarian', 'indonesian',
            'italian', 'norwegian', 'portuguese', 'romanian', 'russian', 'simple', 'spanish', 'swedish', 'turkish'
        ]::regconfig[]) AS config
        GROUP BY 1
    )
"""


async def find_hits(conn: Connection, *, words: str, most: int) -> list[ArticleId] | None:
    """Articles with this word or phrase in text or title, or in what a feed of the user says. None: `most` or more, or
    all texts of a language that does not index it."""
    statement = f"""
        WITH {_ASKED}, texts AS MATERIALIZED (
            SELECT article_id
            FROM asked
            JOIN content ON content.search @@ asked.query AND content_config(content.language) = ANY (asked.configs)
            WHERE NOT EXISTS (SELECT FROM asked WHERE numnode(query) = 0)
            LIMIT %(most)s
        ), titled AS MATERIALIZED (
            SELECT id
            FROM articles WHERE to_tsvector('simple', title) @@ phraseto_tsquery('simple', %(words)s)
            LIMIT %(most)s
        ), listed AS MATERIALIZED (
            SELECT article_id, source_id
            FROM article_sources
            WHERE title IS NOT NULL AND to_tsvector('simple', title) @@ phraseto_tsquery('simple', %(words)s)
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
        UNION
        SELECT NULL, true FROM asked WHERE numnode(query) = 0
    """
    cur = await conn.execute(statement, {"words": words, "most": most})
    hits: list[tuple[ArticleId | None, bool]] = await cur.fetchall()
    found = [article_id for article_id, is_visible in hits if is_visible]
    return [one for one in found if one is not None] if len(hits) < most and None not in found else None


async def find_labelled(conn: Connection, *, labels: Sequence[tuple[str, str]], most: int) -> list[ArticleId] | None:
    """All articles that show one of these labels, each with its scheme. None: `most` or more."""
    statement = """
        SELECT article_id
        FROM unnest(%(schemes)s::text[], %(labels)s::text[]) AS wanted (scheme, label)
        CROSS JOIN LATERAL (
            SELECT article_id
            FROM labels WHERE is_shown AND labels.scheme = wanted.scheme AND labels.label = wanted.label
            LIMIT %(most)s
        ) AS labelled
        LIMIT %(most)s
    """
    values = {"schemes": [scheme for scheme, _ in labels], "labels": [label for _, label in labels], "most": most}
    return _unless_many(await fetch_column(conn, statement, values), most)


async def find_listed(
    conn: Connection, *, name: str | None = None, source_id: UUID | None = None, category: str | None = None,
    tag: str | None = None, most: int,
) -> list[ArticleId] | None:  # fmt: skip
    """All articles of the user's feeds with these words in their name, with this source, category or tag; with a tag,
    also the articles that the user gave it. None: `most` or more."""
    statement = """
        SELECT article_id
        FROM subscriptions
        CROSS JOIN LATERAL (
            SELECT article_id
            FROM article_sources WHERE article_sources.source_id = subscriptions.source_id
            LIMIT %(most)s
        ) AS listed
        WHERE to_tsvector('simple', name) @@ phraseto_tsquery('simple', %(name)s)
            OR source_id = %(source_id)s
            OR lower(category) = lower(%(category)s)
            OR starts_with(lower(category), lower(%(category)s) || '/')
            OR EXISTS (SELECT FROM unnest(tags) AS tag WHERE lower(tag) = lower(%(tag)s))
        UNION ALL
        SELECT article_id
        FROM marks
        WHERE tags <> '{}' AND EXISTS (SELECT FROM unnest(tags) AS tag WHERE lower(tag) = lower(%(tag)s))
        LIMIT %(most)s
    """
    values = {"name": name, "source_id": source_id, "category": category, "tag": tag, "most": most}
    return _unless_many(await fetch_column(conn, statement, values), most)


async def find_of_story(conn: Connection, *, story_id: UUID, most: int) -> list[ArticleId] | None:
    statement = "SELECT article_id FROM article_state WHERE story_id = %(story_id)s LIMIT %(most)s"
    return _unless_many(await fetch_column(conn, statement, {"story_id": story_id, "most": most}), most)


async def find_enclosed(conn: Connection, *, most: int) -> list[ArticleId] | None:
    """All articles with a file. None: `most` or more."""
    statement = "SELECT article_id FROM article_sources WHERE enclosures IS NOT NULL LIMIT %(most)s"
    return _unless_many(await fetch_column(conn, statement, {"most": most}), most)


def _unless_many(found: list[ArticleId], most: int) -> list[ArticleId] | None:
    return list(dict.fromkeys(found)) if len(found) < most else None


async def find_followed_among(conn: Connection, *, article_ids: Sequence[ArticleId]) -> list[ArticleId]:
    """Those of these articles that the user's feeds list."""
    statement = """
        SELECT wanted.id
        FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
        WHERE EXISTS (
            SELECT
            FROM (SELECT source_id FROM article_sources WHERE article_id = wanted.id OFFSET 0) AS listed
            JOIN subscriptions USING (source_id)
            OFFSET 0
        )
    """
    return await fetch_column(conn, statement, {"article_ids": list(article_ids)})


async def list_among(
    conn: Connection, *, article_ids: Sequence[ArticleId], query: ArticlesQuery, is_unread: bool = False
) -> list[ArticleLine]:
    """Those of these articles that the user's feeds list, as lines of a page."""
    statement = f"""
        WITH newest AS MATERIALIZED (
            SELECT listed_at, article_id, name, feed_id
            FROM (
                SELECT DISTINCT ON (article_id) listed_at, article_id, subscriptions.name,
                    subscriptions.id AS feed_id
                FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
                CROSS JOIN LATERAL (
                    SELECT article_id, source_id, listed_at
                    FROM article_sources WHERE article_id = wanted.id OFFSET 0
                ) AS listed
                JOIN subscriptions USING (source_id)
                LEFT JOIN LATERAL (
                    SELECT is_read, hidden_at FROM marks WHERE marks.article_id = listed.article_id OFFSET 0
                ) AS marked ON true
                WHERE {IN_FEED}
                    AND (hidden_at IS NULL OR %(with_hidden)s::boolean)
                    AND (NOT %(is_unread)s::boolean OR NOT coalesce(marked.is_read, listed_at <= read_until))
                ORDER BY article_id, listed_at DESC, subscriptions.name
            ) AS placed
            WHERE {BEFORE}
            ORDER BY listed_at DESC, article_id DESC LIMIT %(limit)s
        )
        SELECT articles.id, number, url, {DESCRIBED}, newest.listed_at, newest.name AS feed_name, {IS_READ},
            {IS_KEPT}, coalesce(marks.tags, '{{}}') AS tags, newest.feed_id, {READING_TIME}
        {NEWEST_ARTICLES}
        CROSS JOIN LATERAL (SELECT newest.article_id AS id) AS wanted
        {CONTENT_OF_WANTED}
        LEFT JOIN LATERAL article_for_user(newest.article_id) AS described ON true
        ORDER BY newest.listed_at DESC, newest.article_id DESC
    """
    values = {**page_values(query), "article_ids": list(article_ids), "is_unread": is_unread}
    return await fetch_all(conn, ArticleLine, statement, values)
