"""A file from another feed reader, in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from headwater_lab.zoo import Zoo
from tests.flows.browser.person import CHROMIUM, Place, open_page, register
from tests.flows.browser.served import Served, serve_pages

pytestmark = [pytest.mark.database, pytest.mark.soak]


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    with open_page(browser, Place(served.url, Zoo())) as page:
        register(page)
        yield page


def test_an_opml_file_is_imported_by_dropping_it(reader: Page, tmp_path: Path) -> None:
    file = tmp_path / "mine.opml"
    file.write_text('<opml version="2.0"><body><outline text="A" xmlUrl="https://a.example/feed"/></body></opml>')
    reader.goto("/opml")
    box = reader.get_by_label("Drop an OPML file here").bounding_box()
    assert box is not None
    dropped = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] - 8, "data": dropped}

    session = reader.context.new_cdp_session(reader)
    for step in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": step, **where})
    reader.get_by_role("button", name="Import").click()

    expect(reader.locator("#import-progress")).to_contain_text("1 added")
