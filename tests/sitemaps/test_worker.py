"""Sitemaps of the zoo, fetched and read: what they list is queued, within a budget; what brings nothing is retired."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.bodies import store as bodies
from headwater.bodies.types import NewBody
from headwater.frontier.store import queue
from headwater.frontier.types import Origin, Status, Submission
from headwater.sandbox import Sandbox
from headwater.sitemaps import store
from headwater.sitemaps.worker import SitemapReader, SitemapResult
from headwater.sources.follow import disable_source, enable_source
from headwater.types import PageKind
from headwater_lab.zoo.sites import SITES
from tests.sitemaps.world import FRONTIER, LIMITS, SITEMAPS, World

pytestmark = pytest.mark.database

ATLAS, DAILY = "atlas", "daily"


async def give(world: World, body: bytes, url: str, *, depth: int = 0) -> None:
    """A fetched sitemap, stored directly."""
    async with world.database.transaction() as conn:
        page = NewBody(url, url, PageKind.SITEMAP, None, depth, "text/xml", body, world.clock())
        await bodies.keep(conn, bodies=[page])


def index_of(*children: str, lastmod: str = "") -> bytes:
    lines = "".join(f"<sitemap><loc>{url}</loc>{lastmod}</sitemap>" for url in children)
    return f"<sitemapindex>{lines}</sitemapindex>".encode()


async def test_a_site_with_nothing_but_sitemaps_is_read_through_its_nested_index(world: World) -> None:
    source = await world.follow(sitemap=world.zoo.url(ATLAS, "/sitemap_index.xml"))
    await world.run()

    sitemaps = {url.url: url for url in await world.urls(PageKind.SITEMAP)}
    articles = await world.urls(PageKind.ARTICLE)

    assert source.feed_url is None
    assert {url.status for url in sitemaps.values()} == {Status.FETCHED, Status.DEAD}
    assert sitemaps[world.zoo.url(ATLAS, "/sitemaps/4.xml.gz")].depth == 2
    assert sitemaps[world.zoo.url(ATLAS, "/sitemaps/missing.xml")].status is Status.DEAD
    assert len(articles) == 200
    assert {(url.origin, url.priority, url.source_id) for url in articles} == {(Origin.SITEMAP, 6, source.id)}


async def test_a_source_that_is_switched_off_is_not_read_further(world: World) -> None:
    source = await world.follow(sitemap=world.zoo.url(ATLAS, "/sitemap_index.xml"))
    await world.fetch()

    async with world.database.transaction() as conn:
        off = await disable_source(conn, source, world.clock())
    (done,) = await world.read_sitemaps()
    left = await world.urls()
    async with world.database.transaction() as conn:
        await enable_source(conn, off, world.clock())
    await world.run()

    assert (done.failure, done.queued, left) == ("source_disabled", 0, [])
    assert len(await world.urls(PageKind.ARTICLE)) == 200


async def test_only_what_is_new_enough_is_queued(world: World) -> None:
    hours = 24
    world = world.with_sitemaps(limits=replace(LIMITS, max_age=timedelta(hours=hours)))
    await world.follow(sitemap=world.zoo.url(ATLAS, "/sitemap_index.xml"))
    await world.run()

    per_hour = 3600 / SITES["atlas.zoo.test"].period
    assert abs(len(await world.urls(PageKind.ARTICLE)) - hours * per_hour) <= 1


async def test_a_site_of_which_only_the_address_is_known_is_found_through_robots_and_usual_places(world: World) -> None:
    await world.follow(site=world.zoo.url(ATLAS, "/"), mode="feed")
    await world.run()

    dead = [url for url in await world.urls(PageKind.SITEMAP) if url.status is Status.DEAD]

    assert len(await world.urls(PageKind.ARTICLE)) == 200
    assert {url.last_error.partition(":")[0] for url in dead if url.last_error} == {"not_found"}


async def test_a_feed_with_sitemaps_beside_it_is_read_by_both(world: World) -> None:
    source = await world.follow(
        feed=world.zoo.url(DAILY, "/feed.xml"), sitemap=world.zoo.url(DAILY, "/news-sitemap.xml")
    )
    await world.fetch()
    (mapped,) = [one for one in await world.read_sitemaps() if one.page.url.endswith("/news-sitemap.xml")]

    assert source.feed_url is not None
    assert (mapped.listed, mapped.queued, mapped.failure) == (100, 100, None)


async def test_a_second_visit_brings_what_is_new(world: World) -> None:
    await world.follow(sitemap=world.zoo.url("courier", "/sitemap.txt"))
    await world.fetch()
    (first,) = await world.read_sitemaps()
    world.clock.move(hours=7)
    second: list[SitemapResult] = []
    while not second:
        assert await world.fetch()
        second = await world.read_sitemaps()

    assert (first.listed, first.queued) == (200, 200)
    assert abs(second[0].queued - 7 * 6) <= 1  # an article every ten minutes


async def test_a_web_page_in_place_of_a_sitemap_is_dead(world: World) -> None:
    url = world.zoo.url(DAILY, "/about")
    await world.follow(sitemap=url)
    await world.fetch()
    done = {one.page.url: one.failure for one in await world.read_sitemaps()}

    found = await world.find(url)

    assert done[url] == "not_a_sitemap"
    assert found is not None
    assert (found.status, found.last_error) == (Status.DEAD, "not_a_sitemap: It is a web page.")


async def test_a_day_has_only_so_many_requests_for_sitemaps_and_the_next_day_has_them_anew(world: World) -> None:
    world = world.with_sitemaps(budget=5)
    url = "https://example.com/sitemap.xml"
    source = await world.follow(sitemap=url)
    body = index_of(*(f"https://example.com/{number}.xml" for number in range(20)))

    async def visit() -> int:
        async with world.database.transaction() as conn:
            page = NewBody(url, url, PageKind.SITEMAP, source.id, 0, "text/xml", body, world.clock())
            await bodies.keep(conn, bodies=[page])
        (mapped,) = await world.read_sitemaps()
        return mapped.queued

    assert [await visit(), await visit()] == [4, 0]
    world.clock.move(days=1)
    assert await visit() == 4


async def test_an_index_is_followed_only_so_deep(world: World) -> None:
    await give(world, index_of("https://example.com/a.xml"), "https://example.com/deep.xml", depth=3)
    await give(world, index_of("https://example.com/b.xml"), "https://example.com/less.xml", depth=2)

    await world.read_sitemaps()

    assert [(url.url, url.depth) for url in await world.urls()] == [("https://example.com/b.xml", 3)]


async def test_an_index_that_lists_itself_or_another_that_lists_it_is_queued_once(world: World) -> None:
    one, two = "https://example.com/one.xml", "https://example.com/two.xml"
    await give(world, index_of(one, two), one)
    await give(world, index_of(two, one), two)

    for _ in range(3):
        await world.read_sitemaps()

    assert sorted(url.url for url in await world.urls()) == [one, two]


async def test_of_an_index_with_fifty_thousand_sitemaps_only_so_many_are_queued(world: World) -> None:
    children = [f"https://example.com/{number}.xml" for number in range(50_000)]
    await give(world, index_of(*children), "https://example.com/index.xml")

    (done,) = await world.read_sitemaps()

    assert done.queued <= LIMITS.max_children
    assert len(await world.urls()) <= LIMITS.max_children + 1


async def test_an_archive_is_retired_and_lives_again_when_its_index_says_that_it_changed(world: World) -> None:
    child = world.zoo.url(DAILY, "/about")  # any page that answers: its body is given by hand
    index = world.zoo.url(DAILY, "/sitemap_index.xml")
    old = f"<urlset><url><loc>{world.zoo.url(DAILY, '/a')}</loc><lastmod>2019</lastmod></url></urlset>".encode()
    async with world.database.transaction() as conn:
        submission = Submission(child, Origin.SITEMAP, kind=PageKind.SITEMAP, depth=1)
        await queue.submit(conn, submissions=[submission], now=world.clock())
    await world.fetch()
    await forget_pages(world)

    retired: list[bool] = []
    for _ in range(2):
        await give(world, old, child, depth=1)
        retired += [one.is_retired for one in await world.read_sitemaps()]
    dead = await world.find(child)
    await give(world, index_of(child, lastmod="<lastmod>2026-03-01</lastmod>"), index)
    await world.read_sitemaps()
    still_dead = await world.find(child)
    world.clock.move(days=1)
    await give(world, index_of(child, lastmod="<lastmod>2026-03-02T11:00Z</lastmod>"), index)
    await world.read_sitemaps()
    alive = await world.find(child)

    assert retired == [False, True]
    assert dead is not None
    assert (dead.status, dead.last_error) == (Status.DEAD, "retired")
    assert still_dead is not None
    assert still_dead.status is Status.DEAD
    assert alive is not None
    assert alive.status is Status.PENDING


async def forget_pages(world: World) -> None:
    async with world.database.transaction() as conn:
        await conn.execute("DELETE FROM bodies")


async def test_a_sitemap_that_is_broken_for_a_day_is_not_given_up(world: World) -> None:
    url = world.zoo.url(DAILY, "/sitemap.xml")
    await world.follow(sitemap=url)
    await world.fetch()
    await world.read_sitemaps()
    await give(world, b"<html>We are working on it</html>", url)

    (done,) = await world.read_sitemaps()

    async with world.database.transaction() as conn:
        reading = (await store.find_readings(conn, urls=[url]))[url]
    found = await world.find(url)
    assert (done.failure, done.is_retired) == ("not_a_sitemap", False)
    assert (reading.unproductive_reads, reading.retired_at, reading.url_count) == (1, None, 200)
    assert found is not None
    assert found.status is Status.FETCHED


async def test_a_page_that_another_worker_has_taken_over_is_written_once(world: World) -> None:
    await give(world, b"https://example.com/a", "https://example.com/sitemap.txt")
    (page,) = await world.sitemap_reader.claim(1)
    world.clock.move(minutes=10)
    (again,) = await world.sitemap_reader.claim(1)

    late, done = await world.sitemap_reader.work(page), await world.sitemap_reader.work(again)

    assert (late.failure, late.queued) == ("taken_over", 0)
    assert (done.failure, done.queued) == (None, 1)


async def test_what_its_readers_die_of_is_given_up(world: World) -> None:
    url = "https://example.com/sitemap.txt"
    await give(world, b"https://example.com/a", url)
    for _ in range(3):
        assert len(await world.sitemap_reader.claim(1)) == 1
        world.clock.move(minutes=10)

    (done,) = await world.read_sitemaps()

    assert done.failure == "unreadable"
    assert await world.sitemap_reader.claim(1) == []
    assert await world.sitemap_reader.lag() == timedelta(0)


async def test_a_sitemap_that_is_too_much_for_us_is_asked_again(world: World) -> None:
    url = world.zoo.url(DAILY, "/sitemap.xml")
    await world.follow(sitemap=url, patterns=["^(.|a|h|[a-z])*#$"])
    await world.fetch()
    limit = timedelta(seconds=1)
    async with Sandbox(processes=1, time_limit=limit, memory_limit=1_000_000_000) as sandbox:
        hasty = SitemapReader(world.database, sandbox, world.clock, SITEMAPS, FRONTIER)
        done = [await hasty.work(page) for page in await hasty.claim(1)]

    found = await world.find(url)
    assert [one.failure for one in done] == ["unreadable"]
    assert found is not None
    assert found.status is Status.FETCHED
