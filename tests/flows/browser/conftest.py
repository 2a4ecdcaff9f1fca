"""One browser and one server for each module of this folder; each test is a person with a profile of its own.

Not for the whole session: while Playwright's own loop is open in this thread, no test with a loop can run.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.flows.browser.person import CHROMIUM, Place, open_browser, open_page, running
from tests.flows.zoo_thread import open_zoo


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("NO BROWSER HERE: none of these flows was tested. Install chromium (apt install chromium).")
    with sync_playwright() as playwright, open_browser(playwright) as browser:
        yield browser


@pytest.fixture(scope="module")
def place(browser: Browser) -> Iterator[Place]:
    """As a person starts it: the embedded database, in a folder that its own account can enter."""
    with TemporaryDirectory(prefix="headwater-test-", ignore_cleanup_errors=True) as name, open_zoo() as zoo:
        Path(name).chmod(0o755)
        with running(Path(name), zoo) as place:
            yield place


@pytest.fixture
def page(browser: Browser, place: Place) -> Iterator[Page]:
    with open_page(browser, place) as page:
        yield page
