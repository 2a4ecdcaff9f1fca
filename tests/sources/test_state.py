"""The state of a source is one word, the same in the API, the metrics, the command line and the pages."""

import re
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import LiteralString

import pytest

import headwater
from headwater.alerts.store import facts
from headwater.alerts.types import Thresholds
from headwater.audit.types import COMMAND_LINE
from headwater.db import Connection
from headwater.polling.types import FailureClass
from headwater.sources import operate
from headwater.sources.store import details
from headwater.sources.types import Changes, Source, SourceFilter
from headwater.types import SourceState
from tests.clock import START

pytestmark = pytest.mark.database

# One source in each state, by the columns that decide it.
CASES: dict[str, LiteralString] = {
    "working": "UPDATE feed_state SET last_polled_at = now() WHERE source_id = %(id)s",
    "pending": "SELECT",
    "failing": "UPDATE feed_state SET last_polled_at = now(), last_error = 'HTTP 500', "
    "last_error_type = 'upstream_failure' WHERE source_id = %(id)s",
    "auto_disabled": "UPDATE sources SET feed_disabled_at = now(), feed_disable_reason = 'gone' WHERE id = %(id)s",
    "disabled": "UPDATE sources SET feed_disabled_at = now(), feed_disable_reason = 'closed' WHERE id = %(id)s",
    "in_review": "UPDATE sources SET enabled = false, moderation_status = 'pending' WHERE id = %(id)s",
    "rejected": "UPDATE sources SET enabled = false, moderation_status = 'rejected' WHERE id = %(id)s",
}


async def a_source(conn: Connection, name: str) -> Source:
    wanted = Changes(name=name, feed_url=f"https://{name.replace('_', '-')}.example/feed")
    return await operate.create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)


async def test_lists_command_line_and_metrics_use_the_same_word(conn: Connection) -> None:
    for name, statement in CASES.items():
        source = await a_source(conn, name)
        await conn.execute(statement, {"id": source.id})

    api = {one.name: one.state for one in await details.list_details(conn, wanted=SourceFilter(), now=START, limit=10)}
    command_line = {one.name: one.state for one in await details.list_health(conn)}
    counted = (await facts.read_facts(conn, now=START, limits=Thresholds())).counts.states

    assert set(CASES) == set(SourceState)
    assert api == command_line == {name: name for name in CASES}
    assert counted == dict.fromkeys(CASES, 1)


@pytest.mark.parametrize("state", SourceState)
async def test_the_filter_of_the_api_finds_each_state(conn: Connection, state: SourceState) -> None:
    for name, statement in CASES.items():
        source = await a_source(conn, name)
        await conn.execute(statement, {"id": source.id})

    found = await details.list_details(conn, wanted=SourceFilter(state=state), now=START, limit=10)

    assert [one.name for one in found] == [state]


async def test_a_disabled_source_is_never_due_in_the_year_9999(conn: Connection) -> None:
    whole, feed = await a_source(conn, "whole"), await a_source(conn, "feed")
    await operate.change(conn, whole, wanted=Changes(enabled=False), actor=COMMAND_LINE, now=START)
    await operate.disable(conn, feed, reason="closed", actor=COMMAND_LINE, now=START)

    listed = await details.list_health(conn)
    told = await details.list_details(conn, wanted=SourceFilter(), now=START, limit=10)

    assert {one.next_poll_at for one in (*listed, *told)} == {None}
    assert {one.name: one.reason for one in listed} == {"whole": None, "feed": "closed"}


@pytest.mark.parametrize("reason", FailureClass)
async def test_every_class_of_failure_is_an_automatic_reason(conn: Connection, reason: FailureClass) -> None:
    cur = await conn.execute("SELECT source_state(true, NULL, now(), %(reason)s, NULL, NULL)", {"reason": reason.value})

    assert await cur.fetchone() == (SourceState.AUTO_DISABLED.value,)


async def test_the_function_knows_no_other_words(conn: Connection) -> None:
    flags, statuses, reasons = (True, False), (None, "pending", "approved", "rejected"), (None, "gone", "closed")
    rows = [(*case,) for case in product(flags, statuses, reasons, (None, "HTTP 500"), flags)]

    found = set[str]()
    for enabled, status, reason, error, was_read in rows:
        cur = await conn.execute(
            """
            SELECT source_state(
                %(enabled)s, %(status)s, CASE WHEN %(reason)s::text IS NOT NULL THEN now() END, %(reason)s, %(error)s,
                CASE WHEN %(was_read)s THEN now() END
            )
            """,
            {"enabled": enabled, "status": status, "reason": reason, "error": error, "was_read": was_read},
        )
        found |= {row[0] for row in await cur.fetchall()}

    assert found == set(SourceState)


def test_nothing_else_derives_a_state() -> None:
    """`off`, `parked` and `new` were other words for the same thing."""
    root = Path(headwater.__file__).parent
    derived = re.compile(r"THEN '(off|parked|new|error)'|\"parked\"")

    found = [path for path in root.rglob("*.py") if derived.search(path.read_text())]

    assert found == []


async def test_on_a_paused_host_the_next_try_is_not_before_the_pause_is_over(conn: Connection) -> None:
    until = START + timedelta(hours=5)
    source = await a_source(conn, "paused")
    await conn.execute("UPDATE hosts SET paused_until = %(until)s", {"until": until})
    await conn.execute("UPDATE feed_state SET next_poll_at = %(at)s", {"at": START})

    listed = [one.next_poll_at for one in await details.list_health(conn)]
    detailed = (await details.find_details(conn, source_id=source.id, now=START)).next_poll_at
    assert [*listed, detailed] == [until] * 2

    await conn.execute("UPDATE feed_state SET next_poll_at = '9999-12-31 00:00+00'")
    assert (await details.find_details(conn, source_id=source.id, now=START)).next_poll_at is None
