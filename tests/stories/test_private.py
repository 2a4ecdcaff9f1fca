"""Stories with articles that only a user's private feed lists: their titles and URLs are not for everyone."""

from uuid import UUID

import pytest

from headwater.articles.fingerprint import hash_of, words_of
from headwater.articles.store import content, records
from headwater.articles.types import Extracted, ListedEntry, NewContent
from headwater.db import Database, fetch_value
from headwater.downstream.store import read_articles
from headwater.sources.store import sources
from headwater.stories.overview import store as overview
from headwater.stories.worker import StoryGrouper
from headwater.types import ArticleId, SourceId
from headwater.urls import url_key
from tests.builders import a_source, an_article
from tests.clock import START, MovableClock
from tests.removals import remove_all
from tests.stories.test_worker import EVENTS, a_page, classify, grouped, rows, run

pytestmark = pytest.mark.database

KEY = "0123456789abcdef0123456789abcdef"


async def a_private_page(database: Database, number: int = 0) -> tuple[ArticleId, SourceId]:
    """An article of a user's feed with a key in its URL, whose page was read."""
    url, text = f"https://board.example/{number}", f"Minutes of meeting {number}"
    title = f"{EVENTS['flood']}: SECRET {number}"
    async with database.as_system() as conn:
        source = await a_source(conn, url=f"https://board.example/feed{number}?token={KEY}")
        await conn.execute("UPDATE sources SET is_system = false WHERE id = %(id)s", {"id": source.id})
        await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, an_article(url, title=title), "")])
        article_id = ArticleId(await fetch_value(conn, "SELECT id FROM articles WHERE url = %(url)s", {"url": url}))
        page = Extracted(title=title, text=text, html="", word_count=4, content_hash=hash_of(words_of(text)))
        await content.save(conn, records=[NewContent(article_id, url, url_key(url), page)], now=START)
        await classify(conn, article_id, "flood")
    return article_id, source.id


async def story_of(database: Database) -> UUID:
    [row] = await rows(database)
    return row["id"]


async def test_a_story_names_and_counts_no_article_that_only_a_private_feed_lists(
    database: Database, clock: MovableClock
) -> None:
    hidden = [(await a_private_page(database, number))[0] for number in range(3)]
    seen = [await a_page(database, site, "flood") for site in ("north", "south")]
    clock.move(hours=2)
    await run(StoryGrouper(database, clock))

    assert await grouped(database) == {frozenset({*hidden, *seen})}, "readers of the feeds see them together"
    story_id = await story_of(database)
    async with database.transaction() as conn:
        [story] = await overview.list_largest(conn, since=START, limit=10)
        articles = await overview.list_articles(conn, story_ids=[story_id], limit=10, now=clock())
        described = await read_articles(
            conn, article_ids=seen, with_text=False, with_html=False, with_metadata=False
        )  # fmt: skip
    assert (story.article_count, story.source_count) == (2, 2)
    assert {one.id for one in articles[story_id]} == set(seen)
    assert "SECRET" not in story.title
    assert "SECRET" not in str(described)


async def test_a_story_of_private_articles_alone_is_not_there_for_everyone(
    database: Database, clock: MovableClock
) -> None:
    for number in range(2):
        await a_private_page(database, number)
    clock.move(hours=2)
    await run(StoryGrouper(database, clock))

    story_id = await story_of(database)
    async with database.transaction() as conn:
        assert await overview.list_largest(conn, since=START, limit=10) == []
        assert await overview.find_story(conn, story_id=story_id) is None
    assert [row["title"] for row in await rows(database)] == [""]


async def test_a_story_is_counted_again_when_a_source_is_removed(database: Database, clock: MovableClock) -> None:
    await a_page(database, "north", "flood")
    await a_page(database, "south", "flood")
    clock.move(hours=2)
    await run(StoryGrouper(database, clock))
    [before] = await rows(database)
    leaving = "north" if "north" in before["title"] else "south"

    async with database.as_system() as conn:
        source_id = await fetch_value(
            conn, "SELECT id FROM sources WHERE feed_url LIKE %(url)s", {"url": f"%{leaving}%"}
        )
        await sources.remove(conn, source_id=SourceId(source_id))
    await remove_all(database, clock)

    [after] = await rows(database)
    assert (before["article_count"], after["article_count"]) == (2, 1)
    assert leaving not in after["title"]
