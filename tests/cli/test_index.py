"""`headwater index`, as a process of its own against the stub."""

import asyncio
import json
import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.db import Database
from tests.headwater_process import Running, run_headwater
from tests.publishing.stored import key_of, publish
from tests.publishing.stub_elasticsearch import Index, StubElasticsearch

pytestmark = pytest.mark.database

URLS = [f"https://example.com/{number}" for number in range(3)]


class Commands:
    """`headwater …` with this database and this index."""

    def __init__(self, folder: Path, conninfo: str, index_url: str | None) -> None:
        self._folder = folder
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "200", "DATABASE_URL": conninfo,
        }  # fmt: skip
        if index_url:
            self._environment["ELASTICSEARCH_URL"] = index_url

    async def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(run_headwater, arguments, self._environment, self._folder)

    async def work_until(self, done: str) -> None:
        """Run the stage until `index status` says so."""
        with Running(("work", "delivering"), self._environment, self._folder) as worker:
            async with asyncio.timeout(300):
                while done not in (await self.run("index", "status")).stdout:
                    await asyncio.sleep(0.1)
            assert await asyncio.to_thread(worker.stop, signal.SIGTERM) == 0


@pytest.fixture
async def stub() -> AsyncIterator[StubElasticsearch]:
    async with StubElasticsearch() as stub:
        yield stub


@pytest.fixture
def headwater(tmp_path: Path, conninfo: str, stub: StubElasticsearch) -> Commands:
    return Commands(tmp_path, conninfo, stub.url)


async def test_from_an_empty_index_to_a_full_one_with_one_document_refused(
    headwater: Commands, database: Database, stub: StubElasticsearch
) -> None:
    await publish(database, *URLS)
    stub.item_errors[key_of(URLS[1])] = deque([(400, {"type": "mapper_parsing_exception", "reason": "it is odd"})])

    before = await headwater.run("index", "check")
    await headwater.work_until("The queue is empty, 1 document was refused.")
    status = await headwater.run("index", "status", "--json")
    check = await headwater.run("index", "check")
    retry = await headwater.run("index", "rebuild", "--refused")
    await headwater.work_until("The queue is empty, 0 documents were refused.")
    after = await headwater.run("index", "check", "--json")

    assert before.returncode == 1, before.stderr
    assert "the stage `delivering` has never run" in before.stdout
    told = json.loads(status.stdout)
    assert [one["reason"] for one in told["refused"]] == ["mapper_parsing_exception: it is odd"]
    assert check.returncode == 1
    assert "1 document was refused" in check.stdout
    assert retry.stdout.startswith("1 document is retried")
    assert after.returncode == 0, after.stderr
    assert json.loads(after.stdout)["documents"] == 3


async def test_a_new_mapping_gets_a_new_index_and_the_alias_moves_there(
    headwater: Commands, database: Database, stub: StubElasticsearch
) -> None:
    await publish(database, *URLS)
    stub.indices["raw_content-v0"] = Index({}, {})
    stub.aliases["raw_content"] = {"raw_content-v0": {}}

    done = await headwater.run("index", "rebuild")
    await headwater.work_until("The queue is empty, 0 documents were refused.\n")

    assert done.returncode == 0, done.stderr
    assert "3 documents are queued for raw_content-v2" in done.stdout
    assert "no longer points to raw_content-v0, which can be deleted" in done.stdout
    assert len(stub.documents("raw_content")) == 3


async def test_without_an_index_it_says_what_to_set(tmp_path: Path, conninfo: str) -> None:
    headwater = Commands(tmp_path, conninfo, None)

    status, check = [await headwater.run("index", word) for word in ("status", "check")]

    assert "No search index: nothing is queued" in status.stdout
    assert check.returncode == 2
    assert "ELASTICSEARCH_URL is not set" in check.stderr


async def test_without_a_key_tagging_says_what_to_set(tmp_path: Path, conninfo: str) -> None:
    work = await Commands(tmp_path, conninfo, None).run("work", "tagging")

    assert work.returncode == 2
    assert "set HEADWATER_OPENROUTER_API_KEY" in work.stderr


async def test_an_unavailable_index_is_reported_with_an_exit_code(tmp_path: Path, conninfo: str) -> None:
    done = await Commands(tmp_path, conninfo, "http://ada:s3cret@127.0.0.1:9").run("index", "check")

    assert done.returncode == 5
    assert "The search index cannot be used" in done.stderr
    assert "s3cret" not in done.stderr + done.stdout


async def test_obstacles_to_a_rebuild_are_reported(headwater: Commands, stub: StubElasticsearch) -> None:
    stub.indices["raw_content"] = Index({}, {})

    done = await headwater.run("index", "rebuild")

    assert done.returncode == 4
    assert "an alias is needed under that name" in " ".join(done.stderr.split())


async def test_stop_ends_queueing_for_a_lost_index(
    headwater: Commands, database: Database, stub: StubElasticsearch
) -> None:
    await publish(database, *URLS)
    await headwater.run("index", "rebuild")

    unasked = await headwater.run("index", "stop")
    done = await headwater.run("index", "stop", "--yes")

    assert unasked.returncode == 2
    assert "Nothing more is queued" in done.stdout
    assert "No search index: nothing is queued" in (await headwater.run("index", "status")).stdout
