"""`headwater source discover`, as a process of its own against the zoo."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater_lab.zoo import DOMAIN, Zoo
from tests.headwater_process import run_headwater


@pytest.fixture
async def zoo() -> AsyncIterator[Zoo]:
    async with Zoo() as zoo:
        yield zoo


async def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "200", "HEADWATER_ALLOW_LOOPBACK": "true",
        "HEADWATER_RESOLVE": f"{DOMAIN}=127.0.0.1",
    }  # fmt: skip
    return await asyncio.to_thread(run_headwater, ("source", "discover", *arguments), environment, folder)


async def test_feeds_are_shown_with_the_command_that_follows_the_best(zoo: Zoo, tmp_path: Path) -> None:
    done = await run(tmp_path, f"daily.{DOMAIN}:{zoo.port}")

    assert done.returncode == 0, done.stderr
    assert "The Zoo Daily" in done.stdout
    assert "rss20" in done.stdout
    assert f"headwater source add {zoo.url('daily', '/feed.xml')}" in done.stdout


async def test_a_script_gets_the_same_as_json(zoo: Zoo, tmp_path: Path) -> None:
    done = await run(tmp_path, zoo.url("lobby", "/feed.xml"), "--json")

    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert done.returncode == 0
    assert told["url"] == zoo.url("lobby", "/feed.xml")
    assert [(feed["url"], feed["title"], feed["entry_count"], feed["how"]) for feed in told["found"]] == [
        (zoo.url("lobby", "/upstairs.xml"), "The Front Desk", 20, "declared")
    ]
    assert told["found"][0]["latest_at"].endswith("+00:00")
    assert told["tried"] == [{"url": told["url"], "how": "itself", "reason": "It is a web page."}]


async def test_without_feeds_it_lists_what_was_tried_and_exits_with_1(tmp_path: Path) -> None:
    done = await run(tmp_path, "http://127.0.0.1:9/")

    assert done.returncode == 1, done.stderr
    assert "No feed was found at http://127.0.0.1:9/" in done.stdout
    assert "itself" in done.stdout
    assert "headwater source add URL" in done.stdout


async def test_nothing_found_is_json_too(tmp_path: Path) -> None:
    done = await run(tmp_path, "http://127.0.0.1:9/", "--json")

    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["found"] == []
