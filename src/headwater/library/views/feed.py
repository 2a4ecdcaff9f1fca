"""A view as a feed: its newest articles, as its user reads them."""

from dataclasses import replace
from datetime import datetime

from headwater.db import Connection
from headwater.feeds.write import WrittenEntry, WrittenFeed
from headwater.library.plan import shelf_of
from headwater.library.search import search
from headwater.library.types import ArticleLine, ArticlesQuery, Shelf
from headwater.library.views import store
from headwater.library.views.types import FeedArticle, SharedView
from headwater.query.grammar import parse
from headwater.query.tree import wants_hidden
from headwater.query.types import Audience

ENTRIES = 50
PAGES = 3  # of a search, which may end before all entries are found


async def read_view(conn: Connection, view: SharedView, *, url: str, now: datetime) -> WrittenFeed:
    """The feed of a view. Run under `Database.as_user`. Raises QueryInvalid, if its query is no longer valid."""
    tree = parse(view.query, Audience.READER).tree
    query = ArticlesQuery(shelf_of(Shelf.ALL, tree), limit=ENTRIES, with_hidden=wants_hidden(tree))
    lines: list[ArticleLine] = []
    for _ in range(PAGES):
        page = await search(conn, tree=tree, query=replace(query, limit=ENTRIES - len(lines)), now=now)
        lines += page.lines
        if page.then is None or len(lines) >= ENTRIES:
            break
        query = replace(query, after=page.then)
    articles = await store.describe(conn, article_ids=[line.id for line in lines])
    entries = [_entry(one) for one in articles]
    updated_at = max([view.updated_at, *(one.updated_at for one in entries)])
    return WrittenFeed(f"urn:uuid:{view.id}", url, view.name, updated_at, entries)


def _entry(one: FeedArticle) -> WrittenEntry:
    return WrittenEntry(
        f"urn:uuid:{one.id}", one.url, one.title, one.listed_at, one.published_at, one.author or None, one.summary,
        one.html, one.tags,
    )  # fmt: skip
