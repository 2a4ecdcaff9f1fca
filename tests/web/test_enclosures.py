"""The files of an article are links on its page, and a feed that a user does not follow shows them none."""

from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape

import pytest

from headwater.articles.enclosures import as_json
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database, fetch_value
from headwater.feeds.types import Enclosure
from headwater.sources.store import sources
from tests.app import create_app
from tests.builders import an_article
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

AUDIO = Enclosure("https://cdn.example/1.mp3?a=1&b=2", "audio/mpeg", 12_345_678, timedelta(minutes=4, seconds=5))
HOSTILE = Enclosure("https://cdn.example/x'\"><script>alert(1)</script>", title="<script>alert(2)</script>")
HIDDEN = Enclosure("https://secret.example/key/1.mp3")


@pytest.fixture
async def ada(database: Database, clock: MovableClock) -> AsyncIterator[Person]:
    app = create_app(database, clock)
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        await bob.send("POST", "/feeds", name="Secret", url="https://secret.example/feed")
    async with a_person(app) as person:
        await person.register()
        await person.send("POST", "/feeds", name="Talk", url="https://talk.example/feed")
        yield person


async def listed(database: Database, url: str, files: list[Enclosure], *, is_own: bool) -> object:
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url=url)
        article = an_article("https://talk.example/1", is_own=is_own, enclosures=as_json(files) or "")
        await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, article)])
        return await fetch_value(conn, "SELECT id FROM articles")


async def test_files_are_links_with_type_size_and_duration(ada: Person, database: Database) -> None:
    article_id = await listed(database, "https://talk.example/feed", [AUDIO, HOSTILE], is_own=True)

    page = (await ada.open(f"/articles/{article_id}")).text

    assert 'href="https://cdn.example/1.mp3?a=1&amp;b=2" rel="noopener noreferrer"' in page
    assert "audio/mpeg · 12.3 MB · 4:05" in page
    assert "<script>alert" not in page
    assert "<script>alert(2)</script>" in unescape(page)


async def test_files_of_a_feed_that_only_another_user_follows_are_not_shown(ada: Person, database: Database) -> None:
    article_id = await listed(database, "https://talk.example/feed", [AUDIO], is_own=True)
    await listed(database, "https://secret.example/feed", [HIDDEN], is_own=False)

    page = (await ada.open(f"/articles/{article_id}")).text

    assert "1.mp3" in page
    assert HIDDEN.url not in page
