"""An operator before incidents, in a real browser: they come and go on the health page without a reload."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from headwater.alerts.types import AlertOptions
from headwater.alerts.worker import Alerter
from headwater.db import Database
from headwater.net.mail import Mailer
from headwater_lab.zoo import Zoo
from tests.alerts.world import a_system_feed
from tests.flows.browser.person import CHROMIUM, Place, open_page, register
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.test_every_page import faults_of

pytestmark = [pytest.mark.database, pytest.mark.soak]

RENEWED_MS = 180_000  # every ten seconds, on a machine that may be busy
NOBODY_LISTENS = "http://127.0.0.1:9/hook"


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture(scope="module")
def operator(browser: Browser, served: Served) -> Iterator[Page]:
    with open_page(browser, Place(served.url, Zoo())) as page:
        register(page)
        yield page


async def evaluate(database: Database) -> None:
    options = AlertOptions(every=timedelta(0), settle=timedelta(0), webhook_url=NOBODY_LISTENS)
    alerter = Alerter(database, Mailer(None, "headwater@localhost"), lambda: datetime.now(UTC), options)
    await alerter.evaluate()
    for item in await alerter.claim(2):
        await alerter.work(item)


async def fall_ill(database: Database) -> None:
    async with database.as_system() as conn:
        await a_system_feed(conn, 1, errors=4, is_critical=True)
        await a_system_feed(conn, 2, disabled_at=datetime.now(UTC) - timedelta(days=3))
    await evaluate(database)


async def get_well(database: Database) -> None:
    async with database.as_system() as conn:
        await conn.execute("UPDATE feed_state SET consecutive_errors = 0, last_error = NULL")
    await evaluate(database)


def test_incidents_come_and_go_on_the_page_that_is_open(operator: Page, served: Served) -> None:
    operator.goto("/admin")
    expect(operator.get_by_role("heading", name="No active alerts")).to_be_visible()

    served.run(fall_ill)
    expect(operator.get_by_role("heading", name="2 active alerts")).to_be_visible(timeout=RENEWED_MS)
    expect(operator.get_by_text("Feed 1 has failed 4 times in a row.")).to_be_visible()
    assert faults_of(operator) == []

    operator.get_by_role("link", name="All alerts").click()
    expect(operator.get_by_text("No resolved alerts.")).to_be_visible()
    expect(operator.get_by_text("Not yet sent to webhook").first).to_be_visible()

    served.run(get_well)
    expect(operator.get_by_role("heading", name="1 active alert")).to_be_visible(timeout=RENEWED_MS)
    operator.reload()
    expect(operator.get_by_role("region", name="Resolved").get_by_text("A critical feed fails")).to_be_visible()
    assert faults_of(operator) == []

    operator.get_by_role("link", name="A system feed has been disabled for long").click()
    expect(operator.get_by_role("heading", name="Feed 2")).to_be_visible()
