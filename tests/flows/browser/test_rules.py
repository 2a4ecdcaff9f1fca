"""A reader makes a rule after its preview, and mutes a word, in a real browser."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database
from headwater.ids import new_id
from headwater.library.store import subscriptions
from headwater.types import UserId
from headwater_lab.zoo import Zoo
from tests.builders import a_source, an_article
from tests.flows.browser.person import CHROMIUM, Place, open_page, overflow_of, register
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.test_every_page import faults_of

pytestmark = [pytest.mark.database, pytest.mark.soak]

TITLES = ["Otters return to the river", "Heron seen at dawn", "Otters and herons"]


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    """Follows a feed with three articles."""
    with open_page(browser, Place(served.url, Zoo())) as page:
        email = register(page)

        async def fill(database: Database) -> None:
            now = datetime.now(UTC)
            async with database.as_system() as conn:
                cur = await conn.execute("SELECT id FROM users WHERE email = %(email)s", {"email": email})
                row = await cur.fetchone()
                assert row is not None
                source = await a_source(conn, url=f"https://{new_id().hex}.example/feed")
                await subscriptions.add(
                    conn, subscription_id=new_id(), user_id=UserId(row[0]), source_id=source.id, name="River News",
                    category=None, now=now,
                )  # fmt: skip
                entries = [
                    ListedEntry(
                        source.id,
                        an_article(
                            f"https://river.example/{source.id}/{number}", title=title,
                            published_at=now - timedelta(minutes=number),
                        ),
                    )
                    for number, title in enumerate(TITLES)
                ]  # fmt: skip
                await records.keep(conn, seen_at=now, listed=entries)

        served.run(fill)
        yield page


def test_a_rule_is_saved_after_its_preview(reader: Page) -> None:
    reader.goto("/rules/new")
    reader.get_by_label("Query").fill("otters topik:x")
    reader.get_by_label("Star").check()
    reader.get_by_role("button", name="Preview").click()
    expect(reader.locator("#query-problem mark")).to_contain_text("topik")

    reader.get_by_label("Query").fill("otters")
    reader.get_by_role("button", name="Preview").click()
    expect(reader.locator("#preview")).to_contain_text("Matches 2 of 3 articles")
    assert faults_of(reader) == []
    reader.get_by_role("button", name="Save").click()

    expect(reader.locator("#rules")).to_contain_text("otters")
    expect(reader.locator("#rules")).to_contain_text("starred")
    assert faults_of(reader) == []
    assert overflow_of(reader) == 0
    reader.get_by_role("button", name="Delete otters").click()
    expect(reader.get_by_text("No rules yet.")).to_be_visible()
    assert faults_of(reader) == []
    reader.get_by_role("button", name="Undo").click()
    expect(reader.locator("#rules")).to_contain_text("otters")
    reader.goto("/notifications")
    assert faults_of(reader) == []


def test_a_click_mutes_a_word_and_another_undoes_it(reader: Page) -> None:
    reader.goto("/read")
    reader.get_by_role("link", name=TITLES[0]).click()
    reader.get_by_text("Mute", exact=True).click()
    reader.get_by_role("button", name="Mute word Otters").click()
    expect(reader.get_by_role("status")).to_contain_text("2 articles hidden")
    assert faults_of(reader) == []

    reader.goto("/read?shelf=all")
    expect(reader.locator("[data-open]")).to_have_text([TITLES[1]])
    reader.goto("/rules")
    expect(reader.locator("#mutes")).to_contain_text("Otters")
    reader.get_by_role("button", name="Unmute Otters").click()
    expect(reader.locator("#mutes")).to_contain_text("Nothing is muted.")
    reader.goto("/read?shelf=all")
    expect(reader.locator("[data-open]")).to_have_count(3)
