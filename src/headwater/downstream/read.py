"""Pages of articles after a cursor, and articles by id or URL: what the API answers.

A cursor is a revision. A page examines a limited number of articles, so that a query that finds little costs no more
than one that finds much; it may then be short, even empty, without being the last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from headwater.channels.visible import find_visible
from headwater.db import Connection
from headwater.downstream import store
from headwater.downstream.decide import fitting, in_order
from headwater.downstream.types import LONG_FIELDS, SHORT_FIELDS, ArticleField, DownstreamArticle, Place, RevisionPage
from headwater.query.sql import SqlCondition
from headwater.query.store import find_among
from headwater.types import ArticleId
from headwater.urls import key_or_none

EXAMINED_AT_ONCE: Final = 1_000
EXAMINED_MOST: Final = 10_000  # per page
BYTES_MOST: Final = 16_000_000  # of long fields, per page
NEWEST: Final = 2**63 - 1  # after every revision


@dataclass(frozen=True, slots=True)
class RevisionQuery:
    """Which articles: those of a query (None: all), from a cursor on, oldest or newest first."""

    cursor: int
    limit: int
    now: datetime
    where: SqlCondition | None = None
    is_newest_first: bool = False
    fields: frozenset[ArticleField] = SHORT_FIELDS


async def read_page(conn: Connection, wanted: RevisionQuery, *, bytes_most: int = BYTES_MOST) -> RevisionPage:
    """The next articles of a query, and how far it looked."""
    cursor, examined, found, has_more = wanted.cursor, 0, list[Place](), True
    while has_more and len(found) < wanted.limit and examined < EXAMINED_MOST:
        look = EXAMINED_AT_ONCE if wanted.where else min(EXAMINED_AT_ONCE, wanted.limit - len(found) + 1)
        places = await _next_places(conn, wanted, cursor, look)
        examined += len(places)
        has_more = len(places) == look
        cursor = places[-1].revision if places else cursor
        found += await _matching(conn, wanted, places)
    if len(found) > wanted.limit:
        found, has_more = found[: wanted.limit], True
        cursor = found[-1].revision
    if fits := await _how_many_fit(conn, [one.article_id for one in found], wanted.fields, bytes_most):
        found, has_more, cursor = found[:fits], True, found[fits - 1].revision
    articles = await _read(conn, [one.article_id for one in found], wanted.fields)
    return RevisionPage(_unmoved(articles, found, wanted), cursor, has_more)


def _unmoved(
    articles: Sequence[DownstreamArticle], found: Sequence[Place], wanted: RevisionQuery
) -> Sequence[DownstreamArticle]:
    """Oldest first, without those that changed meanwhile: they come at their new place. A program that goes on after
    their new revision would miss what is before it."""
    if wanted.is_newest_first:
        return articles
    places = {one.article_id: one.revision for one in found}
    return [one for one in articles if one.revision == places[one.id]]


async def _next_places(conn: Connection, wanted: RevisionQuery, cursor: int, limit: int) -> list[Place]:
    if wanted.is_newest_first:
        return await store.list_places_before(conn, before=cursor, limit=limit)
    return await store.list_places(conn, after=cursor, limit=limit)


async def _matching(conn: Connection, wanted: RevisionQuery, places: Sequence[Place]) -> list[Place]:
    ids = [one.article_id for one in places]
    if wanted.where is not None:
        ids = await find_among(conn, where=wanted.where, article_ids=ids)
    visible = set(await find_visible(conn, ids, wanted.now))
    return [one for one in places if one.article_id in visible]


async def _how_many_fit(
    conn: Connection, ids: Sequence[ArticleId], fields: frozenset[ArticleField], most: int
) -> int | None:
    """How many of these are not too large together; None: all of them."""
    if not ids or fields.isdisjoint(LONG_FIELDS):
        return None
    sizes = await store.measure(conn, article_ids=ids)
    fits = fitting([sizes.get(one, 0) for one in ids], most)
    return fits if fits < len(ids) else None


async def _read(conn: Connection, ids: Sequence[ArticleId], fields: frozenset[ArticleField]) -> list[DownstreamArticle]:
    if not ids:
        return []
    found = await store.read_articles(
        conn, article_ids=ids, with_text=ArticleField.TEXT in fields, with_html=ArticleField.HTML in fields,
        with_metadata=not fields.isdisjoint({ArticleField.OPEN_GRAPH, ArticleField.LINKED_DATA}),
    )  # fmt: skip
    return in_order(ids, found)


async def read_articles(
    conn: Connection, ids: Sequence[ArticleId], fields: frozenset[ArticleField], now: datetime, *,
    bytes_most: int = BYTES_MOST,
) -> tuple[list[DownstreamArticle], set[ArticleId]]:  # fmt: skip
    """Those of these articles that are visible, and the ids of those that would have made it too large."""
    visible = await find_visible(conn, ids, now)
    fits = await _how_many_fit(conn, visible, fields, bytes_most)
    taken = visible if fits is None else visible[:fits]
    return await _read(conn, taken, fields), set(visible) - set(taken)


async def find_ids(conn: Connection, urls: Sequence[str]) -> dict[str, ArticleId]:
    """The articles of these URLs, by the URL as it was given."""
    keys = {url: key for url in urls if (key := key_or_none(url)) is not None}
    found = await store.find_by_keys(conn, url_keys=list(keys.values())) if keys else {}
    return {url: found[key] for url, key in keys.items() if key in found}
