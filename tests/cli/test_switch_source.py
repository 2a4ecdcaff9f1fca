"""`headwater source disable|refresh|reset`: what an operator does to a feed by hand, and what is written of it."""

from pathlib import Path

import psycopg
import pytest

from tests.headwater_process import Headwater

pytestmark = pytest.mark.database

FEED = "https://example.com/feed.xml"


@pytest.fixture
def headwater(open_folder: Path, conninfo: str) -> Headwater:
    headwater = Headwater(open_folder, DATABASE_URL=conninfo)
    assert headwater.run("source", "add", FEED, "--later", "--name", "Example").returncode == 0
    return headwater


def written(conninfo: str) -> list[tuple[str, str, str]]:
    with psycopg.connect(conninfo) as conn:
        return conn.execute("SELECT deed, actor_name, subject_name FROM audit_log ORDER BY id").fetchall()


def test_each_deed_is_done_said_and_written_down(headwater: Headwater, conninfo: str) -> None:
    refreshed = headwater.run("source", "refresh", FEED)
    for_a_while = headwater.run("source", "disable", FEED, "--reason", "gone")
    for_good = headwater.run("source", "disable", FEED, "--reason", "the paper was closed")
    reset = headwater.run("source", "reset", FEED)

    assert refreshed.stdout == "Example is due now.\n"
    assert for_a_while.stdout.startswith("Example is off until 20")
    assert for_good.stdout == "Example is off until somebody enables it.\n"
    assert reset.stdout == "Nothing is held against Example any more.\n"
    ours = [line for line in written(conninfo) if line[0] != "source.created"]
    assert ours == [
        ("source.refreshed", "command line", "Example"),
        ("source.disabled", "command line", "Example"),
        ("source.disabled", "command line", "Example"),
        ("source.reset", "command line", "Example"),
    ]


def test_a_reason_is_needed_and_a_source_too(headwater: Headwater) -> None:
    without = headwater.run("source", "disable", FEED)
    empty = headwater.run("source", "disable", FEED, "--reason", " ")
    nobodys = headwater.run("source", "reset", "https://nobody.example/feed")

    assert (without.returncode, empty.returncode, nobodys.returncode) == (2, 2, 3)
    assert "--reason" in without.stderr
    assert all("Traceback" not in one.stderr for one in (without, empty, nobodys))
