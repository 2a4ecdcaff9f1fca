"""What a user's lists show, compared with a plain implementation of the rules; no user sees the rows of another."""

from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import pytest

from headwater.accounts.changes import add_user
from headwater.accounts.types import Role, User
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection, Database
from headwater.errors import AlreadySubscribed
from headwater.ids import new_id
from headwater.library import search as searching
from headwater.library.store import lists, marks, subscriptions
from headwater.library.types import ArticleLine, ArticlesQuery, FeedsQuery, FeedStatus, Shelf
from headwater.query.grammar import parse
from headwater.query.types import Audience
from headwater.sources.store import sources
from headwater.types import ArticleId, PageCursor
from tests.builders import a_source, an_article
from tests.clock import START

pytestmark = pytest.mark.database

NOW = START + timedelta(days=1)


@dataclass(frozen=True)
class Readers:
    """Ada follows two feeds, Bob the second of them; each has three articles, one of them in both."""

    ada: User
    bob: User
    daily: UUID
    weekly: UUID
    bobs: UUID


@pytest.fixture
async def readers(database: Database) -> Readers:
    async with database.as_system() as conn:
        ada = await add_user(conn, "ada@example.com", None, Role.READER, START)
        bob = await add_user(conn, "bob@example.com", None, Role.READER, START)
        daily = await a_source(conn, url="https://daily.example/feed")
        weekly = await a_source(conn, url="https://weekly.example/feed")
        for source, numbers in ((daily, (1, 3, 5)), (weekly, (2, 4, 5))):
            listed = [
                ListedEntry(
                    source.id,
                    an_article(f"https://x.example/{n}", title=str(n), published_at=START + timedelta(minutes=n)),
                )
                for n in numbers
            ]
            await records.keep(conn, seen_at=NOW, listed=listed)
        subscribed: list[UUID] = []
        for user, source, name in ((ada, daily, "Daily"), (ada, weekly, "Weekly"), (bob, weekly, "Bob's weekly")):
            subscribed.append(new_id())
            await subscriptions.add(
                conn,
                subscription_id=subscribed[-1],
                user_id=user.id,
                source_id=source.id,
                name=name,
                category="News" if name == "Daily" else None,
                now=NOW,
            )
    return Readers(ada, bob, *subscribed)


def titles(lines: list[ArticleLine]) -> list[str]:
    return [line.title for line in lines]


async def find(conn: Connection, title: str) -> ArticleId:
    lines = await lists.list_newest(conn, query=ArticlesQuery(limit=100))
    return next(line.id for line in lines if line.title == title)


async def test_the_newest_come_first_and_an_article_of_two_feeds_once(database: Database, readers: Readers) -> None:
    async with database.as_user(readers.ada.id) as conn:
        lines = await lists.list_newest(conn, query=ArticlesQuery())

    assert titles(lines) == ["5", "4", "3", "2", "1"]
    assert [line.feed_name for line in lines] == ["Daily", "Weekly", "Daily", "Weekly", "Daily"]


@pytest.mark.parametrize("is_unread", [False, True], ids=["newest", "unread"])
async def test_pages_follow_each_other_without_gap_or_repetition(
    database: Database, readers: Readers, *, is_unread: bool
) -> None:
    seen: list[str] = []
    after = None
    async with database.as_user(readers.ada.id) as conn:
        while lines := await lists.list_newest(conn, query=ArticlesQuery(after=after, limit=2), is_unread=is_unread):
            seen += titles(lines)
            after = PageCursor(lines[-1].listed_at, lines[-1].id)

    assert seen == ["5", "4", "3", "2", "1"]


async def test_a_list_can_be_of_one_feed_or_one_category(database: Database, readers: Readers) -> None:
    async with database.as_user(readers.ada.id) as conn:
        of_feed = await lists.list_newest(conn, query=ArticlesQuery(feed=readers.weekly))
        of_category = await lists.list_newest(conn, query=ArticlesQuery(category="News"), is_unread=True)

    assert titles(of_feed) == ["5", "4", "2"]
    assert titles(of_category) == ["5", "3", "1"]


async def test_a_read_article_can_be_marked_unread_again(database: Database, readers: Readers) -> None:
    async with database.as_user(readers.ada.id) as conn:
        article = await find(conn, "4")
        await marks.mark(conn, user_id=readers.ada.id, article_id=article, is_read=True, is_starred=None, now=NOW)
        await marks.advance(conn, article_id=article)
        read = titles(await lists.list_newest(conn, query=ArticlesQuery(), is_unread=True))
        await marks.mark(conn, user_id=readers.ada.id, article_id=article, is_read=False, is_starred=None, now=NOW)
        again = titles(await lists.list_newest(conn, query=ArticlesQuery(), is_unread=True))

    assert read == ["5", "3", "2", "1"]
    assert again == ["5", "4", "3", "2", "1"]


async def test_marking_all_read_includes_articles_marked_unread(database: Database, readers: Readers) -> None:
    async with database.as_user(readers.ada.id) as conn:
        await marks.mark_all_read(conn, feed=None, category=None, until=NOW)
        article = await find(conn, "2")
        await marks.mark(conn, user_id=readers.ada.id, article_id=article, is_read=False, is_starred=None, now=NOW)
        one = titles(await lists.list_newest(conn, query=ArticlesQuery(), is_unread=True))
        await marks.mark_all_read(conn, feed=None, category=None, until=NOW)
        none = titles(await lists.list_newest(conn, query=ArticlesQuery(), is_unread=True))

    assert one == ["2"]
    assert none == []


async def test_marking_one_feed_read_leaves_the_other(database: Database, readers: Readers) -> None:
    async with database.as_user(readers.ada.id) as conn:
        await marks.mark_all_read(conn, feed=readers.daily, category=None, until=NOW)
        unread = titles(await lists.list_newest(conn, query=ArticlesQuery(), is_unread=True))

    assert unread == ["5", "4", "2"]


async def test_reading_one_by_one_moves_the_feeds_mark_up_to_the_oldest_unread(
    database: Database, readers: Readers
) -> None:
    async with database.as_user(readers.ada.id) as conn:
        for title in ("2", "4"):
            article = await find(conn, title)
            await marks.mark(conn, user_id=readers.ada.id, article_id=article, is_read=True, is_starred=None, now=NOW)
            await marks.advance(conn, article_id=article)
        cur = await conn.execute("SELECT read_until FROM subscriptions WHERE id = %(id)s", {"id": readers.weekly})
        row = await cur.fetchone()

    assert row is not None
    assert START + timedelta(minutes=4) <= row[0] < START + timedelta(minutes=5)


async def test_stars_stay_when_the_subscription_is_deleted(database: Database, readers: Readers) -> None:
    async with database.as_user(readers.ada.id) as conn:
        article = await find(conn, "1")
        await marks.mark(conn, user_id=readers.ada.id, article_id=article, is_read=None, is_starred=True, now=NOW)
        await subscriptions.remove(conn, subscription_id=readers.daily)
        starred = await lists.list_starred(conn, query=ArticlesQuery())

    assert titles(starred) == ["1"]
    assert starred[0].is_starred


async def test_a_user_neither_sees_nor_changes_rows_of_another(database: Database, readers: Readers) -> None:
    async with database.as_user(readers.bob.id) as conn:
        assert titles(await lists.list_newest(conn, query=ArticlesQuery())) == ["5", "4", "2"]
        assert await subscriptions.find(conn, subscription_id=readers.daily) is None
        assert await subscriptions.remove(conn, subscription_id=readers.daily) is None
        await marks.mark_all_read(conn, feed=None, category=None, until=NOW)
    async with database.as_user(readers.ada.id) as conn:
        assert len(await lists.list_newest(conn, query=ArticlesQuery(), is_unread=True)) == 5


async def test_a_user_subscribes_to_a_source_once(database: Database, readers: Readers) -> None:
    with pytest.raises(AlreadySubscribed):
        async with database.as_user(readers.ada.id) as conn:
            known = await subscriptions.find(conn, subscription_id=readers.daily)
            assert known is not None
            await subscriptions.add(
                conn,
                subscription_id=new_id(),
                user_id=readers.ada.id,
                source_id=known.source_id,
                name="Again",
                category=None,
                now=NOW,
            )


async def test_feeds_are_found_by_name_and_status(database: Database, readers: Readers) -> None:
    async with database.as_user(readers.ada.id) as conn:
        named = await subscriptions.list_feeds(conn, query=FeedsQuery(search="WEEK"), limit=20)
        pending = await subscriptions.count_feeds(conn, query=FeedsQuery(status=FeedStatus.PENDING))
        broken = await subscriptions.count_feeds(conn, query=FeedsQuery(status=FeedStatus.ERROR))
        odd = await subscriptions.list_feeds(conn, query=FeedsQuery(search="%_'\\"), limit=20)

    assert [feed.name for feed in named] == ["Weekly"]
    assert (pending, broken) == (2, 0)
    assert odd == []


async def test_an_article_listed_after_marking_all_read_is_unread(database: Database, readers: Readers) -> None:
    async with database.as_user(readers.ada.id) as conn:
        await marks.mark_all_read(conn, feed=None, category=None, until=NOW)
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url="https://weekly.example/feed")
        late = an_article("https://x.example/late", title="late", published_at=START)
        await records.keep(conn, seen_at=NOW + timedelta(minutes=5), listed=[ListedEntry(source.id, late)])
    async with database.as_user(readers.ada.id) as conn:
        unread = titles(await lists.list_newest(conn, query=ArticlesQuery(), is_unread=True))
        beside = {one.name: one.unread for one in await subscriptions.list_unread_counts(conn, most=100)}

    assert unread == ["late"]
    assert beside == {"Daily": 0, "Weekly": 1}


@pytest.mark.parametrize(
    ("feed", "ada", "bob"), [("weekly", "54321", "542"), ("daily", "25431", "542")], ids=["the same", "another"]
)
async def test_an_article_whose_date_changes_keeps_its_place_in_each_feed_that_lists_it(
    database: Database, readers: Readers, feed: str, ada: str, bob: str
) -> None:
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url=f"https://{feed}.example/feed")
        moved = an_article("https://x.example/2", title="2", published_at=START + timedelta(hours=3))
        await records.keep(conn, seen_at=NOW, listed=[ListedEntry(source.id, moved)])
    async with database.as_user(readers.ada.id) as conn:
        shown = titles(await lists.list_newest(conn, query=ArticlesQuery()))
    async with database.as_user(readers.bob.id) as conn:
        bobs = titles(await lists.list_newest(conn, query=ArticlesQuery()))

    assert (shown, bobs) == (list(ada), list(bob))


@pytest.mark.parametrize(("step", "rare"), [(2, 1), (2, 100), (300, 1)], ids=["steps", "index", "one step"])
async def test_a_search_finds_the_same_by_steps_and_by_index(
    database: Database, readers: Readers, monkeypatch: pytest.MonkeyPatch, step: int, rare: int
) -> None:
    monkeypatch.setattr(searching, "STEP", step)
    monkeypatch.setattr(searching, "RARE", rare)
    found: list[str] = []
    query = ArticlesQuery(shelf=Shelf.ALL, limit=1)
    tree = parse("otters -4 newer:2min", Audience.READER).tree
    async with database.as_system() as conn:
        await conn.execute("UPDATE articles SET title = title || ' otters' WHERE title <> '3'")
    async with database.as_user(readers.ada.id) as conn:
        for _ in range(10):
            page = await searching.search(conn, tree=tree, query=query, now=START + timedelta(minutes=4))
            found += titles(page.lines)
            if page.then is None:
                break
            query = replace(query, after=page.then)

    assert found == ["5 otters", "2 otters"]


PARTS = {
    "source:daily": "531", "category:news": "531", "source:weekly -source:daily": "42", "tag:mine": "5421",
    "has:enclosure": "4", "topic:sport": "3", "topic:sport or has:enclosure": "43", "title:2": "2", "-title:2": "5431",
    "host:x.example newer:2min": "5432", "older:2min": "1", "before:2026-03-01": "", "*": "54321", "-*": "",
    "after:2026-02-28 tag:mine source:daily": "51", "is:hidden": "", "is:starred or is:read": "",
}  # fmt: skip


async def test_every_part_of_a_query_finds_the_same_by_steps_and_by_index(
    database: Database, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.as_user(readers.ada.id) as conn:
        one = await find(conn, "1")
    async with database.as_system() as conn:
        await conn.execute(
            "INSERT INTO labels (article_id, scheme, label, method, score, version, made_at, is_shown, is_disputed) "
            "SELECT id, 'topic', 'sport', 'model', 1, '1', now(), true, false FROM articles WHERE title = '3'"
        )
        await conn.execute(
            """UPDATE article_sources SET enclosures = '[{"url": "https://x.example/1"}]' """
            "FROM articles WHERE id = article_id AND articles.title = '4'"
        )
        await conn.execute("UPDATE subscriptions SET tags = '{mine}' WHERE name = 'Weekly'")
        await conn.execute(
            "INSERT INTO marks (user_id, article_id, tags) VALUES (%(user)s, %(one)s, '{mine}')",
            {"user": readers.ada.id, "one": one},
        )
    for step, rare, shelf in ((2, 1, Shelf.ALL), (2, 100, Shelf.ALL), (2, 100, Shelf.UNREAD), (300, 1, Shelf.UNREAD)):
        for name, value in (("STEP", step), ("RARE", rare), ("RARE_LABELS", rare)):
            monkeypatch.setattr(searching, name, value)
        async with database.as_user(readers.ada.id) as conn:
            found = {text: "".join(await every_title(conn, text, shelf)) for text in PARTS}

        assert found == PARTS


async def every_title(conn: Connection, text: str, shelf: Shelf) -> list[str]:
    tree = parse(text, Audience.READER).tree
    query: ArticlesQuery | None = ArticlesQuery(shelf=shelf, limit=1)
    found: list[str] = []
    while query is not None:
        page = await searching.search(conn, tree=tree, query=query, now=START + timedelta(minutes=4))
        found += titles(page.lines)
        query = replace(query, after=page.then) if page.then else None
    return found


async def test_hidden_articles_are_found_only_where_the_query_says_so(database: Database, readers: Readers) -> None:
    async with database.as_user(readers.ada.id) as conn:
        hidden = await find(conn, "4")
        await marks.set_hidden(conn, user_id=readers.ada.id, article_ids=[hidden], hidden_at=NOW)
        found = {text: "".join(await every_title(conn, text, Shelf.ALL)) for text in ("*", "is:hidden", "title:4")}

    assert found == {"*": "5321", "is:hidden": "4", "title:4": ""}
