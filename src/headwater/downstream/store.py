"""Articles by revision, and what programs read of them.

Articles are partitioned by month, and one with a known id is in one partition. The planner does not rely on that for
a join and would read whole partitions: `OFFSET 0` makes it look up each article by itself.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from headwater.articles.enclosures import as_plain, from_stored
from headwater.db import Connection, fetch_all, fetch_rows, fetch_value
from headwater.db.arrays import byteas
from headwater.downstream.types import DownstreamArticle, Place
from headwater.types import ArticleId

# What everyone may know of the sources of an article: those of operators, and approved ones.
_IS_PUBLIC: Final = "(sources.is_system OR sources.moderation_status = 'approved')"
_LINKS: Final = """
    (SELECT * FROM article_sources WHERE article_sources.article_id = wanted.id OFFSET 0) AS links
    JOIN sources ON sources.id = links.source_id
"""
_CONTENT: Final = """
    LEFT JOIN LATERAL (SELECT * FROM content WHERE content.article_id = wanted.id OFFSET 0) AS page ON true
    LEFT JOIN LATERAL (
        SELECT text, html FROM content WHERE content.article_id = page.duplicate_of OFFSET 0
    ) AS original ON true
"""


async def last_revision(conn: Connection) -> int:
    """The newest revision that is visible: all before it are, too."""
    return await fetch_value(conn, "SELECT last_revision FROM publishing_state") or 0


async def list_places(conn: Connection, *, after: int, limit: int) -> list[Place]:
    """The first articles whose revision is after a number, in the order of revisions."""
    statement = """
        SELECT revision, article_id FROM article_state
        WHERE revision > %(after)s::bigint ORDER BY revision LIMIT %(limit)s
    """
    return await fetch_all(conn, Place, statement, {"after": after, "limit": limit})


async def list_places_before(conn: Connection, *, before: int, limit: int) -> list[Place]:
    """The last articles whose revision is before a number, the newest first."""
    statement = """
        SELECT revision, article_id FROM article_state
        WHERE revision < %(before)s::bigint ORDER BY revision DESC LIMIT %(limit)s
    """
    return await fetch_all(conn, Place, statement, {"before": before, "limit": limit})


async def find_by_keys(conn: Connection, *, url_keys: Sequence[bytes]) -> dict[bytes, ArticleId]:
    """The articles of these URLs. An article may have expired since."""
    statement = "SELECT url_key, article_id FROM article_urls WHERE url_key = ANY(%(url_keys)b::bytea[])"
    cur = await conn.execute(statement, {"url_keys": byteas(url_keys)})
    return {bytes(key): ArticleId(article_id) for key, article_id in await cur.fetchall()}


async def find_extracted(
    conn: Connection, *, url_keys: Sequence[bytes]
) -> dict[bytes, tuple[ArticleId, datetime | None]]:
    """The articles of these URLs that exist, each with the time when its page was read, if it was."""
    statement = """
        SELECT article_urls.url_key, articles.id, page.extracted_at
        FROM article_urls
        CROSS JOIN LATERAL (SELECT id FROM articles WHERE articles.id = article_id OFFSET 0) AS articles
        LEFT JOIN LATERAL (
            SELECT extracted_at FROM content WHERE content.article_id = articles.id OFFSET 0
        ) AS page ON true
        WHERE article_urls.url_key = ANY(%(url_keys)b::bytea[])
    """
    cur = await conn.execute(statement, {"url_keys": byteas(url_keys)})
    return {bytes(key): (ArticleId(article_id), at) for key, article_id, at in await cur.fetchall()}


async def measure(conn: Connection, *, article_ids: Sequence[ArticleId]) -> dict[ArticleId, int]:
    """The size of the long fields of each article in bytes, without reading them."""
    statement = f"""
        SELECT wanted.id, 2000 + coalesce(octet_length(coalesce(page.text, original.text)), 0)
            + coalesce(octet_length(coalesce(page.html, original.html, articles.content, articles.summary)), 0)
            + coalesce(pg_column_size(page.open_graph), 0) + coalesce(pg_column_size(page.linked_data), 0)
        FROM unnest(%(ids)s::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = wanted.id OFFSET 0) AS articles
        {_CONTENT}
    """
    cur = await conn.execute(statement, {"ids": list(article_ids)})
    return {ArticleId(article_id): size for article_id, size in await cur.fetchall()}


async def read_articles(
    conn: Connection, *, article_ids: Sequence[ArticleId], with_text: bool, with_html: bool, with_metadata: bool
) -> dict[ArticleId, DownstreamArticle]:
    """These articles, without those that no longer exist. Long fields are read only where they are asked for."""
    statement = f"""
        SELECT wanted.id, state.revision, state.revised_at, state.classified_at, articles.url, page.canonical_url,
            coalesce(nullif(page.title, ''), nullif(articles.title, ''), listed.title, articles.url) AS title,
            coalesce(articles.author, nullif(array_to_string(page.authors, ', '), ''), listed.author) AS author,
            articles.summary, page.description, coalesce(articles.published_at, page.published_at) AS published_at,
            articles.listed_at, articles.seen_at, page.extracted_at,
            coalesce(page.language, labelled.labels -> 'language' -> 0 ->> 'label') AS language, page.word_count,
            page.image_url, page.section, coalesce(page.keywords, '{{}}') AS keywords,
            encode(page.content_hash, 'hex') AS content_hash, page.duplicate_of, page.near_duplicate_of,
            coalesce(labelled.labels, '{{}}') AS labels, told.story, coalesce(listed.sources, '[]') AS sources,
            coalesce(listed.enclosures, '[]') AS enclosures,
            CASE WHEN %(with_text)s THEN coalesce(page.text, original.text) END AS text,
            CASE WHEN %(with_html)s THEN
                coalesce(page.html, original.html, articles.content, articles.summary)
            END AS html,
            CASE WHEN %(with_metadata)s THEN page.open_graph END AS open_graph,
            CASE WHEN %(with_metadata)s THEN page.linked_data END AS linked_data
        FROM unnest(%(ids)s::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = wanted.id OFFSET 0) AS articles
        {_CONTENT}
        LEFT JOIN LATERAL (
            SELECT revision, revised_at, classified_at, story_id
            FROM article_state WHERE article_state.article_id = wanted.id OFFSET 0
        ) AS state ON true
        LEFT JOIN LATERAL (
            SELECT jsonb_build_object(
                'id', id, 'title', title, 'article_count', article_count, 'source_count', source_count
            ) AS story
            FROM stories WHERE stories.id = state.story_id OFFSET 0
        ) AS told ON true
        CROSS JOIN LATERAL (
            SELECT jsonb_object_agg(scheme, found) AS labels
            FROM (
                SELECT scheme, jsonb_agg(
                    jsonb_build_object('label', label, 'score', score, 'method', method) ORDER BY score DESC, label
                ) AS found
                FROM (SELECT * FROM labels WHERE labels.article_id = wanted.id AND is_shown OFFSET 0) AS shown
                GROUP BY scheme
            ) AS by_scheme
        ) AS labelled
        CROSS JOIN LATERAL (
            SELECT jsonb_agg(
                    jsonb_build_object('id', sources.id, 'name', sources.name) ORDER BY links.seen_at, sources.id
                ) FILTER (WHERE {_IS_PUBLIC}) AS sources,
                jsonb_agg(links.enclosures ORDER BY links.title IS NOT NULL, links.seen_at, sources.id)
                    FILTER (WHERE links.enclosures IS NOT NULL AND ({_IS_PUBLIC} OR links.title IS NULL)) AS enclosures,
                (array_agg(links.title ORDER BY links.seen_at, sources.id)
                    FILTER (WHERE links.title IS NOT NULL AND {_IS_PUBLIC}))[1] AS title,
                (array_agg(links.author ORDER BY links.seen_at, sources.id)
                    FILTER (WHERE links.title IS NOT NULL AND {_IS_PUBLIC}))[1] AS author
            FROM {_LINKS}
        ) AS listed
    """
    values = {
        "ids": list(article_ids), "with_text": with_text, "with_html": with_html, "with_metadata": with_metadata
    }  # fmt: skip
    rows = await fetch_rows(conn, statement, values)
    return {ArticleId(row["id"]): _article(row) for row in rows}


def _article(row: dict[str, Any]) -> DownstreamArticle:
    row["enclosures"] = as_plain(from_stored(row["enclosures"]))
    return DownstreamArticle(**row)
