"""Full-text search in the newest articles of a user's feeds.

The full-text index has neither order nor users: a common word matches half of all articles, most of other users' feeds.
So a user's newest articles are searched first, in steps. If that does not fill a page, the words are rare among them,
and the index is used, which is fast for rare words. Words that are common elsewhere and rare here are searched in
further steps; after a few, the page is returned as it is, and the next one continues there.
"""

from dataclasses import replace
from datetime import datetime

from headwater.db import Connection
from headwater.library.store import lists, matches
from headwater.library.types import ArticleLine, ArticlePage, ArticlesQuery, Shelf
from headwater.types import PageCursor

STEP = 300  # articles of one step
STEPS = 4
RARE = 5_000  # at most so many hits among all articles


async def search(conn: Connection, *, words: str, query: ArticlesQuery, since: datetime | None) -> ArticlePage:
    """A page of hits, the newest first; for starred articles, also of feeds without a subscription."""
    if query.shelf is Shelf.STARRED:
        return page_of(await matches.search_starred(conn, words=words, query=query, since=since), query.limit)
    lines, then = await _look(conn, words, query, since)
    if then is None or len(lines) == query.limit:
        return ArticlePage(lines, then)
    hits = await matches.find_hits(conn, words=words, most=RARE)
    if hits is not None:
        return page_of(await matches.list_among(conn, article_ids=hits, query=query, since=since), query.limit)
    for _ in range(STEPS - 1):
        rest = replace(query, after=then, limit=query.limit - len(lines))
        more, then = await _look(conn, words, rest, since)
        lines += more
        if then is None or len(lines) == query.limit:
            break
    return ArticlePage(lines, then)


def page_of(lines: list[ArticleLine], limit: int) -> ArticlePage:
    """A full page continues after its last line."""
    return ArticlePage(lines, lines[-1].place if len(lines) == limit else None)


async def _look(
    conn: Connection, words: str, query: ArticlesQuery, since: datetime | None
) -> tuple[list[ArticleLine], PageCursor | None]:
    """The hits of one step, and where the next begins."""
    listed = await lists.list_newest(conn, query=replace(query, limit=STEP))
    recent = [line for line in listed if since is None or line.listed_at >= since]
    hits = set(await matches.find_hits_among(conn, words=words, article_ids=[line.id for line in recent]))
    lines = [line for line in recent if line.id in hits][: query.limit]
    if len(lines) == query.limit:
        return lines, lines[-1].place
    return lines, recent[-1].place if len(recent) == STEP else None
