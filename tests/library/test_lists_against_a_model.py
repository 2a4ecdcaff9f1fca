"""Whatever a reader does, and however articles come, the lists say what the plain rules say.

The rules, as a model without an index in it: an article that is marked is what its mark says. One that is not is unread
in a feed that lists it after the moment up to which that feed is read, and read when it is so in all of one's feeds.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection, see_all_users, set_user
from headwater.ids import new_id
from headwater.library.store import lists
from headwater.library.store import marks as marks_store
from headwater.library.store import subscriptions as subscriptions_store
from headwater.library.types import ArticlesQuery
from headwater.types import ArticleId, PageCursor, SourceId, UserId
from tests.builders import a_source, an_article
from tests.clock import START

pytestmark = pytest.mark.database

LONG_AGO = datetime.min.replace(tzinfo=START.tzinfo)
FEEDS = 3
CATEGORY_OF = ("News", "News", None)
FILTERS = [(None, None), (0, None), (1, None), (2, None), (None, "News")]
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
    st.tuples(st.just("above"), filters, nth),
)


@dataclass
class Model:
    """What is listed where, what was marked, and up to when each feed is read."""

    listed: dict[ArticleId, dict[int, datetime]] = field(default_factory=dict[ArticleId, dict[int, datetime]])
    marks: dict[ArticleId, bool | None] = field(default_factory=dict[ArticleId, bool | None])
    read_until: list[datetime] = field(default_factory=lambda: [LONG_AGO] * FEEDS)

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

    def unread(self, chosen: set[int]) -> list[ArticleId]:
        unread = {
            one: {feed: at for feed, at in places.items() if self.is_unread_in(one, feed)}
            for one, places in self.listed.items()
        }
        return self.ordered(unread, chosen)

    def all(self, chosen: set[int]) -> list[ArticleId]:
        return self.ordered(self.listed, chosen)

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
            waiting = [at for at, one in mine if at > self.read_until[feed] and self.marks.get(one) is not True]
            newest = max(self.read_until[feed], max(mine)[0])
            self.read_until[feed] = min(waiting) - timedelta(microseconds=1) if waiting else newest

    def read_all(self, chosen: set[int], until: datetime) -> None:
        for feed in chosen:
            self.read_until[feed] = max(self.read_until[feed], until)
        for article, places in self.listed.items():
            if self.marks.get(article) is False and any(places.get(feed, self.never) <= until for feed in chosen):
                self.marks[article] = None

    never = datetime.max.replace(tzinfo=START.tzinfo)

    def read_above(self, chosen: set[int], place: PageCursor) -> None:
        for article in self.unread(chosen):
            if any(
                (at, article) >= (place.at, place.id) and self.is_unread_in(article, feed)
                for feed, at in self.listed[article].items()
                if feed in chosen
            ):
                self.marks[article] = True


class World:
    """The same in the database, step by step."""

    def __init__(self, conn: Connection, sources: list[SourceId], subscriptions: list[UUID]) -> None:
        self.conn = conn
        self.sources = sources
        self.subscriptions = subscriptions
        self.model = Model()
        self.now = START

    def chosen(self, feed: int | None, category: str | None) -> set[int]:
        return {n for n in range(FEEDS) if feed in {None, n} and category in {None, CATEGORY_OF[n]}}

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
            case ("above", (feed, category), int(number)) if self.model.listed:
                await self.above(feed, category, self.pick(number))
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
        await set_user(self.conn, ADA)
        assert row is not None
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

    async def above(self, feed: int | None, category: str | None, article: ArticleId) -> None:
        place = PageCursor(max(self.model.listed[article].values()), article)
        self.model.read_above(self.chosen(feed, category), place)
        query = self.query(feed, category, 1)
        await marks_store.mark_above_read(
            self.conn, user_id=ADA, feed=query.feed, category=category, place=place, now=self.now
        )

    async def check(self, limit: int) -> None:
        for feed, category in FILTERS:
            chosen, query = self.chosen(feed, category), self.query(feed, category, limit)
            every = [line async for line in pages(self.conn, query, is_unread=False)]
            unread = [line async for line in pages(self.conn, query, is_unread=True)]
            assert [one for one, _ in every] == self.model.all(chosen)
            assert [is_read for _, is_read in every] == [self.model.is_read(one) for one, _ in every]
            assert [one for one, _ in unread] == self.model.unread(chosen)
        counted = {one.id: one.unread for one in await subscriptions_store.list_unread_counts(self.conn, most=100)}
        assert [counted[one] for one in self.subscriptions] == [len(self.model.unread({n})) for n in range(FEEDS)]


async def pages(conn: Connection, query: ArticlesQuery, *, is_unread: bool) -> AsyncIterator[tuple[ArticleId, bool]]:
    """All of a list, page by page."""
    after: PageCursor | None = None
    while True:
        page = ArticlesQuery(feed=query.feed, category=query.category, after=after, limit=query.limit)
        lines = await lists.list_newest(conn, query=page, is_unread=is_unread)
        for line in lines:
            yield line.id, line.is_read
        if len(lines) < query.limit:
            return
        after = lines[-1].place


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
