"""Articles of a query; what PostgreSQL makes of words, and articles as documents for the matcher."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column
from headwater.query.document import Document, ReaderContext, with_outer, with_parents
from headwater.query.lexemes import Lexemes, Phrase, is_storable, parse_phrase, parse_short_vector, parse_vector
from headwater.query.sql import HOST, QUALITY, SqlCondition
from headwater.query.types import StateField
from headwater.types import ArticleId, UserId

_LOADED_AT_ONCE: Final = 5_000


async def find_among(conn: Connection, *, where: SqlCondition, article_ids: Sequence[ArticleId]) -> list[ArticleId]:
    """Those of these articles that a query finds, in their order. A reader's query runs under `Database.as_user`."""
    if not article_ids:
        return []
    statement = f"""
        SELECT wanted.id
        FROM unnest(%(article_ids)s::uuid[]) WITH ORDINALITY AS wanted (id, place)
        {where.joins}
        WHERE {where.sql}
        ORDER BY wanted.place
    """
    return await fetch_column(conn, statement, {**where.values, "article_ids": list(article_ids)})


async def load_lexemes(conn: Connection, *, into: Lexemes, words: Mapping[str, Collection[str]]) -> None:
    """Load words by the configurations of text search in which they are asked for."""
    statement = """
        SELECT word, phraseto_tsquery(%(config)s::regconfig, word)::text FROM unnest(%(words)s::text[]) AS word
    """
    for config, asked in words.items():
        found: dict[str, Phrase] = dict.fromkeys(asked, ())
        for part in _in_parts(filter(is_storable, asked)):
            cur = await conn.execute(statement, {"config": config, "words": part})
            found |= {word: parse_phrase(query) or () for word, query in await cur.fetchall()}
        into.add(config, found)


async def load_lower(conn: Connection, *, into: Lexemes, texts: Collection[str]) -> None:
    """Load texts in lower case."""
    statement = "SELECT text, lower(text) FROM unnest(%(texts)s::text[]) AS text"
    found = {text: text for text in texts}
    for part in _in_parts(filter(is_storable, texts)):
        cur = await conn.execute(statement, {"texts": part})
        found |= dict(await cur.fetchall())
    into.add_lower(found)


def _in_parts(words: Iterable[str]) -> Iterable[list[str]]:
    ordered = sorted(words)
    return (ordered[at : at + _LOADED_AT_ONCE] for at in range(0, len(ordered), _LOADED_AT_ONCE))


@dataclass(frozen=True, slots=True)
class _SharedRow:
    id: ArticleId
    listed_at: datetime
    host: str | None
    title: str
    config: str | None
    text: str | None
    page_title: str | None
    authors: list[str]
    source_ids: list[UUID]
    source_names: list[str]
    categories: list[str]
    has_enclosure: bool
    schemes: list[str]
    labels: list[str]
    qualities: list[int]
    story_id: UUID | None

    def document(self) -> Document:
        title = parse_short_vector(self.title)
        titles = (title, parse_short_vector(self.page_title)) if self.page_title else (title,)
        return Document(
            article_id=self.id, listed_at=self.listed_at, config=self.config or "", text=parse_vector(self.text or ""),
            shown_titles=(title,), titles=titles, authors=tuple(map(parse_short_vector, self.authors)),
            source_names=tuple(map(parse_short_vector, self.source_names)), source_ids=frozenset(self.source_ids),
            categories=with_outer(self.categories), labels=frozenset(zip(self.schemes, self.labels, strict=True)),
            qualities=tuple(self.qualities), hosts=with_parents(self.host or ""), story_id=self.story_id,
            has_enclosure=self.has_enclosure,
        )  # fmt: skip


async def read_documents(conn: Connection, *, article_ids: Sequence[ArticleId]) -> dict[ArticleId, Document]:
    """The shared records of these articles, without those that no longer exist."""
    statement = f"""
        SELECT articles.id, articles.listed_at, {HOST} AS host,
            to_tsvector('simple', articles.title)::text AS title,
            CASE WHEN body.search IS NOT NULL THEN content_config(body.language)::text END AS config,
            body.search::text AS text, to_tsvector('simple', page.title)::text AS page_title,
            ARRAY(
                SELECT to_tsvector('simple', author)::text
                FROM unnest(page.authors || articles.author) AS author WHERE author IS NOT NULL
            ) AS authors,
            listed.source_ids, listed.names AS source_names, listed.categories, listed.has_enclosure,
            shown.schemes, shown.labels, shown.qualities, state.story_id
        FROM unnest(%(ids)s::uuid[]) AS asked (id)
        -- OFFSET 0: each in its month, where a join would read all of them
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = asked.id OFFSET 0) AS articles
        LEFT JOIN LATERAL (SELECT * FROM content WHERE content.article_id = asked.id OFFSET 0) AS page ON true
        LEFT JOIN LATERAL (
            SELECT search, language FROM content WHERE content.article_id = page.duplicate_of OFFSET 0
        ) AS original ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(page.search, original.search) AS search,
                CASE WHEN page.search IS NULL THEN original.language ELSE page.language END AS language
        ) AS body
        LEFT JOIN LATERAL (
            SELECT story_id FROM article_state WHERE article_state.article_id = asked.id OFFSET 0
        ) AS state ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(sources.id), '{{}}') AS source_ids,
                coalesce(array_agg(to_tsvector('simple', sources.name)::text), '{{}}') AS names,
                coalesce(array_agg(lower(category)) FILTER (WHERE category IS NOT NULL), '{{}}') AS categories,
                coalesce(bool_or(links.enclosures IS NOT NULL), false) AS has_enclosure
            FROM (SELECT * FROM article_sources WHERE article_sources.article_id = asked.id OFFSET 0) AS links
            JOIN sources ON sources.id = links.source_id
            WHERE sources.is_system OR sources.moderation_status = 'approved'  -- as in query/sql.py
        ) AS listed
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(scheme), '{{}}') AS schemes, coalesce(array_agg(label), '{{}}') AS labels,
                coalesce(array_agg({QUALITY}) FILTER (WHERE scheme = 'quality'), '{{}}') AS qualities
            FROM (SELECT * FROM labels WHERE labels.article_id = asked.id AND is_shown OFFSET 0) AS given
        ) AS shown
    """
    rows = await fetch_all(conn, _SharedRow, statement, {"ids": list(article_ids)})
    return {row.id: row.document() for row in rows}


@dataclass(frozen=True, slots=True)
class _ReaderRow:
    article_id: ArticleId
    user_id: UserId
    listed_at: datetime
    titles: list[str]
    authors: list[str]
    source_ids: list[UUID]
    source_names: list[str]
    categories: list[str]
    has_enclosure: bool
    tags: list[str]
    is_read: bool
    is_starred: bool
    is_hidden: bool

    def context(self) -> ReaderContext:
        states = {StateField.READ if self.is_read else StateField.UNREAD}
        if self.is_starred:
            states.add(StateField.STARRED)
        if self.is_hidden:
            states.add(StateField.HIDDEN)
        return ReaderContext(
            listed_at=self.listed_at, titles=tuple(map(parse_short_vector, self.titles)),
            authors=tuple(map(parse_short_vector, self.authors)),
            source_names=tuple(map(parse_short_vector, self.source_names)),
            source_ids=frozenset(self.source_ids), categories=with_outer(self.categories), tags=frozenset(self.tags),
            states=frozenset(states), has_enclosure=self.has_enclosure,
        )  # fmt: skip


async def read_contexts(
    conn: Connection, *, article_ids: Sequence[ArticleId], user_ids: Sequence[UserId]
) -> dict[tuple[ArticleId, UserId], ReaderContext]:
    """What the subscriptions and marks of these readers say about these articles: of readers whose subscriptions list
    the article."""
    statement = """
        SELECT listed.article_id, listed.user_id, listed.listed_at, listed.titles, listed.authors, listed.source_ids,
            listed.names AS source_names, listed.categories, listed.has_enclosure,
            ARRAY(SELECT lower(tag) FROM unnest(marked.tags || listed.tags) AS tag) AS tags,
            coalesce(marked.is_read, listed.is_read) AS is_read, marked.starred_at IS NOT NULL AS is_starred,
            marked.hidden_at IS NOT NULL AS is_hidden
        FROM (
            SELECT asked.id AS article_id, mine.user_id, max(links.listed_at) AS listed_at,
                bool_and(links.listed_at <= mine.read_until) AS is_read,
                array_remove(array_agg(to_tsvector('simple', links.title)::text), NULL) AS titles,
                array_remove(array_agg(to_tsvector('simple', links.author)::text), NULL) AS authors,
                array_agg(mine.source_id) AS source_ids,
                array_agg(to_tsvector('simple', mine.name)::text) AS names,
                array_remove(array_agg(lower(mine.category)), NULL) AS categories,
                array_remove(array_agg(tag.name), NULL) AS tags,
                bool_or(links.enclosures IS NOT NULL) AS has_enclosure
            FROM unnest(%(ids)s::uuid[]) AS asked (id)
            -- OFFSET 0: each in its month, where a join would read all of them
            CROSS JOIN LATERAL (
                SELECT * FROM article_sources WHERE article_sources.article_id = asked.id OFFSET 0
            ) AS links
            JOIN subscriptions AS mine ON mine.source_id = links.source_id AND mine.user_id = ANY(%(user_ids)s)
            LEFT JOIN LATERAL unnest(mine.tags) AS tag (name) ON true
            GROUP BY asked.id, mine.user_id
        ) AS listed
        LEFT JOIN LATERAL (
            SELECT * FROM marks
            WHERE marks.user_id = listed.user_id AND marks.article_id = listed.article_id OFFSET 0
        ) AS marked ON true
    """
    values = {"ids": list(article_ids), "user_ids": list(user_ids)}
    rows = await fetch_all(conn, _ReaderRow, statement, values)
    return {(row.article_id, row.user_id): row.context() for row in rows}
