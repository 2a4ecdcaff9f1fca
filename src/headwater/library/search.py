"""The search: in words, out the newest articles of one person's feeds that hold them.

An index of words knows no order and no readers: for a word that half of all articles hold it names half a million, most
of them nobody's. So we look at a person's newest articles first, a step at a time. Where that does not fill a page the
words are rare among them, and the index is asked: rare words it answers at once. What is common elsewhere and rare here
is looked for in further steps; after a few of them the page goes out as it is, and the next one goes on from there.
"""

from dataclasses import replace
from datetime import datetime

from headwater.db import Connection
from headwater.library.store import lists, matches
from headwater.library.types import ArticleLine, ArticlesQuery, Found, Place, Shelf

STEP = 300  # articles looked at in one step
STEPS = 4
RARE = 5_000  # hits among all articles, at most


async def search(conn: Connection, *, words: str, query: ArticlesQuery, since: datetime | None) -> Found:
    """A page of hits, the newest first. On the starred shelf, of the stars; also of feeds that are followed no more."""
    if query.shelf is Shelf.STARRED:
        return page_of(await matches.search_starred(conn, words=words, query=query, since=since), query.limit)
    lines, then = await _look(conn, words, query, since)
    if then is None or len(lines) == query.limit:
        return Found(lines, then)
    hits = await matches.find_hits(conn, words=words, most=RARE)
    if hits is not None:
        return page_of(await matches.list_among(conn, article_ids=hits, query=query, since=since), query.limit)
    for _ in range(STEPS - 1):
        rest = replace(query, after=then, limit=query.limit - len(lines))
        more, then = await _look(conn, words, rest, since)
        lines += more
        if then is None or len(lines) == query.limit:
            break
    return Found(lines, then)


def page_of(lines: list[ArticleLine], limit: int) -> Found:
    """A full page goes on after its last line."""
    return Found(lines, lines[-1].place if len(lines) == limit else None)


async def _look(
    conn: Connection, words: str, query: ArticlesQuery, since: datetime | None
) -> tuple[list[ArticleLine], Place | None]:
    """The hits of one step, and where the next one begins."""
    listed = await lists.list_newest(conn, query=replace(query, limit=STEP))
    recent = [line for line in listed if since is None or line.listed_at >= since]
    hits = set(await matches.find_hits_among(conn, words=words, article_ids=[line.id for line in recent]))
    lines = [line for line in recent if line.id in hits][: query.limit]
    if len(lines) == query.limit:
        return lines, lines[-1].place
    return lines, recent[-1].place if len(recent) == STEP else None
