"""The documents of the index, read from `content` and related tables."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_rows, fetch_value
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
            content.section AS article_section, content.language, content.image_url AS lead_image,
            content.open_graph ->> 'type' AS og_type, content.open_graph ->> 'title' AS og_title,
            content.open_graph ->> 'description' AS og_description, content.open_graph ->> 'image' AS og_image,
            content.open_graph ->> 'url' AS og_url, content.open_graph ->> 'site_name' AS og_site_name,
            nullif(content.linked_data, '[]')::text AS json_ld_data, content.word_count,
            encode(content.content_hash, 'hex') AS content_hash, content.version,
            content.extracted_at AS crawled_at, 'pending' AS classification_status
        FROM content
        -- OFFSET 0: each in its month, where a join would read all of them
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = content.article_id OFFSET 0) AS articles
        {_ORIGINAL}
        LEFT JOIN LATERAL (
            SELECT sources.id AS source_id, sources.name AS source_name
            FROM article_sources JOIN sources ON sources.id = article_sources.source_id
            WHERE article_sources.article_id = content.article_id
            ORDER BY article_sources.title IS NOT NULL, article_sources.seen_at, sources.id  -- its own site first
            LIMIT 1
        ) AS listed ON true
        WHERE content.article_id = ANY(%(ids)b::uuid[])
    """
    return {ArticleId(UUID(row["id"])): row for row in await fetch_rows(conn, statement, {"ids": list(article_ids)})}


async def count_content(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM content")
