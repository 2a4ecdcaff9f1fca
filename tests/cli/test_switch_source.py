"""`headwater source disable|refresh|reset`: actions of an operator, and their audit entries."""

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
        return conn.execute("SELECT action, actor_name, subject_name FROM audit_log ORDER BY id").fetchall()


def test_each_action_is_done_printed_and_audited(headwater: Headwater, conninfo: str) -> None:
    refreshed = headwater.run("source", "refresh", FEED)
    for_a_while = headwater.run("source", "disable", FEED, "--reason", "gone")
    for_good = headwater.run("source", "disable", FEED, "--reason", "the paper was closed")
    reset = headwater.run("source", "reset", FEED)

    assert refreshed.stdout == "Example is due now.\n"
    assert for_a_while.stdout.startswith("Example is disabled until 20")
    assert for_good.stdout == "Example is disabled until it is enabled.\n"
    assert reset.stdout == "The errors of Example are reset.\n"
    ours = [line for line in written(conninfo) if line[0] != "source.created"]
    assert ours == [
        ("source.refreshed", "command line", "Example"),
        ("source.disabled", "command line", "Example"),
        ("source.disabled", "command line", "Example"),
        ("source.reset", "command line", "Example"),
    ]


def test_a_reason_and_a_source_are_required(headwater: Headwater) -> None:
    without = headwater.run("source", "disable", FEED)
    empty = headwater.run("source", "disable", FEED, "--reason", " ")
    nobodys = headwater.run("source", "reset", "https://nobody.example/feed")

    assert (without.returncode, empty.returncode, nobodys.returncode) == (2, 2, 3)
    assert "--reason" in without.stderr
    assert all("Traceback" not in one.stderr for one in (without, empty, nobodys))


def state_of(headwater: Headwater) -> tuple[str, str | None, bool, str | None]:
    (one,) = headwater.json("source", "list")
    return one["state"], one["reason"], one["enabled"], one["next_poll_at"]


def test_a_source_that_was_edited_off_is_listed_as_disabled_and_enabled_as_a_whole(headwater: Headwater) -> None:
    off = headwater.run("source", "edit", FEED, "--off")
    while_off = state_of(headwater)
    table = headwater.run("source", "list").stdout.splitlines()[1]
    on = headwater.run("source", "enable", FEED)
    state, reason, enabled, next_poll_at = state_of(headwater)

    assert off.stdout == "Example is changed. It is disabled.\n"
    assert while_off == ("disabled", None, False, None)
    assert (table.split()[0], "never" in table, "9999" in table) == ("disabled", True, False)
    assert on.stdout == "Example is enabled, and polled when Headwater next runs.\n"
    assert (state, reason, enabled) == ("pending", None, True)
    assert next_poll_at is not None


def test_a_disabled_feed_is_listed_with_its_reason(headwater: Headwater) -> None:
    headwater.run("source", "disable", FEED, "--reason", "the paper was closed")
    by_a_person = state_of(headwater)
    table = headwater.run("source", "list").stdout
    headwater.run("source", "disable", FEED, "--reason", "gone")
    by_a_class = state_of(headwater)

    assert by_a_person == ("disabled", "the paper was closed", True, None)
    assert "the paper was closed" in table
    assert by_a_class[:3] == ("auto_disabled", "gone", True)
    assert by_a_class[3] is not None


def test_a_suggestion_that_is_not_approved_cannot_be_enabled(headwater: Headwater, conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        conn.execute("UPDATE sources SET enabled = false, is_system = false, moderation_status = 'rejected'")

    answers = [
        headwater.run("source", *words) for words in (("enable", FEED), ("edit", FEED, "--on"), ("refresh", FEED))
    ]

    assert [one.returncode for one in answers] == [4, 4, 4]
    assert all("is not approved" in one.stderr for one in answers)
    assert state_of(headwater)[0] == "rejected"


def test_an_interval_needs_a_unit(headwater: Headwater) -> None:
    refused = [headwater.run("source", "edit", FEED, "--interval", text) for text in ("1440", " 60 ")]
    before = headwater.json("source", "list")[0]["interval_minutes"]
    changed = headwater.run("source", "edit", FEED, "--interval", "24m")
    after = headwater.json("source", "list")[0]["interval_minutes"]
    reset = headwater.run("source", "edit", FEED, "--interval", "0")

    assert [(one.returncode, "has no unit" in one.stderr) for one in refused] == [(2, True), (2, True)]
    assert (changed.returncode, before, after) == (0, None, 24)
    assert (reset.returncode, headwater.json("source", "list")[0]["interval_minutes"]) == (0, None)
