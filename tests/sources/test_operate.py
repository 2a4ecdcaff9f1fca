"""What operators do is done and recorded together."""

from datetime import timedelta

import pytest

from headwater.audit import store as audit
from headwater.audit.types import COMMAND_LINE, Deed, Entry
from headwater.db import Connection
from headwater.errors import Invalid, SourceExists, SourceNotFound
from headwater.sources import operate, store
from headwater.sources.operate import Changes
from headwater.sources.types import Wishes
from tests.clock import START

pytestmark = pytest.mark.database

FEED = "https://example.com/feed.xml"


async def log_of(conn: Connection) -> list[Entry]:
    return list(reversed((await audit.list_entries(conn, limit=100)).entries))


async def test_every_deed_leaves_a_line(conn: Connection) -> None:
    wanted = Changes(name="Example", feed_url=FEED, category="Technology", interval=timedelta(minutes=60))
    source = await operate.create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)
    moments = (START + timedelta(minutes=number) for number in range(1, 10))
    changes = Changes(is_critical=True, policy="five", enabled=False, wishes=Wishes(patterns=("/news/",), priority=9))
    source = await operate.change(conn, source, wanted=changes, actor=COMMAND_LINE, now=next(moments))
    source = await operate.change(conn, source, wanted=Changes(enabled=True), actor=COMMAND_LINE, now=next(moments))
    await operate.disable(conn, source, reason="gone", actor=COMMAND_LINE, now=next(moments))
    await operate.enable(conn, source, actor=COMMAND_LINE, now=next(moments))
    await operate.refresh(conn, source, actor=COMMAND_LINE, now=next(moments))
    await operate.reset_errors(conn, source, actor=COMMAND_LINE, now=next(moments))
    await operate.delete(conn, source, actor=COMMAND_LINE, now=next(moments))

    lines = await log_of(conn)

    assert [line.deed for line in lines] == [
        Deed.SOURCE_CREATED,
        Deed.SOURCE_CHANGED,
        Deed.SOURCE_CHANGED,
        Deed.SOURCE_DISABLED,
        Deed.SOURCE_ENABLED,
        Deed.SOURCE_REFRESHED,
        Deed.SOURCE_RESET,
        Deed.SOURCE_DELETED,
    ]
    assert {(line.subject_id, line.subject_name, line.actor_name) for line in lines} == {
        (source.id, "Example", "command line")
    }
    assert lines[0].detail == {
        "name": "Example", "feed_url": FEED, "category": "Technology", "interval": "60 minutes"
    }  # fmt: skip
    assert lines[1].detail == {
        "is_critical": True, "policy": "five", "enabled": False, "patterns": ["/news/"], "priority": 9
    }  # fmt: skip
    assert lines[3].detail == {"reason": "gone", "until": (START + timedelta(days=3, minutes=3)).isoformat()}
    with pytest.raises(SourceNotFound):
        await store.find_by_id(conn, source_id=source.id)


async def test_what_is_asked_for_is_so_afterwards(conn: Connection) -> None:
    wanted = Changes(feed_url=FEED, category="World", is_critical=True, is_system=False, policy="once", enabled=False)
    source = await operate.create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)

    changes = Changes(name="Other", feed_url="https://example.com/new.xml", category="", policy="", is_critical=False)
    changed = await operate.change(conn, source, wanted=changes, actor=COMMAND_LINE, now=START)

    assert (source.name, source.category, source.is_critical, source.is_system, source.policy, source.enabled) == (
        "example.com", "World", True, False, "once", False
    )  # fmt: skip
    assert (changed.name, changed.feed_url, changed.category, changed.policy, changed.is_critical, changed.enabled) == (
        "Other", "https://example.com/new.xml", None, None, False, False
    )  # fmt: skip


@pytest.mark.parametrize(
    "wanted",
    [
        Changes(),
        Changes(feed_url=FEED, category="x" * 101),
        Changes(feed_url=FEED, policy="no such policy"),
        Changes(feed_url=FEED, interval=timedelta(minutes=14)),
        Changes(feed_url=FEED, interval=timedelta(minutes=1441)),
    ],
    ids=["nothing", "category", "policy", "often", "seldom"],
)
async def test_what_cannot_be_is_refused(wanted: Changes, conn: Connection) -> None:
    with pytest.raises(Invalid):
        await operate.create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)


async def test_a_url_that_another_source_has_is_refused(conn: Connection) -> None:
    other = Changes(feed_url="https://example.com/other.xml")
    await operate.create(conn, wanted=Changes(feed_url=FEED), actor=COMMAND_LINE, now=START)
    source = await operate.create(conn, wanted=other, actor=COMMAND_LINE, now=START)

    with pytest.raises(SourceExists):
        async with conn.transaction():
            await operate.create(conn, wanted=Changes(feed_url=FEED), actor=COMMAND_LINE, now=START)
    with pytest.raises(SourceExists):
        async with conn.transaction():
            await operate.change(conn, source, wanted=Changes(feed_url=FEED), actor=COMMAND_LINE, now=START)

    assert [line.deed for line in await log_of(conn)] == [Deed.SOURCE_CREATED, Deed.SOURCE_CREATED]
