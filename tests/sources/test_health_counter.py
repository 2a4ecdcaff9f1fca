"""Polls are counted once, in whole hours, wherever the counting was interrupted; and those that stand out are found."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from headwater.db import Connection, Database
from headwater.sources.health.counter import Counter, next_span
from headwater.sources.health.store import counts
from headwater.sources.health.types import Counting, Period
from headwater.types import SourceId
from tests.alerts.world import OWN_CLOCK
from tests.builders import a_source
from tests.clock import MovableClock

pytestmark = pytest.mark.database

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
TAIL = timedelta(hours=6)


async def poll(
    conn: Connection, source_id: SourceId, at: datetime, outcome: str = "polled", *, took_ms: int = 50, new: int = 0
) -> None:
    await conn.execute(
        """
        INSERT INTO poll_events (source_id, at, outcome, status, bytes, took_ms, new_articles)
        VALUES (%s, %s, %s, 200, 1000, %s, %s)
        """,
        (source_id, at, outcome, took_ms, new),
    )


async def count_all(counter: Counter) -> int:
    """Until there is nothing to do; returns how many turns that took."""
    turns = 0
    while due := await counter.claim(1):
        await counter.work(due[0])
        turns += 1
    return turns


async def rows(conn: Connection, query: str) -> Sequence[tuple[object, ...]]:
    return await (await conn.execute(query.encode())).fetchall()


@pytest.mark.parametrize(
    ("counted_until", "now", "span"),
    [
        pytest.param(NOON, NOON + timedelta(minutes=64), None, id="the hour's stragglers may still come"),
        pytest.param(NOON, NOON + timedelta(minutes=65), (NOON, NOON + HOUR), id="an hour that is over"),
        pytest.param(NOON, NOON + 2 * DAY, (NOON, NOON + 6 * HOUR), id="several hours when it is behind"),
        pytest.param(NOON + 9 * HOUR, NOON + 2 * DAY, (NOON + 9 * HOUR, NOON + 12 * HOUR), id="the rest of a day"),
        pytest.param(NOON - 40 * DAY, NOON, (NOON - 30 * DAY, NOON - 30 * DAY + 6 * HOUR), id="what is still kept"),
        pytest.param(None, NOON, None, id="no poll yet"),
    ],
)
def test_whole_hours_of_one_day_are_counted_at_a_time(
    counted_until: datetime | None, now: datetime, span: tuple[datetime, datetime] | None
) -> None:
    assert next_span(counted_until, now) == span


async def test_each_poll_is_counted_once_by_hour_and_by_day(database: Database, clock: MovableClock) -> None:
    clock.now = NOON + timedelta(minutes=30)
    counter = Counter(database, clock, OWN_CLOCK)
    async with database.transaction() as conn:
        source = await a_source(conn)
        for at, outcome, new in (
            (NOON - 13 * HOUR, "polled", 3),
            (NOON - 3 * HOUR, "not_found", 0),
            (NOON - 2 * HOUR, "not_modified", 0),
            (NOON - 2 * HOUR + timedelta(minutes=59), "polled", 2),
            (NOON + timedelta(minutes=1), "polled", 7),
        ):
            await poll(conn, source.id, at, outcome, new=new)

    await count_all(counter)
    again = await count_all(counter)

    async with database.transaction() as conn:
        hours = await rows(conn, "SELECT hour, outcome, polls FROM poll_hours ORDER BY hour, outcome")
        days = await rows(conn, "SELECT day::text, polls, failures, new_articles, took_ms FROM poll_days ORDER BY day")
        bars = await counts.trend(conn, since=NOON - 23 * HOUR, step=HOUR, tail_most=TAIL, now=clock())
    assert again == 0
    assert hours == [
        (NOON - 13 * HOUR, "polled", 1),
        (NOON - 3 * HOUR, "not_found", 1),
        (NOON - 2 * HOUR, "not_modified", 1),
        (NOON - 2 * HOUR, "polled", 1),
    ]
    assert days == [("2026-02-28", 1, 0, 3, 50), ("2026-03-01", 3, 1, 2, 100)]
    assert [(bar.at, bar.polls, bar.failures) for bar in bars] == [
        (NOON - 13 * HOUR, 1, 0),
        (NOON - 3 * HOUR, 1, 1),
        (NOON - 2 * HOUR, 2, 0),
        (NOON, 1, 0),  # of the hour that is not over: counted on the spot
    ]


async def test_two_counters_do_not_count_twice(database: Database, clock: MovableClock) -> None:
    clock.now = NOON
    async with database.transaction() as conn:
        source = await a_source(conn)
        await poll(conn, source.id, NOON - 2 * HOUR)
    one, other = Counter(database, clock, OWN_CLOCK), Counter(database, clock, OWN_CLOCK)
    both = [await one.claim(1), await other.claim(1)]

    async with database.transaction() as held:
        await counts.take_counting(held)
        await other.work(both[1][0])  # while another is at it, there is nothing to do
    await count_all(one)
    await other.work(Counting(None, None))

    async with database.transaction() as conn:
        assert await rows(conn, "SELECT sum(polls) FROM poll_hours") == [(1,)]


async def test_expired_counts_are_deleted(database: Database, clock: MovableClock) -> None:
    clock.now = NOON
    async with database.transaction() as conn:
        source = await a_source(conn)
        await poll(conn, source.id, NOON - 29 * DAY)
    counter = Counter(database, clock, OWN_CLOCK)
    await count_all(counter)
    clock.move(days=3)

    await count_all(counter)

    async with database.transaction() as conn:
        assert await rows(conn, "SELECT FROM poll_hours UNION ALL SELECT FROM poll_days") == []


async def test_the_slowest_the_noisiest_and_those_that_fail_most_are_found(
    database: Database, clock: MovableClock
) -> None:
    clock.now = NOON + timedelta(minutes=30)
    async with database.transaction() as conn:
        slow = await a_source(conn, url="https://slow.example/feed", name="Slow")
        loud = await a_source(conn, url="https://loud.example/feed", name="Loud")
        dead = await a_source(conn, url="https://dead.example/feed", name="Dead")
        left = await a_source(conn, url="https://left.example/feed", name="Left")
        for days in range(20):
            at = NOON - days * DAY
            await poll(conn, slow.id, at, took_ms=9_000 if days else 20_000)
            await poll(conn, loud.id, at, took_ms=10, new=100)
            await poll(conn, dead.id, at, "gone", took_ms=60_000)
            await poll(conn, left.id, at, took_ms=99_000, new=1_000)
        await conn.execute("DELETE FROM poll_events WHERE source_id = %s", (left.id,))

    await count_all(Counter(database, clock, OWN_CLOCK))

    async with database.transaction() as conn:
        month, day = [await counts.list_leaders(conn, period=period) for period in (Period.MONTH, Period.DAY)]
    assert [(one.name, one.polls, one.median_ms, one.p95_ms) for one in month["slowest"]] == [
        ("Slow", 20, 9_000, 9_000),
        ("Loud", 20, 10, 10),
    ]
    assert [(one.name, one.failures, one.polls) for one in month["failing"]] == [("Dead", 20, 20)]
    assert [(one.name, one.new_articles) for one in month["busiest"]] == [("Loud", 2_000)]
    assert [(one.name, one.median_ms) for one in day["slowest"]] == [("Slow", 20_000), ("Loud", 10)]


async def test_they_are_found_anew_every_few_minutes(database: Database, clock: MovableClock) -> None:
    clock.now = NOON
    counter = Counter(database, clock, OWN_CLOCK)
    await count_all(counter)
    async with database.transaction() as conn:
        source = await a_source(conn)
        await poll(conn, source.id, NOON, new=5)

    clock.move(minutes=1)
    too_soon = await counter.claim(1)
    clock.move(minutes=1)
    await count_all(counter)

    async with database.transaction() as conn:
        leaders = await counts.list_leaders(conn, period=Period.WEEK)
    assert too_soon == ()
    assert [one.new_articles for one in leaders["busiest"]] == [5]
    assert await counter.lag() == timedelta(0)


async def test_a_new_instance_is_never_days_behind(database: Database, clock: MovableClock) -> None:
    clock.now = NOON
    counter = Counter(database, clock, OWN_CLOCK)
    async with database.transaction() as conn:
        source = await a_source(conn)
        await poll(conn, source.id, NOON - 2 * HOUR + timedelta(minutes=10))

    lags = [await counter.lag()]
    while due := await counter.claim(1):
        await counter.work(due[0])
        lags.append(await counter.lag())

    async with database.transaction() as conn:
        assert await rows(conn, "SELECT sum(polls)::int FROM poll_hours") == [(1,)]
    assert max(lags) < HOUR
    assert lags[-1] == timedelta(0)


@pytest.mark.parametrize("ahead", [timedelta(hours=7), 2 * DAY], ids=["hours", "days"])
async def test_after_a_clock_that_was_ahead_is_corrected_polls_are_counted_once_and_ranked(
    ahead: timedelta, database: Database, clock: MovableClock
) -> None:
    clock.now = NOON
    counter = Counter(database, clock, OWN_CLOCK)
    async with database.transaction() as conn:
        source = await a_source(conn)
        await poll(conn, source.id, NOON - HOUR)
    await count_all(counter)
    clock.now = NOON + ahead
    async with database.transaction() as conn:
        await poll(conn, source.id, clock())
    clock.move(hours=2)
    await count_all(counter)
    clock.now = NOON + timedelta(minutes=10)
    async with database.transaction() as conn:
        for minutes in (1, 70):
            await poll(conn, source.id, NOON + timedelta(minutes=minutes), new=5)

    await count_all(counter)
    async with database.transaction() as conn:
        leaders = await counts.list_leaders(conn, period=Period.WEEK)
    clock.now = NOON + timedelta(minutes=130)
    await count_all(counter)
    async with database.transaction() as conn:
        hours = await rows(conn, "SELECT hour, polls FROM poll_hours ORDER BY hour")
    clock.now = NOON + 4 * DAY
    await count_all(counter)

    assert [one.new_articles for one in leaders["busiest"]] == [10]
    assert hours == [(NOON - HOUR, 1), (NOON, 1), (NOON + HOUR, 1)]
    async with database.transaction() as conn:
        assert await rows(conn, "SELECT sum(polls) FROM poll_days") == [(4,)]
        assert await rows(conn, "SELECT sum(polls) FROM poll_hours") == [(4,)]


async def test_numbers_to_sort_by_are_those_of_a_week_and_of_all_readers(
    database: Database, clock: MovableClock
) -> None:
    async with database.as_system() as conn:
        source = await a_source(conn)
        silent = await a_source(conn, url="https://silent.example/feed")
        for hours, outcome in ((1, "polled"), (30, "gone"), (60, "polled"), (90, "polled"), (24 * 8, "gone")):
            await poll(conn, source.id, clock() - timedelta(hours=hours), outcome, new=3)
        await conn.execute("INSERT INTO user_ids (id) SELECT gen_random_uuid() FROM generate_series(1, 2)")
        await conn.execute(
            """
            INSERT INTO subscriptions (id, user_id, source_id, name, created_at)
            SELECT gen_random_uuid(), id, %s, 'Example', now() FROM user_ids
            """,
            (source.id,),
        )

    await count_all(Counter(database, clock, OWN_CLOCK))

    async with database.as_system() as conn:
        found = await rows(conn, "SELECT source_id, articles, error_rate, readers FROM source_numbers")
    assert sorted(found, key=lambda row: row[1], reverse=True) == [(source.id, 12, 0.25, 2), (silent.id, 0, 0.0, 0)]  # pyright: ignore[reportCallIssue,reportArgumentType,reportUnknownLambdaType]
