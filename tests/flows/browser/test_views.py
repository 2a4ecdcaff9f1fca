"""A reader saves a search as a view, sees its number, and another Headwater reads its feed."""

from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.flows.browser.person import HASTE, Place, follow, register
from tests.headwater_process import Headwater

pytestmark = pytest.mark.soak


def test_a_search_becomes_a_view_with_a_number_and_a_feed(page: Page, place: Place) -> None:
    register(page)
    follow(page, "Zoo Daily", place.zoo.url("daily", "/feed.xml"), "News")
    page.goto("/read?shelf=all&q=source:daily")
    titles = page.locator("[data-open]").all_inner_texts()
    assert titles

    page.get_by_role("link", name="Save as view").click()
    page.get_by_label("Name").fill("The daily")
    page.get_by_label("bell", exact=True).check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The daily")
    entry = page.locator("#side-views li").filter(has_text="The daily")
    expect(entry.locator(".unread")).to_be_visible()  # loaded after the list
    assert int(entry.locator(".unread").inner_text().rstrip("+")) >= len(titles)
    icon = entry.locator("svg").bounding_box()
    assert icon is not None
    assert icon["width"] > 0

    page.keyboard.press("j")
    page.keyboard.press("t")
    page.locator(".line.current .tags input[name=tag]").fill("Later")
    page.keyboard.press("Enter")
    expect(page.locator(".line.current .tags li")).to_contain_text("later")

    page.get_by_role("link", name="Edit view").click()
    page.get_by_role("button", name="Create address").click()
    address = page.locator("#atom-address").inner_text()
    read = read_elsewhere(place.url + urlsplit(address).path)
    assert "Following The daily (" in read  # the title of the feed: it was read


def read_elsewhere(url: str) -> str:
    """What `headwater source add` says of it, in an installation of its own."""
    with TemporaryDirectory(prefix="headwater-test-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        done = Headwater(Path(name), **HASTE).run("source", "add", url)
        assert done.returncode == 0, done.stderr
        return done.stdout
