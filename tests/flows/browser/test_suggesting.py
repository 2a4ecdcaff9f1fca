"""A feed's way to everybody: suggested, waiting, approved, polled, found and followed. In a real browser."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.flows.browser.person import CHROMIUM, Place, open_page, register, running
from tests.flows.browser.test_every_page import faults_of
from tests.flows.zoo_thread import open_zoo

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A Headwater of its own: who registers first in it runs it."""
    if CHROMIUM is None:
        pytest.skip("no browser")
    with TemporaryDirectory(prefix="headwater-test-", ignore_cleanup_errors=True) as name, open_zoo() as zoo:
        Path(name).chmod(0o755)
        with running(Path(name), zoo) as opened:
            yield opened


def suggest(page: Page, name: str, url: str) -> None:
    page.goto("/discover")
    form = page.locator("#suggest-form")
    form.get_by_label("Name").fill(name)
    form.get_by_label("Feed URL").fill(url)
    form.get_by_label("Category").fill("Zoology")
    form.get_by_role("button", name="Suggest").click()


def test_a_feed_is_suggested_approved_polled_found_and_followed(browser: Browser, place: Place) -> None:
    url = place.zoo.url("daily", "/feed.xml")
    with (
        open_page(browser, place) as boss,
        open_page(browser, place) as ada,
        open_page(browser, place) as bob,
    ):
        register(boss)
        boss.goto("/admin/moderation")
        expect(boss.get_by_text("No pending suggestions.")).to_be_visible()
        assert faults_of(boss) == []
        register(ada)
        suggest(ada, "Zoo Daily", url)
        expect(ada.locator("#suggested .badge")).to_have_text("In review")
        assert faults_of(ada) == []

        line = boss.locator(".suggestion")  # it comes by itself
        expect(line.get_by_role("link", name="Zoo Daily")).to_be_visible()
        expect(boss.locator("#waiting-count")).to_have_text("1")
        expect(boss.get_by_text("No pending suggestions.")).to_be_hidden()
        assert faults_of(boss) == []
        boss.keyboard.press("j")
        boss.keyboard.press("r")
        expect(line.get_by_label("Reason, shown to")).to_be_visible()
        boss.keyboard.press("r")
        expect(line.get_by_label("Reason, shown to")).to_be_hidden()
        boss.keyboard.press("a")
        expect(line).to_contain_text("is approved")
        expect(boss.locator("#waiting-count")).to_have_text("0")

        register(bob)
        bob.get_by_role("main").get_by_role("link", name="Discover", exact=True).click()
        found = bob.locator(".feed").filter(has_text="Zoo Daily")
        expect(found).to_contain_text("suggested by a reader")
        expect(found).to_contain_text("0 readers")
        bob.get_by_label("Search").fill("zoology")
        expect(found).to_be_visible()
        found.get_by_role("button", name="Follow Zoo Daily").click()
        expect(found).to_contain_text("Following")
        assert faults_of(bob) == []
        bob.goto("/dashboard")
        expect(bob.locator(".feed .badge")).to_have_text("Healthy")  # it was polled since it was approved
        ada.reload()
        expect(ada.locator("#suggested .badge")).to_have_text("Approved")
        for path in ("/admin/moderation?show=approved", "/admin/people", "/admin/audit", "/admin/settings"):
            boss.goto(path, wait_until="networkidle")
            assert faults_of(boss) == []
        boss.goto("/admin/moderation/domains")
        boss.get_by_role("textbox", name="Domain").fill("spam.example")
        boss.get_by_role("textbox", name="Reason").fill("A farm of links.")
        boss.get_by_role("button", name="Block", exact=True).click()
        expect(boss.get_by_role("button", name="Unblock spam.example")).to_be_visible()
        assert faults_of(boss) == []


def test_a_refused_suggestion_shows_why_and_a_page_offers_its_feeds(browser: Browser, place: Place) -> None:
    with open_page(browser, place) as ada:
        register(ada)
        suggest(ada, "Lobby", place.zoo.url("lobby", "/feed.xml"))
        expect(ada.locator("#suggest-errors .problem")).to_contain_text("This is a web page")
        expect(ada.locator("#suggest-errors").get_by_role("button")).not_to_have_count(0)
        assert faults_of(ada) == []
        ada.locator("#suggest-errors").get_by_role("button").first.click()
        expect(ada.locator("#suggested .badge").first).to_have_text("In review")
        suggest(ada, "Zoo Daily", place.zoo.url("daily", "/feed.xml"))
        expect(ada.locator("#suggest-errors .problem")).to_contain_text("Subscribe to it instead")
        ada.get_by_role("link", name="Show existing feed").click()
        expect(ada.get_by_role("button", name="Follow Zoo Daily")).to_be_visible()
