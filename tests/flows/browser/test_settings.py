"""What a reader chooses at /settings, as the browser shows it."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from playwright.sync_api import TimeoutError as BrowserTimeoutError

from tests.flows.browser.person import CHROMIUM, overflow_of
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.subscriber import DESKTOP, HANDSET, open_subscriber
from tests.flows.browser.test_every_page import faults_of

pytestmark = pytest.mark.database

DARK, LIGHT = "rgb(13, 21, 24)", "rgb(245, 248, 248)"


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture(scope="module")
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    with open_subscriber(browser, served, color_scheme="light") as page:
        yield page


def choose(page: Page, **labels: str) -> None:
    """Choose these in the form, by the name of the group and of the option."""
    page.goto("/settings")
    for group, label in labels.items():
        page.get_by_role("group", name=group.replace("_", " ").capitalize()).get_by_label(label, exact=True).check()
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_role("status").filter(has_text="Settings saved.")).to_be_visible()


def style(page: Page, selector: str, name: str) -> Any:
    return page.locator(selector).first.evaluate("(one, name) => getComputedStyle(one)[name]", name)


def test_a_reader_chooses_how_pages_look(reader: Page) -> None:
    reader.goto("/")
    assert (reader.url.endswith("/read?shelf=unread"), style(reader, "body", "backgroundColor")) == (True, LIGHT)
    reader.get_by_role("link", name="Settings").click()

    choose(reader, theme="Dark", font="Sans-serif", text_size="Large", sort_order="Oldest first")
    reader.goto("/read")

    assert style(reader, "body", "backgroundColor") == DARK
    assert "system-ui" in style(reader, ".line h2", "fontFamily")
    assert style(reader, "html", "fontSize") == "18.4px"
    expect(reader.locator(".line h2").first).to_have_text("Article 45")


@pytest.mark.soak
@pytest.mark.parametrize("density", ["Cards", "Rows", "Compact"])
@pytest.mark.parametrize("screen", [DESKTOP, HANDSET], ids=["desktop", "handset"])
def test_every_density_fits_the_screen(reader: Page, density: str, screen: Any) -> None:
    reader.set_viewport_size(screen)
    choose(reader, density=density, text_size="Medium")
    reader.goto("/read?shelf=all")

    lines = reader.locator(".line")
    expect(lines.first).to_be_visible()
    tops = {round(lines.nth(place).bounding_box()["y"]) for place in range(3)}  # pyright: ignore[reportOptionalSubscript]
    assert len(tops) == (1 if (density, screen) == ("Cards", DESKTOP) else 3)
    assert overflow_of(reader) <= 0
    assert faults_of(reader) == []


def test_a_button_is_shown_only_when_the_scripts_that_it_needs_have_run(reader: Page) -> None:
    held: list[Route] = []
    reader.route("**/htmx.min.js*", lambda route: held.append(route))  # noqa: PLW0108 -- not a built-in method
    reader.goto("/read?shelf=all", wait_until="commit")
    button = reader.get_by_role("button", name="Mark all as read")

    button.wait_for()
    with pytest.raises(BrowserTimeoutError):
        button.click(timeout=1000)
    for route in held:
        route.continue_()
    reader.unroute("**/htmx.min.js*")
    button.click()

    expect(reader.get_by_text("marked as read")).to_be_visible()
