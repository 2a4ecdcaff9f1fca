"""Every page, light and dark, wide and narrow: axe finds nothing wrong with it, and nothing sticks out of a phone."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.flows.browser.person import (
    PHONE,
    WIDE,
    Place,
    add_feed,
    feed_line,
    follow,
    open_page,
    overflow_of,
    register,
    state_of,
)

pytestmark = pytest.mark.soak
AXE = Axe()
OUTSIDE = {
    "log in": "/auth/login",
    "register": "/auth/register",
    "forgotten password": "/auth/forgot",
    "new password": "/auth/reset?token=x",
    "confirm": "/auth/confirm?token=x",
    "privacy": "/privacy",
    "nothing here": "/nothing",
    "api": "/api/docs",
}
INSIDE = {
    "feeds": "/dashboard",
    "no such feed": "/dashboard?search=zzzz",
    "odd filter": "/dashboard?status=odd",
    "unread": "/read",
    "all": "/read?shelf=all",
    "category": "/read?shelf=all&category=News",
    "no stars": "/read?shelf=starred",
    "read later": "/read?shelf=later",
    "save a page": "/later?url=https://essay.example/",
    "nothing found": "/read?shelf=all&q=zzzz",
    "account": "/account",
    "settings": "/settings",
    "opml": "/opml",
}


@pytest.fixture(scope="module")
def visitor(browser: Browser, place: Place) -> Iterator[Page]:
    with open_page(browser, place) as page:
        yield page


@pytest.fixture(scope="module")
def reader(browser: Browser, place: Place) -> Iterator[Page]:
    """Follows a feed that works and one that does not."""
    with open_page(browser, place) as page:
        register(page)
        follow(page, "Zoo Daily", place.zoo.url("daily", "/feed.xml"), "News")
        add_feed(page, "Missing", place.zoo.url("missing", "/feed.xml"))
        expect(state_of(page, "Missing")).to_have_text(re.compile("Failing|Auto-disabled"))
        yield page


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_page_without_login_has_no_fault(visitor: Page, name: str) -> None:
    visitor.goto(OUTSIDE[name], wait_until="networkidle")

    assert faults_of(visitor) == []


@pytest.mark.parametrize("name", INSIDE)
def test_a_page_with_login_has_no_fault(reader: Page, name: str) -> None:
    reader.goto(INSIDE[name], wait_until="networkidle")

    assert faults_of(reader) == []


def test_an_article_has_no_fault(reader: Page) -> None:
    reader.goto("/read?shelf=all")
    reader.locator("[data-open]").first.click()
    expect(reader.locator("article.page")).to_be_visible()

    assert faults_of(reader) == []


def test_forms_and_the_list_of_keys_have_no_fault_when_they_are_open(reader: Page) -> None:
    reader.goto("/dashboard", wait_until="networkidle")
    reader.get_by_text("Add a feed", exact=True).click()
    feed_line(reader, "Zoo Daily").get_by_role("button", name="Edit Zoo Daily").click()
    expect(reader.get_by_role("button", name="Save")).to_be_visible()
    assert faults_of(reader) == []

    reader.goto("/read?shelf=all")
    reader.keyboard.press("?")
    assert faults_of(reader) == []


def test_on_paper_an_article_is_only_the_article(reader: Page) -> None:
    reader.goto("/read?shelf=all")
    reader.locator("[data-open]").first.click()
    reader.emulate_media(media="print")

    expect(reader.get_by_role("heading", level=1)).to_be_visible()
    expect(reader.locator(".prose")).to_be_visible()
    for part in (".top", ".bottom", ".buttons", ".back"):
        expect(reader.locator(part)).to_be_hidden()
    reader.emulate_media(media="screen")


def faults_of(page: Page) -> list[str]:
    """What axe finds in every look. The dark changes nothing but colours, and the colours are the same on a phone."""
    found = _violations(page, "light")
    with colored(page, "dark"):
        found += _violations(page, "dark", "color-contrast", "link-in-text-block")
    page.set_viewport_size(PHONE)
    found += _violations(page, "phone")
    found += [f"{page.url} is {more} pixels wider than a phone"] if (more := overflow_of(page)) else []
    page.set_viewport_size(WIDE)
    return found


@contextmanager
def colored(page: Page, scheme: Literal["light", "dark"]) -> Iterator[None]:
    page.emulate_media(color_scheme=scheme)
    yield
    page.emulate_media(color_scheme="light")


def _violations(page: Page, look: str, *rules: str) -> list[str]:
    options = {"resultTypes": ["violations"], **({"runOnly": {"type": "rule", "values": [*rules]}} if rules else {})}
    violations = AXE.run(page, options=options).response["violations"]
    return [
        f"{look}: {one['id']}: {one['help']}: {[node['target'] for node in one['nodes']][:5]}" for one in violations
    ]
