from datetime import timedelta

import pytest

from headwater.accounts.changes import add_user
from headwater.accounts.types import Role, User
from headwater.analytics import store as analytics
from headwater.analytics.types import ReaderAction
from headwater.articles.store import listing, records
from headwater.articles.types import ListedEntry
from headwater.bodies import store as bodies
from headwater.bodies.types import NewBody
from headwater.db import Database
from headwater.errors import AlreadySubscribed
from headwater.library.store import lists as lists_store
from headwater.library.store import marks, subscriptions
from headwater.library.types import ArticlesQuery, FeedItem, FeedsQuery, Subscription
from headwater.sources import follow
from headwater.sources.mover import Mover, merge
from headwater.sources.store.details import list_health
from headwater.sources.store.sources import find_by_id, list_all
from headwater.sources.subscribe import add_feed, change_feed
from headwater.sources.types import Changes, SourceOverrides
from headwater.types import PageKind
from tests.builders import a_source, an_article
from tests.clock import START

pytestmark = pytest.mark.database

OLD, NEW = "https://old.river.example/feed", "https://new.river.example/feed"


async def a_reader(database: Database, name: str = "ada") -> User:
    async with database.as_system() as conn:
        return await add_user(conn, f"{name}@example.com", None, Role.READER, START)


async def adds(database: Database, reader: User, name: str, url: str, category: str = "") -> Subscription:
    async with database.as_system() as conn:
        return await add_feed(conn, user_id=reader.id, name=name, url=url, category=category, now=START)


async def feeds(database: Database, reader: User) -> list[FeedItem]:
    async with database.as_user(reader.id) as conn:
        return await subscriptions.list_feeds(conn, query=FeedsQuery(), limit=20)


async def read_up_to(database: Database, reader: User, feed: Subscription, minutes: int) -> None:
    async with database.as_user(reader.id) as conn:
        until = START + timedelta(minutes=minutes)
        await marks.mark_all_read(conn, feed=feed.id, category=None, until=until)


async def unread(database: Database, reader: User) -> list[str]:
    async with database.as_user(reader.id) as conn:
        return [line.title for line in await lists_store.list_newest(conn, query=ArticlesQuery(), is_unread=True)]


async def lists(database: Database, feed: Subscription, *minutes: int, seen_after: int = 60) -> None:
    """A feed lists an article of each of these minutes, called by it."""
    async with database.as_system() as conn:
        for n in minutes:
            article = an_article(f"https://x.example/{n}", title=str(n), published_at=START + timedelta(minutes=n))
            seen_at = START + timedelta(minutes=seen_after)
            await records.keep(conn, seen_at=seen_at, listed=[ListedEntry(feed.source_id, article)])


async def move(database: Database, old: str, new: str) -> None:
    async with database.as_system() as conn:
        moved = "UPDATE feed_state SET adopt_url = %(new)s WHERE feed_url = %(old)s"
        await conn.execute(moved, {"new": new, "old": old})
    mover = Mover(database, lambda: START)
    for feed in await mover.claim(10):
        await mover.work(feed)
    assert await mover.claim(10) == []


async def test_a_feed_that_moved_gets_its_new_address_and_keeps_its_state(database: Database) -> None:
    async with database.as_system() as conn:
        await a_source(conn, url="https://old.river.example/feed")

    await move(database, "https://old.river.example/feed", "https://new.river.example/feed")

    async with database.as_system() as conn:
        (source,) = await list_all(conn)
        rows = await conn.execute("SELECT feed_url, host FROM feed_state")
        hosts = await conn.execute("SELECT name FROM hosts ORDER BY name")
        assert source.feed_url == "https://new.river.example/feed"
        assert await rows.fetchall() == [("https://new.river.example/feed", "new.river.example")]
        assert await hosts.fetchall() == [("new.river.example",), ("old.river.example",)]


async def test_a_feed_that_moved_to_where_another_source_is_joins_it(database: Database) -> None:
    async with database.as_system() as conn:
        old = await a_source(conn, url="https://old.river.example/feed", name="Old")
        new = await a_source(conn, url="https://new.river.example/feed", name="New")
        own, shared = an_article("https://example.com/own"), an_article("https://example.com/shared")
        listed = [ListedEntry(old.id, own), ListedEntry(old.id, shared), ListedEntry(new.id, shared)]
        await records.keep(conn, seen_at=START, listed=listed)

    await move(database, "https://old.river.example/feed", "http://NEW.river.example/feed/")

    async with database.as_system() as conn:
        assert [source.name for source in await list_health(conn)] == ["New"]
        found = await listing.latest(conn, limit=10)
        assert {article.url: article.sources for article in found} == {own.url: ["New"], shared.url: ["New"]}


async def test_a_feed_that_moved_onto_the_feed_of_another_site_brings_nothing_into_its_lists(
    database: Database,
) -> None:
    ada, eve = await a_reader(database), await a_reader(database, "eve")
    victim = await adds(database, ada, "Victim", "https://victim.example/feed")
    hostile = await adds(database, eve, "Hostile", "https://evil.example/feed")
    await lists(database, victim, 10)
    await lists(database, hostile, 20)

    await move(database, "https://evil.example/feed", "https://victim.example/feed")

    assert (await unread(database, ada), await unread(database, eve)) == (["10"], ["20"])
    assert await urls(database) == ["https://victim.example/feed", "https://victim.example/feed"]


async def test_articles_of_a_feed_that_moved_to_another_site_are_not_shown_to_new_subscribers_there(
    database: Database,
) -> None:
    ada, eve = await a_reader(database), await a_reader(database, "eve")
    hostile = await adds(database, eve, "Hostile", "https://evil.example/feed")
    await lists(database, hostile, 20)
    await move(database, "https://evil.example/feed", "https://victim.example/feed")

    victim = await adds(database, ada, "Victim", "https://victim.example/feed")
    await lists(database, victim, 10)

    assert (await unread(database, ada), await unread(database, eve)) == (["10"], ["20"])
    assert victim.source_id != hostile.source_id


@pytest.mark.parametrize("is_first", [True, False])
async def test_articles_of_a_feed_that_lost_the_key_in_its_url_are_shown_to_its_subscribers_only(
    is_first: bool, database: Database
) -> None:
    public, private = "https://river.example/feed", "https://river.example/feed?key=0123456789abcdef"
    ada, eve = await a_reader(database), await a_reader(database, "eve")
    paid = await adds(database, ada, "Paid", private)
    await lists(database, paid, 20)
    if is_first:
        await adds(database, eve, "Public", public)
    await move(database, private, public)
    if not is_first:
        await adds(database, eve, "Public", public)

    assert (await unread(database, ada), await unread(database, eve)) == (["20"], [])
    assert await urls(database) == [public, public]


@pytest.mark.parametrize(
    "given", [["https://river.example/feed"], ["https://river.example/feed", "https://river.example/rss"]]
)
async def test_an_operator_who_gives_a_feed_a_url_without_its_key_shows_its_articles_to_no_other_user(
    given: list[str], database: Database
) -> None:
    ada, eve = await a_reader(database), await a_reader(database, "eve")
    paid = await adds(database, ada, "Paid", "https://river.example/feed?key=0123456789abcdef")
    await lists(database, paid, 20)
    for url in given:
        async with database.as_system() as conn:
            await follow.move(conn, await find_by_id(conn, source_id=paid.source_id), url=url, now=START)

    await adds(database, eve, "Public", given[-1])

    assert (await unread(database, ada), await unread(database, eve)) == (["20"], [])
    assert await urls(database) == [given[-1], given[-1]]


async def test_a_feed_that_moved_to_another_site_is_polled_there_and_keeps_its_articles(database: Database) -> None:
    ada = await a_reader(database)
    feed = await adds(database, ada, "Blog", "https://blog.old/feed")
    await lists(database, feed, 10)

    await move(database, "https://blog.old/feed", "https://blog.new/feed")

    async with database.as_system() as conn:
        rows = await conn.execute("SELECT feed_url, host FROM feed_state")
        assert await rows.fetchall() == [("https://blog.new/feed", "blog.new")]
        assert (await follow.find(conn, "https://blog.new/feed")).id == feed.source_id
        assert (await follow.find(conn, "https://blog.old/feed")).id == feed.source_id
    assert [(feed.name, feed.url) for feed in await feeds(database, ada)] == [("Blog", "https://blog.new/feed")]
    assert await unread(database, ada) == ["10"]


async def test_who_follows_a_feed_that_moved_to_another_site_has_added_that_address_already(database: Database) -> None:
    ada = await a_reader(database)
    await adds(database, ada, "Blog", "https://blog.old/feed")
    other = await adds(database, ada, "Other", "https://other.example/feed")
    await move(database, "https://blog.old/feed", "https://blog.new/feed")

    with pytest.raises(AlreadySubscribed):
        await adds(database, ada, "Again", "https://blog.new/feed")
    with pytest.raises(AlreadySubscribed):
        async with database.as_system() as conn:
            await change_feed(
                conn, user_id=ada.id, before=other, name="Other", url="https://blog.new/feed", category="", now=START
            )


async def test_a_feed_that_came_from_another_site_never_takes_an_address_there(database: Database) -> None:
    ada, eve = await a_reader(database), await a_reader(database, "eve")
    hostile = await adds(database, eve, "Hostile", "https://evil.example/feed")
    victim = await adds(database, ada, "Victim", "https://victim.example/rss")
    await lists(database, hostile, 20)
    await move(database, "https://evil.example/feed", "https://victim.example/feed")

    await move(database, "https://victim.example/feed", "https://victim.example/atom")
    renamed = await adds(database, ada, "Renamed", "https://victim.example/atom")
    await move(database, "https://victim.example/atom", "https://victim.example/rss")

    assert renamed.source_id not in {hostile.source_id, victim.source_id}
    assert await unread(database, ada) == []
    assert await unread(database, eve) == ["20"]


async def test_a_feed_that_moved_back_to_its_own_site_joins_the_source_there(database: Database) -> None:
    ada, bob = await a_reader(database), await a_reader(database, "bob")
    hers = await adds(database, ada, "Hers", OLD)
    his = await adds(database, bob, "His", NEW)
    await move(database, OLD, "https://service.example/feed")
    await move(database, "https://service.example/feed", OLD)

    await move(database, OLD, NEW)

    assert hers.source_id != his.source_id
    assert [feed.source_id for feed in await feeds(database, ada)] == [his.source_id]


async def test_a_source_without_a_feed_is_not_merged(database: Database) -> None:
    async with database.as_system() as conn:
        feed = await a_source(conn, url=OLD)
        overrides = SourceOverrides(site="https://old.river.example/")
        site = await follow.follow(conn, url=None, name="Site", now=START, overrides=overrides)

        assert not await merge(conn, source_id=feed.id, into=site.id)
        assert not await merge(conn, source_id=site.id, into=feed.id)


async def test_a_move_to_an_invalid_url_is_ignored(database: Database) -> None:
    async with database.as_system() as conn:
        await a_source(conn, url="https://old.river.example/feed")

    await move(database, "https://old.river.example/feed", "javascript:alert(1)")

    async with database.as_system() as conn:
        assert [source.feed_url for source in await list_all(conn)] == ["https://old.river.example/feed"]


async def test_a_merged_subscription_keeps_its_name_and_category(database: Database) -> None:
    ada, bob = await a_reader(database), await a_reader(database, "bob")
    hers = await adds(database, ada, "Hers", OLD, "News")
    his = await adds(database, bob, "His", NEW)

    await move(database, OLD, NEW)

    (feed,) = await feeds(database, ada)
    assert (feed.id, feed.source_id, feed.name, feed.category) == (hers.id, his.source_id, "Hers", "News")
    assert [feed.name for feed in await feeds(database, bob)] == ["His"]


async def test_a_subscriber_of_both_merged_feeds_keeps_one_in_the_old_category(database: Database) -> None:
    ada = await a_reader(database)
    await adds(database, ada, "Old", OLD, "News")
    kept = await adds(database, ada, "New", NEW)

    await move(database, OLD, NEW)

    (feed,) = await feeds(database, ada)
    assert (feed.id, feed.name, feed.category) == (kept.id, "New", "News")


@pytest.mark.parametrize(
    ("old_until", "new_until"), [(90, 20), (20, 90), (90, 90), (20, 20), (0, 90), (90, 0), (70, 80)]
)
async def test_what_is_unread_for_who_follows_both_stays_so_and_nothing_else_becomes_it(
    database: Database, old_until: int, new_until: int
) -> None:
    ada = await a_reader(database)
    old, new = await adds(database, ada, "Old", OLD), await adds(database, ada, "New", NEW)
    await lists(database, old, 10, 30, 50, 95)
    await lists(database, new, 30, 40)
    await read_up_to(database, ada, old, old_until)
    await read_up_to(database, ada, new, new_until)
    before = await unread(database, ada)

    await move(database, OLD, NEW)

    assert await unread(database, ada) == before


async def test_what_an_operator_asked_of_a_feed_goes_with_it(database: Database) -> None:
    ada = await a_reader(database)
    private = await adds(database, ada, "Hers", NEW)
    async with database.as_system() as conn:
        system = await a_source(conn, url=OLD)
        await follow.change(
            conn, system, Changes(category="News", policy="once", interval=timedelta(hours=1), is_critical=True)
        )

    await move(database, OLD, NEW)

    async with database.as_system() as conn:
        joined = await find_by_id(conn, source_id=private.source_id)
    assert (joined.is_system, joined.is_critical, joined.category) == (True, True, "News")
    assert (joined.policy, joined.interval_minutes) == ("once", 60)


async def test_what_was_asked_of_the_feed_that_is_joined_holds(database: Database) -> None:
    async with database.as_system() as conn:
        old, new = await a_source(conn, url=OLD), await a_source(conn, url=NEW)
        await follow.change(conn, old, Changes(category="Old", interval=timedelta(hours=1)))
        await follow.change(conn, new, Changes(category="New", interval=timedelta(hours=2)))

    await move(database, OLD, NEW)

    async with database.as_system() as conn:
        joined = await find_by_id(conn, source_id=new.id)
    assert (joined.category, joined.interval_minutes) == ("New", 120)


async def urls(database: Database) -> list[str]:
    async with database.as_system() as conn:
        return sorted(str(source.feed_url) for source in await list_all(conn))


@pytest.mark.parametrize("which", [OLD, NEW])
async def test_nothing_joins_a_source_that_is_switched_off_nor_does_one_join(database: Database, which: str) -> None:
    async with database.as_system() as conn:
        both = {url: await a_source(conn, url=url) for url in (OLD, NEW)}
        await follow.disable_source(conn, both[which], START)

    await move(database, OLD, NEW)

    assert await urls(database) == [NEW, OLD]


async def test_nothing_joins_a_source_whose_feed_is_disabled(database: Database) -> None:
    async with database.as_system() as conn:
        await a_source(conn, url=OLD)
        await follow.disable(conn, await a_source(conn, url=NEW), "not wanted", START)

    await move(database, OLD, NEW)

    assert await urls(database) == [NEW, OLD]


@pytest.mark.parametrize(
    "overrides",
    [
        SourceOverrides(selectors=["title=h1"]),
        SourceOverrides(sitemap="https://old.river.example/map.xml"),
        SourceOverrides(mode="both"),
    ],
    ids=["selectors", "sitemap", "links"],
)
async def test_a_source_whose_pages_are_read_as_a_person_said_joins_none(
    database: Database, overrides: SourceOverrides
) -> None:
    async with database.as_system() as conn:
        await a_source(conn, url=NEW)
        await follow.follow(conn, url=OLD, name=None, now=START, overrides=overrides)

    await move(database, OLD, NEW)

    assert await urls(database) == [NEW, OLD]


async def test_a_source_joins_another_when_its_pages_have_been_read(database: Database) -> None:
    async with database.as_system() as conn:
        old, _ = await a_source(conn, url=OLD), await a_source(conn, url=NEW)
        url = "https://old.river.example/1"
        page = NewBody(url, url, PageKind.ARTICLE, old.id, 0, "text/html", b"<p>One", START)
        await bodies.keep(conn, bodies=[page])

    await move(database, OLD, NEW)
    stayed = await urls(database)
    async with database.as_system() as conn:
        later = START + timedelta(hours=1)
        waiting = await bodies.claim(conn, kind=PageKind.ARTICLE, lease=old.id, now=later, leased_until=later, limit=10)
        await bodies.done(conn, bodies=waiting)
    await move(database, OLD, NEW)

    assert len(waiting) == 1
    assert (stayed, await urls(database)) == ([NEW, OLD], [NEW])


async def test_what_was_read_of_a_feed_that_joins_another_counts_for_that_one(database: Database) -> None:
    reader = await a_reader(database)
    old = await adds(database, reader, "Old", OLD)
    new = await adds(database, reader, "New", NEW)
    await lists(database, old, 1, 2)
    async with database.as_user(reader.id) as conn:
        await analytics.answer(conn, user_id=reader.id, consents=True, now=START)
        for line in await lists_store.list_newest(conn, query=ArticlesQuery(), is_unread=True):
            await analytics.record(conn, article_id=line.id, action=ReaderAction.OPEN, now=START)

    await move(database, OLD, NEW)

    async with database.as_system() as conn:
        clicked = await conn.execute("SELECT DISTINCT source_id, count(*) OVER () FROM feed_item_clicks")
        assert await clicked.fetchall() == [(new.source_id, 2)]
        (health,) = await list_health(conn)
    assert health.article_count == 2


async def test_a_url_set_by_an_operator_during_a_move_is_kept(database: Database) -> None:
    async with database.as_system() as conn:
        source = await a_source(conn, url=OLD)
        await conn.execute("UPDATE feed_state SET adopt_url = %(new)s", {"new": NEW})
    mover = Mover(database, lambda: START)
    (moved,) = await mover.claim(10)
    async with database.as_system() as conn:
        await follow.move(conn, source, url="https://chosen.example/feed", now=START)

    await mover.work(moved)

    async with database.as_system() as conn:
        assert (await find_by_id(conn, source_id=source.id)).feed_url == "https://chosen.example/feed"


async def test_an_approved_suggestion_does_not_move_to_a_blocked_domain(database: Database) -> None:
    async with database.as_system() as conn:
        await a_source(conn, url=OLD)
        await conn.execute("UPDATE sources SET is_system = false, moderation_status = 'approved'")
        await conn.execute("INSERT INTO blocked_domains VALUES ('new.river.example', 'A farm.', NULL, 'mo', now())")

    await move(database, OLD, NEW)

    async with database.as_system() as conn:
        assert [source.feed_url for source in await list_all(conn)] == [OLD]


KEYED = "https://old.river.example/feed?key=0123456789abcdef"


@pytest.mark.parametrize(("hers", "his"), [(KEYED, NEW), (OLD, KEYED)])
async def test_what_a_private_feed_listed_is_not_merged_into_the_lists_of_others(
    database: Database, hers: str, his: str
) -> None:
    """As when a paid feed has expired, and its site redirects to the one for everyone."""
    ada, bob = await a_reader(database), await a_reader(database, "bob")
    await lists(database, await adds(database, ada, "Hers", hers), 1)
    await lists(database, await adds(database, bob, "His", his), 2)

    await move(database, hers, his)

    assert (await unread(database, ada), await unread(database, bob)) == (["1"], ["2"])


async def test_what_a_feed_listed_while_it_was_private_is_not_merged_either(database: Database) -> None:
    ada, bob = await a_reader(database), await a_reader(database, "bob")
    await lists(database, await adds(database, ada, "Hers", KEYED), 1)
    await lists(database, await adds(database, bob, "His", NEW), 2)
    await move(database, KEYED, OLD)

    await move(database, OLD, NEW)

    assert await unread(database, bob) == ["2"]
