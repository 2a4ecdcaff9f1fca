"""A moderator before labels, rules and stories, in a real browser."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, Page, expect

from headwater.db import Database
from headwater.labels.types import Method, Scheme
from headwater_lab.zoo import Zoo
from tests.flows.browser.person import CHROMIUM, Place, open_page, register
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.test_every_page import faults_of
from tests.labels.given import an_article_of, disagree, say
from tests.web.test_stories_page import a_story

pytestmark = [pytest.mark.database, pytest.mark.soak]

EMPTY = {
    "/admin/labels": "No labels yet.",
    "/admin/labels/review": "Nothing to review.",
    "/admin/rules": "No rules yet.",
    "/admin/stories": "No stories in this period.",
}


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture(scope="module")
def operator(browser: Browser, served: Served) -> Iterator[Page]:
    with open_page(browser, Place(served.url, Zoo())) as page:
        register(page)
        yield page


@pytest.fixture(scope="module")
def labelled(served: Served) -> None:
    """Two articles about which methods disagree."""

    async def fill(database: Database) -> None:
        async with database.as_system() as conn:
            for n in (1, 2):
                url, now = f"https://example.com/a/long/way/to/the/story/of/the/harbour-{n}", datetime.now(UTC)
                article_id = await an_article_of(conn, f"The harbour opens {n}", url=url, at=now)
                await disagree(conn, article_id)
                await say(
                    conn, article_id, Method.MODEL, "disaster, accident and emergency incident", scheme=Scheme.TOPIC
                )
                await say(conn, article_id, Method.MODEL, "quality", scheme=Scheme.QUALITY, score=0.7)

    served.run(fill)


def test_empty_pages_have_no_fault(operator: Page) -> None:
    for path, words in EMPTY.items():
        operator.goto(path, wait_until="networkidle")
        expect(operator.get_by_text(words)).to_be_visible()
        assert faults_of(operator) == []


def test_the_distribution_has_no_fault(operator: Page, labelled: None) -> None:
    operator.goto("/admin/labels", wait_until="networkidle")

    expect(operator.get_by_role("heading", name="Shown labels by method")).to_be_visible()
    assert faults_of(operator) == []


def test_disputes_are_decided_by_keyboard_and_undone(operator: Page, labelled: None) -> None:
    operator.goto("/admin/labels/review", wait_until="networkidle")
    operator.get_by_text("Other…").first.click()
    assert faults_of(operator) == []
    count = operator.locator("#disputed-count")
    expect(count).to_have_text("2")
    operator.goto("/admin/labels/review", wait_until="networkidle")

    operator.keyboard.press("j")
    operator.keyboard.press("2")

    expect(operator.get_by_text("type is set to event.")).to_be_visible()
    expect(count).to_have_text("1")
    assert faults_of(operator) == []

    operator.keyboard.press("Enter")  # the button Undo has the focus

    expect(operator.get_by_text("type is set to event.")).to_be_hidden()
    expect(count).to_have_text("2")


def test_an_article_is_skipped(operator: Page, labelled: None) -> None:
    operator.goto("/admin/labels/review", wait_until="networkidle")
    lines = operator.locator("li.line")
    expect(lines).to_have_count(2)

    operator.keyboard.press("j")
    operator.keyboard.press("x")

    expect(lines).to_have_count(1)


def test_a_rule_is_tested_before_it_is_enabled(operator: Page, labelled: None) -> None:
    operator.goto("/admin/rules", wait_until="networkidle")
    operator.get_by_label("Name", exact=True).fill("Harbours")
    operator.get_by_label("Label that it gives").select_option("topic:sport")
    operator.get_by_label("Keywords, one per line").fill("harbour")
    operator.get_by_label("Find sources by name").fill("example")
    operator.get_by_role("checkbox", name="example.com").first.check()
    operator.get_by_role("button", name="Test").click()
    expect(operator.get_by_text("Matches 2 of 2 articles, 100.0 %.")).to_be_visible()
    expect(operator.get_by_text("keyword harbour").first).to_be_visible()
    assert faults_of(operator) == []

    operator.get_by_role("button", name="Add rule").click()
    expect(operator.get_by_role("heading", level=1, name="Harbours")).to_be_visible()
    expect(operator.get_by_role("checkbox", name="example.com")).to_be_checked()
    operator.get_by_role("button", name="Enable").click()
    expect(operator.get_by_role("button", name="Enable anyway")).to_be_visible()
    assert faults_of(operator) == []
    operator.get_by_role("button", name="Test").click()
    expect(operator.locator("#rule-now")).to_contain_text("Tested.")
    operator.get_by_role("button", name="Enable", exact=True).click()

    expect(operator.get_by_text("2 articles of the last 7 days will be classified again.")).to_be_visible()
    expect(operator.locator("#rule-now .badge")).to_have_text("Enabled")
    operator.goto("/admin/rules", wait_until="networkidle")
    expect(operator.locator(".of-rules")).to_contain_text("Harbours")
    assert faults_of(operator) == []

    operator.get_by_role("link", name="Harbours").click()
    operator.once("dialog", lambda dialog: dialog.accept())
    operator.get_by_role("button", name="Delete rule").click()
    expect(operator.get_by_text("No rules yet.")).to_be_visible()


def test_the_largest_stories_have_no_fault(operator: Page, served: Served) -> None:
    async def fill(database: Database) -> None:
        async with database.as_system() as conn:
            await a_story(conn, "The harbour opens after a very long wait", articles=3)
            await conn.execute("UPDATE stories SET last_at = now()")

    served.run(fill)
    operator.goto("/admin/stories", wait_until="networkidle")
    operator.locator(".largest summary").first.click()

    expect(operator.get_by_role("link", name="The harbour opens after a very long wait 1")).to_be_visible()
    assert faults_of(operator) == []
