"""The page of the largest stories."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest
from litestar import Litestar

from headwater.accounts.types import Role
from headwater.db import Connection, Database
from headwater.ids import new_id
from headwater.stories.overview import store
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.labels.given import an_article_of
from tests.web.test_moderation import set_role
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def mo(app: Litestar, database: Database) -> AsyncIterator[Person]:
    async with a_person(app) as first, a_person(app) as person:
        await first.register("first@example.com")
        await person.register("mo@example.com")
        await set_role(database, "mo@example.com", Role.MODERATOR)
        yield person


async def a_story(
    conn: Connection, title: str, *, articles: int, ended: timedelta = timedelta(), more: int = 0, sources: int = 2
) -> UUID:
    """A story with articles, and with a count of some more."""
    story_id = new_id()
    values = {"id": story_id, "title": title, "at": START - ended, "count": articles + more, "sources": sources}
    await conn.execute("INSERT INTO stories VALUES (%(id)s, %(title)s, %(at)s, %(at)s, %(count)s, %(sources)s)", values)
    for n in range(articles):
        article_id = await an_article_of(conn, f"{title} {n}", url=f"https://s{n}.example/{story_id}")
        await conn.execute(
            "UPDATE article_state SET story_id = %(story)s WHERE article_id = %(id)s",
            {"story": story_id, "id": article_id},
        )
    return story_id


async def test_without_stories_the_page_says_so(mo: Person) -> None:
    assert "No stories in this period." in (await mo.open("/admin/stories")).text


async def test_the_largest_stories_are_listed_first_with_their_articles(mo: Person, database: Database) -> None:
    async with database.transaction() as conn:
        await a_story(conn, "Small", articles=2)
        await a_story(conn, "<b>Large</b>", articles=3, more=60)
        await a_story(conn, "Yesterday", articles=2, ended=timedelta(days=2))

    page = (await mo.open("/admin/stories")).text

    assert re.findall(r"<h2>(.*?)</h2>", page) == ["&lt;b&gt;Large&lt;/b&gt;", "Small"]
    assert "63 articles of 2 sources" in page
    assert "The newest 3." in page
    assert page.count("s1.example</span>") == 2
    assert "Yesterday" in (await mo.open("/admin/stories?period=three-days")).text
    assert (await mo.open("/admin/stories?period=century")).status_code == 400


async def test_a_feed_that_repeats_itself_is_none_of_the_largest_stories(conn: Connection) -> None:
    await a_story(conn, "Repeated by one feed", articles=1, more=90, sources=1)
    await a_story(conn, "Many articles", articles=1, more=50, sources=2)
    await a_story(conn, "Many sources", articles=1, more=20, sources=20)

    found = await store.list_largest(conn, since=START, limit=9)

    assert [one.title for one in found] == ["Many sources", "Many articles"]


async def test_readers_may_not_see_it(app: Litestar, mo: Person) -> None:
    async with a_person(app) as ada:
        await ada.register("ada@example.com")
        assert (await ada.open("/admin/stories")).status_code == 403


async def test_stories_and_articles_are_limited(conn: Connection) -> None:
    story_id = await a_story(conn, "Large", articles=3)
    await a_story(conn, "Small", articles=1)

    assert [one.title for one in await store.list_largest(conn, since=START, limit=1)] == ["Large"]
    found = await store.list_articles(conn, story_ids=[story_id], limit=2, now=START)
    assert [len(articles) for articles in found.values()] == [2]
    assert await store.find_story(conn, story_id=new_id()) is None
