"""Switching a feed or a whole source off and on by hand, and what polling makes of it."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headwater.db import Connection
from headwater.errors import Invalid, NothingToPoll, SourceIsOff
from headwater.frontier.store import listing
from headwater.frontier.types import UrlFilter
from headwater.ids import new_id
from headwater.polling.decide import BY_HAND_ONLY, decide
from headwater.polling.policy import COOLDOWN
from headwater.polling.store import claims as feed_claims
from headwater.polling.store import schedule as feed_schedule
from headwater.polling.types import ClaimedFeed, Disabled, FailureClass, FeedState, NotModified, PollFailed, Validators
from headwater.sources.follow import disable, disable_source, enable, enable_source, follow, move, refresh
from headwater.sources.store import details, sources
from headwater.sources.types import Source, SourceDetails, SourceOverrides
from headwater.types import SourceId
from tests.builders import a_source
from tests.clock import START
from tests.polling.histories import OPTIONS
from tests.polling.test_store import an_answer, answer

pytestmark = pytest.mark.database

HOUR = timedelta(hours=1)
WELL = NotModified(Validators(None, None))


async def claim(conn: Connection, now: datetime = START) -> list[ClaimedFeed]:
    return list(await feed_claims.claim(conn, lease=new_id(), now=now, leased_until=now + HOUR, limit=10))


async def health(conn: Connection, source: Source) -> SourceDetails:
    return next(one for one in await details.list_health(conn) if one.id == source.id)


async def urls(conn: Connection, source: Source) -> list[str]:
    found = await listing.list_urls(conn, wanted=UrlFilter(source_id=source.id), now=START, limit=100)
    return sorted(one.url for one in found.urls)


@pytest.mark.parametrize(
    ("reason", "hours"),
    [("not_found", 48), ("gone", 72), ("forbidden", 24), ("upstream_failure", 6), ("network", 12), ("parse_error", 24)],
    ids=str,
)
async def test_a_class_of_failure_keeps_a_feed_off_for_as_long_as_seed_000_says(
    reason: str, hours: int, conn: Connection
) -> None:
    source = await a_source(conn)

    shown = await disable(conn, source, reason, START)

    until = START + hours * HOUR
    assert shown == until
    assert await claim(conn, until - HOUR) == []
    (probe,) = await claim(conn, until)
    assert probe.state.disabled == Disabled(START, FailureClass(reason), until, by_operator=True)
    after = decide(probe.state, WELL, COOLDOWN, OPTIONS, until)
    assert after.state.disabled is None


@pytest.mark.parametrize("reason", ["rate_limited", "unexpected", "ssrf_blocked", "The publisher asked us to stop"])
async def test_any_other_reason_holds_until_a_person_enables_the_feed(reason: str, conn: Connection) -> None:
    source = await a_source(conn)

    until = await disable(conn, source, f"  {reason}\n", START)

    shown = await health(conn, source)
    assert until is None
    assert (shown.feed_disabled_at, shown.feed_disabled_until, shown.next_poll_at) == (START, None, None)
    assert await claim(conn, START + timedelta(days=3000)) == []

    await enable(conn, source, START + HOUR)

    shown = await health(conn, source)
    assert (shown.feed_disabled_at, shown.next_poll_at) == (None, START + HOUR)
    assert len(await claim(conn, START + HOUR)) == 1


@pytest.mark.parametrize("reason", ["", "   ", "x" * 201], ids=["empty", "blank", "long"])
async def test_a_feed_is_not_switched_off_without_a_reason(reason: str, conn: Connection) -> None:
    with pytest.raises(Invalid, match="A reason is required"):
        await disable(conn, await a_source(conn), reason, START)


async def test_a_source_without_a_feed_has_none_to_switch_off(conn: Connection) -> None:
    source = await follow(conn, url=None, name=None, now=START, overrides=SourceOverrides(site="https://site.example/"))

    with pytest.raises(NothingToPoll, match="enabled"):
        await disable(conn, source, "gone", START)


async def test_a_poll_under_way_does_not_switch_a_feed_on_again(conn: Connection) -> None:
    source = await a_source(conn)
    (feed,) = await claim(conn)

    await disable(conn, source, "by hand", START)
    await answer(conn, an_answer(feed))

    shown = await health(conn, source)
    assert (shown.feed_disabled_at, shown.next_poll_at) == (START, None)
    assert await claim(conn, START + 2 * HOUR) == []


@pytest.mark.parametrize("outcome", [WELL, PollFailed(FailureClass.GONE, "Gone.", 410)], ids=["well", "failed"])
def test_what_a_person_switched_off_is_not_switched_on_by_a_poll(outcome: NotModified | PollFailed) -> None:
    state = FeedState(SourceId(new_id()), disabled=Disabled(START, "The publisher asked us to stop", None))

    after = decide(state, outcome, COOLDOWN, OPTIONS, START + HOUR)

    assert after.state.disabled == state.disabled
    assert after.next_poll_at == BY_HAND_ONLY
    assert after.happenings == ()


async def test_a_source_that_is_off_is_not_polled_and_its_lists_are_not_fetched(conn: Connection) -> None:
    overrides = SourceOverrides(sitemap="https://example.com/map.xml", mode="both")
    source = await follow(conn, url="https://example.com/feed.xml", name=None, now=START, overrides=overrides)
    before = await urls(conn, source)
    (feed,) = await claim(conn)

    source = await disable_source(conn, source, START)
    await answer(conn, an_answer(feed))

    assert before == ["https://example.com/", "https://example.com/map.xml"]
    assert await urls(conn, source) == []
    assert await claim(conn, START + timedelta(days=100)) == []
    assert not (await sources.find_by_id(conn, source_id=source.id)).enabled

    source = await enable_source(conn, source, START + 2 * HOUR)

    assert await urls(conn, source) == before
    assert len(await claim(conn, START + 2 * HOUR)) == 1


async def test_nothing_but_switching_it_on_wakes_a_source_that_is_off(conn: Connection) -> None:
    source = await disable_source(conn, await a_source(conn), START)

    await enable(conn, source, START)
    source = await move(conn, source, url="https://example.com/other.xml", now=START)
    await disable(conn, source, "network", START)
    with pytest.raises(SourceIsOff, match="disabled"):
        await refresh(conn, source, START)

    assert await claim(conn, START + timedelta(days=100)) == []


async def test_a_source_that_is_on_again_leaves_its_feed_off_until_that_ends(conn: Connection) -> None:
    source = await a_source(conn)
    await disable(conn, source, "network", START)
    source = await disable_source(conn, source, START)

    await enable_source(conn, source, START + HOUR)

    assert await claim(conn, START + 11 * HOUR) == []
    assert len(await claim(conn, START + 12 * HOUR)) == 1


async def test_a_refresh_is_due_now_and_as_soon_as_politeness_allows(conn: Connection) -> None:
    source = await a_source(conn)
    (feed,) = await claim(conn)
    await answer(conn, an_answer(feed, next_poll_at=START + 5 * HOUR))

    await refresh(conn, source, START)

    assert await claim(conn, START + timedelta(seconds=2)) == []
    assert len(await claim(conn, START + timedelta(seconds=3))) == 1


async def test_a_refresh_during_a_poll_waits_for_it(conn: Connection) -> None:
    source = await a_source(conn)
    (feed,) = await claim(conn)

    await refresh(conn, source, START)
    await answer(conn, an_answer(feed, next_poll_at=START + 5 * HOUR))

    assert (await health(conn, source)).next_poll_at == START + 5 * HOUR


async def test_errors_are_forgotten_and_nothing_else(conn: Connection) -> None:
    source = await a_source(conn)
    (feed,) = await claim(conn)
    failing = replace(
        feed.state, consecutive_errors=4, last_error="Gone.", disabled=Disabled(START, "gone", START + HOUR)
    )
    await answer(conn, an_answer(feed, state=failing, next_poll_at=START + HOUR))

    await feed_schedule.clear_errors(conn, source_id=source.id)

    shown = await health(conn, source)
    assert (shown.consecutive_errors, shown.last_error, shown.last_error_type) == (0, None, None)
    assert (shown.feed_disabled_at, shown.next_poll_at) == (START, START + HOUR)
