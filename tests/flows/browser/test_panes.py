"""With panes, an article opens without leaving its list: beside it or in its place; by mouse, keys and swipe."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.flows.browser.person import CHROMIUM, overflow_of
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.subscriber import DESKTOP, HANDSET, open_subscriber
from tests.flows.browser.test_every_page import faults_of
from tests.flows.browser.test_settings import choose

pytestmark = pytest.mark.database


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    with open_subscriber(browser, served) as page:
        yield page


def heading(page: Page) -> Locator:
    """The title of the article that is open."""
    return page.locator("article.page h1")


def box(locator: Locator) -> Any:
    found = locator.bounding_box()
    assert found is not None
    return found


def test_keys_lead_through_the_articles_and_back_to_the_list(reader: Page) -> None:
    choose(reader, layout="Three panes")
    reader.goto("/read?shelf=all")
    reader.keyboard.press("j")
    reader.keyboard.press("o")
    expect(heading(reader)).to_have_text("Article 1")
    assert re.search(r"/articles/[0-9a-f-]+\?shelf=all$", reader.url)

    for key, title in (("j", "Article 2"), ("n", "Article 3"), ("k", "Article 2")):
        reader.keyboard.press(key)
        expect(heading(reader)).to_have_text(title)
    reader.get_by_role("link", name="Next").click()
    expect(heading(reader)).to_have_text("Article 3")
    expect(reader).to_have_title("Article 3 · Headwater")
    reader.keyboard.press("u")

    expect(heading(reader)).to_have_count(0)
    expect(reader.locator(".line.current h2")).to_have_text("Article 3")
    expect(reader.locator(".line").nth(2).get_by_role("button", name="Mark as unread")).to_be_visible()
    assert reader.url.endswith("/read?shelf=all")


@pytest.mark.soak
def test_the_list_is_where_it_was_after_going_back(reader: Page) -> None:
    choose(reader, layout="Two panes")
    reader.set_viewport_size(HANDSET)
    reader.goto("/read?shelf=all")
    reader.locator(".more").scroll_into_view_if_needed()
    expect(reader.locator(".line")).to_have_count(45)
    target = reader.locator(".line h2 a", has_text=re.compile("^Article 38$"))
    target.scroll_into_view_if_needed()
    before = box(target)["y"]
    target.click()
    expect(heading(reader)).to_have_text("Article 38")
    assert overflow_of(reader) <= 0

    reader.go_back()

    expect(target).to_be_visible()
    assert abs(box(target)["y"] - before) < 2


@pytest.mark.soak
def test_an_article_that_is_opened_by_its_address_has_its_neighbours(reader: Page) -> None:
    reader.goto("/read?shelf=all")
    reader.locator("[data-open]").nth(3).click()
    expect(heading(reader)).to_have_text("Article 4")
    reader.reload()

    expect(reader.get_by_role("link", name="Previous")).to_be_visible()
    expect(reader.get_by_role("link", name="All articles")).to_have_attribute("href", "/read?shelf=all")
    for key, title in (("j", "Article 5"), ("k", "Article 4")):
        reader.keyboard.press(key)
        expect(heading(reader)).to_have_text(title)
        expect(reader.get_by_role("link", name="Next")).to_be_visible()
    reader.keyboard.press("Escape")

    reader.wait_for_url("**/read?shelf=all")


@pytest.mark.soak
@pytest.mark.parametrize("layout", ["Two panes", "Three panes"])
def test_with_panes_the_article_is_beside_the_list(reader: Page, layout: str) -> None:
    choose(reader, layout=layout)
    reader.goto("/read?shelf=all")
    reader.locator("[data-open]").nth(1).click()
    expect(heading(reader)).to_have_text("Article 2")

    line, article = reader.locator(".line").nth(1), reader.locator("article.page")
    assert box(line)["x"] + box(line)["width"] <= box(article)["x"]
    expect(line.get_by_role("button", name="Mark as unread")).to_be_visible()
    expect(reader.locator("#feed-shelves")).to_be_visible(visible=layout == "Three panes")
    article.get_by_role("button", name="Star", exact=True).click()
    expect(line.get_by_role("button", name="Unstar")).to_be_visible()
    reader.keyboard.press("j")
    expect(heading(reader)).to_have_text("Article 3")
    assert overflow_of(reader) <= 0
    assert faults_of(reader) == []


@pytest.mark.soak
def test_a_swipe_leads_to_the_next_and_the_previous_article(browser: Browser, served: Served) -> None:
    with open_subscriber(browser, served, viewport=HANDSET, has_touch=True) as page:
        choose(page, layout="Two panes")
        page.goto("/read?shelf=all")
        page.locator("[data-open]").nth(1).tap()
        expect(heading(page)).to_have_text("Article 2")

        for way, title in ((-200, "Article 3"), (200, "Article 2")):
            swipe(page, way)
            expect(heading(page)).to_have_text(title)


def swipe(page: Page, by: int) -> None:
    page.locator(".prose").evaluate(
        """(element, by) => {
            const send = (name, x) => {
                const finger = new Touch({ identifier: 1, target: element, clientX: x, clientY: 400 });
                const touches = name === "touchend" ? [] : [finger];
                element.dispatchEvent(new TouchEvent(name, { touches, changedTouches: [finger], bubbles: true }));
            };
            send("touchstart", 200);
            send("touchend", 200 + by);
        }""",
        by,
    )


@pytest.mark.soak
def test_lines_are_marked_as_read_when_they_are_scrolled_past_if_chosen(reader: Page) -> None:
    reader.goto("/settings")
    reader.get_by_label("Mark articles as read when they are scrolled past").check()
    reader.get_by_role("button", name="Save settings").click()
    reader.goto("/read?shelf=all")

    reader.locator(".line").nth(12).scroll_into_view_if_needed()
    reader.mouse.wheel(0, 1500)

    expect(reader.locator(".line").first.locator("[data-action=unread]")).to_have_count(1)
    expect(reader.locator(".line").last.locator("[data-action=read]")).to_have_count(1)
    reader.goto("/read")
    expect(reader.locator(".line h2", has_text=re.compile("^Article 1$"))).to_have_count(0)


@pytest.mark.soak
@pytest.mark.parametrize("screen", [DESKTOP, HANDSET], ids=["desktop", "handset"])
def test_marking_all_as_read_can_be_undone(reader: Page, screen: Any) -> None:
    reader.set_viewport_size(screen)
    reader.goto("/read")
    reader.get_by_role("button", name="Mark all as read").click()
    expect(reader.get_by_role("status").filter(has_text="45 marked as read.")).to_be_visible()
    assert overflow_of(reader) <= 0

    reader.get_by_role("button", name="Undo").click()

    expect(reader.locator(".line")).to_have_count(30)
