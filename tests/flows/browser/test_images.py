"""Icons and lead images, as the browser shows them."""

import io
from collections.abc import Iterator

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, expect

from headwater.db import Database
from tests.builders import keep_image
from tests.flows.browser.person import CHROMIUM, overflow_of
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.subscriber import DESKTOP, HANDSET, open_subscriber
from tests.flows.browser.test_settings import choose

pytestmark = pytest.mark.database

SHIFTS = """
() => new Promise(done => {
    let count = 0;
    const isLine = source => source.node?.parentElement?.closest(".lines");
    new PerformanceObserver(list => { count += list.getEntries().filter(one => one.sources.some(isLine)).length; })
        .observe({type: "layout-shift", buffered: true});
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(count))));
})
"""
IS_LOADED = "images => images.every(one => one.complete && one.naturalWidth > 0)"


def webp(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(out, "WEBP")
    return out.getvalue()


async def keep_images(database: Database) -> None:
    """Every article but each third has a lead image, and every source but one an icon."""
    async with database.as_system() as conn:
        articles = await (await conn.execute("SELECT id FROM articles ORDER BY listed_at DESC")).fetchall()
        for number, (article_id,) in enumerate(articles):
            if number % 3:
                await keep_image(conn, article_id, "lead", webp(640, 360))
        for (source_id,) in (await (await conn.execute("SELECT id FROM sources ORDER BY feed_url")).fetchall())[1:]:
            await keep_image(conn, source_id, "icon", webp(64, 64))


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture(scope="module")
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    with open_subscriber(browser, served) as page:
        served.run(keep_images)
        choose(page, density="Cards")
        yield page


@pytest.mark.parametrize("screen", [DESKTOP, HANDSET])
def test_cards_have_lead_images_and_icons_and_do_not_move_while_they_load(reader: Page, screen: ViewportSize) -> None:
    reader.set_viewport_size(screen)
    reader.goto("/read?shelf=all", wait_until="networkidle")

    shown = reader.locator(".lead img").first
    expect(shown).to_be_visible()
    box = shown.bounding_box()
    assert box is not None
    assert abs(box["width"] / box["height"] - 16 / 9) < 0.02
    assert reader.locator(".lead").count() == 20
    assert shown.evaluate_all(IS_LOADED)
    assert reader.locator(".line img.feed-icon").first.evaluate_all(IS_LOADED)
    assert reader.evaluate(SHIFTS) == 0
    assert overflow_of(reader) == 0


def test_a_feed_without_an_icon_shows_its_letter_and_is_named_once(reader: Page) -> None:
    reader.set_viewport_size(DESKTOP)
    reader.goto("/read?shelf=all")

    link = reader.locator(".feed-shelves").get_by_role("link", name="Bremvik Herald", exact=True)
    expect(link.locator(".letter")).to_have_attribute("data-letter", "B")
    expect(link).to_have_text("Bremvik Herald")
    assert reader.locator(".feed-shelves img.feed-icon").count() == 2


def test_a_lead_image_opens_the_article_and_is_no_second_stop_of_the_keyboard(reader: Page) -> None:
    reader.set_viewport_size(DESKTOP)
    reader.goto("/read?shelf=all")
    lead = reader.locator("a.lead").first
    expect(lead).to_have_attribute("tabindex", "-1")
    lead.click()
    reader.wait_for_url("**/articles/*")


def test_the_list_of_feeds_shows_icons(reader: Page) -> None:
    reader.goto("/dashboard")
    expect(reader.locator("#feed-lines img.feed-icon")).to_have_count(2)
    expect(reader.locator("#feed-lines .letter")).to_have_count(1)
