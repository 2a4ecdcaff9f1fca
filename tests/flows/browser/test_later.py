"""Read later in a browser: by the field, the bookmark's page and the key, on a phone and on a wide screen."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.flows.browser.person import CHROMIUM, overflow_of
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.subscriber import DESKTOP, HANDSET, open_subscriber
from tests.flows.browser.test_every_page import faults_of

pytestmark = pytest.mark.database
SCREENS = pytest.mark.parametrize("screen", [DESKTOP, HANDSET], ids=["desktop", "handset"])


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    with open_subscriber(browser, served, articles=6) as page:
        yield page


@SCREENS
def test_a_page_is_saved_with_the_field_removed_and_restored(reader: Page, screen: Any) -> None:
    reader.set_viewport_size(screen)
    reader.goto("/read")
    reader.get_by_role("link", name="Read later").click()
    reader.get_by_label("Save a page").fill("essay.example/otters")
    reader.get_by_role("button", name="Save", exact=True).click()

    expect(reader.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    line = reader.locator(".line")
    expect(line).to_have_count(1)
    assert overflow_of(reader) <= 0
    line.get_by_role("button", name="Remove from Read later").click()
    expect(line).to_contain_text("Removed.")
    line.get_by_role("button", name="Undo").click()
    expect(line.get_by_role("button", name="Remove from Read later")).to_be_visible()
    line.locator("[data-open]").click()
    expect(reader.get_by_text("Headwater is fetching this page")).to_be_visible()
    assert overflow_of(reader) <= 0


def test_the_page_of_the_bookmark_asks_before_it_saves(reader: Page) -> None:
    reader.goto("/later?" + urlencode({"url": "https://essay.example/<b>", "title": "Otters & co"}))
    expect(reader.get_by_label("Address of the page")).to_have_value("https://essay.example/<b>")
    expect(reader.get_by_role("button", name="Save", exact=True)).to_be_focused()

    reader.keyboard.press("Enter")

    expect(reader.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    expect(reader.locator(".line")).to_have_count(1)


def test_keys_save_an_article_and_open_the_list(reader: Page) -> None:
    reader.goto("/read")
    reader.keyboard.press("j")
    reader.keyboard.press("l")
    expect(reader.locator(".line.current").get_by_role("button", name="Remove from Read later")).to_be_visible()

    reader.keyboard.press("g")
    reader.keyboard.press("l")

    expect(reader.get_by_role("heading", name="Read later", level=1)).to_be_visible()
    expect(reader.locator(".line")).to_contain_text("Article 1")
    reader.keyboard.press("j")
    reader.keyboard.press("l")
    expect(reader.locator(".line").get_by_role("button", name="Read later", exact=True)).to_be_visible()


@pytest.mark.soak
def test_the_pages_are_accessible(reader: Page) -> None:
    found: list[str] = []
    for path in ("/read?shelf=later", "/later?url=ftp://wrong", "/settings"):
        reader.goto(path)
        found += faults_of(reader)
    reader.goto("/later?url=ftp://wrong")
    reader.get_by_role("button", name="Save", exact=True).click()
    expect(reader.get_by_role("alert")).to_be_visible()
    found += faults_of(reader)
    reader.goto("/read?shelf=later")
    reader.get_by_label("Save a page").fill("essay.example/otters")
    reader.get_by_role("button", name="Save", exact=True).click()
    expect(reader.locator(".line")).to_have_count(1)
    found += faults_of(reader)
    assert found == []
