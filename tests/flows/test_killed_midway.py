"""A process or the database is killed in the midst of migrations, retention, a summary, an index batch or an import.

Where is decided by a lock that the test holds: the victim waits for it at a known step, and is killed there. Then the
work is done again, and all is as if nothing had happened: nothing lost, nothing doubled. The server is of the test's
own, with durable settings.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, LiteralString, cast
from uuid import UUID

import psycopg
import pytest
from aiohttp import web

from headwater.db import Connection, Database
from headwater.db.embedded import EmbeddedServer
from headwater.db.migrate import known_migrations, migrate_up
from headwater.documents import store as documents
from headwater.ids import new_id
from headwater.library.store import subscriptions
from headwater.library.summaries.types import SummaryOptions
from headwater.library.summaries.writer import SummaryWriter
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.worker import Indexer
from headwater.sources.opml_import import Importer
from headwater.types import UserId
from tests.ai.service import Reply, a_service
from tests.builders import a_source
from tests.clock import START, MovableClock
from tests.databases import SCHEMA, new_database
from tests.flows.test_up import embedded_only
from tests.publishing.conftest import OPTIONS as INDEX_OPTIONS
from tests.publishing.stored import publish
from tests.publishing.stub_elasticsearch import Call, StubElasticsearch
from tests.retention.world import OTHER, TEXT, World

pytestmark = [pytest.mark.soak, pytest.mark.database, embedded_only]

ROOT = Path(__file__).resolve().parents[2]
WAIT = timedelta(seconds=30)
PATIENCE_S = 120
HOW = pytest.mark.parametrize("how", ["process", "database"])
ADA = UserId(UUID(int=1))


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """A PostgreSQL that may be killed; its settings are those of an ordinary Headwater."""
    with TemporaryDirectory(prefix="headwater-test-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        server = EmbeddedServer(Path(name) / "data")
        server.start()
        yield server
        server.leave()


@pytest.fixture(scope="module")
async def migrated(server: EmbeddedServer) -> AsyncIterator[str]:
    async with new_database(server.conninfo_of("postgres")) as name:
        await migrate_up(server.conninfo_of(name))
        yield name


class Scene:
    """A database on the server that may be killed, a lock in it, and the victim."""

    def __init__(self, server: EmbeddedServer, conninfo: str) -> None:
        self.server = server
        self.conninfo = conninfo
        self.victim: asyncio.subprocess.Process | None = None

    async def start(self, *arguments: str, **environment: str) -> None:
        """Start the victim: a module and its arguments."""
        self.victim = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            *arguments,
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": str(self.server.data_dir), **environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    @asynccontextmanager
    async def holding(self, lock: LiteralString) -> AsyncIterator[Connection]:
        """A transaction that holds a lock, until it is released or the server dies."""
        conn = await psycopg.AsyncConnection.connect(self.conninfo)
        try:
            await conn.execute(lock)
            yield conn
        finally:
            with suppress(psycopg.Error):
                await conn.close()

    async def is_waiting(self) -> bool:
        """Whether the victim waits for a lock."""
        (waiting,) = await self.row("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        return waiting > 0

    async def until_it_waits(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not await self.is_waiting():
                assert self.victim is None or self.victim.returncode is None, await self.said()
                await asyncio.sleep(0.005)

    async def said(self) -> str:
        assert self.victim is not None
        assert self.victim.stdout is not None
        return (await self.victim.stdout.read()).decode()

    async def kill(self, how: str) -> str:
        """Kill the victim, or its database and start that again. Returns what the victim said."""
        assert self.victim is not None
        if how == "process":
            self.victim.kill()
        else:
            await self.kill_database()
        async with asyncio.timeout(PATIENCE_S):
            said = await self.said()
            code = await self.victim.wait()
        assert code != 0
        return said

    async def kill_database(self) -> None:
        pid = self.server.pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_S):
            while self.server.pid() is not None:
                await asyncio.sleep(0.01)
        await asyncio.to_thread(self.server.start)

    async def settled(self) -> None:
        """Until no other connection is left: what a killed process had begun is rolled back."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                with suppress(psycopg.OperationalError):  # the server recovers
                    (others,) = await self.row(
                        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                        "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
                    )
                    if others == 0:
                        return
                await asyncio.sleep(0.02)

    async def row(self, statement: LiteralString, **values: object) -> tuple[Any, ...]:
        rows = await self.rows(statement, **values)
        return rows[0]

    async def rows(self, statement: LiteralString, **values: object) -> list[tuple[Any, ...]]:
        async with await psycopg.AsyncConnection.connect(self.conninfo, autocommit=True) as conn:
            return await (await conn.execute(statement, values)).fetchall()

    def database(self) -> Database:
        return Database(self.conninfo, pool_size=3, wait=WAIT)


@pytest.fixture
async def scene(server: EmbeddedServer, migrated: str) -> AsyncIterator[Scene]:
    async with new_database(server.conninfo_of("postgres"), migrated) as name:
        scene = Scene(server, server.conninfo_of(name))
        yield scene
        if scene.victim is not None and scene.victim.returncode is None:
            scene.victim.kill()
            await scene.victim.wait()


# Migrations


@HOW
@pytest.mark.parametrize("before", [2, 5])
async def test_migrations_go_on_where_they_were_killed(
    server: EmbeddedServer, migrated: str, how: str, before: int
) -> None:
    async with new_database(server.conninfo_of("postgres")) as name:
        scene = Scene(server, server.conninfo_of(name))
        await migrate_up(scene.conninfo, to=before)
        await scene.rows(
            "INSERT INTO sources (id, name, feed_url, feed_url_key) "
            "VALUES (gen_random_uuid(), 'Kept', 'https://kept.example/', 'key') RETURNING id"
        )
        async with scene.holding("LOCK TABLE sources IN ROW EXCLUSIVE MODE"):  # a new foreign key to it waits
            await scene.start("headwater", "migrate", "up", DATABASE_URL=scene.conninfo)
            await scene.until_it_waits()
            said = await scene.kill(how)
        await scene.settled()
        reached = [row[0] for row in await scene.rows("SELECT version FROM schema_migration ORDER BY version")]
        again = await migrate_up(scene.conninfo)
        found = await scene.rows(SCHEMA)
        kept = await scene.rows("SELECT name FROM sources")

    assert "Traceback" not in said
    assert reached == list(range(1, before + 1))
    assert [step.version for step in again] == list(range(before + 1, len(known_migrations()) + 1))
    assert found == await Scene(server, server.conninfo_of(migrated)).rows(SCHEMA)
    assert kept == [("Kept",)]


# Retention


async def a_world(database: Database, clock: MovableClock) -> World:
    """January and February are past their time; one article of each is starred, and an index listens."""
    world = World(database, clock)
    await world.begin()
    async with database.transaction() as conn:
        await documents.listen(conn, target="index")
    for month in (1, 2, 5):
        for day in (3, 4, 5):
            seen_at = START.replace(month=month, day=day)
            text = f"{OTHER if day == 3 else TEXT} {month} {day}"
            await world.see(f"https://example.com/{month}/{day}", seen_at, text=text)
        await world.star(f"https://example.com/{month}/5")
    clock.now = START.replace(month=6, day=15)
    return world


async def retained(world: World) -> dict[str, object]:
    """All that retention leaves, in a form that two databases share."""
    return {
        "urls": sorted(await world.urls()),
        "texts": sorted(
            await world.rows("SELECT articles.url FROM content JOIN articles ON articles.id = content.article_id")
        ),
        "months": await world.months(),
        "gone": await world.rows("SELECT article_tables_gone()"),
        "told": sorted(await world.rows("SELECT url_key, version, action FROM deliveries")),
        "starred": await world.rows("SELECT count(*) FROM marks WHERE starred_at IS NOT NULL"),
    }


RETAINING: dict[str, LiteralString] = {
    "while a month is put aside": "LOCK TABLE articles IN ACCESS SHARE MODE",
    "while the index is told": "LOCK TABLE deliveries IN SHARE MODE",
    "after the months are dropped": "LOCK TABLE feed_item_clicks IN SHARE MODE",
}


@pytest.fixture(scope="module")
async def undisturbed(server: EmbeddedServer, migrated: str) -> dict[str, object]:
    """What retention leaves when no process is killed."""
    async with (
        new_database(server.conninfo_of("postgres"), migrated) as name,
        Database(server.conninfo_of(name), pool_size=3, wait=WAIT) as database,
    ):
        world = await a_world(database, MovableClock())
        await world.retain()
        return await retained(world)


@HOW
@pytest.mark.parametrize("point", RETAINING)
async def test_retention_that_was_killed_drops_each_month_once(
    scene: Scene, undisturbed: dict[str, object], how: str, point: str
) -> None:
    async with scene.database() as database:
        world = await a_world(database, MovableClock())
    async with scene.holding(RETAINING[point]):
        await scene.start("tests.flows.victim", "retain", scene.conninfo, world.clock().isoformat())
        await scene.until_it_waits()
        await scene.kill(how)
    await scene.settled()
    async with scene.database() as database:
        world.database = database
        report = await world.retain()
        found = await retained(world)

    assert report.is_done
    assert found == undisturbed
    assert len(cast("list[object]", found["urls"])) == 5  # the starred ones of two months, and the third month
    assert len(cast("list[object]", found["told"])) == 4
    assert found["gone"] == []


# Summaries


async def add_ada(conn: Connection) -> None:
    await conn.execute(
        "INSERT INTO users (id, email, email_key) VALUES (%(id)s, 'ada@example.com', 'ada@example.com')", {"id": ADA}
    )


async def a_reader(database: Database) -> None:
    """A reader with a feed of two articles."""
    async with database.as_system() as conn:
        await conn.execute(
            "INSERT INTO users (id, email, email_key) VALUES (%(id)s, 'ada@example.com', 'ada@example.com')",
            {"id": ADA},
        )
        source = await a_source(conn)
        await subscriptions.add(
            conn,
            subscription_id=new_id(),
            user_id=ADA,
            source_id=source.id,
            name="Example",
            category=None,
            now=START,
        )
    await publish(database, "https://example.com/1", "https://example.com/2")


async def summaries(scene: Scene) -> tuple[list[tuple[Any, ...]], int]:
    states = await scene.rows("SELECT status FROM summaries ORDER BY created_at")
    (events,) = await scene.row("SELECT count(*) FROM events WHERE event_type = 'summary_generated'")
    return states, events


@HOW
async def test_a_summary_that_was_killed_is_neither_half_written_nor_in_the_way(scene: Scene, how: str) -> None:
    async with scene.database() as database:
        await a_reader(database)
    async with scene.holding("LOCK TABLE events IN SHARE MODE"):
        await scene.start("tests.flows.victim", "summarise", scene.conninfo, str(ADA))
        await scene.until_it_waits()
        await scene.kill(how)
    await scene.settled()
    halfway = await summaries(scene)
    clock = MovableClock()
    async with scene.database() as database:
        writer = SummaryWriter(database, clock, SummaryOptions())
        clock.move(minutes=10)
        made = await writer.make(ADA)

    assert halfway in {"process": [([("making",)], 0)], "database": [([("making",)], 0), ([("failed",)], 0)]}[how]
    assert made.summary is not None
    # The one that was killed counts for the limit per day: the model may have been asked.
    assert await summaries(scene) == ([("failed",), ("ready",)], 1)


async def test_a_summary_outlives_a_database_that_dies_while_the_model_writes(scene: Scene) -> None:
    async with scene.database() as database:
        await a_reader(database)
    async with a_service() as service:
        service.replies = [Reply(hangs=True)]
        await scene.start("tests.flows.victim", "summarise", scene.conninfo, str(ADA), service.url)
        async with asyncio.timeout(PATIENCE_S):
            await service.asked.wait()
        await scene.kill_database()
        service.released.set()
        assert scene.victim is not None
        said, code = await scene.said(), await scene.victim.wait()

    assert code == 0, said
    assert len(service.requests) == 1  # it is paid for once
    assert await summaries(scene) == ([("ready",)], 1)


async def test_a_summary_whose_process_is_killed_while_the_model_writes_can_be_made_again(scene: Scene) -> None:
    async with scene.database() as database:
        await a_reader(database)
    async with a_service() as service:
        service.replies = [Reply(hangs=True)]
        await scene.start("tests.flows.victim", "summarise", scene.conninfo, str(ADA), service.url)
        async with asyncio.timeout(PATIENCE_S):
            await service.asked.wait()
        await scene.kill("process")
        service.released.set()
    await scene.settled()
    clock = MovableClock()
    async with scene.database() as database:
        writer = SummaryWriter(database, clock, SummaryOptions())
        meanwhile = await writer.make(ADA)
        clock.move(minutes=10)
        made = await writer.make(ADA)

    assert meanwhile.making
    assert made.summary is not None
    # The one that was killed counts for the limit per day: the model may have been asked.
    assert await summaries(scene) == ([("failed",), ("ready",)], 1)


# The search index

URLS = [f"https://example.com/{number}" for number in range(5)]


@HOW
async def test_a_batch_for_the_index_that_was_killed_reaches_the_index_whole_and_once_in_effect(
    scene: Scene, how: str
) -> None:
    was_carried_out, may_answer = asyncio.Event(), asyncio.Event()

    async def carry_out_and_wait(stub: StubElasticsearch, request: web.Request, call: Call) -> web.StreamResponse:
        items = stub.apply(request, call)
        was_carried_out.set()
        await may_answer.wait()
        return web.json_response({"took": 1, "errors": False, "items": items})

    async with (
        StubElasticsearch() as stub,
        SearchIndex(stub.url, alias="raw_content", timeout=WAIT) as index,
    ):
        clock = MovableClock()
        async with scene.database() as database:
            indexer = Indexer(database, index, clock, INDEX_OPTIONS)
            assert await indexer.claim(2) == []  # from here on changes are queued
            await publish(database, *URLS)
        stub.faults.append(carry_out_and_wait)
        await scene.start("tests.publishing.index_once", scene.conninfo, stub.url)
        async with asyncio.timeout(PATIENCE_S):
            await was_carried_out.wait()
        async with scene.holding("LOCK TABLE deliveries IN SHARE MODE"):
            may_answer.set()
            await scene.until_it_waits()  # to write down that the index has them
            await scene.kill(how)
        await scene.settled()
        first = {key: document.version for key, document in stub.indices["raw_content-v2"].documents.items()}
        clock.move(minutes=6)
        async with scene.database() as database:
            indexer = Indexer(database, index, clock, INDEX_OPTIONS)
            for _ in range(20):
                for batch in await indexer.claim(2):
                    await indexer.work(batch)
                clock.move(seconds=10)
            async with database.transaction() as conn:
                counts = await documents.count(conn)
        indexed = stub.indices["raw_content-v2"].documents

    assert len(first) == len(URLS)
    assert {key: document.version for key, document in indexed.items()} == first
    assert {source["url"] for source in stub.documents("raw_content").values()} == set(URLS)
    assert counts.waiting == 0


# OPML

FEEDS = [f"https://feed-{number}.example/feed" for number in range(6)]
FILE = (
    "<opml version='1.0'><body>"
    + "".join(f"<outline text='Feed {number}' xmlUrl='{url}'/>" for number, url in enumerate(FEEDS))
    + "</body></opml>"
)


async def imported(scene: Scene) -> dict[str, object]:
    return {
        "lines": [row[0] for row in await scene.rows("SELECT outcome FROM import_lines ORDER BY number")],
        "sources": sorted(row[0] for row in await scene.rows("SELECT feed_url FROM sources")),
        "subscriptions": (await scene.row("SELECT count(*) FROM subscriptions"))[0],
        "finished": [row[0] for row in await scene.rows("SELECT finished_at IS NOT NULL FROM imports")],
    }


@HOW
async def test_an_import_that_was_killed_goes_on_with_the_line_it_was_at(scene: Scene, how: str) -> None:
    async with scene.database() as database:
        async with database.as_system() as conn:
            await add_ada(conn)
        import_id = await Importer(database, MovableClock()).begin(ADA, "feeds.opml", FILE.encode())
    async with scene.holding("SELECT") as conn:
        await a_source(conn, url=FEEDS[3])  # not committed: who follows the same feed waits
        await scene.start("tests.flows.victim", "work_on_import", scene.conninfo, str(ADA), str(import_id))
        await scene.until_it_waits()
        await scene.kill(how)
    await scene.settled()
    halfway = await imported(scene)
    async with scene.database() as database:
        await Importer(database, MovableClock()).finish(ADA, import_id)

    assert halfway == {
        "lines": ["added"] * 3 + [None] * 3,
        "sources": FEEDS[:3],
        "subscriptions": 3,
        "finished": [False],
    }
    assert await imported(scene) == {"lines": ["added"] * 6, "sources": FEEDS, "subscriptions": 6, "finished": [True]}


@HOW
async def test_an_upload_that_was_killed_leaves_no_half_of_an_import(scene: Scene, how: str) -> None:
    async with scene.database() as database, database.as_system() as conn:
        await conn.execute(
            "INSERT INTO users (id, email, email_key) VALUES (%(id)s, 'ada@example.com', 'ada@example.com')",
            {"id": ADA},
        )
    async with scene.holding("LOCK TABLE import_lines IN SHARE MODE"):
        await scene.start("tests.flows.victim", "begin_import", scene.conninfo, str(ADA), FILE)
        await scene.until_it_waits()
        await scene.kill(how)
    await scene.settled()
    halfway = await imported(scene)
    async with scene.database() as database:
        importer = Importer(database, MovableClock())
        await importer.finish(ADA, await importer.begin(ADA, "feeds.opml", FILE.encode()))

    assert halfway == {"lines": [], "sources": [], "subscriptions": 0, "finished": []}
    assert await imported(scene) == {"lines": ["added"] * 6, "sources": FEEDS, "subscriptions": 6, "finished": [True]}
