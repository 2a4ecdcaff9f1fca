"""The extracted content of articles: each text stored once, never replaced by a poorer one, searchable."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Final

from psycopg.types.json import Jsonb

from headwater.articles.decide import plan_content, richness
from headwater.articles.duplicates import KnownTexts, Original, link
from headwater.articles.types import ContentChange, Extracted, Hit, NewContent, Plan, Saved, Stored
from headwater.db import Connection, fetch_all, fetch_rows, fetch_value
from headwater.text import composed
from headwater.types import ArticleId

_STORED: Final = """
    title, description, keywords, authors, published_at, canonical_url, section, language, image_url, open_graph,
    linked_data, origins, word_count, content_hash, simhash, duplicate_of, near_duplicate_of, version
"""
_FIELDS: Final = _STORED + ", richness, extracted_at"


async def save(conn: Connection, *, records: Sequence[NewContent], now: datetime) -> list[Saved]:
    """Store records in this order: richer content is not overwritten, and a text that is stored already is linked."""
    await _lock_hashes(conn, records=records)
    stored = await _find_stored(conn, article_ids=[record.article_id for record in records])
    known = KnownTexts(await _find_originals(conn, records=records), await _find_nearest(conn, records=records))
    saved: list[Saved] = []
    rows: list[dict[str, object]] = []
    for record in records:
        before = stored.get(record.article_id)
        plan = plan_content(before, record.extracted)
        if before is not None and known.differs(record, before):
            plan = Plan(ContentChange.RENEWED, plan.merged, takes_text=True)
        one = link(record, before, plan, known)
        saved.append(one)
        # What the next record of the same article in this batch is compared with.
        stored[record.article_id] = Stored(plan.merged, one.duplicate_of, one.near_duplicate_of, one.version)
        if plan.change is not ContentChange.UNCHANGED:
            rows.append(_row(record, plan, one, now))
    if rows:
        await _write(conn, rows=rows)
    return saved


async def _lock_hashes(conn: Connection, *, records: Sequence[NewContent]) -> None:
    """Two transactions with the same text must see each other, or both would store it."""
    keys = {int.from_bytes(key[:8], signed=True) for record in records if (key := record.extracted.content_hash)}
    await conn.execute(
        "SELECT pg_advisory_xact_lock(key) FROM unnest(%(keys)b::bigint[]) AS key", {"keys": sorted(keys)}
    )


async def _find_stored(conn: Connection, *, article_ids: Sequence[ArticleId]) -> dict[ArticleId, Stored]:
    statement = f"""
        SELECT article_id, {_STORED} FROM content WHERE article_id = ANY(%(ids)s) ORDER BY article_id FOR UPDATE
    """
    rows = await fetch_rows(conn, statement, {"ids": list(article_ids)})
    return {
        row.pop("article_id"): Stored(
            **{name: row.pop(name) for name in ("duplicate_of", "near_duplicate_of", "version")},
            record=Extracted(**row),
        )
        for row in rows
    }


async def has_text(conn: Connection, *, article_id: ArticleId) -> bool:
    """Whether the page of an article was read."""
    statement = "SELECT EXISTS (SELECT FROM content WHERE article_id = %(id)s)"
    return bool(await fetch_value(conn, statement, {"id": article_id}))


async def _find_originals(conn: Connection, *, records: Sequence[NewContent]) -> dict[bytes, list[Original]]:
    """The articles that have these texts, the oldest first."""
    statement = """
        SELECT content_hash, article_id,
            sha256(convert_to(coalesce(text, '') || E'\\x1f' || coalesce(html, ''), 'UTF8'))
        FROM content WHERE content_hash = ANY(%(hashes)s::bytea[]) AND duplicate_of IS NULL ORDER BY article_id
    """
    hashes = [record.extracted.content_hash for record in records if record.extracted.content_hash]
    cur = await conn.execute(statement, {"hashes": hashes})
    originals: dict[bytes, list[Original]] = {}
    for content_hash, article_id, body in await cur.fetchall():
        originals.setdefault(bytes(content_hash), []).append(Original(article_id, bytes(body)))
    return originals


async def _find_nearest(conn: Connection, *, records: Sequence[NewContent]) -> dict[ArticleId, ArticleId]:
    """The nearest and oldest near-duplicate of each: found by one equal quarter of the simhash."""
    wanted = [record for record in records if record.extracted.simhash is not None]
    statement = """
        SELECT wanted.article_id, nearest.article_id
        FROM unnest(%(ids)b::uuid[], %(simhashes)b::bigint[]) AS wanted (article_id, simhash)
        CROSS JOIN LATERAL (
            SELECT coalesce(candidate.near_duplicate_of, candidate.article_id) AS article_id
            FROM (
                SELECT article_id, near_duplicate_of, simhash FROM content
                WHERE duplicate_of IS NULL AND ((simhash >> 48) & 65535) = ((wanted.simhash >> 48) & 65535)
                UNION ALL
                SELECT article_id, near_duplicate_of, simhash FROM content
                WHERE duplicate_of IS NULL AND ((simhash >> 32) & 65535) = ((wanted.simhash >> 32) & 65535)
                UNION ALL
                SELECT article_id, near_duplicate_of, simhash FROM content
                WHERE duplicate_of IS NULL AND ((simhash >> 16) & 65535) = ((wanted.simhash >> 16) & 65535)
                UNION ALL
                SELECT article_id, near_duplicate_of, simhash FROM content
                WHERE duplicate_of IS NULL AND (simhash & 65535) = (wanted.simhash & 65535)
            ) AS candidate
            WHERE wanted.article_id <> candidate.article_id
                AND wanted.article_id IS DISTINCT FROM candidate.near_duplicate_of
                AND bit_count((candidate.simhash # wanted.simhash)::bit(64)) <= 3
            ORDER BY bit_count((candidate.simhash # wanted.simhash)::bit(64)), candidate.article_id LIMIT 1
        ) AS nearest
    """
    ids, simhashes = [one.article_id for one in wanted], [one.extracted.simhash for one in wanted]
    cur = await conn.execute(statement, {"ids": ids, "simhashes": simhashes})
    return dict(await cur.fetchall())


async def _write(conn: Connection, *, rows: Sequence[Mapping[str, object]]) -> None:
    async with conn.cursor() as cur:
        statement = f"""
            INSERT INTO content (article_id, url, url_key, text, html, {_FIELDS})
            VALUES (
                %(article_id)s, %(url)s, %(url_key)s, %(text)s, %(html)s, %(title)s, %(description)s, %(keywords)s,
                %(authors)s, %(published_at)s, %(canonical_url)s, %(section)s, %(language)s, %(image_url)s,
                %(open_graph)s, %(linked_data)s, %(origins)s, %(word_count)s, %(content_hash)s, %(simhash)s,
                %(duplicate_of)s, %(near_duplicate_of)s, %(version)s, %(richness)s, %(now)s
            )
            ON CONFLICT (article_id) DO UPDATE
            SET text = CASE WHEN %(takes_text)s THEN excluded.text ELSE content.text END,
                html = CASE WHEN %(takes_text)s THEN excluded.html ELSE content.html END,
                ({_FIELDS}) = (SELECT {_FIELDS} FROM (SELECT excluded.*) AS given)
        """
        await cur.executemany(statement, rows)


def _row(new: NewContent, plan: Plan, saved: Saved, now: datetime) -> dict[str, object]:
    record = plan.merged
    has_text = plan.takes_text and saved.duplicate_of is None and record.content_hash is not None
    return {
        **{field.name: getattr(record, field.name) for field in fields(Extracted)},
        "article_id": new.article_id, "url": new.url, "url_key": new.url_key,
        "text": record.text if has_text else None, "html": record.html if has_text else None,
        "keywords": list(record.keywords), "authors": list(record.authors),
        "open_graph": Jsonb(dict(record.open_graph)), "linked_data": Jsonb(list(record.linked_data)),
        "origins": Jsonb(dict(record.origins)), "duplicate_of": saved.duplicate_of,
        "near_duplicate_of": saved.near_duplicate_of, "richness": richness(record), "version": saved.version,
        "takes_text": plan.takes_text, "now": now,
    }  # fmt: skip


async def search(conn: Connection, *, words: str, limit: int = 20, offset: int = 0) -> list[Hit]:
    """Articles that match, as in a web search ("a phrase", or, -not), the best first.

    Words are reduced by each article's own language. Of very many hits the newest thousand are ranked.
    """
    statement = """
        WITH found AS MATERIALIZED (
            SELECT newest.article_id, query
            FROM search_queries(%(words)s)  -- in most languages the words have the same stems: each query is run once
            CROSS JOIN LATERAL (
                SELECT article_id
                FROM (
                    SELECT article_id
                    FROM content WHERE search @@ query AND content_config(language) = ANY(configs)
                    OFFSET 0  -- by the index of words first, however common they are thought to be
                ) AS matching
                ORDER BY article_id DESC LIMIT 1000
            ) AS newest
        ), best AS (
            SELECT article_id, query, ts_rank(search, query, 1) AS rank
            FROM found JOIN content USING (article_id)
            WHERE NOT EXISTS (SELECT FROM source_ids WHERE removed_at IS NOT NULL)  -- then none is being removed
                OR NOT EXISTS (SELECT FROM article_sources AS any_link WHERE any_link.article_id = found.article_id)
                OR EXISTS (
                    SELECT FROM article_sources AS listed
                    JOIN sources ON sources.id = listed.source_id
                    WHERE listed.article_id = found.article_id
                )
            ORDER BY rank DESC, article_id DESC LIMIT %(limit)s OFFSET %(offset)s
        )
        SELECT article_id, url, coalesce(title, '') AS title,
            ts_headline(
                content_config(language), left(coalesce(nullif(text, ''), description, ''), 20000), query,
                'StartSel=«, StopSel=», MaxFragments=2, MinWords=8, MaxWords=25, FragmentDelimiter=" … "'
            ) AS snippet,
            authors, published_at, language, word_count, rank,
            (SELECT count(*) FROM content AS other WHERE other.duplicate_of = content.article_id) AS duplicates
        FROM best JOIN content USING (article_id)
        ORDER BY rank DESC, article_id DESC
    """
    return await fetch_all(conn, Hit, statement, {"words": composed(words), "limit": limit, "offset": offset})
