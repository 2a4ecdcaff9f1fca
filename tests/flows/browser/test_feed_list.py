"""The dashboard's list of feeds while requests cross: search, edit, cancel, delete and pages. In a real browser."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from headwater.db import Database
from headwater.sources.subscribe import add_feed
from headwater.types import UserId
from headwater_lab.zoo import Zoo
from tests.flows.browser.person import CHROMIUM, PATIENCE_MS, Place, feed_line, open_page, register
from tests.flows.browser.served import Served, serve_pages

pytestmark = [pytest.mark.database, pytest.mark.soak]

LIST = re.compile(r"/feeds(\?.*)?$")
EDIT = re.compile(r"/feeds/[0-9a-f-]+/edit")
LINE = re.compile(r"/feeds/[0-9a-f-]+(\?.*)?$")


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    """Somebody who follows 45 feeds: three pages."""
    with open_page(browser, Place(served.url, Zoo())) as page:
        email = register(page)

        async def follow(database: Database) -> None:
            async with database.as_system() as conn:
                cur = await conn.execute("SELECT id FROM users WHERE email = %(email)s", {"email": email})
                ((user_id,),) = await cur.fetchall()
            for number in range(1, 46):
                async with database.as_system() as conn:
                    await add_feed(
                        conn,
                        user_id=UserId(user_id),
                        name=f"Feed {number:02}",
                        url=f"https://feed{number}.example/feed",
                        now=datetime.now(UTC),
                    )

        served.run(follow)
        page.goto("/dashboard", wait_until="networkidle")
        page.on("dialog", lambda dialog: dialog.accept())
        yield page


@contextmanager
def held(page: Page, url: str | re.Pattern[str], method: str) -> Iterator[list[Route]]:
    """Requests wait until the end of the block."""
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == method:
            waiting.append(route)
        else:
            route.continue_()

    page.route(url, hold)
    try:
        yield waiting
    finally:
        for route in waiting:
            route.continue_()
        page.unroute(url, hold)


def until_asked(page: Page, waiting: list[Route]) -> None:
    for _ in range(PATIENCE_MS // 20):
        if waiting:
            return
        page.wait_for_timeout(20)  # lets the browser's events come in
    raise AssertionError("nothing was asked for")


def search(page: Page, words: str) -> None:
    """Type, and wait until the list shows it; the field keeps the focus."""
    page.locator("#search").press_sequentially(words)
    expect(page.locator(".feed")).to_have_count(1)


def button(page: Page, deed: str, name: str) -> None:
    page.get_by_role("button", name=f"{deed} {name}", exact=True).click()


def test_edit_after_a_search_shows_the_form(reader: Page) -> None:
    search(reader, "Feed 07")

    with held(reader, EDIT, "GET") as waiting:
        button(reader, "Edit", "Feed 07")
        until_asked(reader, waiting)

    expect(reader.get_by_role("button", name="Save")).to_be_visible()
    reader.wait_for_load_state("networkidle")
    expect(reader.get_by_role("button", name="Save")).to_be_visible()


def test_delete_after_a_search_takes_the_feed_off_the_list(reader: Page) -> None:
    search(reader, "Feed 07")

    with held(reader, LINE, "DELETE") as waiting:
        button(reader, "Delete", "Feed 07")
        until_asked(reader, waiting)

    expect(reader.get_by_text("No feeds match this filter.")).to_be_visible()


def test_a_deletion_shows_although_the_list_was_replaced_meanwhile(reader: Page) -> None:
    with held(reader, LINE, "DELETE") as waiting:
        button(reader, "Delete", "Feed 01")
        until_asked(reader, waiting)
        with reader.expect_response(LIST):
            reader.get_by_label("Status").select_option("pending")

    expect(feed_line(reader, "Feed 01")).to_have_count(0)
    expect(feed_line(reader, "Feed 02")).to_be_visible()


def test_a_line_that_is_opened_while_the_list_loads_stays_open(reader: Page) -> None:
    with held(reader, LIST, "GET") as lists:
        reader.get_by_label("Status").select_option("pending")
        until_asked(reader, lists)
        button(reader, "Edit", "Feed 03")
        expect(reader.get_by_role("button", name="Save")).to_be_visible()
        lists.clear()  # that one was aborted

    reader.wait_for_load_state("networkidle")
    expect(reader.get_by_role("button", name="Save")).to_be_visible()


def test_what_was_typed_into_an_open_line_survives_a_reload_of_the_list(reader: Page) -> None:
    button(reader, "Edit", "Feed 03")
    form = reader.locator("form[data-closes]")
    form.get_by_label("Name").fill("Half a na")

    button(reader, "Delete", "Feed 04")

    expect(feed_line(reader, "Feed 04")).to_have_count(0)
    expect(form.get_by_label("Name")).to_have_value("Half a na")
    form.get_by_label("Name").fill("Feed 03, renamed")
    form.get_by_role("button", name="Save").click()
    expect(feed_line(reader, "Feed 03, renamed")).to_be_visible()
    expect(form).to_have_count(0)


def test_cancel_closes_the_form_and_leaves_the_others_open(reader: Page) -> None:
    button(reader, "Edit", "Feed 02")
    expect(reader.locator("form[data-closes]")).to_have_count(1)
    button(reader, "Edit", "Feed 05")
    forms = reader.locator("form[data-closes]")
    expect(forms).to_have_count(2)
    forms.last.get_by_label("Name").fill("Not this")

    forms.first.get_by_role("button", name="Cancel").click()

    expect(forms).to_have_count(1)
    expect(feed_line(reader, "Feed 02")).to_be_visible()
    expect(forms.get_by_label("Name")).to_have_value("Not this")


def test_deleting_stays_on_the_page(reader: Page) -> None:
    reader.get_by_role("link", name="Next").click()
    expect(reader.get_by_text("Page 2 of 3, 45 feeds")).to_be_visible()

    button(reader, "Delete", "Feed 21")

    expect(reader.get_by_text("Page 2 of 3, 44 feeds")).to_be_visible()
    expect(feed_line(reader, "Feed 41")).to_be_visible()


def test_deleting_all_of_the_last_page_shows_the_page_before(reader: Page) -> None:
    reader.goto("/dashboard?page=3", wait_until="networkidle")

    for number in range(41, 46):
        button(reader, "Delete", f"Feed {number}")
        expect(feed_line(reader, f"Feed {number}")).to_have_count(0)

    expect(reader.get_by_text("Page 2 of 2, 40 feeds")).to_be_visible()
    expect(reader.locator(".feed")).to_have_count(20)
    expect(reader.get_by_text("No feeds yet")).to_have_count(0)


def test_a_filter_starts_at_the_first_page(reader: Page) -> None:
    reader.goto("/dashboard?page=3", wait_until="networkidle")
    expect(feed_line(reader, "Feed 45")).to_be_visible()

    search(reader, "Feed 07")
    reader.locator("#search").fill("")

    expect(reader.get_by_text("Page 1 of 3, 45 feeds")).to_be_visible()


def test_only_the_last_of_two_searches_is_shown(reader: Page) -> None:
    with held(reader, re.compile(r"/feeds\?.*search=Feed\+?(%20)?0[^0-9]"), "GET") as slow:
        reader.locator("#search").press_sequentially("Feed 0")
        until_asked(reader, slow)
        reader.locator("#search").press_sequentially("7")
        reader.wait_for_timeout(600)  # until the field would ask again

    expect(reader.locator(".feed")).to_have_count(1)
    expect(feed_line(reader, "Feed 07")).to_be_visible()
