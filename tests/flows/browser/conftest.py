"""One server and one browser for each module; each test is a person with a profile of its own.

A server of all modules would refuse the eleventh account that is made from one address within an hour.

The browser does not live for the whole session: while Playwright's loop is open in this thread, no test that has a loop
of its own can run.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.flows.browser.person import CHROMIUM, Place, open_browser, open_page, running
from tests.flows.zoo_thread import open_zoo

NO_BROWSER = "NO BROWSER HERE: none of these flows was tested. Install chromium (apt install chromium)."


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """As a person starts it: the embedded database, in a folder that its own account can enter."""
    if CHROMIUM is None:
        pytest.skip(NO_BROWSER)
    with TemporaryDirectory(prefix="headwater-test-", ignore_cleanup_errors=True) as name, open_zoo() as zoo:
        Path(name).chmod(0o755)
        with running(Path(name), zoo) as place:
            yield place


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip(NO_BROWSER)
    with sync_playwright() as playwright, open_browser(playwright) as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, place: Place) -> Iterator[Page]:
    with open_page(browser, place) as page:
        yield page
