"""`headwater source import` and `catalogue`: many feeds at once, with a line for each and an exit code for all."""

import json
from pathlib import Path

import pytest

from tests.headwater_process import Headwater

pytestmark = pytest.mark.database

GOOD = '{"name": "A", "url": "https://a.example/feed", "category": "World", "refresh_interval_minutes": 30}'


@pytest.fixture
def headwater(open_folder: Path, conninfo: str) -> Headwater:
    return Headwater(open_folder, DATABASE_URL=conninfo)


def test_importing_a_file_can_be_repeated(headwater: Headwater, tmp_path: Path) -> None:
    file = tmp_path / "feeds.jsonl"
    file.write_text(f'{GOOD}\n{{"name": "B"}}\n', encoding="utf-8")

    first = headwater.run("source", "import", str(file))
    switched = headwater.run("source", "edit", "https://a.example/feed", "--off", "--category", "Mine")
    again = headwater.run("source", "import", str(file), "--json")
    polled = headwater.run("source", "poll", "https://a.example/feed")

    assert first.returncode == 1
    assert first.stdout.splitlines() == [
        "1: created, A (https://a.example/feed)",
        "2: failed, no feed: url: Field required",
        "1 created, 0 changed, 0 unchanged, 1 failed.",
    ]
    assert switched.returncode == 0
    assert [line["result"] for line in json.loads(again.stdout)] == ["changed", "failed"]
    assert polled.returncode == 2
    assert "`headwater source enable" in polled.stderr


def test_the_catalogue_is_loaded_by_one_command(headwater: Headwater) -> None:
    listed = headwater.run("source", "catalogue", "list", "--json")
    loaded = headwater.run("source", "catalogue", "load")
    again = headwater.run("source", "catalogue", "load")

    assert len(json.loads(listed.stdout)) == 19
    assert loaded.returncode == 0
    assert loaded.stdout.splitlines()[-1] == "19 created, 0 changed, 0 unchanged, 0 failed."
    assert again.stdout.splitlines()[-1] == "0 created, 0 changed, 19 unchanged, 0 failed."


def test_an_unreadable_file_is_reported(headwater: Headwater, tmp_path: Path) -> None:
    missing = headwater.run("source", "import", str(tmp_path / "none.toml"))

    assert missing.returncode == 2
    assert "cannot be read" in missing.stderr
