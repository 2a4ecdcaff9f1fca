"""Two readers and a hostile feed, from the network to the pages: what one follows does not change what another sees."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.accounts.changes import add_user
from headwater.accounts.types import Role, User
from headwater.articles.store.listing import latest
from headwater.db import Database
from headwater.library.search import search
from headwater.library.store import lists
from headwater.library.types import ArticleFull, ArticlesQuery, Shelf
from headwater.net import Client
from headwater.polling.worker import Poller
from headwater.query.types import Words
from headwater.sandbox import Sandbox
from headwater.sources.subscribe import add_feed
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.polling.histories import OPTIONS
from tests.site import Answer, Site, a_site
from tests.web.visitor import a_person

pytestmark = pytest.mark.database

QUICK = replace(OPTIONS, timeout=timedelta(seconds=10), host_delay=timedelta(0))
TRUE = ("True title", "Ann", "Sat, 28 Feb 2026 12:00:00 GMT", "True text")
FALSE = ("False title", "Eve", "Thu, 01 Jan 2015 12:00:00 GMT", "False text")


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(processes=1, time_limit=timedelta(seconds=20), memory_limit=1_000_000_000) as sandbox:
        yield sandbox


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        yield site


@pytest.fixture
async def poller(database: Database, sandbox: Sandbox, clock: MovableClock) -> AsyncIterator[Poller]:
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={"example": "127.0.0.1"}) as client:
        yield Poller(database, client, sandbox, clock, QUICK)


@pytest.fixture
async def readers(database: Database) -> dict[str, User]:
    async with database.as_system() as conn:
        return {
            name: await add_user(conn, f"{name}@example.com", None, Role.READER, START) for name in ("victim", "thief")
        }


def a_feed(link: str, words: tuple[str, str, str, str], *, channel: str = "", guid: str = "1") -> Answer:
    title, author, date, text = words
    body = f"""<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/'
        xmlns:content='http://purl.org/rss/1.0/modules/content/'><channel><title>Feed</title><link>{channel}</link>
        <item><guid isPermaLink='false'>{guid}</guid><link>{link}</link><title>{title}</title>
        <dc:creator>{author}</dc:creator><pubDate>{date}</pubDate><content:encoded>{text}</content:encoded></item>
        </channel></rss>"""
    return 200, "application/rss+xml", body.encode()


async def follows(database: Database, reader: User, url: str) -> None:
    async with database.as_system() as conn:
        await add_feed(conn, user_id=reader.id, name="Feed", url=url, category="", now=START)


async def poll(poller: Poller, clock: MovableClock) -> None:
    clock.move(hours=30)
    while claimed := await poller.claim(10):
        for feed in claimed:
            await poller.work(feed)


async def sees(database: Database, reader: User) -> ArticleFull:
    async with database.as_user(reader.id) as conn:
        (line,) = await lists.list_newest(conn, query=ArticlesQuery(shelf=Shelf.ALL))
        found = await lists.find_article(conn, article_id=line.id)
    assert found is not None
    assert (line.title, line.author, line.listed_at) == (found.title, found.author, found.listed_at)
    return found


async def finds(database: Database, reader: User, words: str) -> int:
    async with database.as_user(reader.id) as conn:
        return len((await search(conn, tree=Words(words), query=ArticlesQuery(shelf=Shelf.ALL), now=START)).lines)


def said(article: ArticleFull) -> tuple[str, str | None, str, str | None]:
    date = article.published_at.strftime("%a, %d %b %Y %H:%M:%S GMT") if article.published_at else ""
    return article.title, article.author, date, article.html


@pytest.mark.parametrize("order", [("victim", "thief"), ("thief", "victim"), ("thief", "victim", "thief")])
async def test_a_feed_that_lists_another_site_s_article_rewrites_it_for_its_own_readers_alone(
    database: Database,
    poller: Poller,
    clock: MovableClock,
    site: Site,
    readers: dict[str, User],
    order: tuple[str, ...],
) -> None:
    link = site.url("victim.example/post")
    feeds = {"victim": "victim.example/feed", "thief": "evil.example/feed"}
    for number, name in enumerate(order):
        words = TRUE if name == "victim" else FALSE
        site.answers[feeds[name]] = a_feed(link, words, channel=site.url("victim.example/"))
        if name not in order[:number]:
            await follows(database, readers[name], site.url(feeds[name]))
        await poll(poller, clock)

    assert said(await sees(database, readers["victim"])) == TRUE
    assert said(await sees(database, readers["thief"])) == FALSE
    assert (await finds(database, readers["victim"], "false"), await finds(database, readers["victim"], "true")) == (
        0,
        1,
    )
    assert await finds(database, readers["thief"], "false") == 1
    async with database.transaction() as conn:
        (shared,) = await latest(conn, limit=10)
    assert (shared.title, shared.author) == TRUE[:2]


@pytest.mark.parametrize(
    ("feed", "redirect", "is_own"),
    [
        ("news.victim.example/feed", None, True),
        ("victim.example/go?to=evil", "evil.example/feed", False),  # an open redirect of the victim's
        ("evil.example/feed", "victim.example/feed", True),  # what the victim really serves
        ("victim.example.evil.example/feed", None, False),
    ],
)
async def test_a_feed_speaks_for_the_site_that_really_served_it(
    database: Database,
    poller: Poller,
    clock: MovableClock,
    site: Site,
    readers: dict[str, User],
    feed: str,
    redirect: str | None,
    is_own: bool,
) -> None:
    link = site.url("victim.example/post")
    site.answers[redirect or feed] = a_feed(link, FALSE)
    if redirect:
        site.answers[feed] = (302, "text/plain", site.url(redirect).encode())
    await follows(database, readers["thief"], site.url(feed))

    await poll(poller, clock)

    async with database.transaction() as conn:
        (row,) = await (await conn.execute("SELECT title, is_from_own_site FROM articles")).fetchall()
    assert row == (("False title", True) if is_own else ("", False))


async def test_an_entry_s_id_that_wanders_does_not_carry_a_feed_onto_another_site_s_article(
    database: Database, poller: Poller, clock: MovableClock, site: Site, readers: dict[str, User]
) -> None:
    site.answers["victim.example/feed"] = a_feed(site.url("victim.example/post"), TRUE)
    site.answers["evil.example/feed"] = a_feed(site.url("victim.example/post"), FALSE)
    await follows(database, readers["victim"], site.url("victim.example/feed"))
    await follows(database, readers["thief"], site.url("evil.example/feed"))
    await poll(poller, clock)
    site.answers["evil.example/feed"] = a_feed(site.url("evil.example/mine"), FALSE)

    await poll(poller, clock)

    assert said(await sees(database, readers["victim"])) == TRUE


async def test_the_page_that_a_victim_opens_shows_nothing_of_a_hostile_feed(
    database: Database, poller: Poller, clock: MovableClock, site: Site, readers: dict[str, User]
) -> None:
    site.answers["evil.example/feed"] = a_feed(site.url("victim.example/post"), FALSE)
    site.answers["victim.example/feed"] = a_feed(site.url("victim.example/post"), TRUE)
    await follows(database, readers["thief"], site.url("evil.example/feed"))
    await poll(poller, clock)
    async with a_person(create_app(database, clock)) as person:
        await person.register()
        await person.submit("/feeds", name="Mine", url=site.url("victim.example/feed"))
        await poll(poller, clock)
        site.answers["evil.example/feed"] = a_feed(site.url("victim.example/post"), FALSE, guid="again")
        await poll(poller, clock)
        listed = await person.open("/read?shelf=all")
        found = await person.open("/read?shelf=all&q=false")

    assert "True title" in listed.text
    assert "False title" not in listed.text + found.text
