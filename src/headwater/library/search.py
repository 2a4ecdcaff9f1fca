"""Search in the newest articles of a user's feeds by a query.

The indexes have neither order nor users: a common word or label is that of half of all articles, most of other users'
feeds. So a user's newest articles are searched first, in steps. If that does not fill a page, what is searched is rare
among them, and an index is used, which is fast for what is rare among all. What is common elsewhere and rare here is
searched in further steps; after a few, the page is returned as it is, and the next one continues there.
"""

from dataclasses import replace
from datetime import datetime
from typing import assert_never
from uuid import UUID

from headwater.db import Connection
from headwater.library.plan import Key, ListedBetween, index_keys, listed_between
from headwater.library.store import lists, matches
from headwater.library.types import ArticleLine, ArticlePage, ArticlesQuery, Shelf
from headwater.query.sql import SqlCondition, condition
from headwater.query.store import find_among
from headwater.query.tree import wants_hidden
from headwater.query.types import (
    Audience,
    HasEnclosure,
    InField,
    Labelled,
    Node,
    OfCategory,
    OfSource,
    OfStory,
    Tagged,
    Words,
)
from headwater.types import ArticleId, PageCursor

STEP = 300  # articles of one step
STEPS = 4
WAYS = 3  # by indexes, until one of them is rare
RARE = 5_000  # at most so many hits among all articles
RARE_LABELS = 2_000


async def search(conn: Connection, *, tree: Node, query: ArticlesQuery, now: datetime) -> ArticlePage:
    """A page of the list that the query finds, in its order; of starred and saved articles also those
    without a subscription. `newer:` and `before:` end and begin the list by the position of an article in it.
    """
    where = condition(tree, Audience.READER, now=now)
    query = replace(query, with_hidden=query.with_hidden or wants_hidden(tree))
    if query.shelf.is_chosen:
        return await _walk(conn, where, query, ListedBetween(None, None), STEPS)
    between = listed_between(tree, now)
    query = replace(query, after=_earlier(query.after, between.until))
    page = await _walk(conn, where, query, between, 1)
    if page.then is None or len(page.lines) == query.limit:
        return page
    hits = await _find_rare(conn, tree, where)
    if hits is not None:
        is_unread = query.shelf is Shelf.UNREAD
        return page_of(await matches.list_among(conn, article_ids=hits, query=query, is_unread=is_unread), query.limit)
    rest = replace(query, after=page.then, limit=query.limit - len(page.lines))
    more = await _walk(conn, where, rest, between, STEPS - 1)
    return ArticlePage([*page.lines, *more.lines], more.then)


async def search_back(conn: Connection, *, tree: Node, query: ArticlesQuery, now: datetime) -> ArticlePage:
    """What the query finds before a position in its list, the nearest first; as far as a few steps reach."""
    where = condition(tree, Audience.READER, now=now)
    back = replace(query, with_hidden=query.with_hidden or wants_hidden(tree), is_oldest_first=True)
    return await _walk(conn, where, back, ListedBetween(None, None), STEPS)


def page_of(lines: list[ArticleLine], limit: int) -> ArticlePage:
    """A full page continues after its last line."""
    return ArticlePage(lines, lines[-1].place if len(lines) == limit else None)


def _earlier(after: PageCursor | None, until: datetime | None) -> PageCursor | None:
    if until is None:
        return after
    begins = PageCursor(until, ArticleId(UUID(int=0)))
    return min(after, begins) if after else begins


async def _walk(
    conn: Connection, where: SqlCondition, query: ArticlesQuery, between: ListedBetween, steps: int
) -> ArticlePage:
    """What is found in so many steps of a list, and where the next begins."""
    lines: list[ArticleLine] = []
    then = query.after
    for _ in range(steps):
        step = replace(query, after=then, limit=STEP)
        listed = await _list(conn, step)
        recent = [line for line in listed if between.since is None or line.listed_at >= between.since]
        found = set(await find_among(conn, where=where, article_ids=[line.id for line in recent]))
        lines += [line for line in recent if line.id in found]
        if len(lines) >= query.limit:
            return page_of(lines[: query.limit], query.limit)
        if len(recent) < STEP:
            return ArticlePage(lines, None)
        then = recent[-1].place
    return ArticlePage(lines, then)


async def _list(conn: Connection, query: ArticlesQuery) -> list[ArticleLine]:
    if query.shelf.is_chosen:
        return await lists.list_chosen(conn, query=query)
    return await lists.list_newest(conn, query=query, is_unread=query.shelf is Shelf.UNREAD)


async def _find_rare(conn: Connection, tree: Node, where: SqlCondition) -> list[ArticleId] | None:
    """All articles of the user's feeds that the query finds, if a part that they must have is rare among all."""
    for way in index_keys(tree)[:WAYS]:
        found = [await _find_by_index(conn, key) for key in way]
        known = [one for one in found if one is not None]
        if len(known) == len(found):
            candidates = list({article_id for some in known for article_id in some})
            followed = await matches.find_followed_among(conn, article_ids=candidates)
            return await find_among(conn, where=where, article_ids=followed)
    return None


async def _find_by_index(conn: Connection, key: Key) -> list[ArticleId] | None:
    """None: too many."""
    match key:
        case Words(text):
            return await matches.find_hits(conn, words=text, most=RARE)
        case Labelled(labels=labels):
            return await matches.find_labelled(conn, labels=labels, most=RARE_LABELS)
        case InField(text=text):
            return await matches.find_listed(conn, name=text, most=RARE)
        case OfSource(source_id):
            return await matches.find_listed(conn, source_id=source_id, most=RARE)
        case OfCategory(category):
            return await matches.find_listed(conn, category=category, most=RARE)
        case Tagged(tag):
            return await matches.find_listed(conn, tag=tag, most=RARE)
        case OfStory(story_id):
            return await matches.find_of_story(conn, story_id=story_id, most=RARE)
        case HasEnclosure():
            return await matches.find_enclosed(conn, most=RARE)
        case _:
            assert_never(key)
