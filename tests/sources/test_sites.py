"""Sources without a feed: followed, found, listed, changed and left like any other."""

from datetime import timedelta
from typing import Any

import pytest

from headwater.db import Connection, set_user
from headwater.errors import SourceExists
from headwater.frontier.store import listing, queue
from headwater.frontier.types import FrontierUrl, Origin, Status, Submission, UrlFilter
from headwater.library.store import subscriptions
from headwater.library.types import FeedsQuery, FeedStatus
from headwater.sources.custom import store as custom_store
from headwater.sources.follow import change_ingestion, enable, find, follow, move
from headwater.sources.store.details import list_health
from headwater.sources.store.sources import list_all
from headwater.sources.store.sources import remove as remove_source
from headwater.sources.types import Source, SourceOverrides
from headwater.types import PageKind, SourceState
from tests.builders import a_source
from tests.clock import START
from tests.removal.builders import a_user, list_articles, subscribe
from tests.removals import finish_removals

pytestmark = pytest.mark.database

SITE = "https://example.com/"


async def a_site(conn: Connection, **overrides: Any) -> Source:
    asked: dict[str, Any] = {"site": SITE, "mode": "spider", **overrides}
    return await follow(conn, url=None, name=None, now=START, overrides=SourceOverrides(**asked))


async def waiting(conn: Connection) -> list[FrontierUrl]:
    return list((await listing.list_urls(conn, wanted=UrlFilter(), now=START, limit=100)).urls)


async def count(conn: Connection, table: str) -> int:
    cur = await conn.execute(f"SELECT count(*) FROM {table}".encode())
    row = await cur.fetchone()
    assert row is not None
    return row[0]


async def test_a_site_is_not_polled_and_its_pages_are_due_at_once(conn: Connection) -> None:
    source = await a_site(conn)

    (start_page,) = await waiting(conn)

    assert (source.name, source.feed_url, source.address) == ("example.com", None, SITE)
    assert await count(conn, "feed_state") == 0
    assert (start_page.url, start_page.kind, start_page.source_id) == (SITE, PageKind.LIST, source.id)
    assert (start_page.next_fetch_at, start_page.depth) == (START, 0)


async def test_what_was_asked_for_is_kept(conn: Connection) -> None:
    asked = await a_site(
        conn,
        patterns=[r"/\d{4}/"],
        selectors=["title=h1", "body=article", "body=main"],
        external_links=True,
        max_depth=3,
        budget=70,
        delay=timedelta(milliseconds=1500),
        priority=9,
    )

    kept = await find(conn, str(asked.id))

    assert (kept.id, kept.name, kept.feed_url, kept.url) == (asked.id, "example.com", None, SITE)
    assert (kept.ingestion_mode, kept.external_links, kept.max_depth, kept.page_budget) == ("spider", True, 3, 70)
    assert (kept.min_delay, kept.priority) == (timedelta(milliseconds=1500), 9)
    assert kept.selectors == {"title": ["h1"], "body": ["article", "main"]}
    assert kept.article_url_patterns == [r"/\d{4}/"]


@pytest.mark.parametrize("again", [SITE, "http://example.com", "EXAMPLE.com:443/?utm_source=x"])
async def test_a_site_is_followed_once_and_found_however_its_address_is_written(again: str, conn: Connection) -> None:
    source = await a_site(conn)

    with pytest.raises(SourceExists):
        async with conn.transaction():
            await a_site(conn, site=again)

    assert (await find(conn, again)).id == source.id


async def test_feeds_of_a_site_may_be_followed_beside_it(conn: Connection) -> None:
    site = await a_site(conn)
    feed = await follow(conn, url=f"{SITE}feed.xml", name=None, now=START, overrides=SourceOverrides(site=SITE))

    assert {source.id for source in await list_all(conn)} == {site.id, feed.id}
    assert (await find(conn, SITE)).id == site.id


@pytest.mark.parametrize(
    ("feed", "overrides", "badge"),
    [
        ("https://example.com/feed.xml", {}, "feed"),
        ("https://example.com/feed.xml", {"sitemap": f"{SITE}s.xml", "mode": "both"}, "feed+sitemap+spider"),
        (None, {"sitemap": f"{SITE}s.xml"}, "sitemap"),
        (None, {"site": SITE}, "sitemap+spider"),
        (None, {"site": SITE, "mode": "feed"}, "sitemap"),
        (None, {"site": SITE, "mode": "spider"}, "spider"),
    ],
)
async def test_a_list_shows_how_a_source_is_read(
    feed: str | None, overrides: dict[str, Any], badge: str, conn: Connection
) -> None:
    await follow(conn, url=feed, name=None, now=START, overrides=SourceOverrides(**overrides))

    (health,) = await list_health(conn)

    assert (health.badge, health.state, health.article_count) == (badge, SourceState.PENDING, 0)
    assert (health.next_poll_at is None) == (feed is None)


async def test_a_site_works_once_it_is_read_and_fails_when_none_of_its_entrances_answers(conn: Connection) -> None:
    await a_site(conn, mode="both")
    pending = (await list_health(conn))[0]
    await conn.execute("UPDATE frontier_url SET status = 'd', last_error = 'not_found: gone' WHERE kind = 'x'")
    guessed = (await list_health(conn))[0]
    await conn.execute("UPDATE frontier_url SET status = 'r', last_error = 'timeout: 10 s' WHERE kind = 'l'")
    failing = (await list_health(conn))[0]
    await conn.execute("UPDATE frontier_url SET status = 'f', last_error = NULL WHERE kind = 'l'")
    await conn.execute(
        "INSERT INTO daily_reads (source_id, kind, last_read_at, day, spent) "
        "SELECT id, 'list', now(), now(), 1 FROM sources"
    )
    working = (await list_health(conn))[0]

    assert [one.state for one in (pending, guessed, failing, working)] == ["pending", "pending", "failing", "working"]
    assert (failing.last_error, failing.last_error_type) == ("timeout: 10 s", "timeout")


async def test_a_change_of_where_it_begins_is_due_at_once_and_others_are_not(conn: Connection) -> None:
    source = await a_site(conn)

    quiet = await change_ingestion(conn, source, overrides=SourceOverrides(max_depth=5), now=START)
    before = len(await waiting(conn))
    both = await change_ingestion(
        conn, quiet, overrides=SourceOverrides(sitemap=f"{SITE}s.xml", mode="both"), now=START
    )

    assert (before, len(await waiting(conn))) == (1, 2)
    assert (both.max_depth, both.sitemap_url) == (5, f"{SITE}s.xml")


async def test_a_site_that_is_given_a_feed_is_polled_from_now_on(conn: Connection) -> None:
    source = await a_site(conn, mode="both")

    moved = await move(conn, source, url=f"{SITE}feed.xml", now=START)

    (health,) = await list_health(conn)
    assert moved.feed_url == f"{SITE}feed.xml"
    assert (health.badge, health.next_poll_at) == ("feed+spider", START)


async def test_enabling_a_site_tries_its_entrances_again(conn: Connection) -> None:
    source = await a_site(conn)
    await conn.execute("UPDATE frontier_url SET status = 'd', next_fetch_at = 'infinity', last_error = 'gone'")

    await enable(conn, source, START)

    (start_page,) = await waiting(conn)
    assert (start_page.status, start_page.next_fetch_at) == (Status.PENDING, START)


async def test_leaving_a_site_leaves_nothing_behind(conn: Connection) -> None:
    source, other = await a_site(conn), await a_source(conn, url="https://other.example/feed.xml")
    urls = [Submission(f"{SITE}{number}", Origin.SPIDER, source.id, parent_url=SITE, depth=1) for number in range(5)]
    theirs = Submission("https://other.example/1", Origin.FEED, other.id)
    await queue.submit(conn, submissions=[*urls, theirs], now=START)

    await remove_source(conn, source_id=source.id)
    await finish_removals(conn)

    assert [url.url for url in await waiting(conn)] == [theirs.url]
    assert [one.id for one in await list_all(conn)] == [other.id]


async def test_a_site_without_a_feed_shows_how_many_articles_it_has(conn: Connection) -> None:
    source, user_id = await a_site(conn), await a_user(conn)
    await subscribe(conn, user_id, source.id)
    await list_articles(conn, source.id, f"{SITE}1", f"{SITE}2")

    (discovered,) = await custom_store.list_public(conn, user_id=user_id, limit=10, offset=0)
    found = await custom_store.find_public(conn, source_id=source.id, user_id=user_id)
    await set_user(conn, user_id)
    (followed,) = await subscriptions.list_feeds(conn, query=FeedsQuery("", FeedStatus.ALL, 1), limit=10)

    assert found is not None
    assert (discovered.article_count, found.article_count, followed.article_count) == (2, 2, 2)
