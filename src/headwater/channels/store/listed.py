"""Which feeds list an article, and its URL: what decides who may see it."""

from collections.abc import Sequence

from headwater.articles.types import ListingFeed
from headwater.db import Connection, fetch_column
from headwater.types import ArticleId


async def find_feeds(conn: Connection, *, article_ids: Sequence[ArticleId]) -> dict[ArticleId, list[ListingFeed]]:
    """The feeds that list each of these articles; an article that exists and no feed lists has none."""
    statement = """
        SELECT wanted.id, coalesce(listed.feeds, '[]')
        FROM unnest(%(ids)s::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (SELECT FROM articles WHERE articles.id = wanted.id OFFSET 0) AS articles
        CROSS JOIN LATERAL (
            SELECT jsonb_agg(jsonb_build_array(
                coalesce(sources.is_system OR sources.moderation_status = 'approved', false), sources.feed_url,
                sources.was_private
            )) AS feeds
            -- OFFSET 0: each by itself, where a join would read whole partitions
            FROM (SELECT * FROM article_sources WHERE article_sources.article_id = wanted.id OFFSET 0) AS links
            JOIN sources ON sources.id = links.source_id
        ) AS listed
    """
    cur = await conn.execute(statement, {"ids": list(article_ids)})
    return {ArticleId(row[0]): [ListingFeed(*feed) for feed in row[1]] for row in await cur.fetchall()}


async def find_ids(conn: Connection, *, url_keys: Sequence[bytes]) -> list[ArticleId]:
    """The articles of these URLs that were not deleted."""
    statement = """
        SELECT article_id FROM article_urls
        WHERE url_key = ANY(%(url_keys)b::bytea[])
            AND EXISTS (SELECT FROM articles WHERE articles.id = article_id OFFSET 0)  -- each in its month
    """
    return sorted(await fetch_column(conn, statement, {"url_keys": list(url_keys)}))


async def find_urls(conn: Connection, *, article_ids: Sequence[ArticleId]) -> dict[ArticleId, str]:
    cur = await conn.execute("SELECT id, url FROM articles WHERE id = ANY(%(ids)s::uuid[])", {"ids": list(article_ids)})
    return {ArticleId(article_id): url for article_id, url in await cur.fetchall()}
