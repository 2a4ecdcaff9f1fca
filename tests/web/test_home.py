from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from httpx import AsyncClient

from headwater.articles import store as articles
from headwater.articles.types import Listed
from headwater.db import Database
from headwater.polling.types import FailureClass, Off
from headwater.server import create_app
from tests.browser import visit
from tests.builders import a_source, an_article
from tests.clock import START, MovableClock

pytestmark = pytest.mark.database


@pytest.fixture
async def web(database: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(database, clock)) as client:
        yield client


async def test_an_empty_page_says_what_to_do_next(web: AsyncClient) -> None:
    page = (await web.get("/")).text

    assert "headwater source add https://example.com/feed.xml" in page
    assert "headwater demo" in page


async def test_articles_are_shown_with_source_author_and_age(
    web: AsyncClient, database: Database, clock: MovableClock
) -> None:
    async with database.transaction() as conn:
        source = await a_source(conn, name="The Daily")
        article = an_article(title="Rain <again>", summary="<p>It <b>rained</b></p>", author="Ann")
        await articles.keep(conn, seen_at=START, listed=[Listed(source.id, article)])
    clock.move(minutes=3)

    page = (await web.get("/")).text

    assert "Rain &lt;again&gt;" in page
    assert "The Daily" in page
    assert "3 minutes ago" in page
    assert "It rained" in page
    assert "<b>" not in page.split("sources-title")[0].split("articles-title")[1]


async def fail(database: Database, url: str, *, off: Off | None = None) -> None:
    async with database.transaction() as conn:
        values = {"url": url, "now": START, "next": START + timedelta(hours=2), "off": off.at if off else None}
        await conn.execute(
            """
            UPDATE feed_state
            SET last_polled_at = %(now)s, next_poll_at = %(next)s, consecutive_errors = 1,
                last_error_type = 'not_found', last_error = 'There is no feed at this address. (HTTP 404)'
            WHERE feed_url = %(url)s
            """,
            values,
        )
        await conn.execute("UPDATE sources SET feed_disabled_at = %(off)s WHERE feed_url = %(url)s", values)


async def test_a_failing_source_shows_its_class_reason_and_next_try(web: AsyncClient, database: Database) -> None:
    async with database.transaction() as conn:
        await a_source(conn, url="https://a.example/feed", name="Good one")
        await a_source(conn, url="https://b.example/feed", name="Bad one")
    await fail(database, "https://b.example/feed")

    page = (await web.get("/")).text

    assert "There is no feed at this address. (HTTP 404)" in page
    assert "not_found" in page
    assert "in 2 hours" in page
    assert page.index("Bad one") < page.index("Good one")


async def test_a_source_that_only_a_person_can_enable_says_so(web: AsyncClient, database: Database) -> None:
    async with database.transaction() as conn:
        await a_source(conn, url="https://b.example/feed")
    await fail(database, "https://b.example/feed", off=Off(START, FailureClass.NOT_FOUND, None))

    page = (await web.get("/")).text

    assert "off: not_found" in page
    assert "off until somebody enables it" in page


async def test_hostile_text_is_shown_as_text(web: AsyncClient, database: Database) -> None:
    async with database.transaction() as conn:
        source = await a_source(conn, name='"><script>alert(1)</script>')
        article = an_article(
            title="<img src=x onerror=alert(1)>", summary="<script>alert(1)</script>", author="<svg onload=alert(1)>"
        )
        await articles.keep(conn, seen_at=START, listed=[Listed(source.id, article)])

    page = (await web.get("/")).text

    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<svg onload" not in page
