"""Every statement of classifying: due articles, their texts, the rules of operators, reputations of sources."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column, fetch_rows, fetch_value
from headwater.labels.types import Scheme
from headwater.types import ArticleId, SourceId
from headwater.understanding.types import ArticleText, ClassificationRule, ComputedReputation, DueArticle, SourceQuality

_RULE: Final = "id, name, scheme, label, keywords, patterns, source_ids, min_score, is_enabled, version"


@dataclass(frozen=True, slots=True)
class ClassifiedArticle:
    """What is written to the state of an article."""

    article_id: ArticleId
    embedding: bytes | None
    is_unsure: bool


async def claim(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, limit: int
) -> list[DueArticle]:
    ids = await _find_due(conn, now=now, limit=limit)
    return await _lease(conn, ids=ids, lease=lease, leased_until=leased_until) if ids else []


async def _find_due(conn: Connection, *, now: datetime, limit: int) -> list[ArticleId]:
    statement = """
        SELECT article_id FROM article_state
        WHERE classify_at <= %(now)s ORDER BY classify_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    """
    return await fetch_column(conn, statement, {"now": now, "limit": limit})


async def _lease(
    conn: Connection, *, ids: Sequence[ArticleId], lease: UUID, leased_until: datetime
) -> list[DueArticle]:
    statement = """
        UPDATE article_state
        SET classify_at = %(until)s, classify_lease = %(lease)s,
            lost_leases = CASE WHEN classify_lease IS NULL THEN lost_leases ELSE lost_leases + 1 END
        WHERE article_id = ANY(%(ids)s)
        RETURNING article_id, classify_lease AS lease, lost_leases
    """
    return await fetch_all(conn, DueArticle, statement, {"ids": list(ids), "lease": lease, "until": leased_until})


async def oldest_due_at(conn: Connection, *, now: datetime) -> datetime | None:
    statement = "SELECT min(classify_at) FROM article_state WHERE classify_at <= %(now)s"
    return await fetch_value(conn, statement, {"now": now})


async def read_articles(conn: Connection, *, ids: Sequence[ArticleId], max_chars: int) -> dict[ArticleId, ArticleText]:
    """The shared records of these articles, without those that no longer exist. A duplicate has its original's text."""
    statement = """
        SELECT articles.id, articles.url, coalesce(nullif(page.title, ''), nullif(articles.title, articles.url), '')
                AS title,
            left(body.text, %(max_chars)s) AS text,
            CASE WHEN body.text = '' THEN left(coalesce(articles.content, articles.summary, ''), 2 * %(max_chars)s)
                ELSE '' END AS html,
            left(coalesce(page.description, articles.summary, ''), 2000) AS description,
            left(coalesce(nullif(array_to_string(page.authors, ', '), ''), articles.author, ''), 500) AS author,
            coalesce(page.language, '') AS language, left(coalesce(page.section, ''), 200) AS section,
            coalesce(page.keywords, '{}') AS keywords,
            coalesce(page.published_at, articles.published_at) IS NOT NULL AS has_date,
            page.image_url IS NOT NULL AS has_image, page.article_id IS NOT NULL AS has_page,
            coalesce((length(body.html) - length(replace(body.html, '<a ', ''))) / 3, 0) AS links,
            coalesce(page.open_graph, '{}') AS open_graph, coalesce(page.linked_data, '[]') AS linked_data,
            listed.source_ids
        FROM unnest(%(ids)s::uuid[]) AS due (id)
        -- OFFSET 0: each in its month, where a join would read all of them
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = due.id OFFSET 0) AS articles
        LEFT JOIN LATERAL (SELECT * FROM content WHERE content.article_id = due.id OFFSET 0) AS page ON true
        LEFT JOIN LATERAL (
            SELECT text, html FROM content WHERE content.article_id = page.duplicate_of OFFSET 0
        ) AS original ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(page.text, original.text, '') AS text, coalesce(page.html, original.html) AS html
        ) AS body
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(source_id), '{}') AS source_ids
            FROM article_sources WHERE article_sources.article_id = due.id OFFSET 0
        ) AS listed
    """
    rows = await fetch_rows(conn, statement, {"ids": list(ids), "max_chars": max_chars})
    return {row.pop("id"): ArticleText(**row) for row in rows}


async def find_ours(conn: Connection, *, ids: Sequence[ArticleId], lease: UUID) -> set[ArticleId]:
    """Those of these articles that are still leased to us: no other process took them, and their text is the same."""
    statement = "SELECT article_id FROM article_state WHERE article_id = ANY(%(ids)s) AND classify_lease = %(lease)s"
    return set(await fetch_column(conn, statement, {"ids": list(ids), "lease": lease}))


async def finish(conn: Connection, *, classified: Sequence[ClassifiedArticle], now: datetime) -> None:
    """Nothing is due any more. A new embedding is to be joined to a story, an unsure article to be tagged."""
    if not classified:
        return
    statement = """
        UPDATE article_state
        SET classify_at = NULL, classify_lease = NULL, lost_leases = 0, classified_at = %(now)s,
            story_due = story_due OR (
                given.embedding IS NOT NULL AND given.embedding IS DISTINCT FROM article_state.embedding
            ),
            embedding = given.embedding,
            ai_due_at = CASE
                WHEN ai_lease IS NOT NULL OR ai_tagged THEN ai_due_at
                WHEN given.is_unsure THEN coalesce(ai_due_at, %(now)s)
            END
        FROM unnest(%(ids)s::uuid[], %(embeddings)s::bytea[], %(unsure)s::boolean[])
            AS given (article_id, embedding, is_unsure)
        WHERE article_state.article_id = given.article_id AND article_state.article_id = ANY(%(ids)s)
    """
    values = {
        "ids": [one.article_id for one in classified], "embeddings": [one.embedding for one in classified],
        "unsure": [one.is_unsure for one in classified], "now": now,
    }  # fmt: skip
    await conn.execute(statement, values)


async def list_rules(conn: Connection, *, only_enabled: bool = False) -> list[ClassificationRule]:
    """By name."""
    statement = f"""
        SELECT {_RULE} FROM classification_rules
        WHERE is_enabled OR NOT %(only_enabled)s ORDER BY lower(name), id
    """
    rows = await fetch_all(conn, ClassificationRule, statement, {"only_enabled": only_enabled})
    return [replace(rule, scheme=Scheme(rule.scheme)) for rule in rows]


async def queue_reputations(conn: Connection, *, source_ids: Sequence[SourceId], at: datetime) -> None:
    """Compute the reputations of these sources at a time, or earlier if they are due earlier."""
    if not source_ids:
        return
    statement = """
        INSERT INTO source_reputation (source_id, due_at)
        SELECT id, %(at)s
        FROM (
            SELECT id FROM source_ids WHERE id = ANY(%(ids)s) AND removed_at IS NULL ORDER BY id FOR KEY SHARE
        ) AS existing
        ON CONFLICT (source_id) DO UPDATE SET due_at = excluded.due_at
        WHERE source_reputation.due_at IS NULL OR source_reputation.due_at > excluded.due_at
    """
    await conn.execute(statement, {"ids": list(source_ids), "at": at})


async def has_due_sources(conn: Connection, *, now: datetime) -> bool:
    statement = "SELECT EXISTS (SELECT FROM source_reputation WHERE due_at <= %(now)s)"
    return await fetch_value(conn, statement, {"now": now})


async def take_due_sources(conn: Connection, *, now: datetime, limit: int) -> list[SourceId]:
    """Sources whose reputation is due, locked until the transaction ends."""
    statement = """
        SELECT source_id FROM source_reputation WHERE due_at <= %(now)s
        ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    """
    return await fetch_column(conn, statement, {"now": now, "limit": limit})


async def measure_sources(conn: Connection, *, source_ids: Sequence[SourceId], newest: int) -> list[SourceQuality]:
    """What the newest articles of these sources are, as far as they have labels."""
    statement = """
        SELECT asked.source_id, count(quality.score) AS articles,
            coalesce(avg(quality.score), 0)::real * 100 AS quality,
            coalesce(avg(CASE WHEN kind.is_spam THEN 1 ELSE 0 END) FILTER (WHERE quality.score IS NOT NULL), 0)::real
                AS spam_share
        FROM unnest(%(ids)s::uuid[]) AS asked (source_id)
        LEFT JOIN LATERAL (
            SELECT article_id FROM article_sources WHERE article_sources.source_id = asked.source_id
            ORDER BY listed_at DESC, article_id DESC LIMIT %(newest)s
        ) AS listed ON true
        -- OFFSET 0: each in its month, where a join would read all of them
        LEFT JOIN LATERAL (
            SELECT score FROM labels
            WHERE labels.article_id = listed.article_id AND scheme = 'quality' AND is_shown LIMIT 1 OFFSET 0
        ) AS quality ON true
        LEFT JOIN LATERAL (
            SELECT label = 'spam' AS is_spam FROM labels
            WHERE labels.article_id = listed.article_id AND scheme = 'type' AND is_shown LIMIT 1 OFFSET 0
        ) AS kind ON true
        GROUP BY asked.source_id
    """
    return await fetch_all(conn, SourceQuality, statement, {"ids": list(source_ids), "newest": newest})


async def save_reputations(conn: Connection, *, reputations: Sequence[ComputedReputation], now: datetime) -> None:
    statement = """
        UPDATE source_reputation
        SET articles = given.articles, quality = given.quality, spam_share = given.spam_share,
            reputation = given.reputation, computed_at = %(now)s, due_at = NULL
        FROM unnest(
            %(ids)s::uuid[], %(articles)s::integer[], %(qualities)s::real[], %(shares)s::real[], %(reputations)s::real[]
        ) AS given (source_id, articles, quality, spam_share, reputation)
        WHERE source_reputation.source_id = given.source_id
    """
    values = {
        "ids": [one.of.source_id for one in reputations], "articles": [one.of.articles for one in reputations],
        "qualities": [one.of.quality for one in reputations], "shares": [one.of.spam_share for one in reputations],
        "reputations": [one.reputation for one in reputations], "now": now,
    }  # fmt: skip
    await conn.execute(statement, values)
