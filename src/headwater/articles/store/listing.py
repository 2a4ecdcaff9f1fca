"""Lists of the latest articles."""

from headwater.articles.types import ListedArticle
from headwater.db import Connection, fetch_all
from headwater.types import SourceId


async def latest(conn: Connection, *, limit: int) -> list[ListedArticle]:
    statement = """
        SELECT id, number, url, coalesce(nullif(articles.title, ''), described.title, url) AS title,
            coalesce(articles.author, described.author) AS author,
            coalesce(articles.summary, described.summary) AS summary,
            coalesce(articles.published_at, described.published_at) AS published_at, listed_at,
            ARRAY(
                SELECT sources.name
                FROM article_sources JOIN sources ON sources.id = article_sources.source_id
                WHERE article_sources.article_id = articles.id
                ORDER BY article_sources.seen_at, sources.name
            ) AS sources
        FROM (
            SELECT * FROM articles
            WHERE NOT EXISTS (SELECT FROM source_ids WHERE removed_at IS NOT NULL)  -- then none is being removed
                OR NOT EXISTS (SELECT FROM article_sources WHERE article_id = articles.id OFFSET 0)
                OR EXISTS (
                    SELECT FROM article_sources
                    JOIN sources ON sources.id = source_id
                    WHERE article_id = articles.id OFFSET 0
                )
            ORDER BY listed_at DESC, id DESC LIMIT %(limit)s
        ) AS articles
        LEFT JOIN LATERAL (
            -- Until the article's own site or its page has said anything: the feed that listed it first.
            SELECT title, author, summary, published_at
            FROM article_sources JOIN sources ON sources.id = source_id
            WHERE articles.title = '' AND article_sources.article_id = articles.id AND title IS NOT NULL
            ORDER BY seen_at, source_id LIMIT 1
        ) AS described ON true
        ORDER BY listed_at DESC, id DESC
    """
    return await fetch_all(conn, ListedArticle, statement, {"limit": limit})


async def latest_of_source(conn: Connection, *, source_id: SourceId, limit: int) -> list[ListedArticle]:
    statement = """
        SELECT articles.id, articles.number, articles.url,
            coalesce(nullif(articles.title, ''), article_sources.title, articles.url) AS title,
            coalesce(articles.author, article_sources.author) AS author,
            coalesce(articles.summary, article_sources.summary) AS summary,
            coalesce(articles.published_at, article_sources.published_at) AS published_at,
            article_sources.listed_at, ARRAY[sources.name] AS sources
        FROM article_sources
        JOIN articles ON articles.id = article_sources.article_id
        JOIN sources ON sources.id = article_sources.source_id
        WHERE article_sources.source_id = %(source_id)s
        ORDER BY article_sources.listed_at DESC, article_id DESC LIMIT %(limit)s
    """
    return await fetch_all(conn, ListedArticle, statement, {"source_id": source_id, "limit": limit})
