from datetime import datetime, timedelta

import pytest

from headwater.db import Connection, Database
from headwater.ids import new_id
from headwater.polling import store
from headwater.polling.types import ClaimedFeed, FailureClass, Plan, Validators
from headwater.sources.store import list_health
from tests.builders import a_source
from tests.clock import START

pytestmark = pytest.mark.database

LATER = START + timedelta(minutes=1)
PLAN = Plan(START + timedelta(hours=1), 0, None, None)


async def claim(conn: Connection, *, limit: int = 10, now: datetime = START) -> list[ClaimedFeed]:
    return list(await store.claim(conn, lease=new_id(), now=now, leased_until=now + timedelta(minutes=1), limit=limit))


async def answer(conn: Connection, feed: ClaimedFeed, plan: Plan = PLAN) -> bool:
    return await store.answer(
        conn, feed=feed, plan=plan, validators=Validators('"v1"', "yesterday"), item_count=3, new_links=2, now=START
    )


async def test_a_new_source_is_due_at_once(conn: Connection) -> None:
    source = await a_source(conn)

    (claimed,) = await claim(conn)

    assert (claimed.source_id, claimed.feed_url) == (source.id, source.feed_url)
    assert (claimed.last_etag, claimed.last_modified, claimed.consecutive_errors) == (None, None, 0)


async def test_the_longest_due_come_first_and_no_more_than_asked_for(conn: Connection) -> None:
    for number in range(5):
        await a_source(conn, url=f"https://example.com/{number}", now=START - timedelta(minutes=number))

    claimed = await claim(conn, limit=2)

    assert {feed.feed_url for feed in claimed} == {"https://example.com/4", "https://example.com/3"}


async def test_what_is_not_due_is_not_claimed(conn: Connection) -> None:
    await a_source(conn, now=START + timedelta(seconds=1))

    assert await claim(conn) == []


async def test_a_claimed_feed_is_nobody_elses_until_its_lease_ends(conn: Connection) -> None:
    await a_source(conn)
    await claim(conn)

    assert await claim(conn) == []
    assert len(await claim(conn, now=LATER)) == 1


async def test_two_pollers_never_get_the_same_feed(database: Database) -> None:
    async with database.transaction() as conn:
        for number in range(10):
            await a_source(conn, url=f"https://example.com/{number}")

    async with database.transaction() as one, database.transaction() as other:
        first = await claim(one, limit=6)
        second = await claim(other, limit=6)

    assert len(first) == 6
    assert len(second) == 4
    assert not {feed.source_id for feed in first} & {feed.source_id for feed in second}


async def test_an_answer_schedules_the_feed_and_keeps_its_validators(conn: Connection) -> None:
    await a_source(conn)
    (feed,) = await claim(conn)

    written = await answer(conn, feed)

    (health,) = await list_health(conn)
    assert written
    assert (health.next_poll_at, health.last_polled_at, health.last_succeeded_at) == (PLAN.next_poll_at, START, START)
    assert health.article_count == 2
    (again,) = await claim(conn, now=PLAN.next_poll_at)
    assert (again.last_etag, again.last_modified) == ('"v1"', "yesterday")


async def test_a_failure_is_remembered_and_a_success_forgets_it(conn: Connection) -> None:
    await a_source(conn)
    (feed,) = await claim(conn)
    await answer(conn, feed, Plan(LATER, 1, "There is no feed.", FailureClass.NOT_FOUND))
    (failing,) = await list_health(conn)
    (feed,) = await claim(conn, now=LATER)
    await answer(conn, feed)
    (working,) = await list_health(conn)

    assert (failing.consecutive_errors, failing.last_error, failing.last_error_type) == (
        1,
        "There is no feed.",
        "not_found",
    )
    assert (failing.status, failing.last_succeeded_at) == ("error", None)
    assert (working.consecutive_errors, working.last_error, working.last_error_type) == (0, None, None)
    assert working.status == "working"


async def test_an_answer_under_a_lost_lease_changes_nothing(conn: Connection) -> None:
    await a_source(conn)
    (lost,) = await claim(conn)
    (held,) = await claim(conn, now=LATER)

    assert not await answer(conn, lost)
    assert await answer(conn, held)


async def test_the_oldest_due_feed_tells_the_lag(conn: Connection) -> None:
    nothing = await store.oldest_due_at(conn, now=START)
    await a_source(conn, now=START - timedelta(minutes=5))
    waiting = await store.oldest_due_at(conn, now=START)
    await claim(conn)
    in_hand = await store.oldest_due_at(conn, now=START)

    assert (nothing, waiting, in_hand) == (None, START - timedelta(minutes=5), None)


async def test_a_feed_can_be_claimed_by_name_unless_another_holds_it(conn: Connection) -> None:
    source = await a_source(conn, now=LATER)

    first, second = [
        await store.claim_one(conn, source_id=source.id, lease=new_id(), now=START, leased_until=LATER)
        for _ in range(2)
    ]

    assert first is not None
    assert second is None
