"""A page of a user's list: the articles that a query finds, and each story as one line.

A story is shown where its first article in the list is, with its other articles behind that line, whether or not they
are in the list. An article is left out if one of its story is above it in the list, on this page or an earlier one.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from headwater.db import Connection
from headwater.library.search import page_of, search, search_back
from headwater.library.store import lists, stories
from headwater.library.types import ArticleLine, ArticlePage, ArticlesQuery, Shelf, StoryLine, StoryMember, StoryPage
from headwater.query.sql import SqlCondition, condition
from headwater.query.store import find_among
from headwater.query.types import Audience, Node
from headwater.types import ArticleId, PageCursor

BESIDE = 10  # lines that are read to find the one beside: those of one story are one
FURTHER_PAGES = 3  # read at most, where stories leave less than half a page of lines


async def browse(
    conn: Connection, *, query: ArticlesQuery, tree: Node | None = None, now: datetime, groups_stories: bool
) -> StoryPage:
    """A page of a list; of the articles that `tree` finds, the newest first. Starred and saved articles are never
    grouped: each was chosen by itself."""
    if tree is not None or query.shelf.is_chosen:
        query = replace(query, is_oldest_first=False)
    page = await _find(conn, query, tree, now)
    if not groups_stories or query.shelf.is_chosen:
        return StoryPage([StoryLine(line) for line in page.lines], page.then)
    where = condition(tree, Audience.READER, now=now) if tree else None
    grouped = await _group(conn, page.lines, query, where)
    for _ in range(FURTHER_PAGES):
        if page.then is None or len(grouped) * 2 >= query.limit:
            break
        page = await _find(conn, replace(query, after=page.then), tree, now)
        grouped += await _group(conn, page.lines, query, where)
    return StoryPage(grouped, page.then)


async def find_beside(
    conn: Connection, *, query: ArticlesQuery, tree: Node | None, place: PageCursor, now: datetime, groups_stories: bool
) -> tuple[ArticleId | None, ArticleId | None]:
    """The articles before and after a position in a list, as its lines are."""
    query = replace(query, after=place, limit=BESIDE)
    if tree is not None or query.shelf.is_chosen:
        query = replace(query, is_oldest_first=False)
    then = (await browse(conn, query=query, tree=tree, now=now, groups_stories=groups_stories)).lines
    back = replace(query, is_oldest_first=not query.is_oldest_first)
    find = search_back(conn, tree=tree, query=back, now=now) if tree else _find(conn, back, None, now)
    before = (await find).lines
    if groups_stories and not query.shelf.is_chosen:
        where = condition(tree, Audience.READER, now=now) if tree else None
        before = [one.line for one in await _group(conn, before, query, where)]
    return before[0].id if before else None, then[0].line.id if then else None


async def find_others(conn: Connection, *, article_id: ArticleId) -> list[StoryMember]:
    """The other articles of an article's story that the user can see, the newest first; starred and saved ones, too."""
    told = await stories.find_stories(conn, article_ids=[article_id])
    return [one for one in await stories.list_members(conn, told=told) if one.id != article_id]


async def _find(conn: Connection, query: ArticlesQuery, tree: Node | None, now: datetime) -> ArticlePage:
    if tree is not None:
        return await search(conn, tree=tree, query=query, now=now)
    if query.shelf.is_chosen:
        return page_of(await lists.list_chosen(conn, query=query), query.limit)
    return page_of(await lists.list_newest(conn, query=query, is_unread=query.shelf is Shelf.UNREAD), query.limit)


async def _group(
    conn: Connection, lines: Sequence[ArticleLine], query: ArticlesQuery, where: SqlCondition | None
) -> list[StoryLine]:
    told = await stories.find_stories(conn, article_ids=[line.id for line in lines])
    found = await stories.list_members(conn, told=told, query=query, is_unread=query.shelf is Shelf.UNREAD)
    members: defaultdict[UUID, list[StoryMember]] = defaultdict(list)
    for member in found:
        members[member.story_id].append(member)
    behind = {line.id: members[told[line.id]] if line.id in told else [] for line in lines}
    hidden = await _find_hidden(conn, lines, behind, where, is_oldest_first=query.is_oldest_first)
    return [
        StoryLine(line, [one for one in behind[line.id] if one.id != line.id])
        for line in lines
        if line.id not in hidden
    ]


async def _find_hidden(
    conn: Connection, lines: Sequence[ArticleLine], behind: Mapping[ArticleId, Sequence[StoryMember]],
    where: SqlCondition | None, *, is_oldest_first: bool,
) -> set[ArticleId]:  # fmt: skip
    """The lines above which another article of their story is in the list, with them behind it."""
    told = [line for line in lines if any(one.id == line.id for one in behind[line.id])]
    is_above = _is_older if is_oldest_first else _is_newer
    above = {line.id: [one.id for one in behind[line.id] if is_above(one, line)] for line in told}
    listed = {one for some in above.values() for one in some}
    if where is not None:
        listed = set(await find_among(conn, where=where, article_ids=sorted(listed)))
    return {line_id for line_id, some in above.items() if listed.intersection(some)}


def _is_newer(member: StoryMember, line: ArticleLine) -> bool:
    return member.place_at is not None and (member.place_at, member.id) > (line.listed_at, line.id)


def _is_older(member: StoryMember, line: ArticleLine) -> bool:
    return member.place_at is not None and (member.place_at, member.id) < (line.listed_at, line.id)
