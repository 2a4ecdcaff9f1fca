"""Sharing an article in a browser: its link, and files of it, on a phone and on a wide screen."""

from collections.abc import Iterator
from typing import Any

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
def test_a_link_is_copied_and_an_article_downloaded_by_keyboard(reader: Page, screen: Any) -> None:
    reader.context.grant_permissions(["clipboard-read", "clipboard-write"])
    reader.set_viewport_size(screen)
    reader.goto("/read")
    reader.locator("[data-open]").first.click()
    reader.locator(".share > summary").focus()
    reader.keyboard.press("Enter")
    reader.keyboard.press("Tab")
    expect(reader.get_by_role("button", name="Copy link")).to_be_focused()
    assert overflow_of(reader) <= 0

    reader.keyboard.press("Enter")

    expect(reader.get_by_role("button", name="Copied")).to_be_visible()
    link = reader.get_by_role("link", name="Read at").get_attribute("href")
    assert reader.evaluate("navigator.clipboard.readText()") == link
    with reader.expect_download() as download:
        reader.get_by_role("link", name="Download as Markdown").click()
    assert download.value.suggested_filename.endswith(".md")
    assert faults_of(reader) == []


def test_where_copying_is_not_allowed_the_link_is_shown(reader: Page) -> None:
    reader.add_init_script("delete Navigator.prototype.clipboard")
    reader.goto("/read")
    reader.locator("[data-open]").first.click()
    reader.locator(".share > summary").click()

    reader.get_by_role("button", name="Copy link").click()

    expect(reader.get_by_label("Link", exact=True)).to_be_focused()
