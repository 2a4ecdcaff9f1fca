"""What a first visit transfers, and that nothing moves while it loads."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.flows.browser.person import CHROMIUM
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.subscriber import DESKTOP, HANDSET, open_subscriber

pytestmark = [pytest.mark.database, pytest.mark.soak]

MOST_BYTES = 60_000
# Names what moved, so that a failure says it.
MOVED = """() => new Promise((done) => {
    const moved = [];
    const name = ({ node }) => `${node?.parentElement?.className} > ${node?.nodeName}#${node?.id}.${node?.className}`;
    const watch = new PerformanceObserver((list) => moved.push(...list.getEntries()));
    watch.observe({ type: "layout-shift", buffered: true });
    const report = () => done(moved.concat(watch.takeRecords()).flatMap((one) => one.sources.map(name)));
    requestAnimationFrame(() => requestAnimationFrame(report));
})"""
PATHS = ["/read", "/dashboard", "/settings", "/rules", "/discover", "/admin", "/admin/sources"]


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture(scope="module")
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    with open_subscriber(browser, served) as page:
        yield page


def transferred_bytes(page: Page, path: str) -> int:
    """As sent, compressed and with headers, with an empty cache."""
    session = page.context.new_cdp_session(page)
    sent: list[float] = []
    session.on("Network.loadingFinished", lambda done: sent.append(done["encodedDataLength"]))
    session.send("Network.enable")
    session.send("Network.clearBrowserCache")
    page.goto(path, wait_until="networkidle")
    session.detach()
    return round(sum(sent))


@pytest.mark.parametrize("screen", [DESKTOP, HANDSET], ids=["desktop", "handset"])
@pytest.mark.parametrize(
    "path", ["/read", "/dashboard", "/settings", "/rules", "/discover", "/admin", "/admin/sources"]
)
def test_a_first_visit_is_small_and_nothing_moves(reader: Page, path: str, screen: Any) -> None:
    reader.set_viewport_size(screen)

    assert transferred_bytes(reader, path) <= MOST_BYTES
    assert reader.evaluate(MOVED) == []


def test_an_article_is_small_and_nothing_moves(reader: Page) -> None:
    reader.goto("/read")
    path = reader.locator("[data-open]").first.get_attribute("href")
    assert path

    assert transferred_bytes(reader, path) <= MOST_BYTES
    assert reader.evaluate(MOVED) == []
