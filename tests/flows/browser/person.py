"""A person at a real browser, before a real `headwater up` that reads the zoo: the steps of which stories are made."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from playwright.sync_api import Browser, Locator, Page, Playwright, ViewportSize, expect

from headwater_lab.zoo import DOMAIN, Zoo
from tests.headwater_process import Headwater

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PASSWORD = "correct horse battery"
WIDE: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 360, "height": 740}
PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)
HASTE = {
    "HEADWATER_ALLOW_LOOPBACK": "true",
    "HEADWATER_RESOLVE": f"{DOMAIN}=127.0.0.1",
    "HEADWATER_POLL_HOST_DELAY": "100ms",
    "HEADWATER_FETCH_HOST_DELAY": "100ms",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A running Headwater, and the web it reads."""

    url: str
    zoo: Zoo


@contextmanager
def open_browser(playwright: Playwright) -> Iterator[Browser]:
    """The chromium of this machine; without its sandbox, which it does not have as root in a container."""
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
    try:
        yield browser
    finally:
        browser.close()


@contextmanager
def running(folder: Path, zoo: Zoo) -> Iterator[Place]:
    """`headwater up` on its own database."""
    with Headwater(folder, **HASTE).start("up") as up:
        yield Place(up.url, zoo)


@contextmanager
def open_page(browser: Browser, place: Place, **more: Any) -> Iterator[Page]:
    """A page in a profile of its own. Whatever breaks in it breaks the test."""
    broken: list[str] = []
    wishes: dict[str, Any] = {"viewport": WIDE, "reduced_motion": "reduce", **more}
    context = browser.new_context(base_url=place.url, **wishes)
    context.set_default_timeout(PATIENCE_MS)
    context.on("weberror", lambda error: broken.append(str(error.error)))
    context.on("console", lambda said: broken.append(said.text) if is_refusal_of_policy(said.text) else None)
    context.on("page", _type_when_loaded)
    try:
        yield context.new_page()
        assert broken == []
    finally:
        context.close()


def _type_when_loaded(page: Page) -> None:
    """Unlike clicks, keys do not wait for what they act on: in a page whose scripts have not run they are lost."""
    press = page.keyboard.press

    def press_when_loaded(key: str, **more: Any) -> None:
        page.wait_for_load_state()
        press(key, **more)

    page.keyboard.press = press_when_loaded


def is_refusal_of_policy(said: str) -> bool:
    return "Content Security Policy" in said


def register(page: Page) -> str:
    """Create a new account. Returns its email."""
    email = f"{uuid4().hex}@example.com"
    page.goto("/auth/register")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Confirm password").fill(PASSWORD)
    page.get_by_label("I accept the").check()
    page.get_by_role("button", name="Sign up").click()
    page.wait_for_url("**/dashboard")
    return email


def add_feed(page: Page, name: str, url: str, category: str = "") -> None:
    """On the dashboard, by its form, also if no feed is found there; the list shows it by itself."""
    if page.locator("details.add").get_attribute("open") is None:
        page.get_by_text("Add a feed", exact=True).click()
    form = page.locator("#feed-add-form")
    form.get_by_label("Name").fill(name)
    form.get_by_label("Website or feed URL").fill(url)
    form.get_by_label("Category").fill(category)
    form.get_by_role("button", name="Add feed").click()
    add_anyway = page.get_by_role("button", name="Add anyway")
    expect(feed_line(page, name).or_(add_anyway)).to_be_visible()
    if add_anyway.is_visible():
        add_anyway.click()
    expect(feed_line(page, name)).to_be_visible()


def subscribe(page: Page, name: str, url: str, category: str = "") -> None:
    """Add exactly this URL, as "Subscribe" sends it: without the request that looks for feeds."""
    send = "values => htmx.ajax('POST', '/feeds', {source: '#feed-found', swap: 'none', values})"
    page.evaluate(send, {"name": name, "url": url, "category": category})
    expect(feed_line(page, name)).to_be_visible()


def feed_line(page: Page, name: str) -> Locator:
    return page.locator(".feed").filter(has=page.locator(".name", has_text=name))


def state_of(page: Page, name: str) -> Locator:
    return feed_line(page, name).locator(".badge")


def follow(page: Page, name: str, url: str, category: str = "") -> None:
    """Add a feed and wait until it has been read, without a reload."""
    add_feed(page, name, url, category)
    expect(state_of(page, name)).to_have_text("Healthy")


def overflow_of(page: Page) -> int:
    """By how many pixels the page is wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
