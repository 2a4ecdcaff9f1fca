"""Only an article's own site and its page write the shared record; what another feed says stays with its readers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from headwater.articles.decide import is_of_site
from headwater.articles.store import listing, records
from headwater.articles.types import ListedEntry, NewArticle
from headwater.db import Connection, see_all_users, set_user
from headwater.ids import new_id
from headwater.library.search import search
from headwater.library.store import lists as lists_store
from headwater.library.store import marks, matches, subscriptions
from headwater.library.types import ArticleFull, ArticleLine, ArticlesQuery, Shelf
from headwater.polling.read import read_feed
from headwater.query.types import Words
from headwater.types import SourceId, UserId
from headwater.urls import url_key
from tests.builders import a_source, an_article
from tests.clock import START

pytestmark = pytest.mark.database

URL = "https://victim.example/post"
HOUR = timedelta(hours=1)
FEEDS = {"own": "victim.example", "second": "planet.example", "hostile": "evil.example"}


@dataclass
class World:
    """Three readers, each of one feed, and one who follows all of them."""

    conn: Connection
    sources: dict[str, SourceId] = field(default_factory=dict[str, SourceId])
    readers: dict[str, UserId] = field(default_factory=dict[str, UserId])
    now: datetime = START

    async def lists(self, feed: str, article: NewArticle, *, site: str | None = None) -> None:
        self.now += HOUR
        await see_all_users(self.conn)
        listed = ListedEntry(self.sources[feed], article, FEEDS[feed] if site is None else site)
        await records.keep(self.conn, seen_at=self.now, listed=[listed])

    async def reads_page(self, article: NewArticle) -> None:
        self.now += HOUR
        await see_all_users(self.conn)
        page = ListedEntry(self.sources["own"], replace(article, is_own=None))
        await records.keep_pages(self.conn, seen_at=self.now, pages=[page])

    async def sees(self, reader: str) -> list[ArticleLine]:
        await set_user(self.conn, self.readers[reader])
        newest = await lists_store.list_newest(self.conn, query=ArticlesQuery(shelf=Shelf.ALL))
        unread = await lists_store.list_newest(self.conn, query=ArticlesQuery(), is_unread=True)
        assert [line.id for line in newest if not line.is_read] == [line.id for line in unread]
        assert {(line.id, line.title, line.listed_at) for line in unread} <= {
            (line.id, line.title, line.listed_at) for line in newest
        }
        return newest

    async def opens(self, reader: str) -> ArticleFull:
        (line,) = await self.sees(reader)
        found = await lists_store.find_article(self.conn, article_id=line.id)
        assert found is not None
        return found

    async def finds(self, reader: str, words: str) -> int:
        await set_user(self.conn, self.readers[reader])
        found = await search(self.conn, tree=Words(words), query=ArticlesQuery(shelf=Shelf.ALL), now=self.now)
        among = await matches.find_hits(self.conn, words=words, most=100)
        assert among is not None
        assert len(found.lines) <= len(among)
        return len(found.lines)


async def a_world(conn: Connection) -> World:
    world = World(conn)
    for number, name in enumerate([*FEEDS, "both"], start=1):
        world.readers[name] = UserId(UUID(int=number))
        await conn.execute(
            "INSERT INTO users (id, email, email_key) VALUES (%(id)s, %(name)s, %(name)s)",
            {"id": world.readers[name], "name": name},
        )
    for feed, site in FEEDS.items():
        source = await a_source(conn, url=f"https://{site}/feed")
        world.sources[feed] = source.id
        for reader in (feed, "both"):
            await subscriptions.add(
                conn, subscription_id=new_id(), user_id=world.readers[reader], source_id=source.id, name=feed,
                category=None, now=START,
            )  # fmt: skip
    return world


@pytest.fixture
async def world(conn: Connection) -> World:
    return await a_world(conn)


OWN = an_article(URL, title="True title", author="Ann", summary="True summary", content="True text")
HOSTILE = an_article(
    URL, title="False title", author="Eve", summary="False summary", content="False text", is_own=False,
    published_at=START - 1000 * HOUR,
)  # fmt: skip


@pytest.mark.parametrize("order", [("own", "hostile"), ("hostile", "own"), ("hostile", "own", "hostile", "own")])
async def test_a_feed_of_another_site_changes_nothing_for_readers_of_the_article_s_own(
    world: World, order: Sequence[str]
) -> None:
    for feed in order:
        await world.lists(feed, OWN if feed == "own" else HOSTILE)

    seen, hostile = await world.opens("own"), await world.opens("hostile")

    assert (seen.title, seen.author, seen.html, seen.published_at, seen.listed_at) == (
        "True title", "Ann", "True text", START, START,
    )  # fmt: skip
    assert (hostile.title, hostile.author, hostile.html) == ("False title", "Eve", "False text")
    assert await world.finds("own", "false") == 0
    assert (await world.finds("own", "true"), await world.finds("hostile", "false")) == (1, 1)


async def test_one_batch_of_polls_that_begins_with_a_feed_of_another_site_keeps_what_the_own_site_says(
    world: World,
) -> None:
    listed = [
        ListedEntry(world.sources["hostile"], HOSTILE, FEEDS["hostile"]),
        ListedEntry(world.sources["own"], OWN, FEEDS["own"]),
        ListedEntry(world.sources["second"], HOSTILE, FEEDS["second"]),
    ]

    for _ in range(2):
        await records.keep(world.conn, seen_at=START + HOUR, listed=listed)

    (shared,) = await listing.latest(world.conn, limit=10)
    assert (shared.title, shared.author, shared.published_at) == ("True title", "Ann", START)
    assert ((await world.opens("own")).title, (await world.opens("hostile")).title) == ("True title", "False title")


async def test_a_reader_of_several_feeds_sees_the_own_site_and_else_the_feed_that_listed_it_first(
    world: World,
) -> None:
    second = an_article(URL, title="Seen elsewhere", is_own=False, published_at=None)

    await world.lists("second", second)
    await world.lists("hostile", HOSTILE)
    first = await world.opens("both")
    await world.lists("own", OWN)
    then = await world.opens("both")

    assert (first.title, first.feeds) == ("Seen elsewhere", ["hostile", "second"])
    assert (then.title, then.feeds) == ("True title", ["hostile", "own", "second"])


async def test_operators_see_the_first_feed_s_text_until_the_own_site_writes(world: World) -> None:
    await world.lists("second", an_article(URL, title="Seen elsewhere", is_own=False))
    await world.lists("hostile", HOSTILE)

    (shared,) = await listing.latest(world.conn, limit=10)
    kept = await (await world.conn.execute("SELECT title, author, published_at FROM articles")).fetchall()

    assert (shared.title, shared.author) == ("Seen elsewhere", None)
    assert kept == [("", None, None)]


async def test_the_page_fills_a_record_that_no_feed_of_its_site_has_written(world: World) -> None:
    await world.lists("hostile", HOSTILE)
    await world.reads_page(an_article(URL, title="Page title", author="Ann", published_at=START))
    await world.lists("hostile", HOSTILE)

    (shared,) = await listing.latest(world.conn, limit=10)

    assert (shared.title, shared.author, shared.published_at) == ("Page title", "Ann", START)
    assert (await world.opens("hostile")).title == "False title"


async def test_an_entry_that_moves_onto_another_url_does_not_take_its_feed_s_right_along(world: World) -> None:
    await world.lists("own", OWN)
    await world.lists("hostile", an_article(URL, title="Mine?", is_own=False, entry_id="1"))

    # The same id with a link to the feed's own site: still the victim's article, and still not the feed's to write.
    await world.lists("hostile", an_article("https://evil.example/1", title="False title", entry_id="1"))

    (shared,) = await listing.latest(world.conn, limit=10)
    assert (shared.url, shared.title) == (URL, "True title")
    assert ((await world.opens("own")).title, (await world.opens("hostile")).title) == ("True title", "False title")


@pytest.mark.parametrize("lists_first", [True, False])
async def test_ids_that_a_feed_gave_to_a_site_s_articles_do_not_hold_once_that_site_serves_the_feed(
    world: World, lists_first: bool
) -> None:
    await world.lists("own", OWN)
    # It foretells the id of the site's next article, then redirects to the site's feed.
    await world.lists("hostile", an_article(URL, title="Mine?", is_own=False, entry_id="next"))
    if lists_first:
        await world.lists("hostile", OWN, site=FEEDS["own"])
    await world.lists("hostile", an_article(f"{URL}-2", title="Next", entry_id="next"), site=FEEDS["own"])

    assert {(one.url, one.title) for one in await listing.latest(world.conn, limit=10)} == {
        (URL, "True title"), (f"{URL}-2", "Next"),
    }  # fmt: skip


async def test_an_entry_of_the_feed_s_own_that_moves_onto_another_s_url_stays_its_own_article(world: World) -> None:
    await world.lists("own", OWN)
    await world.lists("hostile", an_article("https://evil.example/1", title="Mine", entry_id="1"))

    await world.lists("hostile", an_article(URL, title="False title", is_own=False, entry_id="1"))

    assert {(one.url, one.title) for one in await listing.latest(world.conn, limit=10)} == {
        (URL, "True title"), ("https://evil.example/1", "False title"),
    }  # fmt: skip


async def test_the_site_s_own_form_of_a_url_replaces_the_one_that_another_feed_gave(world: World) -> None:
    await world.lists("hostile", an_article("http://victim.example/post?ref=evil", is_own=False))
    await world.lists("own", OWN)
    await world.lists("own", an_article("http://victim.example/post/", title="True title"))

    assert [one.url for one in await listing.latest(world.conn, limit=10)] == [URL]


async def test_a_feed_no_longer_served_from_the_article_s_site_writes_its_own_text(world: World) -> None:
    await world.lists("own", OWN)
    elsewhere = an_article(URL, title="Through a redirect", is_own=False)
    await world.lists("own", elsewhere)
    apart = await world.opens("own")
    await world.lists("own", OWN)

    (shared,) = await listing.latest(world.conn, limit=10)
    assert (apart.title, shared.title, (await world.opens("own")).title) == (
        "Through a redirect", "True title", "True title",
    )  # fmt: skip


async def test_what_a_star_showed_stays_when_its_feed_is_deleted(world: World) -> None:
    await world.lists("hostile", HOSTILE)
    (line,) = await world.sees("hostile")
    reader = world.readers["hostile"]
    await marks.mark(
        world.conn, user_id=reader, article_id=line.id, is_read=None, is_starred=True, now=world.now
    )  # fmt: skip
    await see_all_users(world.conn)
    await world.conn.execute("DELETE FROM sources WHERE id = %(id)s", {"id": world.sources["hostile"]})
    await world.lists("second", an_article(URL, title="Another's word", is_own=False))

    await set_user(world.conn, reader)
    (starred,) = await lists_store.list_starred(world.conn, query=ArticlesQuery(shelf=Shelf.STARRED))
    found = await lists_store.find_article(world.conn, article_id=line.id)
    words = await search(world.conn, tree=Words("false"), query=ArticlesQuery(shelf=Shelf.STARRED), now=world.now)

    assert found is not None
    assert (starred.title, found.title, found.html, len(words.lines)) == (
        "False title", "False title", "False text", 1,
    )  # fmt: skip


async def test_an_article_that_was_read_stays_read_when_another_feed_lists_it_later(world: World) -> None:
    await world.lists("own", OWN)
    await set_user(world.conn, world.readers["both"])
    await marks.mark_all_read(world.conn, feed=None, category=None, until=world.now)

    await world.lists("second", an_article(URL, title="Seen elsewhere", is_own=False, published_at=None))

    assert [line.is_read for line in await world.sees("both")] == [True]
    assert [line.is_read for line in await world.sees("second")] == [False]


@pytest.mark.parametrize(
    ("url", "site", "expected"),
    [
        (URL, "victim.example", True),
        ("http://news.victim.example:8080/post", "victim.example", True),
        (URL, "evil.example", False),
        ("https://a.github.io/post", "b.github.io", False),
        ("https://a.github.io/post", "github.io", False),
        ("http://127.0.0.1:8001/post", "127.0.0.1:8002", False),
        (URL, "", False),
    ],
)
def test_a_feed_writes_what_lies_on_the_site_that_served_it(url: str, site: str, expected: bool) -> None:
    assert is_of_site(url, url_key(url), site) is expected


def test_an_entry_without_a_page_belongs_to_the_feed_whose_key_it_has() -> None:
    assert is_of_site(URL, b"a key made of the feed and the id", "evil.example")


Step = tuple[str, int, int | None]
steps = st.tuples(st.sampled_from([*FEEDS, "page"]), st.integers(0, 5), st.none() | st.integers(-50, 50))


@settings(
    max_examples=60,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
@given(st.lists(steps, min_size=1, max_size=8))
async def test_each_reader_sees_their_feed_s_text_in_any_order_of_polls(
    shared_conn: Connection, taken: list[Step]
) -> None:
    async with shared_conn.transaction(force_rollback=True):
        await see_all_users(shared_conn)
        world = await a_world(shared_conn)
        title: dict[str, str] = {}  # what each says last
        place: dict[str, datetime] = {}
        for who, number, hours in taken:
            published = None if hours is None else START + hours * HOUR
            said = an_article(URL, title=f"{who}{number}", published_at=published, is_own=who == "own")
            if who == "page":  # as extraction does: only what is missing
                if "shared" not in title:
                    await world.reads_page(said)
                    title["shared"] = said.title
                    place.setdefault("own", min(published or world.now, world.now))
                continue
            await world.lists(who, said)
            title["shared" if who == "own" else who] = said.title
            place.setdefault(who, min(published or world.now, world.now))

        for reader in FEEDS:
            expected = title.get("shared" if reader == "own" else reader)
            lines = await world.sees(reader)
            assert [(line.title, line.listed_at) for line in lines] == (
                [(expected, place[reader])] if reader in place else []
            )
        (both,) = await world.sees("both")
        assert both.listed_at == max(place.values())
        for word in set(title.values()):
            mine = title.get("shared" if "shared" in title else "own")
            assert await world.finds("own", word) == ("own" in place and word == mine)


@pytest.mark.parametrize("key", ["?token=s3cret", "/8c1f6a5b4d3e2f1a0b9c8d7e/feed.xml"])
@pytest.mark.parametrize("reader", ["own", "hostile"])
async def test_what_a_feed_with_a_key_in_its_url_says_is_shown_only_to_its_subscribers(
    world: World, key: str, reader: str
) -> None:
    private = f"https://victim.example/feed{key}"
    source = await a_source(world.conn, url=private)
    await subscriptions.add(
        world.conn, subscription_id=new_id(), user_id=world.readers["second"], source_id=source.id, name="private",
        category=None, now=START,
    )  # fmt: skip
    world.sources["private"] = source.id
    item = f"<item><link>{URL}</link><title>Paid title</title><description>Paid text</description></item>"
    body = f"<rss version='2.0'><channel>{item}</channel></rss>".encode()
    read = read_feed(body, url=private, feed_url=private, content_type=None, max_entries=10, is_private=True)
    listed = an_article(URL, title="Listed", is_own=reader == "own")

    await world.lists("private", read.entries[0], site=read.site)
    await world.lists(reader, listed)
    await world.lists("private", read.entries[0], site=read.site)

    other, subscriber = await world.opens(reader), await world.opens("second")
    assert (other.title, other.html) == ("Listed", None)
    assert await world.finds(reader, "paid") == 0
    assert (subscriber.title, subscriber.html) == ("Paid title", "Paid text")
    assert await world.finds("second", "paid") == 1


async def test_an_entry_without_a_link_of_a_private_feed_stays_its_own_after_the_feed_has_moved(world: World) -> None:
    private = world.sources["private"] = (await a_source(world.conn, url="https://victim.example/feed?token=1")).id
    body = b"<rss version='2.0'><channel><item><guid>1</guid><title>Paid</title></item></channel></rss>"
    for token in (1, 2):
        url = f"https://victim.example/feed?token={token}"
        read = read_feed(body, url=url, feed_url=url, content_type=None, max_entries=10, is_private=True)
        await world.lists("private", read.entries[0], site=read.site)

    cur = await world.conn.execute(
        """
        SELECT articles.title, articles.url, article_sources.title
        FROM articles JOIN article_sources ON article_id = articles.id WHERE source_id = %(id)s
        """,
        {"id": private},
    )
    assert await cur.fetchall() == [("", "https://victim.example/", "Paid")]
