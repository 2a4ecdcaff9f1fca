"""Whatever a reader does, and however articles come, the lists say what the plain rules say.

Grouped by story, a list has of each story the first article, and no other.

The rules, as a model without an index in it: an article that is marked is what its mark says. One that is not is unread
in a feed that lists it after the moment up to which that feed is read, and read when it is so in all of one's feeds.
A hidden article is in no list, unless hidden ones are asked for. A category has the feeds of those nested in it.
"""

import operator
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection, see_all_users, set_user
from headwater.ids import new_id
from headwater.library.browse import browse
from headwater.library.store import lists
from headwater.library.store import marks as marks_store
from headwater.library.store import subscriptions as subscriptions_store
from headwater.library.store import unread as unread_store
from headwater.library.types import ArticleLine, ArticlesQuery, Shelf
from headwater.types import ArticleId, PageCursor, SourceId, UserId
from tests.builders import a_source, an_article
from tests.clock import START

pytestmark = pytest.mark.database

LONG_AGO = datetime.min.replace(tzinfo=START.tzinfo)
FEEDS = 3
CATEGORY_OF = ("News", "news/Local", None)
STORIES = 4
TAGS_MOST = 2
FILTERS = [(None, None), (0, None), (1, None), (2, None), (None, "News"), (None, "News/local")]
ADA, BOB = UserId(UUID(int=1)), UserId(UUID(int=2))

feeds = st.integers(0, FEEDS - 1)
filters = st.sampled_from(FILTERS)
nth = st.integers(0, 20)
steps = st.one_of(
    # An article, dated so many minutes ago, comes in some feeds; again under the same number, in others.
    st.tuples(st.just("come"), st.integers(0, 11), st.sets(feeds, min_size=1), st.integers(0, 6)),
    st.tuples(st.just("read"), nth),
    st.tuples(st.just("unread"), nth),
    st.tuples(st.just("all"), filters),
    st.tuples(st.just("above"), filters, nth, st.booleans()),
    st.tuples(st.just("hide"), nth),
    st.tuples(st.just("show"), nth),
    st.tuples(st.just("tag"), nth, st.sampled_from(["a", "b", "c"])),
    st.tuples(st.just("untag"), nth, st.sampled_from(["a", "b", "c"])),
)


@dataclass
class Model:
    """What is listed where, what was marked, and up to when each feed is read."""

    listed: dict[ArticleId, dict[int, datetime]] = field(default_factory=dict[ArticleId, dict[int, datetime]])
    marks: dict[ArticleId, bool | None] = field(default_factory=dict[ArticleId, bool | None])
    read_until: list[datetime] = field(default_factory=lambda: [LONG_AGO] * FEEDS)
    stories: dict[ArticleId, int] = field(default_factory=dict[ArticleId, int])
    hidden: set[ArticleId] = field(default_factory=set[ArticleId])
    tags: defaultdict[ArticleId, list[str]] = field(default_factory=lambda: defaultdict(list))

    def grouped(self, listed: list[ArticleId]) -> list[ArticleId]:
        first: dict[int, ArticleId] = {}
        for article in listed:
            first.setdefault(self.stories[article], article)
        return list(first.values())

    def come(self, article: ArticleId, at: datetime, where: set[int]) -> None:
        known = self.listed.setdefault(article, {})
        new = where - set(known)
        if self.marks.get(article) is None:
            if not known and any(at <= self.read_until[one] for one in new):
                self.marks[article] = False  # dated before what was read, and yet new
            elif known and self.is_read(article) and any(at > self.read_until[one] for one in new):
                self.marks[article] = True  # read in another feed
        known |= dict.fromkeys(new, at)

    def is_unread_in(self, article: ArticleId, feed: int) -> bool:
        mark, at = self.marks.get(article), self.listed[article][feed]
        return at > self.read_until[feed] if mark is None else not mark

    def unread(self, chosen: set[int], *, with_hidden: bool = False) -> list[ArticleId]:
        unread = {
            one: {feed: at for feed, at in places.items() if self.is_unread_in(one, feed)}
            for one, places in self.listed.items()
        }
        return self.shown(self.ordered(unread, chosen), with_hidden=with_hidden)

    def all(self, chosen: set[int], *, with_hidden: bool = False) -> list[ArticleId]:
        return self.shown(self.ordered(self.listed, chosen), with_hidden=with_hidden)

    def shown(self, listed: list[ArticleId], *, with_hidden: bool) -> list[ArticleId]:
        return [one for one in listed if with_hidden or one not in self.hidden]

    def tag(self, article: ArticleId, tag: str) -> None:
        if tag not in self.tags[article] and len(self.tags[article]) < TAGS_MOST:
            self.tags[article].append(tag)

    def untag(self, article: ArticleId, tag: str) -> None:
        self.tags[article] = [one for one in self.tags[article] if one != tag]

    def ordered(self, listed: dict[ArticleId, dict[int, datetime]], chosen: set[int]) -> list[ArticleId]:
        """Each once, at the newest of its places."""
        newest = {one: [at for feed, at in places.items() if feed in chosen] for one, places in listed.items()}
        return [one for _, one in sorted(((max(at), one) for one, at in newest.items() if at), reverse=True)]

    def is_read(self, article: ArticleId) -> bool:
        return not any(self.is_unread_in(article, one) for one in self.listed[article])

    def read(self, article: ArticleId) -> None:
        """And the marks of its feeds move up to their oldest unread one."""
        self.marks[article] = True
        for feed in self.listed[article]:
            mine = [(places[feed], one) for one, places in self.listed.items() if feed in places]
            waiting = [
                at for at, one in mine
                if at > self.read_until[feed] and self.marks.get(one) is not True and one not in self.hidden
            ]  # fmt: skip
            newest = max(self.read_until[feed], max(mine)[0])
            self.read_until[feed] = min(waiting) - timedelta(microseconds=1) if waiting else newest

    def read_all(self, chosen: set[int], until: datetime) -> None:
        for feed in chosen:
            self.read_until[feed] = max(self.read_until[feed], until)
        for article, places in self.listed.items():
            if self.marks.get(article) is False and any(places.get(feed, self.never) <= until for feed in chosen):
                self.marks[article] = None

    never = datetime.max.replace(tzinfo=START.tzinfo)

    def read_above(self, chosen: set[int], place: PageCursor, *, is_oldest_first: bool) -> None:
        is_above = operator.le if is_oldest_first else operator.ge
        for article in self.unread(chosen):
            if any(
                is_above((at, article), (place.at, place.id)) and self.is_unread_in(article, feed)
                for feed, at in self.listed[article].items()
                if feed in chosen
            ):
                self.marks[article] = True


def is_in(feed: int, category: str) -> bool:
    return f"{CATEGORY_OF[feed]}/".lower().startswith(f"{category}/".lower())


class World:
    """The same in the database, step by step."""

    def __init__(self, conn: Connection, sources: list[SourceId], subscriptions: list[UUID]) -> None:
        self.conn = conn
        self.sources = sources
        self.subscriptions = subscriptions
        self.model = Model()
        self.now = START

    def chosen(self, feed: int | None, category: str | None) -> set[int]:
        return {n for n in range(FEEDS) if feed in {None, n} and (category is None or is_in(n, category))}

    def query(self, feed: int | None, category: str | None, limit: int) -> ArticlesQuery:
        return ArticlesQuery(feed=None if feed is None else self.subscriptions[feed], category=category, limit=limit)

    async def take(self, step: tuple[object, ...]) -> None:
        self.now += timedelta(minutes=1)
        match step:
            case ("come", int(number), set() as where, int(ago)):
                await self.come(number, where, self.now - timedelta(minutes=ago))  # pyright: ignore[reportUnknownArgumentType]
            case ("read" | "unread" as deed, int(number)) if self.model.listed:
                await self.mark(self.pick(number), is_read=deed == "read")
            case ("all", (feed, category)):
                self.model.read_all(self.chosen(feed, category), self.now)
                query = self.query(feed, category, 1)
                await marks_store.mark_all_read(self.conn, feed=query.feed, category=category, until=self.now)
            case ("above", (feed, category), int(number), bool(is_oldest_first)) if self.model.listed:
                await self.above(feed, category, self.pick(number), is_oldest_first=is_oldest_first)
            case ("hide" | "show" as deed, int(number)) if self.model.listed:
                await self.hide(self.pick(number), is_hidden=deed == "hide")
            case ("tag" | "untag" as deed, int(number), str(tag)) if self.model.listed:
                await self.tag(self.pick(number), tag, is_added=deed == "tag")
            case _:
                pass

    def pick(self, number: int) -> ArticleId:
        every = sorted(self.model.listed)
        return every[number % len(every)]

    async def come(self, number: int, where: set[int], at: datetime) -> None:
        await see_all_users(self.conn)
        article = an_article(f"https://x.example/{number}", title=str(number), published_at=at)
        await records.keep(
            self.conn, seen_at=self.now, listed=[ListedEntry(self.sources[one], article) for one in sorted(where)]
        )
        row = await (
            await self.conn.execute("SELECT id FROM articles WHERE url_key = %(key)s", {"key": article.url_key})
        ).fetchone()
        assert row is not None
        await self.conn.execute(
            """
            INSERT INTO article_state (article_id, story_id) VALUES (%(article)s, %(story)s)
            ON CONFLICT (article_id) DO UPDATE SET story_id = excluded.story_id
            """,
            {"article": row[0], "story": UUID(int=number % STORIES)},
        )
        await set_user(self.conn, ADA)
        self.model.stories[ArticleId(row[0])] = number % STORIES
        self.model.come(ArticleId(row[0]), at, where)

    async def mark(self, article: ArticleId, *, is_read: bool) -> None:
        await marks_store.mark(
            self.conn, user_id=ADA, article_id=article, is_read=is_read, is_starred=None, now=self.now
        )
        if is_read:
            self.model.read(article)
            await marks_store.advance(self.conn, article_id=article)
        else:
            self.model.marks[article] = False

    async def hide(self, article: ArticleId, *, is_hidden: bool) -> None:
        hidden_at = self.now if is_hidden else None
        await marks_store.set_hidden(self.conn, user_id=ADA, article_ids=[article], hidden_at=hidden_at)
        self.model.hidden.add(article)
        self.model.hidden -= set() if is_hidden else {article}

    async def tag(self, article: ArticleId, tag: str, *, is_added: bool) -> None:
        if is_added:
            await marks_store.add_tag(self.conn, user_id=ADA, article_ids=[article], tag=tag, most=TAGS_MOST)
            self.model.tag(article, tag)
        else:
            await marks_store.remove_tag(self.conn, article_id=article, tag=tag)
            self.model.untag(article, tag)

    async def above(self, feed: int | None, category: str | None, article: ArticleId, *, is_oldest_first: bool) -> None:
        place = PageCursor(max(self.model.listed[article].values()), article)
        self.model.read_above(self.chosen(feed, category), place, is_oldest_first=is_oldest_first)
        query = self.query(feed, category, 1)
        await marks_store.mark_above_read(
            self.conn, user_id=ADA, feed=query.feed, category=category, place=place, now=self.now,
            is_oldest_first=is_oldest_first,
        )  # fmt: skip

    async def check(self, limit: int) -> None:
        for feed, category in FILTERS:
            chosen, query = self.chosen(feed, category), self.query(feed, category, limit)
            for with_hidden in (False, True):
                wanted = replace(query, with_hidden=with_hidden)
                every = [line async for line in pages(self.conn, wanted, is_unread=False)]
                unread = [line async for line in pages(self.conn, wanted, is_unread=True)]
                assert [line.id for line in every] == self.model.all(chosen, with_hidden=with_hidden)
                assert [line.is_read for line in every] == [self.model.is_read(line.id) for line in every]
                assert [line.tags for line in every] == [self.model.tags[line.id] for line in every]
                assert [line.id for line in unread] == self.model.unread(chosen, with_hidden=with_hidden)
            assert await grouped(self.conn, query, Shelf.ALL) == self.model.grouped(self.model.all(chosen))
            assert await grouped(self.conn, query, Shelf.UNREAD) == self.model.grouped(self.model.unread(chosen))
            await self.check_oldest_first(chosen, replace(query, is_oldest_first=True))
        newest = await unread_store.list_newest_unread(self.conn, limit=limit)
        assert newest.article_ids == self.model.unread(set(range(FEEDS)))[:limit]
        assert newest.is_all == (len(self.model.unread(set(range(FEEDS)))) <= limit)
        counted = {one.id: one.unread for one in await subscriptions_store.list_unread_counts(self.conn, most=100)}
        assert [counted[one] for one in self.subscriptions] == [len(self.model.unread({n})) for n in range(FEEDS)]

    async def check_oldest_first(self, chosen: set[int], query: ArticlesQuery) -> None:
        every, unread = self.model.all(chosen)[::-1], self.model.unread(chosen)[::-1]
        listed = [line async for line in pages(self.conn, query, is_unread=False)]
        assert [line.id for line in listed] == every
        assert [line.is_read for line in listed] == [self.model.is_read(line.id) for line in listed]
        assert [line.id async for line in pages(self.conn, query, is_unread=True)] == unread
        assert await grouped(self.conn, query, Shelf.ALL) == self.model.grouped(every)
        assert await grouped(self.conn, query, Shelf.UNREAD) == self.model.grouped(unread)


async def pages(conn: Connection, query: ArticlesQuery, *, is_unread: bool) -> AsyncIterator[ArticleLine]:
    """All of a list, page by page."""
    after: PageCursor | None = None
    while True:
        lines = await lists.list_newest(conn, query=replace(query, after=after), is_unread=is_unread)
        for line in lines:
            yield line
        if len(lines) < query.limit:
            return
        after = lines[-1].place


async def grouped(conn: Connection, query: ArticlesQuery, shelf: Shelf) -> list[ArticleId]:
    """All of a list with its stories as one line, page by page."""
    found: list[ArticleId] = []
    page = await browse(conn, query=replace(query, shelf=shelf), now=START, groups_stories=True)
    found += [one.line.id for one in page.lines]
    while page.then is not None:
        page = await browse(conn, query=replace(query, shelf=shelf, after=page.then), now=START, groups_stories=True)
        found += [one.line.id for one in page.lines]
    return found


async def a_world(conn: Connection) -> World:
    """Ada follows three feeds; Bob the same ones, and has read all of them."""
    sources: list[SourceId] = []
    subscriptions: list[UUID] = []
    for user in (ADA, BOB):
        await conn.execute(
            "INSERT INTO users (id, email, email_key) VALUES (%(id)s, %(email)s, %(email)s)",
            {"id": user, "email": str(user)},
        )
    for number in range(FEEDS):
        sources.append((await a_source(conn, url=f"https://f{number}.example/")).id)
        subscriptions.append(new_id())
        for user, one in ((ADA, subscriptions[-1]), (BOB, new_id())):
            await subscriptions_store.add(
                conn, subscription_id=one, user_id=user, source_id=sources[-1], name=f"Feed {number}",
                category=CATEGORY_OF[number], now=START,
            )  # fmt: skip
    await conn.execute("UPDATE subscriptions SET read_until = 'infinity' WHERE user_id = %(bob)s", {"bob": BOB})
    await set_user(conn, ADA)
    return World(conn, sources, subscriptions)


@settings(
    max_examples=40,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
@given(st.lists(steps, min_size=1, max_size=14), st.sampled_from([1, 2, 30]), st.sampled_from([0, 2, 40]))
async def test_lists_equal_those_of_the_model(
    shared_conn: Connection, taken: list[tuple[object, ...]], limit: int, look: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:  # few articles are looked at before each feed is asked
        patch.setattr(lists, "LOOK_PER_LINE", look)
        async with shared_conn.transaction(force_rollback=True):
            await see_all_users(shared_conn)
            world = await a_world(shared_conn)
            for step in taken:
                await world.take(step)
            await world.check(limit)
