"""Sites of the zoo without feed or sitemap: their links are followed, as deep and as far as the source allows."""

import asyncio
from datetime import timedelta

import pytest

from headwater.bodies import store as bodies
from headwater.bodies.types import NewBody
from headwater.frontier.types import Origin, Status
from headwater.sandbox import Sandbox
from headwater.sources.follow import change_ingestion, disable_source
from headwater.sources.types import Source, SourceOverrides
from headwater.spider.worker import Spider, SpiderResult
from headwater.types import PageKind, SourceId
from tests.clock import START
from tests.sitemaps.world import FRONTIER, SPIDER, World

pytestmark = pytest.mark.database

VILLAGE = "village"
PAGE = b"".join(b"<a href='/2026/03/01/story-%d'>x</a><a href='/section-%d/'>x</a>" % (n, n) for n in range(10))


async def give(
    world: World, source: Source | None, *, url: str = "https://example.com/", depth: int = 0
) -> SpiderResult:
    """A list page that was fetched, and what the spider makes of it."""
    async with world.database.transaction() as conn:
        source_id: SourceId | None = source.id if source else None
        page = NewBody(url, url, PageKind.LIST, source_id, depth, "text/html", PAGE, world.clock())
        await bodies.keep(conn, bodies=[page])
    (done,) = await world.crawl()
    return done


async def test_a_site_with_neither_feed_nor_sitemap_is_read_by_its_links(world: World) -> None:
    source = await world.follow(site=world.zoo.url(VILLAGE, "/"))
    await world.fetch()
    await world.crawl()
    for _ in range(3):
        await world.fetch()
        await world.crawl()

    articles = await world.urls(PageKind.ARTICLE)
    lists = {url.url: url for url in await world.urls(PageKind.LIST)}
    front = lists[world.zoo.url(VILLAGE, "/")]

    assert source.ingestion_mode == "both"
    assert len(articles) > 15
    assert {(url.origin, url.source_id, url.priority) for url in articles} == {(Origin.SPIDER, source.id, 5)}
    assert {url.depth for url in articles} == {1, 2}
    assert (front.depth, front.status) == (0, Status.FETCHED)
    assert lists[world.zoo.url(VILLAGE, "/archive/2")].priority == 4
    assert world.zoo.url(VILLAGE, "/about") not in lists
    assert max(url.depth for url in lists.values()) == 2


async def test_a_source_that_is_switched_off_is_not_read_further(world: World) -> None:
    source = await world.follow(site=world.zoo.url(VILLAGE, "/"), mode="spider")
    await world.fetch()

    async with world.database.transaction() as conn:
        await disable_source(conn, source, world.clock())
    (done,) = await world.crawl()

    assert (done.failure, done.queued) == ("not_spidered", 0)
    assert await world.urls() == []


async def test_list_pages_are_visited_again(world: World) -> None:
    await world.follow(site=world.zoo.url(VILLAGE, "/"), mode="spider", max_depth=1)
    await world.fetch()
    (first,) = await world.crawl()
    world.clock.move(hours=2)
    again: list[SpiderResult] = []
    while not again:
        assert await world.fetch()
        again = [one for one in await world.crawl() if one.page.url == world.zoo.url(VILLAGE, "/")]

    assert first.queued > 15
    assert 0 < again[0].queued <= 15


async def test_a_page_that_robots_txt_disallows_is_not_requested(world: World) -> None:
    await world.follow(site=world.zoo.url(VILLAGE, "/"), mode="spider", max_depth=1)
    await world.run()

    secret = await world.find(world.zoo.url(VILLAGE, "/members/secrets"))

    assert secret is not None
    assert secret.status is Status.DEAD
    assert "/members/secrets" not in {visit.path for visit in world.zoo.visits_to(VILLAGE)}


async def test_articles_of_a_spidered_source_yield_links_too_and_keep_their_own_rhythm(world: World) -> None:
    await world.follow(site=world.zoo.url(VILLAGE, "/"), mode="spider")
    await world.fetch()
    await world.crawl()
    await world.fetch()
    read = [done for done in await world.crawl() if done.page.url.endswith(".html")]

    article = await world.find(read[0].page.url)

    assert read
    assert all(done.found > 0 for done in read)
    assert article is not None
    assert (article.kind, article.content_hash) == (PageKind.ARTICLE, None)


async def test_patterns_settle_what_is_an_article(world: World) -> None:
    source = await world.follow(site="https://example.com/", mode="spider", patterns=["/section-[0-4]/"])

    await give(world, source)

    assert {url.url for url in await world.urls(PageKind.ARTICLE)} == {
        f"https://example.com/section-{number}/" for number in range(5)
    }


@pytest.mark.parametrize(("max_depth", "depth", "queued"), [(0, 0, 0), (1, 0, 20), (2, 1, 20), (2, 2, 0)])
async def test_depth_holds(max_depth: int, depth: int, queued: int, world: World) -> None:
    source = await world.follow(site="https://example.com/", mode="spider", max_depth=max_depth)

    assert (await give(world, source, depth=depth)).queued == queued


async def test_a_budget_holds_for_a_day_and_articles_come_first(world: World) -> None:
    source = await world.follow(site="https://example.com/", mode="spider", budget=12)

    first, second = await give(world, source), await give(world, source)
    kinds = [url.kind for url in await world.urls() if url.depth == 1]
    world.clock.move(days=1)
    third = await give(world, source)

    assert (first.queued, second.queued, third.queued) == (12, 0, 8)
    assert (kinds.count(PageKind.ARTICLE), kinds.count(PageKind.LIST)) == (10, 2)


@pytest.mark.parametrize("wanted", [False, True])
async def test_other_sites_are_asked_only_where_the_source_says_so_and_later(wanted: bool, world: World) -> None:
    source = await world.follow(site="https://elsewhere.example/", mode="spider", external_links=wanted)

    await give(world, source)
    found = [url for url in await world.urls() if url.host == "example.com" and url.depth]

    assert {(url.kind, url.priority, url.depth) for url in found} == ({(PageKind.ARTICLE, 3, 2)} if wanted else set())


async def test_many_who_read_one_site_at_once_spend_one_budget_and_lose_nothing(world: World) -> None:
    source = await world.follow(site="https://example.com/", mode="spider", budget=100)
    async with world.database.transaction() as conn:
        texts = [
            b"".join(b"<a href='/2026/03/01/story-%d'>x</a>" % ((start * 7 + n * 13) % 150) for n in range(40))
            for start in range(30)
        ]
        lists = [
            NewBody(
                f"https://example.com/{n}/", f"https://example.com/{n}/", PageKind.LIST, source.id, 1, "", body, START
            )
            for n, body in enumerate(texts)
        ]
        await bodies.keep(conn, bodies=lists)

    done = await asyncio.gather(*(world.spider.work(page) for page in await world.spider.claim(30)))

    assert {one.failure for one in done} == {None}
    assert sum(one.queued for one in done) == len(await world.urls(PageKind.ARTICLE)) == 100


async def test_a_source_in_feed_mode_is_not_crawled_until_its_mode_changes(world: World) -> None:
    front = world.zoo.url(VILLAGE, "/")
    source = await world.follow(site=front, mode="spider")
    await world.fetch()
    async with world.database.transaction() as conn:
        source = await change_ingestion(conn, source, overrides=SourceOverrides(mode="feed"), now=world.clock())

    (done,) = await world.crawl()
    dead = await world.find(front)
    async with world.database.transaction() as conn:
        await change_ingestion(conn, source, overrides=SourceOverrides(mode="both"), now=world.clock())
    alive = await world.find(front)

    assert (done.failure, done.queued) == ("not_spidered", 0)
    assert dead is not None
    assert (dead.status, dead.last_error) == (Status.DEAD, "not_spidered")
    assert alive is not None
    assert alive.status is Status.PENDING


async def test_a_pattern_that_never_ends_fails_one_page_which_is_fetched_again(world: World) -> None:
    front = world.zoo.url(VILLAGE, "/")
    await world.follow(site=front, mode="spider", patterns=["^(.|a|h|[a-z])*#$"])
    await world.fetch()
    limit = timedelta(seconds=1)
    async with Sandbox(processes=1, time_limit=limit, memory_limit=1_000_000_000) as sandbox:
        hasty = Spider(world.database, sandbox, world.clock, SPIDER, FRONTIER)
        (page,) = await hasty.claim(1)
        done = await hasty.work(page)

    found = await world.find(front)
    assert (done.failure, done.queued) == ("unreadable", 0)
    assert found is not None
    assert found.status is Status.FETCHED
    assert found.next_fetch_at is not None


async def test_links_of_a_list_without_a_source_are_queued(world: World) -> None:
    assert (await give(world, None)).queued == 20


async def test_a_page_that_another_worker_has_taken_over_is_written_once(world: World) -> None:
    async with world.database.transaction() as conn:
        url = "https://example.com/"
        page = NewBody(url, url, PageKind.LIST, None, 0, "text/html", PAGE, world.clock())
        await bodies.keep(conn, bodies=[page])
    (page,) = await world.spider.claim(1)
    world.clock.move(minutes=10)
    waited = await world.spider.lag()
    (again,) = await world.spider.claim(1)

    late, done = await world.spider.work(page), await world.spider.work(again)

    assert waited == timedelta(minutes=8)
    assert (late.failure, late.queued, done.queued) == ("taken_over", 0, 20)
