"""The router: each change of an article gets one revision, in order, and goes to the channels that find it."""

import asyncio
from datetime import timedelta

import pytest

from headwater.articles.store import state
from headwater.audit.types import COMMAND_LINE
from headwater.channels import operate
from headwater.channels.route import Router, router_of
from headwater.channels.store import deliveries, records
from headwater.channels.types import Channel, ChannelFields, ChannelId, DestinationKind
from headwater.db import Connection, Database, fetch_value
from headwater.documents import store as documents
from headwater.documents.types import Action, DocumentEntry
from headwater.ids import new_id
from headwater.labels.types import Method, Scheme
from headwater.labels.vocabulary import CRIME, SPORT
from headwater.query.grammar import parse
from headwater.query.types import Audience
from headwater.sources.store import sources
from headwater.types import ArticleId
from tests.builders import a_source
from tests.channels.given import LIMITS, revision_at
from tests.clock import START
from tests.labels.given import an_article_of, say
from tests.removals import finish_removals

NONE, WEBHOOK = DestinationKind.NONE, DestinationKind.WEBHOOK


async def a_channel(conn: Connection, name: str, query: str, destination: DestinationKind = WEBHOOK) -> Channel:
    options = {"url": "https://hooks.example.com/"} if destination is WEBHOOK else {}
    made = await operate.create(
        conn, fields=ChannelFields(name, query, destination, options), query=parse(query, Audience.EVERYONE),
        limits=LIMITS, actor=COMMAND_LINE, now=START,
    )  # fmt: skip
    return made.channel


async def classified(conn: Connection, *article_ids: ArticleId) -> None:
    await state.hold(conn, ids=sorted(article_ids))
    await conn.execute(
        "UPDATE article_state SET classified_at = %s WHERE article_id = ANY(%s)", (START, [*article_ids])
    )


async def an_article(conn: Connection, number: int, *topics: str, title: str = "The harbour opens") -> ArticleId:
    at = START + number * timedelta(seconds=1)
    article_id = await an_article_of(conn, title, url=f"https://example.com/{number}", at=at)
    await say(conn, article_id, Method.RULE, *topics, scheme=Scheme.TOPIC)
    await classified(conn, article_id)
    return article_id


async def queued(conn: Connection, channel_id: ChannelId) -> list[tuple[int, ArticleId]]:
    """Its deliveries, each with the place of its revision among those that were taken at START."""
    rows = await deliveries.list_after(conn, channel_id=channel_id, after=0, limit=100)
    return [(row.revision - revision_at(START, 0), row.article_id) for row in rows]


async def revision(conn: Connection, article_id: ArticleId) -> int | None:
    return await fetch_value(conn, "SELECT revision FROM article_state WHERE article_id = %(id)s", {"id": article_id})


async def test_an_article_goes_to_the_channels_that_find_it(conn: Connection) -> None:
    router = Router()
    crime = await a_channel(conn, "crime", "topic:crime")
    harbour = await a_channel(conn, "harbour", "title:harbour -topic:sport")
    every = await a_channel(conn, "every", "*", NONE)
    first = await an_article(conn, 1, CRIME)
    second = await an_article(conn, 2, SPORT)

    assert await router.route(conn, article_ids=[second, first], now=START) == 2

    assert await queued(conn, crime.id) == [(1, first)]
    assert await queued(conn, harbour.id) == [(1, first)]
    assert await queued(conn, every.id) == [(1, first), (2, second)]
    assert (await revision(conn, first), await revision(conn, second)) == (revision_at(START, 1), revision_at(START, 2))
    waiting = {one.channel_id: one.waiting for one in await _counts(conn, crime, every)}
    assert waiting == {crime.id: 1, every.id: 0}, "what is only read waits for nothing"


async def _counts(conn: Connection, *channels: Channel) -> list[deliveries.ChannelCounts]:
    return await deliveries.count(conn, channel_ids=[one.id for one in channels], most=10, now=START)


async def test_an_unchanged_article_gets_no_revision(conn: Connection) -> None:
    router, article_id = Router(), await an_article(conn, 1, CRIME)
    assert await router.route(conn, article_ids=[article_id], now=START) == 1
    assert await router.route(conn, article_ids=[article_id], now=START) == 0
    await say(conn, article_id, Method.RULE, CRIME, scheme=Scheme.TOPIC, score=0.81)
    assert await router.route(conn, article_ids=[article_id], now=START) == 0, "only the score differs"


async def test_each_change_of_what_a_message_says_is_a_revision(conn: Connection) -> None:
    router, article_id = Router(), await an_article(conn, 1, CRIME)
    crime = await a_channel(conn, "crime", "topic:crime")
    await router.route(conn, article_ids=[article_id], now=START)
    await say(conn, article_id, Method.PERSON, "recipe")
    assert await router.route(conn, article_ids=[article_id], now=START) == 1
    await conn.execute("UPDATE articles SET title = 'The harbour closes'")
    assert await router.route(conn, article_ids=[article_id], now=START) == 1
    other = await a_source(conn, url="https://other.example/feed.xml", now=START)
    await conn.execute(
        """
        INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
        VALUES (%s, %s, 'x', %s, %s)
        """,
        (article_id, other.id, START, START),
    )
    assert await router.route(conn, article_ids=[article_id], now=START) == 1
    assert await queued(conn, crime.id) == [(number, article_id) for number in (1, 2, 3, 4)]


async def test_an_article_that_is_not_classified_waits(conn: Connection) -> None:
    article_id = await an_article_of(conn)
    assert await Router().route(conn, article_ids=[article_id], now=START) == 0
    assert await revision(conn, article_id) is None


async def test_a_restored_database_gives_no_number_twice(conn: Connection) -> None:
    """A receiver ignores a delivery id that it has seen: under a number used twice, an article would be lost."""
    router, every = Router(), await a_channel(conn, "every", "*", NONE)
    articles = [await an_article(conn, number, CRIME) for number in (1, 2, 3, 4)]
    await router.route(conn, article_ids=articles[:1], now=START)
    async with conn.transaction(force_rollback=True):  # what happened after the backup, and is forgotten
        await router.route(conn, article_ids=articles[1:3], now=START + timedelta(minutes=1))
        forgotten = await queued(conn, every.id)
    await router.route(conn, article_ids=articles[3:], now=START + timedelta(minutes=2))
    restored = await queued(conn, every.id)
    assert len(forgotten) == 3
    assert [article_id for _, article_id in restored] == [articles[0], articles[3]]
    assert restored[1][0] > forgotten[-1][0], "also cursors from before go on"


async def test_a_clock_that_goes_back_keeps_the_order(conn: Connection) -> None:
    router, every = Router(), await a_channel(conn, "every", "*", NONE)
    first, second = [await an_article(conn, number, CRIME) for number in (1, 2)]
    await router.route(conn, article_ids=[first], now=START)
    await router.route(conn, article_ids=[second], now=START - timedelta(days=1))
    assert await queued(conn, every.id) == [(1, first), (2, second)]


async def test_an_article_that_no_channel_finds_gets_its_revision(conn: Connection) -> None:
    article_id = await an_article(conn, 1, CRIME)
    await a_channel(conn, "sport", "topic:sport")
    assert await Router().route(conn, article_ids=[article_id], now=START) == 1
    assert await fetch_value(conn, "SELECT count(*) FROM deliveries") == 0


async def test_an_article_of_private_feeds_is_not_sent(conn: Connection) -> None:
    every = await a_channel(conn, "every", "*")
    article_id = await an_article(conn, 1, CRIME)
    await conn.execute("UPDATE sources SET is_system = false, feed_url = feed_url || '?key=8c1f2a'")
    assert await Router().route(conn, article_ids=[article_id], now=START) == 1
    assert await queued(conn, every.id) == []


async def test_an_article_that_no_feed_lists_any_more_is_not_sent(conn: Connection) -> None:
    """A reader starred it, and its feed was deleted: that may have been a private one."""
    every = await a_channel(conn, "every", "*")
    article_id = await an_article(conn, 1, CRIME)
    await conn.execute("UPDATE sources SET is_system = false, feed_url = feed_url || '?key=8c1f2a'")
    await Router().route(conn, article_ids=[article_id], now=START)
    await conn.execute("DELETE FROM article_sources")
    assert await Router().route(conn, article_ids=[article_id], now=START) == 1
    assert await queued(conn, every.id) == []


async def test_a_router_sees_channels_that_change(conn: Connection) -> None:
    router = Router()
    articles = [await an_article(conn, number, CRIME) for number in (1, 2, 3)]
    await router.route(conn, article_ids=articles[:1], now=START)
    channel = await a_channel(conn, "crime", "topic:crime")
    await router.route(conn, article_ids=articles[1:2], now=START)
    await operate.delete(conn, channel.id, actor=COMMAND_LINE, now=START)
    await router.route(conn, article_ids=articles[2:], now=START)
    assert await queued(conn, channel.id) == [(2, articles[1])]


async def test_a_query_that_cannot_be_read_stops_only_its_channel(conn: Connection) -> None:
    broken = await a_channel(conn, "broken", "topic:crime")
    crime = await a_channel(conn, "crime", "topic:crime")
    await conn.execute("UPDATE channels SET query = 'topik:crime' WHERE name = 'broken'")
    article_id = await an_article(conn, 1, CRIME)
    await Router().route(conn, article_ids=[article_id], now=START)
    assert (await queued(conn, broken.id), await queued(conn, crime.id)) == ([], [(1, article_id)])


async def test_a_story_is_a_revision_only_for_channels_that_ask_for_one(conn: Connection) -> None:
    router, story_id = Router(), new_id()
    article_id = await an_article(conn, 1, CRIME)
    await router.route(conn, article_ids=[article_id], now=START)
    crime = await a_channel(conn, "crime", "topic:crime")
    await conn.execute("UPDATE article_state SET story_id = %s", (story_id,))
    assert await router.route_stories(conn, article_ids=[article_id], now=START) == 0
    story = await a_channel(conn, "story", f"story:{story_id}")
    assert await router.route_stories(conn, article_ids=[article_id], now=START) == 1
    assert (await queued(conn, crime.id), await queued(conn, story.id)) == ([], [(2, article_id)])
    assert await router.route(conn, article_ids=[article_id], now=START) == 0, "it says the same as before"


async def test_a_known_article_that_another_source_lists_is_classified_and_routed_again(conn: Connection) -> None:
    article_id = await an_article(conn, 1, CRIME)
    await conn.execute("UPDATE article_state SET classify_at = NULL")
    await Router().route(conn, article_ids=[article_id], now=START)
    later = START + timedelta(hours=1)
    other = await a_source(conn, url="https://other.example/feed.xml", now=START)
    await an_article_of(conn, url="https://example.com/1", source_id=other.id, at=later)
    due = await fetch_value(conn, "SELECT classify_at FROM article_state")
    assert due == later + timedelta(minutes=15)


async def test_an_article_that_lost_a_source_is_classified_and_routed_again(conn: Connection) -> None:
    article_id = await an_article(conn, 1, CRIME)
    other = await a_source(conn, url="https://other.example/feed.xml", now=START)
    await an_article_of(conn, url="https://example.com/1", source_id=other.id, at=START)
    await conn.execute("UPDATE article_state SET classify_at = NULL")
    await Router().route(conn, article_ids=[article_id], now=START)
    await sources.remove(conn, source_id=other.id)
    await finish_removals(conn)
    assert await fetch_value(conn, "SELECT classify_at FROM article_state") == START
    assert await Router().route(conn, article_ids=[article_id], now=START) == 1


@pytest.mark.database
async def test_a_source_that_lists_an_article_while_it_is_classified_is_not_lost(database: Database) -> None:
    async with database.transaction() as conn:
        article_id = await an_article(conn, 1, CRIME)
        await conn.execute("UPDATE article_state SET classify_at = %s, classify_lease = %s", (START, new_id()))
        other = await a_source(conn, url="https://other.example/feed.xml", now=START)

    async def classify() -> None:
        async with database.transaction() as conn:
            await state.hold(conn, ids=[article_id])
            await conn.execute("UPDATE article_state SET classify_at = NULL, classify_lease = NULL")
            await router_of(database).route(conn, article_ids=[article_id], now=START)

    async with database.transaction() as conn:
        same = START + timedelta(seconds=1)
        await an_article_of(conn, url="https://example.com/1", source_id=other.id, at=same)
        classifying = asyncio.create_task(classify())
        while not classifying.done() and not await is_waiting(database):
            await asyncio.sleep(0.01)
    await classifying
    async with database.transaction() as conn:
        is_due = await fetch_value(conn, "SELECT classify_at IS NOT NULL FROM article_state")
        assert is_due or await router_of(database).route(conn, article_ids=[article_id], now=START) == 0


@pytest.mark.database
async def test_revisions_become_visible_in_order(database: Database) -> None:
    """Whoever takes numbers holds the counter: a reader that has seen one has seen all before it."""
    async with database.transaction() as conn:
        every = await a_channel(conn, "every", "*", NONE)
        articles = [await an_article(conn, number, CRIME) for number in range(6)]
    router = router_of(database)
    assert router_of(database) is router
    seen: list[list[int]] = []
    is_done = asyncio.Event()

    async def route(article_id: ArticleId, wait_s: float) -> None:
        async with database.transaction() as conn:
            await state.hold(conn, ids=[article_id])
            await router.route(conn, article_ids=[article_id], now=START)
            await asyncio.sleep(wait_s)

    async def read() -> None:
        while not is_done.is_set():
            async with database.transaction() as conn:
                seen.append([number for number, _ in await queued(conn, every.id)])

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read())
        async with asyncio.TaskGroup() as writers:
            for place, article_id in enumerate(articles):
                writers.create_task(route(article_id, 0.05 if place % 2 else 0))
        is_done.set()
    async with database.transaction() as conn:
        assert [number for number, _ in await queued(conn, every.id)] == [1, 2, 3, 4, 5, 6]
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in seen)


@pytest.mark.database
async def test_a_channel_made_while_articles_are_routed_misses_none_after_it(database: Database) -> None:
    async with database.transaction() as conn:
        first, second = [await an_article(conn, number, CRIME) for number in (1, 2)]
        await router_of(database).route(conn, article_ids=[first], now=START)
    making = asyncio.Event()

    async def route() -> None:
        async with database.transaction() as conn:
            await state.hold(conn, ids=[second])
            await making.wait()  # the new channel is not committed, and its maker holds the counter
            await router_of(database).route(conn, article_ids=[second], now=START)

    routing = asyncio.create_task(route())
    async with database.transaction() as conn:
        channel = await a_channel(conn, "crime", "topic:crime")
        making.set()
        while not await is_waiting(database):
            await asyncio.sleep(0.01)
    await routing
    async with database.transaction() as conn:
        assert await queued(conn, channel.id) == [(2, second)]


@pytest.mark.database
async def test_the_channel_of_the_index_is_deleted_while_articles_are_classified(database: Database) -> None:
    """A transaction that classifies queues documents first, and takes its revisions last."""
    async with database.transaction() as conn:
        await documents.listen(conn, target="index")
        article_id, other = [await an_article(conn, number, CRIME) for number in (1, 2)]
        entries = {one: DocumentEntry(one, one.bytes, 1, Action.INDEX) for one in (article_id, other)}
        await documents.enqueue(conn, entries=list(entries.values()), now=START)
        channel = await records.find_named(conn, name=documents.CHANNEL_NAME)

    async def delete() -> None:
        async with database.transaction() as conn:
            await operate.delete(conn, channel.id, actor=COMMAND_LINE, now=START)

    async with database.transaction() as conn:
        await state.hold(conn, ids=[article_id])
        await documents.enqueue(conn, entries=[entries[article_id]], now=START)
        deleting = asyncio.create_task(delete())
        while not deleting.done() and not await is_waiting(database):
            await asyncio.sleep(0.01)
        await router_of(database).route(conn, article_ids=[article_id], now=START)
    await deleting
    async with database.transaction() as conn:
        await deliveries.sweep(conn, before=START, limit=10)  # what was being written meanwhile
        assert await fetch_value(conn, "SELECT count(*) FROM channels") == 0
        assert await fetch_value(conn, "SELECT count(*) FROM deliveries") == 0


async def is_waiting(database: Database) -> bool:
    async with database.transaction() as conn:
        return await fetch_value(conn, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
