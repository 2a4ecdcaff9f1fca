"""A reader before stories and labels, in a real browser: filter by topic, open and mark a story, stop grouping."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from playwright.sync_api import Browser, Page, expect

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database
from headwater.ids import new_id
from headwater.labels.types import Method, Scheme
from headwater.library.store import subscriptions
from headwater.types import ArticleId, UserId
from headwater_lab.zoo import Zoo
from tests.builders import a_source, an_article
from tests.flows.browser.person import CHROMIUM, PHONE, Place, open_page, overflow_of, register
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.test_every_page import faults_of
from tests.labels.given import say
from tests.web.newsroom import join

pytestmark = [pytest.mark.database, pytest.mark.soak]

TITLES = ["Cake for beginners", "Harbour of Bremvik flooded", "Bremvik after the storm", "Storm hits Bremvik"]


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture(scope="module")
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    """Follows four feeds with an article each; three of them are one story."""
    with open_page(browser, Place(served.url, Zoo())) as page:
        email = register(page)

        async def fill(database: Database) -> None:
            async with database.as_system() as conn:
                cur = await conn.execute("SELECT id FROM users WHERE email = %(email)s", {"email": email})
                row = await cur.fetchone()
                assert row is not None
                ids: list[ArticleId] = []
                for number, title in enumerate(TITLES):
                    now = datetime.now(UTC)
                    source = await a_source(conn, url=f"https://feed{number}.example/feed")
                    await subscriptions.add(
                        conn, subscription_id=new_id(), user_id=UserId(row[0]), source_id=source.id,
                        name=f"Feed {number}", category=None, now=now,
                    )  # fmt: skip
                    article = an_article(
                        f"https://feed{number}.example/1", title=title, published_at=now - timedelta(minutes=number)
                    )
                    await records.keep(conn, seen_at=now, listed=[ListedEntry(source.id, article)])
                    found = await conn.execute("SELECT id FROM articles WHERE title = %(title)s", {"title": title})
                    one = await found.fetchone()
                    assert one is not None
                    ids.append(ArticleId(one[0]))
                    topic = "weather" if number else "lifestyle and leisure"
                    await say(conn, ids[-1], Method.MODEL, topic, scheme=Scheme.TOPIC)
                    await say(conn, ids[-1], Method.RULE, "article")
                    await say(conn, ids[-1], Method.MODEL, "quality", scheme=Scheme.QUALITY, score=0.8)
                await join(conn, UUID(int=7), ids[1:])

        served.run(fill)
        yield page


def test_a_list_is_filtered_by_topic_and_the_filter_removed(reader: Page) -> None:
    reader.goto("/read?shelf=all", wait_until="networkidle")
    reader.get_by_text("Filter", exact=True).click()
    reader.get_by_label("Topic").select_option("weather")
    assert faults_of(reader) == []

    reader.get_by_role("button", name="Apply").click()

    expect(reader.locator("[data-open]")).to_have_text(["Harbour of Bremvik flooded"])
    assert faults_of(reader) == []
    reader.get_by_role("link", name="Topic: Weather").click()
    expect(reader.locator("[data-open]")).to_have_count(2)


def test_a_story_opens_by_keyboard_is_marked_read_and_undone(reader: Page) -> None:
    reader.goto("/read?shelf=all", wait_until="networkidle")
    reader.keyboard.press("j")
    reader.keyboard.press("j")
    story = reader.locator(".line.current details")
    expect(story).to_contain_text("Also in 2 others")

    reader.keyboard.press("e")
    expect(reader.get_by_role("link", name="Bremvik after the storm")).to_be_visible()
    assert faults_of(reader) == []
    reader.keyboard.press("R")

    expect(story.get_by_text("Marked as read.")).to_be_visible()
    expect(reader.locator('.line.current [data-action="unread"]')).to_be_visible()
    reader.keyboard.press("R")
    expect(story.get_by_role("button", name="Mark story as read")).to_be_visible()
    expect(reader.locator('.line.current [data-action="read"]')).to_be_visible()
    reader.keyboard.press("k")
    expect(reader.locator(".line.current [data-open]")).to_have_text("Cake for beginners")


def test_an_article_shows_its_story_and_its_labels(reader: Page) -> None:
    reader.goto("/read?shelf=all")
    reader.locator("[data-open]").nth(1).click()

    expect(reader.get_by_role("heading", name="Also reported by")).to_be_visible()
    reader.get_by_text("Where these labels come from").click()
    expect(reader.get_by_text("by the model on this machine, 80 % sure").last).to_be_visible()
    assert faults_of(reader) == []
    reader.get_by_role("link", name="Storm hits Bremvik").click()
    expect(reader.get_by_role("heading", level=1)).to_have_text("Storm hits Bremvik")


def test_grouping_is_switched_off_and_on(reader: Page) -> None:
    reader.goto("/read?shelf=all")
    reader.get_by_role("button", name="Group stories", pressed=True).click()

    expect(reader.locator("[data-open]")).to_have_text(TITLES)
    assert faults_of(reader) == []
    reader.get_by_role("button", name="Group stories", pressed=False).click()
    expect(reader.locator("[data-open]")).to_have_count(2)


def test_nothing_sticks_out_of_a_phone(browser: Browser, served: Served, reader: Page) -> None:
    profile = reader.context.storage_state()
    with open_page(browser, Place(served.url, Zoo()), storage_state=profile, viewport=PHONE) as page:
        page.goto("/read?shelf=all&topic=weather&quality=40")
        page.get_by_text("Also in 2 others").click()
        page.get_by_text("Filter", exact=True).click()
        widths = [overflow_of(page)]
        page.locator("[data-open]").first.click()
        page.get_by_text("Where these labels come from").click()
        widths.append(overflow_of(page))

    assert widths == [0, 0]
