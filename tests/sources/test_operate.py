"""What operators do is done and recorded together."""

from datetime import timedelta

import pytest

from headwater.audit import store as audit
from headwater.audit.types import COMMAND_LINE, Actor, AuditAction, AuditEntry
from headwater.db import Connection
from headwater.errors import Invalid, RetryRefused, SourceExists, SourceNotFound
from headwater.ids import new_id
from headwater.polling.decide import decide
from headwater.polling.policy import DEFAULT, Policy
from headwater.polling.store import claims as feed_claims
from headwater.polling.store import schedule as feed_schedule
from headwater.polling.types import FailureClass, FeedState, HostDecision, PollFailed, PollReport
from headwater.sources import operate
from headwater.sources.store import details, sources
from headwater.sources.types import Changes, Source, SourceOverrides
from tests.clock import START
from tests.polling.answers import write
from tests.polling.histories import OPTIONS

pytestmark = pytest.mark.database

FEED = "https://example.com/feed.xml"


async def log_of(conn: Connection) -> list[AuditEntry]:
    return list(reversed((await audit.list_entries(conn, limit=100)).entries))


async def test_every_deed_leaves_a_line(conn: Connection) -> None:
    wanted = Changes(name="Example", feed_url=FEED, category="Technology", interval=timedelta(minutes=60))
    source = await operate.create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)
    moments = (START + timedelta(minutes=number) for number in range(1, 10))
    changes = Changes(
        is_critical=True, policy="five", enabled=False, overrides=SourceOverrides(patterns=("/news/",), priority=9)
    )
    source = await operate.change(conn, source, wanted=changes, actor=COMMAND_LINE, now=next(moments))
    source = await operate.change(conn, source, wanted=Changes(enabled=True), actor=COMMAND_LINE, now=next(moments))
    await operate.disable(conn, source, reason="gone", actor=COMMAND_LINE, now=next(moments))
    await operate.enable(conn, source, actor=COMMAND_LINE, now=next(moments))
    await operate.refresh(conn, source, actor=COMMAND_LINE, now=next(moments))
    await operate.reset_errors(conn, source, actor=COMMAND_LINE, now=next(moments))
    await operate.delete(conn, source, actor=COMMAND_LINE, now=next(moments))

    lines = await log_of(conn)

    assert [line.action for line in lines] == [
        AuditAction.SOURCE_CREATED,
        AuditAction.SOURCE_CHANGED,
        AuditAction.SOURCE_CHANGED,
        AuditAction.SOURCE_DISABLED,
        AuditAction.SOURCE_ENABLED,
        AuditAction.SOURCE_REFRESHED,
        AuditAction.SOURCE_RESET,
        AuditAction.SOURCE_DELETED,
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
        await sources.find_by_id(conn, source_id=source.id)


async def test_what_is_asked_for_is_so_afterwards(conn: Connection) -> None:
    wanted = Changes(
        feed_url=FEED, category=" World / Local ", is_critical=True, is_system=True, policy="once", enabled=False
    )
    source = await operate.create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)

    changes = Changes(name="Other", feed_url="https://example.com/new.xml", category="", policy="", is_critical=False)
    changed = await operate.change(conn, source, wanted=changes, actor=COMMAND_LINE, now=START)

    assert (source.name, source.category, source.is_critical, source.is_system, source.policy, source.enabled) == (
        "example.com", "World/Local", True, True, "once", False
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

    assert [line.action for line in await log_of(conn)] == [AuditAction.SOURCE_CREATED, AuditAction.SOURCE_CREATED]


READER = Actor(None, "ada@example.com")


async def a_feed(conn: Connection) -> Source:
    return await operate.create(conn, wanted=Changes(name="Example", feed_url=FEED), actor=COMMAND_LINE, now=START)


async def failed(conn: Connection, source: Source, outcome: PollFailed, policy: Policy = DEFAULT) -> None:
    """One poll that ends so, written as the poller writes it."""
    claimed = await feed_claims.claim_one(
        conn, source_id=source.id, lease=new_id(), now=START, leased_until=START + timedelta(minutes=1)
    )
    assert claimed is not None
    decision = decide(claimed.state, outcome, policy, OPTIONS, START)
    host = HostDecision(claimed.host_state)
    await write(conn, PollReport(claimed, outcome, decision, host, took=timedelta(0), at=START))


@pytest.mark.parametrize("reason", ["The publisher asked us to stop.", "gone", "rate_limited"])
async def test_a_readers_retry_does_not_lift_what_an_operator_disabled(conn: Connection, reason: str) -> None:
    source = await a_feed(conn)
    await operate.disable(conn, source, reason=reason, actor=COMMAND_LINE, now=START)

    with pytest.raises(RetryRefused, match="An operator has disabled this feed"):
        await operate.retry(conn, source, actor=READER, now=START + timedelta(hours=1))

    assert (await feed_schedule.disabled_until(conn, source_id=source.id))[0]
    assert [line.action for line in await log_of(conn)] == [AuditAction.SOURCE_CREATED, AuditAction.SOURCE_DISABLED]


async def test_a_readers_retry_does_not_enable_a_disabled_source(conn: Connection) -> None:
    source = await a_feed(conn)
    source = await operate.change(conn, source, wanted=Changes(enabled=False), actor=COMMAND_LINE, now=START)

    with pytest.raises(RetryRefused, match="An operator has disabled this feed"):
        await operate.retry(conn, source, actor=READER, now=START)


async def test_a_readers_retry_does_not_lift_a_blocked_address(conn: Connection) -> None:
    source = await a_feed(conn)
    await failed(conn, source, PollFailed(FailureClass.SSRF_BLOCKED, "Blocked."))

    with pytest.raises(RetryRefused, match="Only an operator"):
        await operate.retry(conn, source, actor=READER, now=START)


@pytest.mark.parametrize(
    ("kind", "status"),
    [(FailureClass.RATE_LIMITED, 429), (FailureClass.UPSTREAM_FAILURE, 503), (FailureClass.GONE, 410)],
)
async def test_a_readers_retry_respects_retry_after(conn: Connection, kind: FailureClass, status: int) -> None:
    source = await a_feed(conn)
    await failed(conn, source, PollFailed(kind, "Later.", status, retry_after=timedelta(days=1)))

    with pytest.raises(RetryRefused, match="allows no request before 2026-03-02 12:00 UTC"):
        await operate.retry(conn, source, actor=READER, now=START + timedelta(hours=23))

    await operate.retry(conn, source, actor=READER, now=START + timedelta(hours=25))
    feeds = await feed_claims.claim(
        conn, lease=new_id(), now=START + timedelta(hours=25), leased_until=START + timedelta(hours=26), limit=1
    )
    assert [feed.source_id for feed in feeds] == [source.id]


async def test_a_readers_retry_respects_a_paused_host(conn: Connection) -> None:
    source = await a_feed(conn)
    await conn.execute("UPDATE hosts SET paused_until = %s", (START + timedelta(hours=1),))

    with pytest.raises(RetryRefused, match="next try is at 2026-03-01 13:00 UTC"):
        await operate.retry(conn, source, actor=READER, now=START)


async def test_a_readers_retry_of_a_feed_that_headwater_disabled_polls_it_and_leaves_a_line(conn: Connection) -> None:
    source = await a_feed(conn)
    await failed(conn, source, PollFailed(FailureClass.GONE, "Gone.", 410))

    await operate.retry(conn, source, actor=READER, now=START)

    assert await feed_schedule.disabled_until(conn, source_id=source.id) == (False, None)
    line = (await log_of(conn))[-1]
    assert (line.action, line.actor_name) == (AuditAction.SOURCE_ENABLED, "ada@example.com")
    assert line.detail["was_disabled_for"] == "gone"


async def test_a_readers_retry_of_a_failing_feed_polls_it_and_keeps_its_errors(conn: Connection) -> None:
    source = await a_feed(conn)
    await failed(conn, source, PollFailed(FailureClass.NETWORK, "Nobody there."))

    await operate.retry(conn, source, actor=READER, now=START)

    (feed,) = await feed_claims.claim(conn, lease=new_id(), now=START, leased_until=START + timedelta(hours=1), limit=1)
    assert feed.state.consecutive_errors == 1


async def test_an_operator_enables_what_readers_may_not(conn: Connection) -> None:
    source = await a_feed(conn)
    await operate.disable(conn, source, reason="Spam.", actor=COMMAND_LINE, now=START)

    await operate.enable(conn, source, actor=COMMAND_LINE, now=START)

    assert await feed_schedule.disabled_until(conn, source_id=source.id) == (False, None)


async def test_setting_enabled_to_true_clears_the_errors_of_the_feed(conn: Connection) -> None:
    source = await a_feed(conn)
    await failed(conn, source, PollFailed(FailureClass.GONE, "Gone.", 410))

    await operate.change(conn, source, wanted=Changes(enabled=True), actor=COMMAND_LINE, now=START)

    (feed,) = await feed_claims.claim(conn, lease=new_id(), now=START, leased_until=START + timedelta(hours=1), limit=1)
    assert feed.state == FeedState(source.id)
    assert (await details.find_details(conn, source_id=source.id, now=START)).feed_disabled_at is None


@pytest.mark.parametrize(
    ("minutes", "due"), [(15, timedelta(minutes=15)), (1440, timedelta(hours=20)), (0, timedelta(0))]
)
async def test_a_new_interval_takes_effect_at_once(conn: Connection, minutes: int, due: timedelta) -> None:
    source = await a_feed(conn)
    await conn.execute(
        "UPDATE feed_state SET last_polled_at = %s, next_poll_at = %s", (START, START + timedelta(hours=20))
    )
    await conn.execute("UPDATE hosts SET has_new_feed = false, feed_due_at = %s", (START + timedelta(hours=20),))
    changes = Changes(interval=timedelta(minutes=minutes))

    await operate.change(conn, source, wanted=changes, actor=COMMAND_LINE, now=START)

    moments = [START + due - timedelta(seconds=1), START + due]
    claims = [
        await feed_claims.claim(conn, lease=new_id(), now=now, leased_until=now + timedelta(hours=1), limit=1)
        for now in moments
    ]
    assert [len(claim) for claim in claims] == [0, 1]
