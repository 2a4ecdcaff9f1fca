"""A user with articles to read, in a Headwater whose rows the test fills itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection, Database
from headwater.ids import new_id
from headwater.library.store import subscriptions
from headwater.sources.store import sources
from headwater.types import UserId
from headwater_lab.zoo import Zoo
from tests.builders import a_source, an_article
from tests.flows.browser.person import Place, open_page, register
from tests.flows.browser.served import Served

DESKTOP: ViewportSize = {"width": 1440, "height": 900}
HANDSET: ViewportSize = {"width": 390, "height": 844}
FEEDS = ("Bremvik Herald", "Coast and Harbour", "Northern Review")
ARTICLES = 45
TEXT = "<p>The boats came in before the wind turned, and the harbour was quiet again by noon.</p>" * 12


@contextmanager
def open_subscriber(browser: Browser, served: Served, *, articles: int = ARTICLES, **more: Any) -> Iterator[Page]:
    """Logged in, with three feeds; the newest article is called `Article 1`."""
    with open_page(browser, Place(served.url, Zoo()), **{"viewport": DESKTOP, **more}) as page:
        email = register(page)
        served.run(lambda database: follow_feeds(database, email, articles))
        yield page


async def follow_feeds(database: Database, email: str, articles: int) -> None:
    now = datetime.now(UTC)
    site = email.partition("@")[0]
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT id FROM users WHERE email = %(email)s", {"email": email})
        row = await cur.fetchone()
        assert row is not None
        for place, name in enumerate(FEEDS):
            source = await a_source(conn, url=f"https://{site}-{place}.example/feed")
            await subscriptions.add(
                conn, subscription_id=new_id(), user_id=UserId(row[0]), source_id=source.id, name=name,
                category="Coast" if place < 2 else None, now=now,
            )  # fmt: skip
            for number in range(place + 1, articles + 1, len(FEEDS)):
                await add_article(conn, f"{site}-{place}", number, at=now - timedelta(minutes=number))


async def add_article(conn: Connection, site: str, number: int, *, at: datetime) -> None:
    """One more article of a feed of the user."""
    article = an_article(
        f"https://{site}.example/{number}", title=f"Article {number}", published_at=at, content=TEXT,
        summary="The boats came in before the wind turned, and the harbour was quiet again by noon.",
    )  # fmt: skip
    source = await sources.find_by_url(conn, url=f"https://{site}.example/feed")
    await records.keep(conn, seen_at=datetime.now(UTC), listed=[ListedEntry(source.id, article)])
