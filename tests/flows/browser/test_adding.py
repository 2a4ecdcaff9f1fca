"""One field takes the address of a feed or a site; what was found is shown before it is saved, and then confirmed."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.flows.browser.newsstand import open_newsstand
from tests.flows.browser.person import PHONE, Place, add_feed, feed_line, open_page, overflow_of, register


def look_up(page: Page, address: str) -> None:
    if page.locator("details.add").get_attribute("open") is None:
        page.get_by_text("Add a feed", exact=True).click()
    page.get_by_label("Website or feed URL").fill(address)
    page.get_by_label("Website or feed URL").press("Enter")


def test_a_site_without_a_scheme_offers_its_feed_and_subscribing_is_confirmed(page: Page, place: Place) -> None:
    register(page)
    look_up(page, place.zoo.url("daily", "/").removeprefix("http://"))

    found = page.locator("#feed-found")
    expect(found).to_contain_text("1 feed found:")
    expect(found.locator(".preview li")).to_have_count(3)
    expect(page.locator(".feed")).to_have_count(0)
    found.get_by_role("button", name="Subscribe to The Zoo Daily").click()

    expect(page.locator("#feed-added")).to_have_text("Subscribed to The Zoo Daily.")
    expect(feed_line(page, "The Zoo Daily")).to_be_in_viewport()
    expect(found).to_be_empty()
    expect(page.get_by_label("Website or feed URL")).to_have_value("")
    expect(feed_line(page, "The Zoo Daily").locator(".badge")).to_have_text("Healthy")


@pytest.mark.soak
def test_a_feed_is_added_at_once_and_its_row_is_scrolled_to(browser: Browser, place: Place) -> None:
    with open_page(browser, place, viewport=PHONE) as page:
        register(page)
        look_up(page, place.zoo.url("daily", "/feed.xml"))

        expect(page.locator("#feed-added")).to_have_text("Subscribed to The Zoo Daily.")
        expect(feed_line(page, "The Zoo Daily")).to_be_in_viewport()
        assert overflow_of(page) <= 0


@pytest.mark.soak
def test_where_no_feed_is_found_the_address_stays_and_can_be_added_anyway(browser: Browser, place: Place) -> None:
    with open_page(browser, place) as page:
        register(page)
        address = place.zoo.url("missing", "/feed.xml")
        look_up(page, address)

        expect(page.locator("#feed-found").get_by_role("alert")).to_contain_text(f"No feed found at {address}")
        expect(page.get_by_label("Website or feed URL")).to_have_value(address)
        page.get_by_role("button", name="Add anyway").click()

        expect(page.locator("#feed-added")).to_contain_text("Subscribed to missing.zoo.test")
        expect(page.locator("#feed-found")).to_be_empty()


SMALL = """() => [...document.querySelectorAll("a, button, summary, select, input")].filter((one) => {
  const box = one.getBoundingClientRect();
  return box.height > 1 && (box.height < 24 || box.width < 24) && !one.closest("p:not(.links), .notice");
}).map((one) => one.outerHTML.slice(0, 90))"""


def test_a_phone_shows_feeds_first_and_has_no_small_target(browser: Browser, place: Place) -> None:
    with open_page(browser, place, viewport={"width": 390, "height": 800}) as page:
        register(page)
        add_feed(page, "Zoo Daily", place.zoo.url("daily", "/feed.xml"), "News")
        expect(page.get_by_role("button", name="Refresh Zoo Daily")).to_be_visible()

        places = [page.locator(part).bounding_box() for part in ("#feed-list-container", ".ask", "#summary-container")]
        tops = [box["y"] for box in places if box]
        assert tops == sorted(tops)
        assert len(tops) == 3
        assert page.evaluate(SMALL) == []
        assert overflow_of(page) <= 0
        page.goto("/read")
        expect(page.get_by_text("Feeds", exact=True).filter(visible=True)).to_have_count(1)


def test_a_reader_refreshes_a_feed(page: Page) -> None:
    register(page)
    with open_newsstand() as stand:
        stand.documents = {"/feed.xml": ("application/rss+xml", RSS)}
        look_up(page, stand.url("/feed.xml"))
        expect(feed_line(page, "Evening Post").locator(".badge")).to_have_text("Healthy")
        expect(feed_line(page, "Evening Post")).to_contain_text("1 article ")
        stand.documents = {"/feed.xml": ("application/rss+xml", RSS.replace("</channel>", f"{LATER}</channel>"))}

        page.get_by_role("button", name="Refresh Evening Post").click()

        expect(feed_line(page, "Evening Post")).to_contain_text("2 articles ")


RSS = """<rss version="2.0"><channel><title>Evening Post</title><link>http://x.example/</link>
<item><title>Early</title><link>http://x.example/1</link><description>Good.</description></item></channel></rss>"""
LATER = "<item><title>Late</title><link>http://x.example/2</link><description>Better.</description></item>"
