"""An operator before the console in a real browser: what needs a person, tables, bulk actions and the palette."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from headwater_lab.zoo import Zoo
from tests.flows.browser.person import CHROMIUM, Place, open_page, register
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.test_every_page import faults_of
from tests.flows.browser.test_health_pages import fill

pytestmark = [pytest.mark.database, pytest.mark.soak]


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture(scope="module")
def operator(browser: Browser, served: Served) -> Iterator[Page]:
    """The user who registers first; sources are in every state."""
    with open_page(browser, Place(served.url, Zoo())) as page:
        register(page)
        served.run(fill)
        yield page


def test_the_home_page_says_what_needs_a_person_and_offers_the_action(operator: Page) -> None:
    operator.goto("/admin", wait_until="networkidle")
    expect(operator.locator(".lead")).to_have_text("2 of 70 sources failing, 1 needs you.")
    assert faults_of(operator) == []

    operator.get_by_role("button", name="Use this feed for Gazette 69").press("Enter")

    expect(operator.get_by_role("status")).to_have_text("Feed URL changed. It is polled at once.")
    expect(operator.locator(".lead")).to_have_text("1 of 70 sources failing, none needs you.")


def test_the_table_of_sources_grows_is_sorted_and_changed_by_keyboard(operator: Page) -> None:
    operator.goto("/admin/sources", wait_until="networkidle")
    rows = operator.locator(".sources tbody tr:not(.more)")
    operator.locator("#more-rows").scroll_into_view_if_needed()
    expect(rows).to_have_count(70)
    expect(operator.locator("#source-total")).to_have_text("70 sources")

    operator.get_by_role("link", name="Articles a week").press("Enter")
    expect(operator).to_have_url("/admin/sources?sort=-articles")
    expect(operator.get_by_role("columnheader", name="Articles a week")).to_have_attribute("aria-sort", "descending")
    assert faults_of(operator) == []


def test_many_sources_are_changed_after_a_preview_and_restored(operator: Page) -> None:
    operator.goto("/admin/sources?category=News", wait_until="networkidle")
    bar = operator.get_by_role("form", name="Selected sources")
    expect(bar).to_be_hidden()
    operator.get_by_role("checkbox", name="Select all sources shown").check()
    expect(bar.locator(".chosen")).to_have_text("24 selected")
    operator.get_by_role("checkbox", name="Select Gazette 00").uncheck()
    expect(bar.locator(".chosen")).to_have_text("23 selected")

    bar.get_by_label("Action").select_option("category")
    bar.get_by_role("combobox", name="Category").fill("World")
    assert faults_of(operator) == []
    bar.get_by_role("button", name="Preview").press("Enter")
    heading = operator.get_by_role("heading", name="Set the category of 23 sources?")
    expect(heading).to_be_visible()
    assert faults_of(operator) == []
    operator.get_by_role("button", name="Apply to 23 sources").press("Enter")
    expect(operator.get_by_role("status")).to_contain_text("23 sources changed.")
    expect(operator.locator(".sources tbody tr")).to_have_count(1)
    expect(bar).to_be_hidden()

    operator.get_by_role("button", name="Undo").press("Enter")
    expect(operator.get_by_role("status")).to_have_text("Undone: 23 sources restored.")
    expect(operator.locator(".sources tbody tr")).to_have_count(24)


def test_a_filter_is_saved_and_opened(operator: Page) -> None:
    operator.goto("/admin/sources?category=News&sort=-errors", wait_until="networkidle")
    operator.get_by_text("Saved filters").click()
    operator.locator("#saved").get_by_label("Name").fill("Failing news")
    operator.get_by_role("button", name="Save this filter").click()
    link = operator.get_by_role("link", name="Failing news")
    expect(link).to_be_visible()
    assert faults_of(operator) == []

    operator.goto("/admin/sources", wait_until="networkidle")
    operator.get_by_text("Saved filters").click()
    link.click()

    expect(operator).to_have_url("/admin/sources?category=News&sort=-errors")


@pytest.mark.parametrize("width", [390, 1440])
def test_users_are_filtered_and_sorted_by_keyboard(operator: Page, width: int) -> None:
    operator.set_viewport_size({"width": width, "height": 900})
    operator.goto("/admin/people", wait_until="networkidle")
    operator.locator("#sort-reputation").press("Enter")
    expect(operator).to_have_url("/admin/people?sort=-reputation")
    expect(operator.locator("#people-total")).to_have_text("1 user")
    assert faults_of(operator) == []

    operator.locator("#people-filters [name=role]").select_option("moderator")
    expect(operator.get_by_text("No users match.")).to_be_visible()
    expect(operator).to_have_url("/admin/people?q=&role=moderator&confirmed=&seen=&sort=-reputation")
    assert faults_of(operator) == []
    assert is_as_wide_as_its_window(operator)


@pytest.mark.parametrize("width", [390, 1440])
def test_the_audit_log_is_filtered_and_sorted_by_keyboard(operator: Page, width: int) -> None:
    operator.set_viewport_size({"width": width, "height": 900})
    operator.goto("/admin/audit", wait_until="networkidle")
    operator.locator("#sort-target").press("Enter")
    expect(operator).to_have_url("/admin/audit?sort=target")
    expect(operator.get_by_role("link", name="Export CSV")).to_be_visible()
    assert faults_of(operator) == []

    operator.get_by_role("searchbox", name="Target").fill("no such target")
    expect(operator.get_by_text("No entries match this filter.")).to_be_visible()
    assert faults_of(operator) == []
    assert is_as_wide_as_its_window(operator)


def is_as_wide_as_its_window(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_palette_opens_a_page_and_acts_on_a_source_by_keyboard(operator: Page) -> None:
    operator.goto("/admin/audit", wait_until="networkidle")
    operator.keyboard.press("Control+k")
    box = operator.get_by_role("combobox", name="Page, source or action")
    expect(box).to_be_focused()
    expect(operator.locator("#palette [role=option]").first).to_have_text("Health Page")
    assert faults_of(operator) == []
    operator.keyboard.press("Escape")
    expect(box).to_be_hidden()

    operator.keyboard.press("Control+k")
    operator.keyboard.type("gazette 12")
    expect(operator.locator("#palette [role=option]")).to_have_count(3)
    operator.keyboard.press("ArrowDown")
    selected = operator.locator("#palette [aria-selected=true]")
    expect(selected).to_contain_text("Poll Gazette 12 now")
    expect(box).to_have_attribute("aria-activedescendant", selected.get_attribute("id") or "")
    operator.keyboard.press("Enter")
    expect(operator.locator("#palette-said")).to_have_text("Queued: it is fetched as soon as its host allows.")

    box.fill("popul")
    expect(operator.locator("#palette [role=option]")).to_have_count(1)
    operator.keyboard.press("Enter")
    expect(operator).to_have_url("/admin/popularity")


def test_the_alerts_page_says_that_no_destination_is_set_and_has_no_fault(operator: Page) -> None:
    operator.goto("/admin/alerts", wait_until="networkidle")

    expect(operator.get_by_text("Alerts are shown here only.")).to_be_visible()
    assert faults_of(operator) == []
