from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from headwater.db import fetch_value
from headwater.hosts.outage import OUTAGE_SITES, HostAttempt
from headwater.images.types import ImageOptions, Refusal
from headwater.images.worker import LEASE
from headwater.pipeline import STAGES, Tools
from headwater.runtime import options_of
from headwater.sandbox import Sandbox
from headwater.settings import load_settings
from headwater.timekeeping import store as clocks
from tests.builders import a_source
from tests.images.world import ImageWorld, an_image, an_image_world, picture
from tests.site import page

pytestmark = pytest.mark.database


async def test_a_lead_image_is_fetched_resized_and_stored_as_webp(world: ImageWorld) -> None:
    world.site.answers["news.example/a.png"] = an_image(1600, 900)
    article = await world.want_lead("news.example/a.png")

    assert await world.run() == 1

    row = await world.row(article)
    assert row["data"][8:12] == b"WEBP"
    assert len(row["digest"]) == 32
    assert (row["tries"], row["reason"], row["ready_at"], row["lease"]) == (0, None, None, None)


async def test_images_are_read_in_a_process_of_their_own_and_no_page_waits_for_one(world: ImageWorld) -> None:
    """The pipeline gives the stage no other sandbox: without one for pages it works."""
    world.site.answers["news.example/a.png"] = an_image()
    article = await world.want_lead("news.example/a.png")
    none = cast("Sandbox", None)
    options = replace(options_of(load_settings({}).values), images=ImageOptions(timeout=timedelta(minutes=1)))
    async with Sandbox(processes=1, time_limit=timedelta(minutes=1), memory_limit=512_000_000) as images:
        tools = Tools(world.database, world.client, none, none, none, images, world.clock, options)
        stage = STAGES["images"](tools)
        (claimed,) = await stage.claim(1)
        await stage.work(claimed)

    assert (await world.row(article))["data"] is not None


async def test_an_image_whose_process_was_killed_is_fetched_once_when_its_lease_has_ended(world: ImageWorld) -> None:
    world.site.answers["news.example/a.png"] = an_image()
    article = await world.want_lead("news.example/a.png")
    (killed,) = await world.stage.claim(1)
    async with an_image_world(world.database, world.clock) as another:
        another.site = world.site
        early = await another.run()
        world.clock.move(seconds=LEASE.total_seconds())
        late = await another.run()
    await world.stage.work(killed)  # not dead after all: what it finds is discarded

    row = await world.row(article)
    assert (early, late) == (0, 1)
    assert (row["data"] is not None, row["tries"], row["ready_at"], row["lease"]) == (True, 0, None, None)


async def test_an_image_that_several_articles_share_is_requested_once(world: ImageWorld) -> None:
    world.site.answers["news.example/a.png"] = an_image()
    first = await world.want_lead("news.example/a.png")
    await world.run()
    second = await world.want_lead("news.example/a.png")
    await world.run()

    assert (await world.row(second))["digest"] == (await world.row(first))["digest"]
    assert world.asked() == ["news.example/a.png"]


async def test_a_request_for_an_image_names_no_page_and_no_user(world: ImageWorld) -> None:
    world.site.answers["news.example/a.png"] = an_image()
    await world.want_lead("news.example/a.png")
    await world.run()

    assert world.site.asked == ["GET news.example/robots.txt", "GET news.example/a.png"]


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, b"", Refusal.NOT_FOUND),
        (403, b"", Refusal.NOT_FOUND),
        (200, b"<svg xmlns='http://www.w3.org/2000/svg'/>", Refusal.NOT_AN_IMAGE),
        (200, b"<!doctype html><title>No</title>", Refusal.NOT_AN_IMAGE),
        (200, picture()[:300], Refusal.UNREADABLE),
        (200, picture(20, 20), Refusal.WRONG_SIZE),
    ],
)
async def test_what_is_no_image_is_requested_once(world: ImageWorld, status: int, body: bytes, reason: Refusal) -> None:
    world.site.answers["news.example/a.png"] = (status, "image/png", body)
    article = await world.want_lead("news.example/a.png")
    await world.run()
    world.clock.move(days=2)
    await world.run()

    row = await world.row(article)
    assert (row["data"], row["reason"], row["ready_at"]) == (None, reason.value, None)
    assert len(world.asked()) == 1


async def test_an_image_of_a_failing_site_is_tried_three_times(world: ImageWorld) -> None:
    world.site.answers["news.example/a.png"] = (503, "text/plain", b"later")
    article = await world.want_lead("news.example/a.png")

    requests: list[int] = []
    for hours in (0, 2, 30, 30):
        world.clock.move(hours=hours)
        await world.run()
        requests.append(len(world.asked()))

    assert requests == [1, 2, 3, 3]
    row = await world.row(article)
    assert (row["tries"], row["ready_at"]) == (3, None)


async def test_robots_txt_is_obeyed(world: ImageWorld) -> None:
    world.site.answers["news.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nDisallow: /private/")
    world.site.answers["news.example/private/a.png"] = an_image()
    article = await world.want_lead("news.example/private/a.png")
    await world.run()

    assert (await world.row(article))["reason"] == Refusal.DISALLOWED.value
    assert world.asked() == []


async def test_an_image_waits_while_its_host_is_paused(world: ImageWorld) -> None:
    world.site.answers["news.example/a.png"] = (429, "text/plain", b"slow down")
    world.site.headers["news.example/a.png"] = {"Retry-After": "7200"}
    world.site.answers["news.example/b.png"] = an_image()
    await world.want_lead("news.example/a.png")
    await world.run()
    second = await world.want_lead("news.example/b.png")
    await world.run()
    assert (await world.row(second))["tries"] == 0
    assert world.asked("b.png") == []

    world.clock.move(hours=3)
    await world.run()
    assert (await world.row(second))["digest"]


async def test_the_icon_that_a_feed_names_comes_first(world: ImageWorld) -> None:
    world.site.answers["news.example/feed.png"] = an_image(64, 64)
    source = await world.want_icon("news.example/", "news.example/feed.png")
    await world.run()

    assert (await world.row(source))["digest"]
    assert world.asked() == ["news.example/feed.png"]


async def test_an_icon_is_found_on_the_front_page(world: ImageWorld) -> None:
    links = "<link rel=icon type=image/svg+xml href=/a.svg><link rel='shortcut icon' href=b.png sizes=32x32>"
    world.site.answers["news.example/blog/"] = page(f"<head>{links}</head>")
    world.site.answers["news.example/blog/b.png"] = an_image(32, 32)
    source = await world.want_icon("news.example/blog/")
    await world.run()

    assert (await world.row(source))["digest"]
    assert world.asked() == ["news.example/blog/", "news.example/blog/b.png"]


async def test_an_icon_is_found_at_the_usual_place(world: ImageWorld) -> None:
    world.site.answers["news.example/"] = page("<title>News</title>")
    world.site.answers["news.example/favicon.ico"] = (200, "image/x-icon", picture(32, 32, "ICO"))
    source = await world.want_icon("news.example/")
    await world.run()

    assert (await world.row(source))["digest"]


async def test_an_icon_that_cannot_be_renewed_stays(world: ImageWorld) -> None:
    world.site.answers["news.example/feed.png"] = an_image(64, 64)
    source = await world.want_icon("news.example/", "news.example/feed.png")
    await world.run()
    digest = (await world.row(source))["digest"]
    world.site.answers.clear()
    world.clock.move(days=61)
    await world.run()

    row = await world.row(source)
    assert (row["digest"], row["tries"]) == (digest, 1)
    assert len(world.asked("feed.png")) == 2


async def test_an_icon_is_fetched_again_when_the_feed_names_another_but_at_most_once_a_day(world: ImageWorld) -> None:
    source = await world.want_icon("news.example/", "news.example/1.png")
    for number, hours in ((2, 1), (3, 25)):
        await world.run()
        world.clock.move(hours=hours)
        await world.want_icon("news.example/", f"news.example/{number}.png", source)
    await world.run()

    assert [len(world.asked(f"{number}.png")) for number in (1, 2, 3)] == [1, 0, 1]


async def test_a_source_whose_feed_says_nothing_gets_an_icon_too(world: ImageWorld) -> None:
    world.site.answers["news.example/favicon.ico"] = (200, "image/x-icon", picture(32, 32, "ICO"))
    async with world.database.transaction() as conn:
        source = await a_source(conn, url=world.site.url("news.example/feed?key=0123456789abcdef"))
        await conn.execute("UPDATE sources SET created_at = %(at)s", {"at": world.clock() - timedelta(hours=2)})
    await world.run()

    assert (await world.row(source.id))["digest"]
    assert not [one for one in world.asked() if "key" in one]


async def test_nothing_is_fetched_while_our_own_network_is_down(world: ImageWorld) -> None:
    world.site.answers["news.example/a.png"] = an_image()
    await world.want_lead("news.example/a.png")
    now = world.clock()
    for number in range(OUTAGE_SITES):
        failed = HostAttempt(f"site{number}.example", now, is_known=True, failed_by_network=True)
        world.outage.note(failed, now)

    assert await world.run() == 0


async def test_one_image_of_a_host_is_claimed_at_a_time(world: ImageWorld) -> None:
    for number in range(3):
        await world.want_lead(f"news.example/{number}.png")
    await world.want_lead("other.example/0.png")

    claimed = await world.stage.claim(10)
    assert sorted(image.host for image in claimed) == ["news.example", "other.example"]
    assert await world.stage.claim(10) == []
    for image in claimed:
        await world.stage.work(image)
    assert [image.host for image in await world.stage.claim(10)] == ["news.example"]


async def test_a_clock_200_days_ahead_deletes_no_image_that_waits(world: ImageWorld) -> None:
    await world.want_lead("news.example/a.png")
    async with world.database.transaction() as conn:
        await clocks.note(conn, now=world.clock(), is_trusted=True)
    world.clock.move(days=200)

    await world.stage.claim(1)

    async with world.database.transaction() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM images") == 1
