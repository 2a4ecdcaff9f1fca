"""The stage `stories`: one worker at a time, killed anywhere, and what it writes."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from headwater.articles.fingerprint import hash_of, words_of
from headwater.articles.store import content, records
from headwater.articles.types import Extracted, ListedEntry, NewContent
from headwater.audit.types import COMMAND_LINE
from headwater.channels import operate
from headwater.channels.route import router_of
from headwater.channels.store import deliveries
from headwater.channels.types import ChannelFields, DestinationLimits
from headwater.db import Connection, Database, fetch_column, fetch_rows, fetch_value
from headwater.documents import store as documents
from headwater.ids import new_id
from headwater.query.grammar import parse
from headwater.query.types import Audience
from headwater.stories import store
from headwater.stories.worker import BATCH, StoryGrouper
from headwater.types import ArticleId
from headwater.urls import url_key
from tests.builders import a_source, an_article
from tests.clock import START, MovableClock

pytestmark = pytest.mark.database

EVENTS = {
    "flood": "Tarn floods Quillford after record rain",
    "strike": "Belmark drivers walk out over night shifts",
    "comet": "Comet Oduya becomes visible without telescope",
}


async def a_page(
    database: Database, site: str, event: str, *, at: datetime = START, text: str | None = None, number: int = 0
) -> ArticleId:
    """An article of a site about an event, classified just now."""
    async with database.transaction() as conn:
        feed = f"https://{site}.example/feed.xml"
        known = await fetch_value(conn, "SELECT id FROM sources WHERE feed_url = %(url)s", {"url": feed})
        source_id = known or (await a_source(conn, url=feed)).id
        url, title = f"https://{site}.example/{event}{number}", f"{EVENTS[event]}, {site} {number} reports"
        entry = an_article(url, title=title, published_at=at)
        await records.keep(conn, seen_at=at, listed=[ListedEntry(source_id, entry, f"{site}.example")])
        article_id = ArticleId(await fetch_value(conn, "SELECT id FROM articles WHERE url = %(url)s", {"url": url}))
        if text:
            extracted = Extracted(title=title, text=text, html="", word_count=9, content_hash=hash_of(words_of(text)))
            await content.save(conn, records=[NewContent(article_id, url, url_key(url), extracted)], now=at)
        await classify(conn, article_id, event)
    return article_id


async def classify(conn: Connection, article_id: ArticleId, event: str) -> None:
    """As the stage `classifying` leaves an article."""
    centre = np.random.default_rng(list(EVENTS).index(event)).standard_normal(256)
    vector = centre + 0.3 * np.random.default_rng(article_id.int % 2**32).standard_normal(256)
    embedding = (vector / np.linalg.norm(vector)).astype("<f2").tobytes()
    statement = """
        UPDATE article_state SET embedding = %(embedding)s, story_due = true, classified_at = %(at)s
        WHERE article_id = %(id)s
    """
    await conn.execute(statement, {"embedding": embedding, "id": article_id, "at": START})


async def run(worker: StoryGrouper) -> None:
    while turns := await worker.claim(1):
        for turn in turns:
            await worker.work(turn)
        if not any(turn.article_ids for turn in turns):
            return


async def stories_of(database: Database) -> dict[ArticleId, UUID | None]:
    async with database.transaction() as conn:
        cur = await conn.execute("SELECT article_id, story_id FROM article_state ORDER BY article_id")
        return {ArticleId(row[0]): row[1] for row in await cur.fetchall()}


async def grouped(database: Database) -> set[frozenset[ArticleId]]:
    stories: dict[UUID, set[ArticleId]] = {}
    for article_id, story_id in (await stories_of(database)).items():
        if story_id is not None:
            stories.setdefault(story_id, set()).add(article_id)
    return {frozenset(one) for one in stories.values()}


async def rows(database: Database) -> Sequence[Mapping[str, Any]]:
    async with database.transaction() as conn:
        return await fetch_rows(conn, "SELECT * FROM stories ORDER BY first_at, id", {})


async def due(database: Database) -> list[ArticleId]:
    async with database.transaction() as conn:
        return await fetch_column(conn, "SELECT article_id FROM article_state WHERE story_due", {})


async def test_articles_of_several_sources_about_one_event_become_a_story(
    database: Database, clock: MovableClock
) -> None:
    one, other = await a_page(database, "north", "flood"), await a_page(
        database, "south", "flood", at=START + timedelta(hours=1)
    )  # fmt: skip
    alone = await a_page(database, "north", "comet")
    clock.move(hours=2)

    await run(StoryGrouper(database, clock))

    found = await stories_of(database)
    assert found[one] == found[other] is not None
    assert found[alone] is None
    [story] = await rows(database)
    assert story["title"] in {f"{EVENTS['flood']}, {site} 0 reports" for site in ("north", "south")}
    assert (story["article_count"], story["source_count"]) == (2, 2)
    assert (story["first_at"], story["last_at"]) == (START, START + timedelta(hours=1))
    assert await due(database) == []


async def test_two_articles_of_one_source_are_no_story(database: Database, clock: MovableClock) -> None:
    for number in range(3):
        await a_page(database, "north", "flood", number=number)

    await run(StoryGrouper(database, clock))

    assert (await rows(database), await due(database)) == ([], [])


async def test_what_a_feed_of_another_site_says_decides_nothing(database: Database, clock: MovableClock) -> None:
    """An aggregator lists both articles: they are still of two sources. Its texts are private to its subscribers."""
    one, other = await a_page(database, "north", "flood"), await a_page(database, "south", "flood")
    async with database.transaction() as conn:
        aggregator = await a_source(conn, url="https://links.example/feed.xml")
        for site in ("north", "south"):
            entry = an_article(f"https://{site}.example/flood0", title="A secret title", is_own=False)
            await records.keep(conn, seen_at=START, listed=[ListedEntry(aggregator.id, entry, "links.example")])

    await run(StoryGrouper(database, clock))

    assert await grouped(database) == {frozenset({one, other})}
    [story] = await rows(database)
    assert (story["source_count"], "secret" in story["title"]) == (2, False)


async def test_equal_texts_join_at_once_even_of_one_source(database: Database, clock: MovableClock) -> None:
    text = "The very same words of an agency, printed twice by one site under two addresses."
    one = await a_page(database, "north", "flood", text=text)
    other = await a_page(database, "north", "comet", text=text)

    await run(StoryGrouper(database, clock))

    assert await grouped(database) == {frozenset({one, other})}
    [story] = await rows(database)
    assert (story["article_count"], story["source_count"]) == (2, 1)


async def test_another_worker_takes_over_when_the_lease_expires_and_goes_on(
    database: Database, clock: MovableClock
) -> None:
    first, second = StoryGrouper(database, clock), StoryGrouper(database, clock)
    one, alone = await a_page(database, "north", "flood"), await a_page(database, "north", "comet")
    other = await a_page(database, "south", "flood")
    await run(first)
    third, late = await a_page(database, "east", "flood"), await a_page(database, "south", "comet")

    assert await second.claim(1) == ()  # the lease is the first one's
    clock.move(minutes=6)
    await run(second)
    assert await grouped(database) == {frozenset({one, other, third}), frozenset({alone, late})}

    fourth = await a_page(database, "west", "flood")
    assert await first.claim(1) == ()
    clock.move(minutes=6)
    await run(first)  # what it had in memory is out of date, and is read again
    assert await grouped(database) == {frozenset({one, other, third, fourth}), frozenset({alone, late})}


async def test_what_a_killed_worker_did_not_write_is_done_once(
    database: Database, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [await a_page(database, site, "flood") for site in ("north", "south", "east")]
    worker = StoryGrouper(database, clock)
    whole = store.finish_articles

    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr(store, "finish_articles", fail)
    [turn] = await worker.claim(1)
    with pytest.raises(RuntimeError, match="killed"):
        await worker.work(turn)
    assert (await rows(database), sorted(await due(database))) == ([], sorted(pages))

    monkeypatch.setattr(store, "finish_articles", whole)
    await run(worker)
    assert await grouped(database) == {frozenset(pages)}
    assert [story["article_count"] for story in await rows(database)] == [3]


async def test_a_worker_that_lost_its_lease_writes_nothing(database: Database, clock: MovableClock) -> None:
    await a_page(database, "north", "flood")
    await a_page(database, "south", "flood")
    worker = StoryGrouper(database, clock)
    [turn] = await worker.claim(1)
    async with database.transaction() as conn:
        await store.set_lease(conn, lease=new_id(), leased_until=clock() + timedelta(minutes=2))

    await worker.work(turn)

    assert (await rows(database), len(await due(database))) == ([], 2)


async def test_a_lease_by_a_clock_that_was_ahead_does_not_hold_for_long(
    database: Database, clock: MovableClock
) -> None:
    async with database.transaction() as conn:
        await store.set_lease(conn, lease=new_id(), leased_until=clock() + timedelta(days=300))

    assert len(await StoryGrouper(database, clock).claim(1)) == 1


async def test_old_articles_are_placed_no_more(database: Database, clock: MovableClock) -> None:
    await a_page(database, "north", "flood")
    await a_page(database, "south", "flood")
    clock.move(hours=73)

    await run(StoryGrouper(database, clock))

    assert (await rows(database), await due(database)) == ([], [])


async def test_an_article_classified_again_meanwhile_stays_due(
    database: Database, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await a_page(database, "north", "flood")
    worker, write = StoryGrouper(database, clock), store.write_placements

    async def write_late(conn: Connection, **values: Any) -> None:
        await write(conn, **values)
        await classify(conn, one, "strike")

    monkeypatch.setattr(store, "write_placements", write_late)
    [turn] = await worker.claim(1)
    await worker.work(turn)

    assert await due(database) == [one]


async def test_an_article_without_a_usable_embedding_gets_an_outcome(database: Database, clock: MovableClock) -> None:
    bad = [await a_page(database, site, "flood") for site in ("north", "south", "east")]
    async with database.transaction() as conn:
        for article_id, embedding in zip(bad, (b"short", b"\xff" * 512, b"\x00" * 512), strict=True):
            statement = "UPDATE article_state SET embedding = %(embedding)s WHERE article_id = %(id)s"
            await conn.execute(statement, {"embedding": embedding, "id": article_id})

    await run(StoryGrouper(database, clock))

    assert (await due(database), await grouped(database)) == ([], set())


async def test_stories_go_with_their_articles(database: Database, clock: MovableClock) -> None:
    pages = [await a_page(database, site, "flood") for site in ("north", "south", "east")]
    worker = StoryGrouper(database, clock)
    await run(worker)

    async with database.as_system() as conn:
        await conn.execute("DELETE FROM articles WHERE id = %(id)s", {"id": pages[0]})
    clock.move(hours=2)
    await run(worker)
    [story] = await rows(database)
    assert (story["article_count"], story["source_count"]) == (2, 2)
    assert "north" not in story["title"]

    async with database.as_system() as conn:
        await conn.execute("DELETE FROM articles")
    clock.move(hours=2)
    await run(worker)
    assert await rows(database) == []


async def test_the_search_index_hears_of_a_new_story(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        await documents.listen(conn, target="http://127.0.0.1:9200/articles")
    pages = [await a_page(database, site, "flood", text=f"A text of {site} by itself.") for site in ("north", "south")]
    async with database.transaction() as conn:
        await conn.execute("DELETE FROM deliveries")

    await run(StoryGrouper(database, clock))

    async with database.transaction() as conn:
        assert sorted(await fetch_column(conn, "SELECT article_id FROM deliveries", {})) == sorted(pages)


async def test_the_lag_is_how_long_the_first_article_has_waited(database: Database, clock: MovableClock) -> None:
    worker = StoryGrouper(database, clock)
    assert await worker.lag() == timedelta(0)
    await a_page(database, "north", "flood")
    clock.move(minutes=5)

    assert await worker.lag() == timedelta(minutes=5)


async def test_more_articles_than_fit_in_one_turn_are_placed_in_the_order_of_their_arrival(
    database: Database, clock: MovableClock
) -> None:
    async with database.transaction() as conn:
        assert await store.list_due(conn, limit=BATCH) == []
    pages = [
        await a_page(database, f"site{number}", "flood", at=START + timedelta(seconds=number)) for number in range(4)
    ]
    clock.move(minutes=1)

    [turn] = await StoryGrouper(database, clock).claim(1)

    assert turn.article_ids == pages


async def test_an_article_that_joins_a_story_goes_to_the_channel_of_that_story(
    database: Database, clock: MovableClock
) -> None:
    worker = StoryGrouper(database, clock)
    first = [await a_page(database, site, "flood") for site in ("north", "south")]
    await run(worker)
    [story_id] = {(await stories_of(database))[one] for one in first}
    query = parse(f"story:{story_id}", Audience.EVERYONE)
    async with database.transaction() as conn:
        made = await operate.create(
            conn, fields=ChannelFields("flood", query.text), query=query, limits=DestinationLimits(),
            actor=COMMAND_LINE, now=START,
        )  # fmt: skip
    third = await a_page(database, "west", "flood")
    async with database.transaction() as conn:
        await router_of(database).route(conn, article_ids=[third], now=START)
        assert await deliveries.list_after(conn, channel_id=made.channel.id, after=0, limit=9) == []

    await run(worker)

    async with database.transaction() as conn:
        sent = await deliveries.list_after(conn, channel_id=made.channel.id, after=0, limit=9)
    assert third in [one.article_id for one in sent]
