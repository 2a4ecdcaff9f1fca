"""The stage `delivering`: in order, none lost, none set aside for a failure of the destination."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from headwater.articles.store import state
from headwater.audit.types import COMMAND_LINE
from headwater.channels import operate
from headwater.channels.route import router_of
from headwater.channels.store import deliveries, records
from headwater.channels.store.deliveries import LeasedChannel
from headwater.channels.types import Channel, ChannelId, DeliveryState, DestinationKind, DestinationLimits
from headwater.db import Database, fetch_value
from headwater.errors import DatabaseUnavailable
from headwater.labels.types import Method, Scheme
from headwater.labels.vocabulary import CRIME
from headwater.net import Client
from headwater.publishing.delivery.types import DeliveringOptions
from headwater.publishing.delivery.worker import Deliverer, DueSweep
from headwater.query.types import Query, Words
from headwater.timekeeping import store as clocks
from headwater.types import ArticleId
from tests.channels.given import a_channel, queue, revision_at
from tests.clock import START, MovableClock
from tests.labels.given import say
from tests.publishing.stored import extract
from tests.publishing.stub_webhook import StubWebhook

OPTIONS = DeliveringOptions(limits=DestinationLimits(allow_loopback=True), timeout=timedelta(seconds=20))


@pytest.fixture
async def hook() -> AsyncIterator[StubWebhook]:
    async with StubWebhook() as hook:
        yield hook


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Test/1", allow_loopback=True) as client:
        yield client


@pytest.fixture
async def deliverer(database: Database, client: Client, clock: MovableClock) -> AsyncIterator[Deliverer]:
    deliverer = Deliverer(database, client, clock, OPTIONS)
    yield deliverer
    await deliverer.close()


async def some_articles(database: Database, count: int) -> list[ArticleId]:
    """In the order of their arrival."""
    async with database.transaction() as conn:
        return [
            await extract(
                conn, f"https://example.com/{number}", text=f"Text {number}.", title=f"Title {number}", queue=False,
                now=START + timedelta(seconds=number),
            )
            for number in range(1, count + 1)
        ]  # fmt: skip


async def a_hook_channel(
    database: Database, url: str, ids: Sequence[ArticleId], *, name: str = "crime", batch: int = 100
) -> Channel:
    async with database.transaction() as conn:
        channel = await a_channel(conn, name, options={"url": url, "batch": batch})
        await queue(conn, channel.id, range(1, len(ids) + 1), article_ids=ids)
    return channel


async def run(deliverer: Deliverer) -> list[str | None]:
    """One turn of each channel that is due. Returns their failures."""
    claimed = [one for one in await deliverer.claim(10) if isinstance(one, LeasedChannel)]
    return [(await deliverer.work(one)).failure for one in claimed]


async def find(database: Database, channel_id: ChannelId) -> Channel:
    async with database.transaction() as conn:
        return await records.find(conn, channel_id=channel_id)


async def in_state(database: Database, channel_id: ChannelId, wanted: DeliveryState) -> list[tuple[int, str | None]]:
    async with database.transaction() as conn:
        rows = await deliveries.list_page(conn, channel_id=channel_id, state=wanted, before=None, limit=1000)
    return sorted((row.revision, row.reason) for row in rows)


async def test_a_classified_article_arrives_with_the_fields_of_the_schema(
    database: Database, deliverer: Deliverer, hook: StubWebhook
) -> None:
    [article_id] = await some_articles(database, 1)
    async with database.transaction() as conn:
        channel = await a_channel(conn, options={"url": hook.url}, query="text")
        await state.hold(conn, ids=[article_id])
        await say(conn, article_id, Method.RULE, CRIME, scheme=Scheme.TOPIC)
        await conn.execute("UPDATE article_state SET classified_at = %s", (START,))
        await router_of(database).route(conn, article_ids=[article_id], now=START)

    assert await run(deliverer) == [None]

    [message] = hook.accepted
    revision = revision_at(START)
    assert message["delivery_id"] == f"{channel.id}:{revision}"
    assert message["publisher"] == {
        "route_id": str(channel.id), "channel_id": str(channel.id), "channel": "crime",
        "published_at": "2026-03-01T12:00:00Z",
    }  # fmt: skip
    said = ("id", "title", "body", "raw_text", "canonical_url", "source", "topics", "is_crime_related", "word_count")
    assert [message[name] for name in said] == [
        str(article_id), "Title 1", "Text 1.", "Text 1.", "https://example.com/1", "https://example.com/1", [CRIME],
        True, 2,
    ]  # fmt: skip
    north_cloud = {
        "id", "title", "body", "raw_text", "raw_html", "canonical_url", "source", "published_date", "quality_score",
        "topics", "content_type", "is_crime_related", "source_reputation", "confidence", "og_title", "og_description",
        "og_image", "og_url", "intro", "description", "word_count", "category", "section", "keywords", "publisher",
    }  # fmt: skip
    assert north_cloud <= set(message)
    assert message["sources"][0]["name"] == "The Source"
    assert await in_state(database, channel.id, DeliveryState.DELIVERED) == [(revision, None)]


async def test_html_is_sent_on_request(database: Database, deliverer: Deliverer, hook: StubWebhook) -> None:
    ids = await some_articles(database, 1)
    async with database.transaction() as conn:
        channel = await a_channel(conn, options={"url": hook.url, "html": True})
        await queue(conn, channel.id, [1], article_ids=ids)
    await run(deliverer)
    assert hook.accepted[0]["raw_html"] == "<p>Text 1.</p>"


async def test_batches_are_sent_in_the_order_of_revisions(
    database: Database, deliverer: Deliverer, hook: StubWebhook
) -> None:
    await a_hook_channel(database, hook.url, await some_articles(database, 25), batch=10)
    assert await run(deliverer) == [None]
    assert hook.revisions == list(range(1, 26))
    assert len(hook.requests) == 3
    assert await run(deliverer) == []


async def test_a_destination_that_fails_makes_its_channel_wait_longer_each_time(
    database: Database, deliverer: Deliverer, hook: StubWebhook, clock: MovableClock
) -> None:
    channel = await a_hook_channel(database, hook.url, await some_articles(database, 3))
    other = await a_hook_channel(database, hook.url.replace("/in", "/good"), [], name="good")
    hook.answer = lambda request, _: web.Response(status=500) if request.path == "/in" else None
    waits: list[timedelta] = []
    for _ in range(4):
        assert await run(deliverer) == ["It answered with 500."]
        assert await run(deliverer) == []
        found = await find(database, channel.id)
        waits.append(found.ready_at - clock())
        clock.now = found.ready_at
    assert all(later > earlier for earlier, later in zip(waits, waits[2:], strict=False)), waits
    found = await find(database, channel.id)
    assert (found.failures, found.failed_since, found.reason) == (4, START, "It answered with 500.")
    assert (await find(database, other.id)).failures == 0
    assert await deliverer.lag() >= timedelta(seconds=10)

    hook.answer = lambda *_: None
    assert await run(deliverer) == [None]
    assert hook.revisions == [1, 2, 3]
    assert (await find(database, channel.id)).failures == 0
    assert await in_state(database, channel.id, DeliveryState.REFUSED) == []


async def test_retry_after_is_respected_up_to_an_hour(
    database: Database, deliverer: Deliverer, hook: StubWebhook, clock: MovableClock
) -> None:
    channel = await a_hook_channel(database, hook.url, await some_articles(database, 1))
    for asked, expected in (("600", timedelta(minutes=10)), ("999999999", timedelta(hours=1))):
        hook.answer = lambda _, __, asked=asked: web.Response(status=429, headers={"Retry-After": asked})
        await run(deliverer)
        found = await find(database, channel.id)
        assert found.ready_at - clock() == expected
        clock.now = found.ready_at


def refusing(*revisions: int):
    def answer(_: web.Request, body: bytes) -> web.Response | None:
        sent = {message["revision"] for message in json.loads(body)["messages"]}
        return web.Response(status=422, text="cannot read this") if sent & set(revisions) else None

    return answer


async def test_a_message_that_is_refused_alone_is_set_aside_and_the_others_arrive(
    database: Database, deliverer: Deliverer, hook: StubWebhook
) -> None:
    channel = await a_hook_channel(database, hook.url, await some_articles(database, 12))
    hook.answer = refusing(1, 7, 8)
    assert await run(deliverer) == [None]
    assert hook.revisions == [2, 3, 4, 5, 6, 9, 10, 11, 12]
    reason = "It answered with 422: cannot read this"
    assert await in_state(database, channel.id, DeliveryState.REFUSED) == [(1, reason), (7, reason), (8, reason)]

    hook.answer = lambda *_: None
    async with database.transaction() as conn:
        assert await operate.retry(conn, channel.id, actor=COMMAND_LINE, now=START) == 3
    assert await run(deliverer) == [None]
    assert hook.revisions[-3:] == [1, 7, 8]


async def test_a_destination_that_refuses_everything_is_taken_to_fail(
    database: Database, deliverer: Deliverer, hook: StubWebhook, clock: MovableClock
) -> None:
    channel = await a_hook_channel(database, hook.url, await some_articles(database, 30))
    hook.answer = lambda *_: web.Response(status=400, text="wrong endpoint")
    assert await run(deliverer) == ["It answered with 400: wrong endpoint"]
    assert await in_state(database, channel.id, DeliveryState.REFUSED) == []
    assert len(hook.requests) < 20
    clock.now = (await find(database, channel.id)).ready_at
    hook.answer = lambda *_: None
    assert await run(deliverer) == [None]
    assert hook.revisions == list(range(1, 31))


async def test_a_message_that_is_always_refused_does_not_stop_its_channel_for_ever(
    database: Database, deliverer: Deliverer, hook: StubWebhook, clock: MovableClock
) -> None:
    channel = await a_hook_channel(database, hook.url, await some_articles(database, 1))
    hook.answer = refusing(1)
    for _ in range(3):
        await run(deliverer)
        clock.now = (await find(database, channel.id)).ready_at
    assert [revision for revision, _ in await in_state(database, channel.id, DeliveryState.REFUSED)] == [1]
    assert await run(deliverer) == []


async def test_messages_that_the_destination_names_are_set_aside(
    database: Database, deliverer: Deliverer, hook: StubWebhook
) -> None:
    channel = await a_hook_channel(database, hook.url, await some_articles(database, 3))
    refused = {"refused": [{"id": f"{channel.id}:2", "reason": "spam"}]}
    hook.answer = lambda *_: web.json_response(refused)
    await run(deliverer)
    assert await in_state(database, channel.id, DeliveryState.REFUSED) == [(2, "It was refused: spam")]
    assert len(await in_state(database, channel.id, DeliveryState.DELIVERED)) == 2


async def test_an_article_that_was_deleted_is_set_aside_in_its_place(
    database: Database, deliverer: Deliverer, hook: StubWebhook, clock: MovableClock
) -> None:
    first, gone, last = await some_articles(database, 3)
    channel = await a_hook_channel(database, hook.url, [first, gone, last])
    async with database.transaction() as conn:
        await conn.execute("DELETE FROM content WHERE article_id = %s", (gone,))
        await conn.execute("DELETE FROM articles WHERE id = %s", (gone,))
    hook.answer = lambda *_: web.Response(status=503)
    await run(deliverer)
    assert await in_state(database, channel.id, DeliveryState.REFUSED) == [], "what is before it was not sent"
    clock.move(hours=1)
    hook.answer = lambda *_: None
    await run(deliverer)
    assert hook.revisions == [1, 3]
    reason = "The article was deleted before it was sent, or is no longer public."
    assert await in_state(database, channel.id, DeliveryState.REFUSED) == [(2, reason)]


async def test_a_slow_destination_loses_no_order_and_its_lease_bounds_it(
    database: Database, client: Client, hook: StubWebhook, clock: MovableClock
) -> None:
    options = replace(OPTIONS, timeout=timedelta(seconds=2), lease=timedelta(seconds=20))
    deliverer = Deliverer(database, client, clock, options)
    await a_hook_channel(database, hook.url, await some_articles(database, 2))
    hook.released.clear()
    assert await run(deliverer) == ["No complete answer within 2 s."]
    hook.released.set()
    clock.move(minutes=5)
    assert await run(deliverer) == [None]
    assert hook.revisions[-2:] == [1, 2]
    await deliverer.close()


async def test_a_worker_that_lost_its_lease_stops(
    database: Database, deliverer: Deliverer, client: Client, hook: StubWebhook, clock: MovableClock
) -> None:
    """Its process was suspended: another sends meanwhile. Only the batch in progress arrives twice, with its ids."""
    channel = await a_hook_channel(database, hook.url, await some_articles(database, 6), batch=2)
    [leased] = [one for one in await deliverer.claim(1) if isinstance(one, LeasedChannel)]
    other = Deliverer(database, client, clock, OPTIONS)
    clock.move(minutes=3)
    assert await run(other) == [None]
    assert hook.revisions == [1, 2, 3, 4, 5, 6]
    assert (await deliverer.work(leased)).delivered == 0
    assert hook.revisions == [1, 2, 3, 4, 5, 6]
    assert (await find(database, channel.id)).delivered == 6
    await other.close()


async def test_what_was_sent_and_not_written_is_sent_again_under_the_same_ids(
    database: Database, deliverer: Deliverer, hook: StubWebhook, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database vanished between the answer and the write."""
    await a_hook_channel(database, hook.url, await some_articles(database, 2))

    async def vanish(*_: object, **__: object) -> bool:
        raise DatabaseUnavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(deliveries, "settle", vanish)
        with pytest.raises(DatabaseUnavailable):
            await run(deliverer)
    assert await run(deliverer) == [], "its lease holds"
    clock.move(minutes=3)
    assert await run(deliverer) == [None]
    assert hook.revisions == [1, 2, 1, 2]
    sent = [message["delivery_id"] for message in hook.accepted]
    assert sent[:2] == sent[2:]


async def test_a_paused_channel_stops_after_the_batch_in_progress(
    database: Database, deliverer: Deliverer, hook: StubWebhook
) -> None:
    channel = await a_hook_channel(database, hook.url, await some_articles(database, 6), batch=2)
    hook.released.clear()
    running = asyncio.create_task(run(deliverer))
    while not hook.requests:
        await asyncio.sleep(0.01)
    async with database.transaction() as conn:
        await operate.set_paused(conn, channel.id, is_paused=True, actor=COMMAND_LINE, now=START)
    hook.released.set()
    await running
    assert hook.revisions == [1, 2]
    async with database.transaction() as conn:
        await operate.set_paused(conn, channel.id, is_paused=False, actor=COMMAND_LINE, now=START)
    assert await run(deliverer) == [None]
    assert hook.revisions == [1, 2, 3, 4, 5, 6]


async def test_a_channel_that_is_changed_goes_on_at_its_new_destination(
    database: Database, deliverer: Deliverer, hook: StubWebhook
) -> None:
    channel = await a_hook_channel(database, hook.url, await some_articles(database, 4), batch=2)
    hook.released.clear()
    running = asyncio.create_task(run(deliverer))
    while not hook.requests:
        await asyncio.sleep(0.01)
    async with StubWebhook() as other:
        fields = replace(channel.fields, options={"url": other.url})
        async with database.transaction() as conn:
            await operate.change(
                conn, channel.id, fields=fields, query=Query("crime", Words("crime")), limits=OPTIONS.limits,
                actor=COMMAND_LINE, now=START,
            )  # fmt: skip
        hook.released.set()
        await running
        assert await run(deliverer) == [None]
        assert (hook.revisions, other.revisions) == ([1, 2], [3, 4])


async def test_a_replay_sends_the_same_ids_again(database: Database, deliverer: Deliverer, hook: StubWebhook) -> None:
    channel = await a_hook_channel(database, hook.url, await some_articles(database, 4))
    await run(deliverer)
    async with database.transaction() as conn:
        since = START + timedelta(seconds=2)
        assert await operate.replay(conn, channel.id, since=since, actor=COMMAND_LINE, now=START) == 2
    assert await run(deliverer) == [None]
    assert hook.revisions == [1, 2, 3, 4, 3, 4]
    assert len({message["delivery_id"] for message in hook.accepted}) == 4
    assert await run(deliverer) == []


async def test_a_large_batch_is_sent_in_requests_of_a_limited_size(
    database: Database, client: Client, clock: MovableClock, hook: StubWebhook
) -> None:
    async with database.transaction() as conn:
        ids = [
            await extract(conn, f"https://example.com/{one}", text=f"{one} " + "word " * 20_000, queue=False)
            for one in range(4)
        ]
    deliverer = Deliverer(database, client, clock, replace(OPTIONS, batch_bytes=500_000))
    await a_hook_channel(database, hook.url, ids)
    assert await run(deliverer) == [None]
    assert hook.revisions == [1, 2, 3, 4]
    assert len(hook.requests) > 1
    await deliverer.close()


async def test_a_file_is_written_below_the_directory_of_the_settings(
    database: Database, client: Client, clock: MovableClock, tmp_path: Path
) -> None:
    limits = DestinationLimits(has_directory=True)
    deliverer = Deliverer(database, client, clock, replace(OPTIONS, limits=limits, directory=str(tmp_path)))
    ids = await some_articles(database, 2)
    async with database.transaction() as conn:
        channel = await a_channel(conn, destination=DestinationKind.FILE, options={"name": "crime.jsonl"})
        await queue(conn, channel.id, [1, 2], article_ids=ids)
    assert await run(deliverer) == [None]
    lines = (tmp_path / "crime.jsonl").read_text().splitlines()
    assert [json.loads(line)["revision"] for line in lines] == [1, 2]
    await deliverer.close()


async def test_a_destination_that_the_settings_no_longer_allow_waits(
    database: Database, deliverer: Deliverer, clock: MovableClock
) -> None:
    async with database.transaction() as conn:
        options = {"url": "redis://redis.internal:6379", "stream": "crime"}
        channel = await a_channel(conn, destination=DestinationKind.REDIS, options=options)
        await queue(conn, channel.id, [1])
    [failure] = await run(deliverer)
    assert failure is not None
    assert "redis.internal is not allowed" in failure
    assert (await find(database, channel.id)).ready_at > clock()


async def test_what_waited_for_an_earlier_destination_is_settled_without_one(
    database: Database, deliverer: Deliverer
) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn, destination=DestinationKind.NONE, options={})
        await queue(conn, channel.id, range(1, 5))
    assert await run(deliverer) == [None]
    assert len(await in_state(database, channel.id, DeliveryState.DELIVERED)) == 4


async def test_old_deliveries_are_deleted_by_the_stage(
    database: Database, deliverer: Deliverer, hook: StubWebhook, clock: MovableClock
) -> None:
    await a_hook_channel(database, hook.url, await some_articles(database, 2))
    await run(deliverer)
    clock.move(days=8)
    [sweep] = await deliverer.claim(5)
    assert isinstance(sweep, DueSweep)
    await deliverer.work(sweep)
    async with database.transaction() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM deliveries") == 0
    assert await deliverer.claim(5) == []


async def test_a_clock_that_jumped_ahead_deletes_no_deliveries(
    database: Database, deliverer: Deliverer, hook: StubWebhook, clock: MovableClock
) -> None:
    await a_hook_channel(database, hook.url, await some_articles(database, 1))
    await run(deliverer)
    async with database.transaction() as conn:
        await clocks.confirm(conn, now=clock())
    clock.move(days=400)
    await deliverer.work(DueSweep())
    async with database.transaction() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM deliveries") == 1


async def test_a_clock_that_was_ahead_stops_a_channel_only_until_it_is_repaired(
    database: Database, deliverer: Deliverer, hook: StubWebhook, clock: MovableClock
) -> None:
    await a_hook_channel(database, hook.url, await some_articles(database, 1))
    clock.move(days=400)
    assert [one for one in await deliverer.claim(1) if isinstance(one, LeasedChannel)], "and its process dies"
    clock.now = START
    assert await run(deliverer) == []
    async with database.transaction() as conn:
        await deliveries.repair_schedules(conn, now=clock())
    assert await run(deliverer) == [None]
    assert hook.revisions == [1]


async def test_secrets_are_in_no_log(
    database: Database, deliverer: Deliverer, hook: StubWebhook, capsys: pytest.CaptureFixture[str]
) -> None:
    await a_hook_channel(database, hook.url, await some_articles(database, 1))
    hook.answer = lambda *_: web.Response(status=500)
    [leased] = [one for one in await deliverer.claim(1) if isinstance(one, LeasedChannel)]
    assert leased.secret is not None
    await deliverer.work(leased)
    said = "".join(capsys.readouterr()) + repr(leased)
    assert "channel waits" in said
    assert "hidden" not in said
    assert leased.secret not in said
