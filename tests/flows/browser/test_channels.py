"""An operator before channels, in a real browser: one with dead letters, and a new one."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from headwater.channels.route import Router
from headwater.channels.store import deliveries
from headwater.channels.types import Channel, DeliveryState
from headwater.db import Database, fetch_value
from headwater.labels.vocabulary import CRIME
from headwater_lab.zoo import Zoo
from tests.channels.test_route import a_channel, an_article
from tests.flows.browser.person import CHROMIUM, Place, open_page, register
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.test_every_page import faults_of

pytestmark = [pytest.mark.database, pytest.mark.soak]

LONG = "Thieves take the anchor of a very large and very old ship from the harbour of a small town at night"


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
        page.goto("/admin/channels", wait_until="networkidle")
        expect(page.get_by_text("No channels yet.")).to_be_visible()
        assert faults_of(page) == []
        yield page


@pytest.fixture
def channel(served: Served, operator: Page) -> Channel:
    """Three articles: the destination refused two of them, and accepted one."""

    async def fill(database: Database) -> Channel:
        now = datetime.now(UTC)
        async with database.transaction() as conn:
            channel = await a_channel(conn, "articles:crime", "topic:crime")
            for number in (1, 2, 3):
                article_id = await an_article(conn, number, CRIME, title=f"{LONG} {number}")
                await Router().route(conn, article_ids=[article_id], now=now - timedelta(hours=3 - number))
            last = await fetch_value(conn, "SELECT max(revision) FROM deliveries")
            await conn.execute(
                "UPDATE deliveries SET reason = 'HTTP 422: the title is too long', attempts = 3 WHERE revision < %s",
                (last,),
            )
            await conn.execute("UPDATE deliveries SET delivered_at = queued_at WHERE revision = %s", (last,))
        return channel

    return served.run(fill)


def waiting(served: Served, channel: Channel) -> list[str | None]:
    """The titles of what waits."""

    async def read(database: Database) -> list[str | None]:
        async with database.transaction() as conn:
            rows = await deliveries.list_page(
                conn, channel_id=channel.id, state=DeliveryState.WAITING, before=None, limit=10
            )
        return [one.title for one in rows]

    return served.run(read)


def test_dead_letters_are_seen_with_their_reason_and_retried(operator: Page, served: Served, channel: Channel) -> None:
    operator.goto("/admin/channels", wait_until="networkidle")
    expect(operator.locator(".of-channels")).to_contain_text("articles:crime")
    assert faults_of(operator) == []
    operator.locator(f"#dead-{channel.id}").click()

    letters = operator.locator("#dead-letters tbody tr")
    expect(letters).to_have_count(2)
    expect(letters.first).to_contain_text("HTTP 422: the title is too long")
    assert faults_of(operator) == []

    operator.get_by_role("button", name=f"Retry {LONG} 1").click()
    expect(operator.get_by_text("1 delivery will be sent again.")).to_be_visible()
    expect(letters).to_have_count(1)
    assert waiting(served, channel) == [f"{LONG} 1"]

    operator.once("dialog", lambda dialog: dialog.accept())
    operator.get_by_role("button", name="Retry all").click()
    expect(operator.get_by_text("No message was refused.")).to_be_visible()
    assert waiting(served, channel) == [f"{LONG} 2", f"{LONG} 1"]

    operator.get_by_role("button", name="Pause").click()
    expect(operator.locator("#channel-now .badge")).to_have_text("Paused")
    assert faults_of(operator) == []

    operator.once("dialog", lambda dialog: dialog.accept())
    operator.get_by_role("button", name="Delete channel").click()
    expect(operator.get_by_text("No channels yet.")).to_be_visible()


def test_a_channel_is_previewed_and_added(operator: Page) -> None:
    operator.goto("/admin/channels", wait_until="networkidle")
    operator.get_by_label("Name", exact=True).fill("articles:theft")
    operator.get_by_label("Destination").select_option("redis")
    expect(operator.get_by_label("Stream", exact=True)).to_be_visible()
    operator.get_by_label("Destination").select_option("webhook")
    expect(operator.get_by_label("Stream", exact=True)).to_have_count(0)
    operator.get_by_label("URL").fill("https://hooks.example.com/in")
    operator.get_by_label("Query").fill("anchor topik:crime")
    operator.get_by_role("button", name="Preview").click()
    expect(operator.locator("#query-problem mark")).to_contain_text("topik:")
    assert faults_of(operator) == []

    operator.get_by_label("Query").fill("title:anchor topic:crime")
    operator.get_by_role("button", name="Preview").click()
    expect(operator.locator("#channel-preview")).to_contain_text("Finds 3 of 3 articles.")
    expect(operator.locator("#query-problem mark")).to_have_count(0)
    assert faults_of(operator) == []

    operator.get_by_role("button", name="Add channel").click()
    expect(operator.locator("#channel-said")).to_contain_text("whsec_")
    assert faults_of(operator) == []
    operator.locator("#channel-said").get_by_role("link", name="articles:theft").click()
    expect(operator.get_by_role("heading", level=1, name="articles:theft")).to_be_visible()
