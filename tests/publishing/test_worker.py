"""The indexing stage against the stub: what reaches the index, what PostgreSQL keeps, and what each failure leaves."""

import asyncio
import random
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from headwater.db import Database
from headwater.documents import store as documents
from headwater.documents.types import DocumentCounts, RefusedEntry
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.types import IndexOptions, IndexReport
from headwater.publishing.worker import IndexBatch, Indexer
from tests.clock import START, MovableClock
from tests.publishing.conftest import OPTIONS
from tests.publishing.stored import extract, forget, key_of, publish
from tests.publishing.stub_elasticsearch import (
    Call,
    Fault,
    Index,
    StubElasticsearch,
    answer_after,
    basic,
    carry_out_and_break_off,
    carry_out_and_hang_up,
    hang_up,
    refuse,
    say,
)

pytestmark = pytest.mark.database

ROOT = Path(__file__).parent.parent.parent
ALIAS = "raw_content"
URLS = [f"https://example.com/{number}" for number in range(1, 6)]
REJECTED = {"type": "es_rejected_execution_exception", "reason": "the queue is full"}
AWAY = {"type": "unavailable_shards_exception", "reason": "primary shard is not active"}
BLOCKED = {"type": "cluster_block_exception", "reason": "index [raw_content-v2] blocked by: [FORBIDDEN/5/read-only]"}


class Stage:
    """The stage, and what a test asks of it."""

    def __init__(self, database: Database, index: SearchIndex, clock: MovableClock, options: IndexOptions) -> None:
        self.database = database
        self.clock = clock
        self.indexer = Indexer(database, index, clock, options)

    async def listen(self) -> None:
        """From here on changes are queued, and all that was there before is.

        That waits for older transactions of the whole server, other tests' on a shared one included."""
        await self.claim()
        while (counts := await self.counts()).is_filling and not counts.waiting:
            await asyncio.sleep(0.01)
            await self.claim()

    async def claim(self, limit: int = 2) -> Sequence[IndexBatch]:
        return await self.indexer.claim(limit)

    async def turn(self) -> list[IndexReport]:
        """Claim once and work on all of it."""
        return [await self.indexer.work(batch) for batch in await self.claim()]

    async def until(self, done: Callable[[DocumentCounts], bool], *, turns: int = 60) -> None:
        """Turn after turn, ten seconds apart by the stage's clock."""
        while turns:
            await self.turn()
            if done(await self.counts()):
                return
            turns -= await self._pass()
        raise AssertionError(await self.counts())

    async def next_batch(self, *, turns: int = 60) -> IndexBatch:
        """What the stage claims next, however often the index is slow to answer before it."""
        while turns:
            if batches := await self.claim(limit=1):
                return batches[0]
            turns -= await self._pass()
        raise AssertionError(await self.counts())

    async def _pass(self) -> bool:
        """Let ten seconds pass. False while filling waits for older transactions, as in `listen`: no turn of ours."""
        if (counts := await self.counts()).is_filling and not counts.waiting:
            await asyncio.sleep(0.01)
            return False
        self.clock.move(seconds=10)
        return True

    async def drain(self) -> None:
        await self.until(lambda counts: counts.waiting == 0)

    async def counts(self) -> DocumentCounts:
        async with self.database.transaction() as conn:
            return await documents.count(conn)

    async def dead(self) -> list[RefusedEntry]:
        async with self.database.transaction() as conn:
            return await documents.list_refused(conn, limit=100)


@pytest.fixture
def make_stage(database: Database, index: SearchIndex, clock: MovableClock) -> Callable[..., Stage]:
    return lambda **more: Stage(database, index, clock, replace(OPTIONS, **more))


@pytest.fixture
async def stage(make_stage: Callable[..., Stage]) -> Stage:
    stage = make_stage()
    await stage.listen()
    return stage


def texts(stub: StubElasticsearch) -> dict[str, Any]:
    return {document["url"]: document["raw_text"] for document in stub.documents(ALIAS).values()}


async def test_content_reaches_the_index_under_its_url_key_and_then_leaves_the_queue(
    database: Database, stub: StubElasticsearch, stage: Stage
) -> None:
    async with database.transaction() as conn:
        article = await extract(conn, URLS[0], text="Grüße, 世界 🌍", title="Ünï", keywords=["a"], language="de")

    (report,) = await stage.turn()

    assert (report.done, report.again, report.refused) == (1, 0, 0)
    (document,) = stub.documents(ALIAS).items()
    assert document[0] == key_of(URLS[0])
    assert document[1].items() >= {
        "id": str(article), "url": URLS[0], "source_name": "The Source", "title": "Ünï", "raw_text": "Grüße, 世界 🌍",
        "raw_html": "<p>Grüße, 世界 🌍</p>", "meta_keywords": ["a"], "language": "de", "word_count": 3, "version": 1,
        "classification_status": "pending", "crawled_at": "2026-03-01T12:00:00Z",
    }.items()  # fmt: skip
    assert await stage.counts() == DocumentCounts(0, 0, None, True, False)
    assert stub.calls[0].headers["Content-Encoding"] == "gzip"


async def test_a_document_has_the_labels_that_are_shown(
    database: Database, stub: StubElasticsearch, stage: Stage
) -> None:
    async with database.transaction() as conn:
        article = await extract(conn, URLS[0])
    await stage.turn()
    new = [
        NewLabel(Scheme.TYPE, "recipe", 0.9, "1"), NewLabel(Scheme.QUALITY, "quality", 0.734, "1"),
        NewLabel(Scheme.TOPIC, "health", 0.5, "1"), NewLabel(Scheme.TOPIC, "sport", 0.8, "1"),
        NewLabel(Scheme.TOPIC, "weather", 0.05, "1"), NewLabel(Scheme.SENTIMENT, "mixed", 0.6, "1"),
        NewLabel(Scheme.KEYWORD, "cup final", 0.6, "1"), NewLabel(Scheme.LANGUAGE, "en", 1, "1"),
    ]  # fmt: skip
    async with database.transaction() as conn:
        await replace_labels(conn, given={article: new}, method=Method.MODEL, schemes=list(Scheme), now=START)
        await conn.execute("UPDATE article_state SET classified_at = now()")

    await stage.turn()

    (document,) = stub.documents(ALIAS).values()
    assert document.items() >= {
        "classification_status": "classified", "content_type": "recipe", "quality_score": 73,
        "topics": ["sport", "health"], "sentiment": "mixed", "keywords": ["cup final"], "language": "en",
    }.items()  # fmt: skip


async def test_a_page_with_the_text_of_another_is_found_under_both_urls(
    database: Database, stub: StubElasticsearch, stage: Stage
) -> None:
    async with database.transaction() as conn:
        await extract(conn, URLS[0], text="The same words.")
        await extract(conn, URLS[1], text="The same words.")

    await stage.turn()

    assert texts(stub) == {URLS[0]: "The same words.", URLS[1]: "The same words."}


async def test_content_older_than_the_index_is_sent_too(
    database: Database, stub: StubElasticsearch, make_stage: Callable[..., Stage]
) -> None:
    await publish(database, *URLS)

    stage = make_stage(batch_documents=2)
    await stage.until(lambda counts: counts.waiting == 0 and not counts.is_filling)

    assert set(texts(stub)) == set(URLS)


async def test_an_index_that_was_deleted_is_made_again_and_filled(
    database: Database, stub: StubElasticsearch, stage: Stage
) -> None:
    await publish(database, *URLS[:3])
    await stage.until(lambda counts: counts.waiting == 0 and not counts.is_filling)
    stub.drop("raw_content-v2")

    await publish(database, URLS[3])
    await stage.until(lambda counts: counts.waiting == 0 and not counts.is_filling and len(texts(stub)) > 1)

    assert set(texts(stub)) == set(URLS[:4])
    assert stub.indices["raw_content-v2"].mappings["dynamic"] == "strict"


async def test_a_deleted_article_is_removed_from_the_index_and_added_again_when_found(
    database: Database, stub: StubElasticsearch, stage: Stage
) -> None:
    await publish(database, *URLS[:2])
    await stage.drain()

    await forget(database, URLS[0])
    await stage.drain()
    without = set(texts(stub))
    await publish(database, URLS[0])
    await stage.drain()

    assert without == {URLS[1]}
    assert set(texts(stub)) == set(URLS[:2])


async def test_a_process_killed_between_the_index_and_the_acknowledgement_does_no_harm(
    conninfo: str, database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    was_carried_out, is_killed = asyncio.Event(), asyncio.Event()

    async def carry_out_and_hang(stub: StubElasticsearch, request: web.Request, call: Call) -> web.StreamResponse:
        stub.apply(request, call)
        was_carried_out.set()
        await is_killed.wait()
        return web.Response()

    stub.faults.append(carry_out_and_hang)
    await publish(database, *URLS)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.publishing.index_once", conninfo, stub.url, cwd=ROOT
    )
    await was_carried_out.wait()
    process.kill()
    await process.wait()
    is_killed.set()

    early = await stage.turn()
    indexed, versions = texts(stub), [operation.version for operation in stub.calls[0].operations]
    clock.move(minutes=6)
    (report,) = await stage.turn()

    assert early == []
    assert set(indexed) == set(URLS)
    assert (report.done, report.again, report.refused) == (5, 0, 0)
    assert sorted(operation.version for operation in stub.calls[1].operations) == sorted(versions)
    assert texts(stub) == indexed
    assert (await stage.counts()).waiting == 0


async def test_a_worker_that_comes_late_does_not_overwrite_what_is_newer(
    database: Database, stub: StubElasticsearch, make_stage: Callable[..., Stage], stage: Stage, clock: MovableClock
) -> None:
    released = asyncio.Event()
    stub.faults.append(answer_after(released))
    await publish(database, URLS[0], text="Old")
    (batch,) = await stage.claim()
    late = asyncio.create_task(stage.indexer.work(batch))
    while not stub.calls:
        await asyncio.sleep(0.005)
    await publish(database, URLS[0], text="Much newer, and longer,")
    await make_stage().drain()

    released.set()
    report = await late

    assert report.done == 1
    assert [(call.operations[0].source or {})["raw_text"][:3] for call in stub.calls] == ["Old", "Muc"]
    assert texts(stub) == {URLS[0]: f"Much newer, and longer, {URLS[0]}"}


async def test_what_changes_while_it_is_sent_is_sent_again(
    database: Database, stub: StubElasticsearch, stage: Stage
) -> None:
    released = asyncio.Event()
    stub.faults.append(answer_after(released))
    await publish(database, URLS[0], text="Old")
    (batch,) = await stage.claim()
    working = asyncio.create_task(stage.indexer.work(batch))
    while not stub.calls:
        await asyncio.sleep(0.005)

    await publish(database, URLS[0], text="Much newer, and longer,")
    released.set()
    await working
    between = await stage.counts()
    await stage.drain()

    assert between.waiting == 1
    assert texts(stub) == {URLS[0]: f"Much newer, and longer, {URLS[0]}"}


async def test_an_invalid_document_is_refused_with_its_reason_and_the_others_are_indexed(
    database: Database, stub: StubElasticsearch, stage: Stage
) -> None:
    await publish(database, *URLS)
    poison = {"type": "mapper_parsing_exception", "reason": "failed to parse", "caused_by": {"reason": "it is odd"}}
    stub.item_errors[key_of(URLS[2])] = deque([(400, poison)])

    with capture_logs() as logs:
        (report,) = await stage.turn()

    (dead,) = await stage.dead()
    assert (report.done, report.refused) == (4, 1)
    assert dead.reason == "mapper_parsing_exception: failed to parse: it is odd"
    assert set(texts(stub)) == {*URLS} - {URLS[2]}
    (told,) = [line for line in logs if line["event"] == "document refused"]
    assert (told["log_level"], told["reason"]) == ("warning", dead.reason)


async def test_a_newer_version_of_a_refused_document_is_sent(
    database: Database, stub: StubElasticsearch, stage: Stage
) -> None:
    stub.item_errors[key_of(URLS[0])] = deque([(400, {"type": "mapper_parsing_exception", "reason": "no"})])
    await publish(database, URLS[0], text="Poison")
    await stage.turn()

    await publish(database, URLS[0], text="Wholesome food, more of it,")
    await stage.drain()

    assert await stage.dead() == []
    assert texts(stub) == {URLS[0]: f"Wholesome food, more of it, {URLS[0]}"}


@pytest.mark.parametrize(
    ("status", "error"),
    [(429, REJECTED), (503, AWAY), (500, {"type": "exception", "reason": ""}), (403, BLOCKED), (401, REJECTED)],
    ids=["429", "503", "500", "blocked", "401"],
)
async def test_an_item_that_the_index_cannot_take_now_is_tried_again_after_a_wait(
    status: int, error: object, database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    await publish(database, *URLS)
    stub.item_errors[key_of(URLS[1])] = deque([(status, error)])

    (report,) = await stage.turn()
    at_once = await stage.turn()
    clock.move(seconds=2)
    await stage.drain()

    assert (report.done, report.again, at_once) == (4, 1, [])
    assert set(texts(stub)) == set(URLS)
    assert await stage.dead() == []
    assert len(stub.calls) == 2


OUTAGES: dict[str, Fault] = {
    "429": refuse(429, "es_rejected_execution_exception"),
    "503": refuse(503),
    "502": refuse(502),
    "401": refuse(401, "security_exception"),
    "403": refuse(403, "security_exception"),
    "404": refuse(404),
    "redirect": refuse(302, Location="http://127.0.0.1:9/"),
    "hangs up": hang_up,
    "hangs up after": carry_out_and_hang_up,
    "breaks off": carry_out_and_break_off,
    "no JSON": say("<html>It works!</html>"),
    "no bulk answer": say('{"ok": true}'),
    "other items": say('{"items": [{"index": {"status": 201}}, {"index": {"status": 201}}]}'),
    "nested": say("[" * 100_000),
}


@pytest.mark.parametrize("outage", OUTAGES)
async def test_a_request_without_an_answer_is_repeated_until_it_has_one(
    outage: str, database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    await publish(database, *URLS)
    stub.faults.extend([OUTAGES[outage]] * 3)

    with capture_logs() as logs:
        (report,) = await stage.turn()
        resting = await stage.turn()
        await stage.drain()

    assert (report.done, report.again, resting) == (0, 5, [])
    assert set(texts(stub)) == set(URLS)
    assert await stage.dead() == []
    events = [line["event"] for line in logs]
    assert (events.count("index waits"), events.count("index is back")) == (1, 1)


async def test_while_the_index_is_away_one_entry_at_a_time_is_tried_and_none_is_lost(
    database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    await publish(database, *URLS)
    stub.faults.extend([refuse(503)] * 8)

    await stage.drain()

    assert [len(call.operations) for call in stub.calls[:8]] == [5, *[1] * 7]
    assert set(texts(stub)) == set(URLS)


async def test_waits_between_tries_grow(
    database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    await publish(database, *URLS)
    stub.faults.extend([refuse(503)] * 100)

    for _ in range(3600):
        await stage.turn()
        clock.move(seconds=1)

    assert 10 < len(stub.calls) < 35
    assert (await stage.counts()).waiting == 5
    oldest = (await stage.counts()).oldest_at
    assert oldest is not None
    assert clock() - oldest >= timedelta(hours=1)


async def test_the_wait_that_the_index_asks_for_is_kept(
    database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    await publish(database, URLS[0])
    stub.faults.append(refuse(429, Retry_After="120"))

    await stage.turn()
    clock.move(seconds=119)
    early = await stage.turn()
    clock.move(seconds=2)
    (report,) = await stage.turn()

    assert early == []
    assert report.done == 1


async def test_a_server_that_stops_and_comes_back_gets_everything(
    database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    await publish(database, *URLS[:2])
    await stub.stop()
    await stage.turn()
    await publish(database, *URLS[2:])
    clock.move(minutes=10)
    away = await stage.turn()

    await stub.start()
    await stage.drain()

    assert away == []
    assert set(texts(stub)) == set(URLS)


async def test_a_slow_answer_is_given_up_and_the_repeat_finds_it_done(
    database: Database, stub: StubElasticsearch, clock: MovableClock
) -> None:
    released = asyncio.Event()
    async with SearchIndex(stub.url, alias=ALIAS, timeout=timedelta(seconds=3)) as index:
        stage = Stage(database, index, clock, OPTIONS)
        await stage.listen()
        await publish(database, *URLS)
        batch = await stage.next_batch()
        stub.faults.append(answer_after(released))
        report = await stage.indexer.work(batch)
        released.set()
        await stage.drain()

    assert (report.done, report.again) == (0, 5)
    assert set(texts(stub)) == set(URLS)


async def test_an_entry_that_always_breaks_the_connection_is_sent_alone(
    database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    async def break_at_poison(stub: StubElasticsearch, request: web.Request, call: Call) -> web.StreamResponse | None:
        stub.faults.append(break_at_poison)
        is_poisoned = any(operation.id == key_of(URLS[2]) for operation in call.operations)
        return await hang_up(stub, request, call) if is_poisoned else None

    stub.faults.append(break_at_poison)
    await publish(database, *URLS)

    await stage.until(lambda counts: counts.waiting == 1)
    alone = len(stub.calls)
    for _ in range(360):
        await stage.turn()
        clock.move(seconds=10)

    assert set(texts(stub)) == {*URLS} - {URLS[2]}
    assert 5 < len(stub.calls) - alone < 40


async def test_a_batch_is_cut_by_bytes_and_by_count(
    database: Database, stub: StubElasticsearch, make_stage: Callable[..., Stage]
) -> None:
    stage = make_stage(batch_documents=4, batch_bytes=20_000)
    await stage.listen()
    async with database.transaction() as conn:
        for number in range(10):
            await extract(
                conn, f"https://example.com/{number}", text=f"{number} " + "x" * (3_000 if number < 5 else 10)
            )

    await stage.drain()

    assert len(texts(stub)) == 10
    assert max(call.size for call in stub.calls) <= 20_000
    assert max(len(call.operations) for call in stub.calls) == 4


async def test_megabytes_that_do_not_compress_are_sent(
    database: Database, stub: StubElasticsearch, stage: Stage
) -> None:
    noise = random.Random(7).randbytes(2_000_000).hex()
    async with database.transaction() as conn:
        await extract(conn, URLS[0], text=noise)

    await stage.drain()

    assert texts(stub) == {URLS[0]: noise}


async def test_the_html_of_a_huge_page_is_left_out_before_its_text_is(
    database: Database, stub: StubElasticsearch, make_stage: Callable[..., Stage]
) -> None:
    stage = make_stage(batch_bytes=100_000)
    await stage.listen()
    async with database.transaction() as conn:
        await extract(conn, URLS[0], text="word " * 12_000)

    await stage.drain()

    (document,) = stub.documents(ALIAS).values()
    assert len(document["raw_text"]) == 60_000
    assert "raw_html" not in document


async def test_a_document_beyond_what_the_index_reads_is_given_up_and_the_others_get_through(
    database: Database, clock: MovableClock
) -> None:
    async with (
        StubElasticsearch(max_content_length=50_000) as stub,
        SearchIndex(stub.url, alias=ALIAS, timeout=timedelta(seconds=30)) as index,
    ):
        stage = Stage(database, index, clock, OPTIONS)
        await stage.listen()
        await publish(database, *URLS)
        async with database.transaction() as conn:
            await extract(conn, "https://example.com/huge", text="word " * 12_000)

        (report,) = await stage.turn()

        assert (report.done, report.again, report.refused) == (5, 0, 1)
        assert [dead.reason for dead in await stage.dead()] == ["refused with 413"]
        assert set(texts(stub)) == set(URLS)


async def test_a_request_refused_for_one_of_its_documents_is_halved_until_that_is_found(
    database: Database, stub: StubElasticsearch, stage: Stage
) -> None:
    async def refuse_poison(stub: StubElasticsearch, request: web.Request, call: Call) -> web.StreamResponse | None:
        stub.faults.append(refuse_poison)
        is_poisoned = any(operation.id == key_of(URLS[3]) for operation in call.operations)
        return await refuse(400, "parse_exception", "no")(stub, request, call) if is_poisoned else None

    stub.faults.append(refuse_poison)
    await publish(database, *URLS)

    (report,) = await stage.turn()

    assert (report.done, report.refused) == (4, 1)
    assert [dead.reason for dead in await stage.dead()] == ["refused with 400: parse_exception: no"]


async def test_no_document_is_refused_while_the_index_has_another_mapping(
    database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    await publish(database, *URLS)
    stub.aliases[ALIAS]["raw_content-v2"] = {"is_write_index": False}

    with capture_logs() as logs:
        (report,) = await stage.turn()
        stub.aliases[ALIAS]["raw_content-v2"] = {"is_write_index": True}
        await stage.drain()

    assert (report.again, report.refused) == (5, 0)
    assert set(texts(stub)) == set(URLS)
    assert await stage.dead() == []
    assert "index waits" in [line["event"] for line in logs]


async def test_an_index_with_another_mapping_is_not_written_and_logged_once(
    database: Database, stub: StubElasticsearch, make_stage: Callable[..., Stage], clock: MovableClock
) -> None:
    stub.indices["raw_content-v2"] = Index({"properties": {"title": {"type": "text"}}}, {})
    await publish(database, *URLS)
    stage = make_stage()

    with capture_logs() as logs:
        for _ in range(5):
            assert await stage.turn() == []
            clock.move(minutes=10)

    (told,) = [line for line in logs if line["event"] == "index waits"]
    assert told["log_level"] == "error"
    assert "raw_text is missing" in told["reason"]
    assert stub.calls == []


async def test_credentials_of_the_address_are_sent_and_not_shown(database: Database, clock: MovableClock) -> None:
    async with StubElasticsearch(authorization=basic("ada", "s3cret")) as stub:
        url = stub.url.replace("http://", "http://ada:s3cret@")
        async with SearchIndex(url, alias=ALIAS, timeout=timedelta(seconds=30)) as index:
            await index.ensure()
            assert "s3cret" not in index.address
        async with SearchIndex(stub.url, alias=ALIAS, timeout=timedelta(seconds=30)) as index:
            stage = Stage(database, index, clock, OPTIONS)
            with capture_logs() as logs:
                assert await stage.turn() == []

    assert [line["log_level"] for line in logs] == ["error"]


async def test_an_api_key_is_sent(database: Database) -> None:
    async with (
        StubElasticsearch(authorization="ApiKey a2V5") as stub,
        SearchIndex(stub.url, alias=ALIAS, timeout=timedelta(seconds=30), api_key="a2V5") as index,
    ):
        assert await index.ensure()


async def test_when_the_lease_is_over_nothing_more_is_sent(
    database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    await publish(database, *URLS)
    (batch,) = await stage.claim()
    clock.move(minutes=6)

    report = await stage.indexer.work(batch)

    assert (report.done, stub.calls) == (0, [])
    await stage.drain()
    assert set(texts(stub)) == set(URLS)


async def test_unsent_entries_are_released_at_once_when_the_index_fails(
    database: Database, stub: StubElasticsearch, make_stage: Callable[..., Stage]
) -> None:
    stage = make_stage(batch_bytes=3_000)
    await stage.listen()
    await publish(database, *URLS)
    stub.faults.append(refuse(503))

    (report,) = await stage.turn()

    async with database.transaction() as conn:
        cur = await conn.execute("SELECT count(*), count(lease), sum(attempts) FROM deliveries")
        assert await cur.fetchone() == (5, 0, report.again)


async def test_a_pause_made_by_a_clock_that_was_ahead_ends_when_the_clock_is_corrected(
    database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    await publish(database, *URLS)
    right = clock()
    clock.move(hours=12)
    stub.faults.append(refuse(503))
    await stage.turn()
    clock.now = right
    async with database.transaction() as conn:
        await conn.execute("UPDATE deliveries SET ready_at = %s, lease = NULL", (right,))  # as `repair_schedules` does

    await stage.drain()

    assert set(texts(stub)) == set(URLS)


async def test_the_lag_is_the_age_of_the_oldest_entry(database: Database, stage: Stage, clock: MovableClock) -> None:
    empty = (await stage.counts()).oldest_at
    await publish(database, URLS[0], now=clock())
    began = clock()
    clock.move(minutes=3)

    assert (empty, (await stage.counts()).oldest_at) == (None, began)


async def test_two_workers_share_the_work(database: Database, stub: StubElasticsearch, clock: MovableClock) -> None:
    urls = [f"https://example.com/{number}" for number in range(60)]
    async with (
        SearchIndex(stub.url, alias=ALIAS, timeout=timedelta(seconds=30)) as one,
        SearchIndex(stub.url, alias=ALIAS, timeout=timedelta(seconds=30)) as other,
    ):
        stages = [
            Stage(database, index, clock, replace(OPTIONS, batch_documents=5, lease=timedelta(days=1)))
            for index in (one, other)
        ]
        await stages[0].listen()
        await publish(database, *urls)
        await asyncio.gather(*(stage.drain() for stage in stages))

    sent = [operation.id for call in stub.calls for operation in call.operations]
    assert len(sent) == len(set(sent)) == 60


async def test_an_outcome_that_cannot_be_written_is_sent_again_later(
    conninfo: str, database: Database, stub: StubElasticsearch, stage: Stage, clock: MovableClock
) -> None:
    await publish(database, *URLS)
    (batch,) = await stage.claim()

    async def lose_the_database(_stub: StubElasticsearch, _request: web.Request, _call: Call) -> None:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
            await conn.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    stub.faults.append(lose_the_database)
    await stage.indexer.work(batch)

    clock.move(minutes=6)
    await stage.drain()
    assert set(texts(stub)) == set(URLS)
