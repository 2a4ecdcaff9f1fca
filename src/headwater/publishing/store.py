"""The documents of the index and the records of messages, read from `content` and related tables."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column, fetch_rows, fetch_value
from headwater.publishing.message import ArticleRecord
from headwater.publishing.types import IndexDocument
from headwater.types import ArticleId

_ORIGINAL: Final = """
    LEFT JOIN LATERAL (
        SELECT text, html FROM content AS whose WHERE whose.article_id = content.duplicate_of OFFSET 0
    ) AS original ON true
"""


async def measure(conn: Connection, *, article_ids: Sequence[ArticleId]) -> Mapping[ArticleId, int]:
    """The approximate size of each document in bytes, without reading long values."""
    statement = f"""
        SELECT content.article_id, coalesce(octet_length(coalesce(content.text, original.text)), 0)
            + coalesce(octet_length(coalesce(content.html, original.html)), 0)
            + pg_column_size(content.linked_data) + 2000
        FROM content
        {_ORIGINAL}
        WHERE content.article_id = ANY(%(ids)b::uuid[])
    """
    cur = await conn.execute(statement, {"ids": list(article_ids)})
    return dict(await cur.fetchall())


async def read(conn: Connection, *, article_ids: Sequence[ArticleId]) -> Mapping[ArticleId, IndexDocument]:
    """The documents of these articles; without those that have no content."""
    statement = f"""
        SELECT content.article_id::text AS id, content.url, listed.source_id::text, listed.source_name,
            coalesce(nullif(content.title, ''), nullif(articles.title, ''), content.url) AS title,
            coalesce(content.text, original.text) AS raw_text, coalesce(content.html, original.html) AS raw_html,
            content.description AS meta_description, nullif(content.keywords, '{{}}') AS meta_keywords,
            nullif(content.authors, '{{}}') AS author,
            coalesce(content.published_at, articles.published_at) AS published_date, content.canonical_url,
            content.section AS article_section, coalesce(content.language, labelled.language) AS language,
            content.image_url AS lead_image,
            content.open_graph ->> 'type' AS og_type, content.open_graph ->> 'title' AS og_title,
            content.open_graph ->> 'description' AS og_description, content.open_graph ->> 'image' AS og_image,
            content.open_graph ->> 'url' AS og_url, content.open_graph ->> 'site_name' AS og_site_name,
            nullif(content.linked_data, '[]')::text AS json_ld_data, content.word_count,
            encode(content.content_hash, 'hex') AS content_hash, content.version,
            content.extracted_at AS crawled_at,
            CASE WHEN state.classified_at IS NULL THEN 'pending' ELSE 'classified' END AS classification_status,
            state.story_id::text, labelled.content_type, labelled.quality_score, labelled.topics, labelled.categories,
            labelled.sentiment, labelled.keywords
        FROM content
        -- OFFSET 0: each in its month, where a join would read all of them
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = content.article_id OFFSET 0) AS articles
        {_ORIGINAL}
        LEFT JOIN LATERAL (
            SELECT sources.id AS source_id, sources.name AS source_name
            FROM article_sources JOIN sources ON sources.id = article_sources.source_id
            WHERE article_sources.article_id = content.article_id
                AND (sources.is_system OR sources.moderation_status = 'approved')  -- others are not named
            ORDER BY article_sources.title IS NOT NULL, article_sources.seen_at, sources.id  -- its own site first
            LIMIT 1
        ) AS listed ON true
        LEFT JOIN LATERAL (
            SELECT classified_at, story_id
            FROM article_state WHERE article_state.article_id = content.article_id OFFSET 0
        ) AS state ON true
        CROSS JOIN LATERAL (
            SELECT min(label) FILTER (WHERE scheme = 'language') AS language,
                min(label) FILTER (WHERE scheme = 'type') AS content_type,
                min(label) FILTER (WHERE scheme = 'sentiment') AS sentiment,
                round(100 * max(score) FILTER (WHERE scheme = 'quality'))::integer AS quality_score,
                array_agg(label ORDER BY score DESC, label) FILTER (WHERE scheme = 'topic') AS topics,
                array_agg(label ORDER BY score DESC, label) FILTER (WHERE scheme = 'category') AS categories,
                array_agg(label ORDER BY score DESC, label) FILTER (WHERE scheme = 'keyword') AS keywords
            FROM (SELECT scheme, label, score FROM labels WHERE article_id = content.article_id AND is_shown OFFSET 0)
                AS shown
        ) AS labelled
        WHERE content.article_id = ANY(%(ids)b::uuid[])
    """
    return {ArticleId(UUID(row["id"])): row for row in await fetch_rows(conn, statement, {"ids": list(article_ids)})}


async def count_content(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM content")


async def list_doubtful(conn: Connection, *, after: ArticleId | None, limit: int) -> list[ArticleId]:
    """The next articles with content that may be private: no source that every user may see lists them."""
    statement = """
        SELECT article_id FROM content
        WHERE article_id > coalesce(%(after)s::uuid, %(first)s::uuid) AND NOT EXISTS (
            SELECT FROM article_sources JOIN sources ON sources.id = source_id
            WHERE article_sources.article_id = content.article_id
                AND (sources.is_system OR sources.moderation_status = 'approved')
            OFFSET 0
        )
        ORDER BY article_id LIMIT %(limit)s
    """
    return await fetch_column(conn, statement, {"after": after, "first": UUID(int=0), "limit": limit})


async def read_records(
    conn: Connection, *, article_ids: Sequence[ArticleId], with_html: bool
) -> Mapping[ArticleId, ArticleRecord]:
    """The shared records of these articles, without those that no longer exist. Of their sources only those that every
    user may see. A duplicate has its original's text."""
    statement = f"""
        SELECT articles.id, articles.url, coalesce(content.canonical_url, articles.url) AS canonical_url,
            coalesce(nullif(content.title, ''), nullif(articles.title, ''), listed.title, articles.url) AS title,
            coalesce(content.text, original.text) AS text,
            CASE WHEN %(with_html)s THEN coalesce(content.html, original.html) END AS html,
            CASE WHEN coalesce(content.text, original.text, '') = '' THEN coalesce(articles.content, articles.summary)
                END AS feed_html,
            coalesce(content.description, articles.summary) AS description,
            coalesce(nullif(content.authors, '{{}}'), array_remove(ARRAY[articles.author], NULL)) AS authors,
            coalesce(content.published_at, articles.published_at) AS published_at, articles.listed_at,
            content.section, coalesce(labelled.language, content.language) AS language, content.image_url,
            content.word_count, coalesce(content.open_graph, '{{}}') AS open_graph,
            coalesce(content.keywords, '{{}}') AS meta_keywords,
            labelled.content_type, labelled.sentiment, labelled.quality_score, labelled.topics, labelled.topic_score,
            labelled.categories, labelled.keywords, state.story_id, state.revision, state.revised_at,
            content.duplicate_of, content.near_duplicate_of, listed.sources, listed.reputation, listed.enclosures
        FROM unnest(%(ids)s::uuid[]) AS wanted (id)
        -- OFFSET 0: each in its month, where a join would read all of them
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = wanted.id OFFSET 0) AS articles
        LEFT JOIN LATERAL (SELECT * FROM content WHERE content.article_id = wanted.id OFFSET 0) AS content ON true
        {_ORIGINAL}
        LEFT JOIN LATERAL (
            SELECT story_id, revision, revised_at
            FROM article_state WHERE article_state.article_id = wanted.id OFFSET 0
        ) AS state ON true
        CROSS JOIN LATERAL (
            SELECT (array_agg(link.title ORDER BY link.seen_at, sources.id) FILTER (WHERE link.title IS NOT NULL))[1]
                    AS title,
                coalesce(
                    jsonb_agg(jsonb_build_object('id', sources.id, 'name', sources.name) ORDER BY
                        link.title IS NOT NULL, link.seen_at, sources.id  -- its own site first
                    ), '[]'
                ) AS sources,
                (array_agg(link.enclosures ORDER BY link.title IS NOT NULL, link.seen_at, sources.id)
                    FILTER (WHERE link.enclosures IS NOT NULL))[1] AS enclosures,
                max(source_reputation.reputation) AS reputation
            FROM article_sources AS link
            JOIN sources ON sources.id = link.source_id
            LEFT JOIN source_reputation ON source_reputation.source_id = sources.id
            WHERE link.article_id = wanted.id AND (sources.is_system OR sources.moderation_status = 'approved')
        ) AS public_links
        CROSS JOIN LATERAL (
            SELECT public_links.title, public_links.sources, public_links.reputation,
                coalesce(public_links.enclosures, '[]') AS enclosures
        ) AS listed
        CROSS JOIN LATERAL (
            SELECT min(label) FILTER (WHERE scheme = 'language') AS language,
                min(label) FILTER (WHERE scheme = 'type') AS content_type,
                min(label) FILTER (WHERE scheme = 'sentiment') AS sentiment,
                round(100 * max(score) FILTER (WHERE scheme = 'quality'))::integer AS quality_score,
                array_agg(label ORDER BY score DESC, label) FILTER (WHERE scheme = 'topic') AS topics,
                max(score) FILTER (WHERE scheme = 'topic') AS topic_score,
                array_agg(label ORDER BY score DESC, label) FILTER (WHERE scheme = 'category') AS categories,
                array_agg(label ORDER BY score DESC, label) FILTER (WHERE scheme = 'keyword') AS keywords
            FROM (SELECT scheme, label, score FROM labels WHERE article_id = wanted.id AND is_shown OFFSET 0) AS shown
        ) AS labelled
    """
    values = {"ids": list(article_ids), "with_html": with_html}
    rows = await fetch_all(conn, ArticleRecord, statement, values)
    return {ArticleId(row.id): row for row in rows}
