"""Every statement that writes `labels`, the labels of given articles, and the articles whose labels are disputed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.types.json import Jsonb

from headwater.articles.store.state import hold
from headwater.db import Connection, fetch_all, fetch_column, fetch_value
from headwater.documents import store as documents
from headwater.labels.decide import decide_shown
from headwater.labels.types import ArticleLabel, Method, NewLabel, Scheme, TitledArticle
from headwater.types import ArticleId

_COLUMNS: Final = "scheme, label, method, score, version, detail, made_at, is_shown, is_disputed"


@dataclass(frozen=True, slots=True)
class _Row:
    article_id: UUID
    scheme: str
    label: str
    method: str
    score: float
    version: str
    detail: Mapping[str, float] | None
    made_at: datetime
    is_shown: bool
    is_disputed: bool

    def label_of(self) -> ArticleLabel:
        return ArticleLabel(
            Scheme(self.scheme), self.label, Method(self.method), self.score, self.version, self.detail, self.made_at,
            self.is_shown, self.is_disputed,
        )  # fmt: skip


async def replace_labels(
    conn: Connection,
    *,
    given: Mapping[ArticleId, Sequence[NewLabel]],
    method: Method,
    schemes: Sequence[Scheme],
    now: datetime,
) -> set[ArticleId]:
    """Replace what a method says about these articles in these schemes. Returns the articles whose labels changed;
    they are queued for the search index. Articles that no longer exist are left out."""
    held = await hold(conn, ids=sorted(given))
    before = await find_labels(conn, article_ids=held)
    changed: dict[ArticleId, Sequence[ArticleLabel]] = {}
    for article_id in held:
        old = before.get(article_id, [])
        kept = [one for one in old if not (one.method is method and one.scheme in schemes)]
        known = {(one.scheme, one.label): one for one in old if one.method is method}
        made = [_made(one, known.get((one.scheme, one.label)), method, now) for one in given[article_id]]
        after = decide_shown([*kept, *made])
        if set(map(_key, after)) != set(map(_key, old)):
            changed[article_id] = after
    if changed:
        await _write(conn, labels=changed)
    await queue_for_index(conn, article_ids=changed, now=now)
    return set(changed)


def _made(new: NewLabel, old: ArticleLabel | None, method: Method, now: datetime) -> ArticleLabel:
    """An unchanged label keeps its time."""
    score = round(float(new.score), 4)
    is_same = old is not None and (round(old.score, 4), old.version, old.detail) == (score, new.version, new.detail)
    made_at = old.made_at if is_same and old else now
    return ArticleLabel(new.scheme, new.label, method, score, new.version, new.detail, made_at)


def _key(one: ArticleLabel) -> tuple[object, ...]:
    detail = tuple(sorted((one.detail or {}).items()))
    return one.scheme, one.label, one.method, round(one.score, 4), one.version, detail, one.is_shown, one.is_disputed


async def _write(conn: Connection, *, labels: Mapping[ArticleId, Sequence[ArticleLabel]]) -> None:
    await conn.execute("DELETE FROM labels WHERE article_id = ANY(%(ids)s)", {"ids": list(labels)})
    statement = f"""
        INSERT INTO labels (article_id, {_COLUMNS})
        SELECT *
        FROM unnest(
            %(ids)s::uuid[], %(schemes)s::text[], %(labels)s::text[], %(methods)s::text[], %(scores)s::real[],
            %(versions)s::text[], %(details)s::jsonb[], %(made_at)s::timestamptz[], %(shown)s::boolean[],
            %(disputed)s::boolean[]
        )
    """
    rows = [one for of in labels.values() for one in of]
    values = {
        "ids": [article_id for article_id, of in labels.items() for _ in of],
        "schemes": [one.scheme.value for one in rows], "labels": [one.label for one in rows],
        "methods": [one.method.value for one in rows], "scores": [one.score for one in rows],
        "versions": [one.version for one in rows], "made_at": [one.made_at for one in rows],
        "details": [Jsonb(dict(one.detail)) if one.detail is not None else None for one in rows],
        "shown": [one.is_shown for one in rows], "disputed": [one.is_disputed for one in rows],
    }  # fmt: skip
    await conn.execute(statement, values)


async def queue_for_index(conn: Connection, *, article_ids: Collection[ArticleId], now: datetime) -> None:
    """Send these articles to the search index again, since what its documents say of them changed, or whether it has
    them: labels, story, sources. What is not visible is deleted from it."""
    if not article_ids:
        return
    entries = await documents.find_entries(conn, article_ids=sorted(article_ids))
    await documents.enqueue(conn, entries=entries, now=now)


async def find_labels(
    conn: Connection, *, article_ids: Sequence[ArticleId], only_shown: bool = False
) -> dict[ArticleId, list[ArticleLabel]]:
    """The labels of these articles, the surest of each scheme first."""
    statement = f"""
        SELECT article_id, {_COLUMNS}
        FROM labels
        WHERE article_id = ANY(%(ids)s) AND (is_shown OR NOT %(only_shown)s)
        ORDER BY article_id, scheme, score DESC, label
    """
    found: dict[ArticleId, list[ArticleLabel]] = {}
    for row in await fetch_all(conn, _Row, statement, {"ids": list(article_ids), "only_shown": only_shown}):
        found.setdefault(ArticleId(row.article_id), []).append(row.label_of())
    return found


async def find_articles(conn: Connection, *, article_ids: Sequence[ArticleId]) -> dict[ArticleId, TitledArticle]:
    """The shared records of these articles: what their own site says, never a feed of one user."""
    statement = """
        SELECT articles.id, articles.url, coalesce(nullif(page.title, ''), nullif(articles.title, ''), articles.url)
            AS title
        FROM unnest(%(ids)s::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = wanted.id OFFSET 0) AS articles
        LEFT JOIN LATERAL (SELECT title FROM content WHERE content.article_id = wanted.id OFFSET 0) AS page ON true
    """
    rows = await fetch_all(conn, TitledArticle, statement, {"ids": list(article_ids)})
    return {row.id: row for row in rows}


async def list_disputed(conn: Connection, *, before: ArticleId | None = None, limit: int) -> list[ArticleId]:
    """The newest articles with disputed labels, or those older than one."""
    statement = """
        SELECT DISTINCT article_id FROM labels
        WHERE is_disputed AND article_id < coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
        ORDER BY article_id DESC LIMIT %(limit)s
    """
    return await fetch_column(conn, statement, {"before": before, "limit": limit})


async def count_disputed(conn: Connection, *, most: int) -> int:
    """The number of articles with disputed labels; at most `most`."""
    statement = """
        SELECT count(*) FROM (SELECT DISTINCT article_id FROM labels WHERE is_disputed LIMIT %(most)s) AS disputed
    """
    return await fetch_value(conn, statement, {"most": most})
