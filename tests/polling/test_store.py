import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headwater.db import Connection, Database
from headwater.hosts.types import HostState
from headwater.ids import new_id
from headwater.polling.store import claims as feed_claims
from headwater.polling.store import cleanup as feed_cleanup
from headwater.polling.store import moves as feed_moves
from headwater.polling.store import results as feed_results
from headwater.polling.store import schedule as feed_schedule
from headwater.polling.types import (
    ClaimedFeed,
    Decision,
    Disabled,
    FailureClass,
    FeedState,
    HostDecision,
    Moved,
    Polled,
    PollHints,
    PollReport,
    Validators,
)
from headwater.sources import follow as following
from headwater.sources.store import sources
from headwater.sources.store.details import list_health
from headwater.sources.store.sources import set_enabled
from headwater.sources.types import Source
from headwater.types import SourceId
from tests.builders import a_read_feed, a_source
from tests.clock import START
from tests.polling.answers import write as write_answers
from tests.polling.histories import HOUR

pytestmark = pytest.mark.database

SECOND = timedelta(seconds=1)
LEASE = timedelta(minutes=1)
DELAY = 3 * SECOND


async def claim(conn: Connection, *, limit: int = 10, now: datetime = START) -> list[ClaimedFeed]:
    return list(await feed_claims.claim(conn, lease=new_id(), now=now, leased_until=now + LEASE, limit=limit))


def an_answer(
    feed: ClaimedFeed, *, state: FeedState | None = None, next_poll_at: datetime = START + HOUR, **more: object
) -> PollReport:
    answer = PollReport(
        feed,
        Polled(a_read_feed(START, START, START), Validators('"v1"', "yesterday")),
        Decision(state or FeedState(feed.source_id, last_full_at=START), next_poll_at),
        HostDecision(feed.host_state),
        took=timedelta(milliseconds=56),
        at=START,
        size=1234,
        new_links=2,
        new_articles=1,
    )
    return replace(answer, **more)  # type: ignore[arg-type]


async def answer(conn: Connection, *answers: PollReport, host: HostState | None = None) -> set[SourceId]:
    return await write_answers(conn, *answers, delay=DELAY, host=host)


async def follow(conn: Connection, *urls: str, now: datetime = START) -> list[Source]:
    return [await a_source(conn, url=url, now=now) for url in urls]


async def test_a_new_source_is_due_at_once(conn: Connection) -> None:
    (source,) = await follow(conn, "https://example.com/feed.xml")

    (claimed,) = await claim(conn)

    assert (claimed.source_id, claimed.feed_url, claimed.host) == (source.id, source.feed_url, "example.com")
    assert claimed.state == FeedState(source.id)
    assert claimed.host_state == HostState("example.com")


async def test_hosts_are_claimed_one_feed_each_and_no_more_than_asked_for(conn: Connection) -> None:
    await follow(conn, *(f"https://h{n % 4}.example/{n}" for n in range(12)))

    claimed = await claim(conn, limit=3)

    assert len({feed.host for feed in claimed}) == len(claimed) == 3


async def test_what_is_not_due_is_not_claimed(conn: Connection) -> None:
    await follow(conn, "https://example.com/feed", now=START + SECOND)

    assert await claim(conn) == []
    assert len(await claim(conn, now=START + SECOND)) == 1


async def test_a_held_host_is_not_claimed_again_until_the_lease_ends(conn: Connection) -> None:
    await follow(conn, "https://example.com/1", "https://example.com/2")
    await claim(conn)

    assert await claim(conn, now=START + LEASE - SECOND) == []
    assert len(await claim(conn, now=START + LEASE)) == 1


async def test_two_pollers_never_get_the_same_host(database: Database) -> None:
    async with database.transaction() as conn:
        await follow(conn, *(f"https://h{n}.example/" for n in range(10)))

    async with database.transaction() as one, database.transaction() as other:
        first = await claim(one, limit=6)
        second = await claim(other, limit=6)

    assert (len(first), len(second)) == (6, 4)
    assert not {feed.host for feed in first} & {feed.host for feed in second}


async def test_a_host_is_not_asked_again_inside_its_delay(conn: Connection) -> None:
    await follow(conn, "https://example.com/1", "https://example.com/2")
    (feed,) = await claim(conn)

    await answer(conn, an_answer(feed))

    assert await claim(conn, now=START + DELAY - SECOND) == []
    (other,) = await claim(conn, now=START + DELAY)
    assert other.source_id != feed.source_id


async def test_never_polled_feeds_come_before_the_longest_due(conn: Connection) -> None:
    await follow(conn, "https://example.com/old")
    (old,) = await claim(conn)
    await answer(conn, an_answer(old, next_poll_at=START + SECOND))
    await follow(conn, "https://example.com/new", now=START + 5 * SECOND)

    (first,) = await claim(conn, now=START + 5 * SECOND)

    assert first.feed_url == "https://example.com/new"


async def test_new_feeds_come_before_the_backlog(conn: Connection) -> None:
    await follow(conn, *(f"https://h{n}.example/" for n in range(5)))
    for feed in await claim(conn):
        await answer(conn, an_answer(feed, next_poll_at=START + 5 * SECOND))
    await follow(conn, "https://new.example/", now=START + HOUR)

    (first,) = await claim(conn, limit=1, now=START + HOUR)

    assert first.host == "new.example"


async def test_a_new_feed_does_not_break_the_delay_of_its_host(conn: Connection) -> None:
    await follow(conn, "https://example.com/1")
    (feed,) = await claim(conn)
    await answer(conn, an_answer(feed))
    await follow(conn, "https://example.com/2", now=START + SECOND)

    assert await claim(conn, now=START + SECOND) == []
    assert len(await claim(conn, now=START + DELAY)) == 1


async def test_a_new_feed_does_not_break_a_lease_on_its_host(conn: Connection) -> None:
    await follow(conn, "https://example.com/1")
    await claim(conn)
    await follow(conn, "https://example.com/2", now=START + SECOND)

    assert await claim(conn, now=START + SECOND) == []


async def test_all_that_was_decided_is_there_at_the_next_claim(conn: Connection) -> None:
    await follow(conn, "https://example.com/feed")
    (feed,) = await claim(conn)
    state = FeedState(
        feed.source_id,
        consecutive_errors=4,
        streak=3,
        streak_class=FailureClass.NOT_FOUND,
        permanent_errors=2,
        failing_since=START - HOUR,
        disabled=Disabled(START, FailureClass.NOT_FOUND, START + HOUR, 2),
        moved=Moved("https://new.example/", START, 2),
        mean_gap=timedelta(hours=1.5),
        last_new_at=START - 2 * HOUR,
        last_full_at=START - 3 * HOUR,
        last_error="There is no feed.",
        last_error_type=FailureClass.NOT_FOUND,
        hints=PollHints(6 * HOUR, frozenset({0, 23}), frozenset({5})),
    )
    host = HostState(feed.host, (feed.source_id,), FailureClass.NOT_FOUND, START + HOUR, 1)

    await answer(conn, an_answer(feed, state=state), host=host)

    (again,) = await claim(conn, now=START + HOUR)
    assert (again.state, again.host_state, again.validators) == (state, host, Validators('"v1"', "yesterday"))


async def test_the_source_says_that_it_is_off_and_why_and_that_it_is_on_again(conn: Connection) -> None:
    await follow(conn, "https://example.com/feed")
    (feed,) = await claim(conn)
    off = replace(feed.state, disabled=Disabled(START, FailureClass.GONE, START + HOUR), last_error="Gone.")
    await answer(conn, an_answer(feed, state=off))
    (while_off,) = await list_health(conn)
    (probe,) = await claim(conn, now=START + HOUR)
    await answer(conn, an_answer(probe, at=START + HOUR))
    (after,) = await list_health(conn)

    assert (while_off.feed_disabled_at, while_off.feed_disabled_until, while_off.state) == (
        START,
        START + HOUR,
        "auto_disabled",
    )
    assert (after.feed_disabled_at, after.feed_disabled_until, after.state) == (None, None, "working")


async def test_every_poll_leaves_an_event_that_is_forgotten_in_time(conn: Connection) -> None:
    await follow(conn, "https://example.com/feed")
    (feed,) = await claim(conn)
    await answer(conn, an_answer(feed))

    rows = await (
        await conn.execute("SELECT source_id, at, outcome, status, bytes, took_ms, new_articles FROM poll_events")
    ).fetchall()
    kept = await feed_cleanup.delete_events(conn, before=START, limit=10)
    forgotten = await feed_cleanup.delete_events(conn, before=START + SECOND, limit=10)

    assert rows == [(feed.source_id, START, "polled", 200, 1234, 56, 1)]
    assert (kept, forgotten) == (0, 1)


async def test_an_answer_under_a_lost_lease_changes_no_schedule_and_frees_no_host(conn: Connection) -> None:
    await follow(conn, "https://example.com/feed")
    (lost,) = await claim(conn)
    (held,) = await claim(conn, now=START + LEASE)

    await answer(conn, an_answer(lost, next_poll_at=START + 9 * HOUR))
    still_held = await claim(conn, now=START + LEASE + SECOND)
    await answer(conn, an_answer(held))

    (health,) = await list_health(conn)
    assert still_held == []
    assert health.next_poll_at == START + HOUR


async def test_many_answers_are_written_at_once(conn: Connection) -> None:
    await follow(conn, *(f"https://h{n}.example/" for n in range(50)))
    claimed = await claim(conn, limit=50)

    await answer(conn, *(an_answer(feed) for feed in claimed))

    assert {health.next_poll_at for health in await list_health(conn)} == {START + HOUR}
    assert await claim(conn, now=START + DELAY) == []


async def test_a_source_that_was_removed_while_it_was_polled_is_no_error(conn: Connection) -> None:
    await follow(conn, "https://example.com/feed")
    (feed,) = await claim(conn)
    await conn.execute("DELETE FROM sources")

    await answer(conn, an_answer(feed))

    assert await claim(conn, now=START + HOUR) == []


async def test_the_lag_is_that_of_the_oldest_due_feed(conn: Connection) -> None:
    nothing = await feed_claims.oldest_due_at(conn, now=START)
    await follow(conn, "https://example.com/feed", now=START - 5 * SECOND)
    waiting = await feed_claims.oldest_due_at(conn, now=START)
    await claim(conn)
    in_hand = await feed_claims.oldest_due_at(conn, now=START)

    assert (nothing, waiting, in_hand) == (None, START - 5 * SECOND, None)


async def test_a_new_host_does_not_hide_one_that_has_waited_for_longer(conn: Connection) -> None:
    await follow(conn, "https://old.example/feed", now=START - HOUR)
    await conn.execute("UPDATE hosts SET has_new_feed = false, free_at = %(at)s", {"at": START - 60 * SECOND})
    await follow(conn, "https://new.example/feed", now=START - SECOND)

    assert await feed_claims.oldest_due_at(conn, now=START) == START - 60 * SECOND


async def test_a_feed_can_be_claimed_by_name_unless_its_host_is_busy(conn: Connection) -> None:
    source, other = await follow(conn, "https://example.com/1", "https://example.com/2", now=START + HOUR)

    async def claim_one(wanted: Source, now: datetime) -> ClaimedFeed | None:
        return await feed_claims.claim_one(conn, source_id=wanted.id, lease=new_id(), now=now, leased_until=now + LEASE)

    first = await claim_one(source, START)
    while_held = await claim_one(other, START + SECOND)
    assert first is not None
    await answer(conn, an_answer(first, at=START + SECOND))
    inside_delay = await claim_one(other, START + 2 * SECOND)
    after = await claim_one(other, START + SECOND + DELAY)

    assert (while_held, inside_delay) == (None, None)
    assert after is not None


async def test_resetting_a_feed_clears_its_errors(conn: Connection) -> None:
    (source,) = await follow(conn, "https://example.com/feed")
    (feed,) = await claim(conn)
    off = replace(
        feed.state, disabled=Disabled(START, FailureClass.GONE, None), consecutive_errors=5, last_error="Gone."
    )
    await answer(
        conn, an_answer(feed, state=off, next_poll_at=datetime.max.replace(tzinfo=START.tzinfo, microsecond=0))
    )

    await feed_schedule.reset_feed(
        conn, source_id=source.id, feed_url="https://new.example/feed", host="new.example", now=START + HOUR
    )

    (again,) = await claim(conn, now=START + HOUR)
    assert (again.feed_url, again.host, again.state) == (
        "https://new.example/feed",
        "new.example",
        FeedState(source.id),
    )


async def test_a_feed_that_comes_while_its_host_is_given_back_is_not_slept_through(database: Database) -> None:
    async with database.transaction() as conn:
        await a_source(conn, url="https://one.example/a")
        (feed,) = await claim(conn)
    async with database.transaction() as person:
        await a_source(person, url="https://one.example/b")
        async with asyncio.TaskGroup() as both:
            both.create_task(write(database, an_answer(feed, next_poll_at=START + 72 * HOUR)))
            await asyncio.sleep(0.3)  # it waits for the host's row by now
            await person.commit()

    async with database.transaction() as conn:
        (found,) = await claim(conn, now=START + DELAY)
    assert found.feed_url == "https://one.example/b"


async def write(database: Database, *answers: PollReport) -> None:
    async with database.transaction() as conn:
        await answer(conn, *answers)


async def test_a_feed_that_is_off_is_not_put_off_to_an_earlier_time(conn: Connection) -> None:
    source = await a_source(conn, url="https://one.example/a")
    (feed,) = await claim(conn)
    await feed_schedule.disable(conn, source_id=source.id, at=START, reason="gone", until=START + 72 * HOUR)
    await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=START + 72 * HOUR, now=START)
    await conn.execute("UPDATE feed_state SET edits = %(edits)s", {"edits": feed.edits})

    await feed_results.put_off(conn, feed=feed, until=START + HOUR, host="two.example", now=START)

    (health,) = await list_health(conn)
    assert health.next_poll_at == START + 72 * HOUR


async def test_who_adopts_a_url_does_not_break_the_lease_of_its_host(conn: Connection) -> None:
    moving = await a_source(conn, url="https://old.example/feed")
    await a_source(conn, url="https://new.example/other")
    held = [feed.host for feed in await claim(conn)]

    await feed_moves.adopt(
        conn, source_id=moving.id, feed_url="https://new.example/feed", host="new.example", now=START + SECOND
    )

    assert sorted(held) == ["new.example", "old.example"]
    assert await claim(conn, now=START + SECOND) == []


async def test_enabling_feeds_after_our_own_outage_polls_no_disabled_source(conn: Connection) -> None:
    sources = [await a_source(conn, url=f"https://h{number}.example/feed") for number in range(3)]
    for source in sources:
        await feed_schedule.disable(conn, source_id=source.id, at=START, reason="ssrf_blocked", until=None)
        await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=START + 99 * HOUR, now=START)
    await conn.execute("UPDATE feed_state SET disabled_by_operator = (source_id = %s)", (sources[2].id,))
    await set_enabled(conn, source_id=sources[1].id, enabled=False)

    ids = [source.id for source in sources]
    await feed_results.reenable(conn, source_ids=ids, reason="ssrf_blocked", next_poll_at=START + HOUR)

    next_polls = {health.id: health.next_poll_at for health in await list_health(conn)}
    assert next_polls == {sources[0].id: START + HOUR, sources[1].id: None, sources[2].id: START + 99 * HOUR}


async def test_one_host_of_each_site_is_probed_the_site_asked_longest_ago_first(conn: Connection) -> None:
    hosts = [*(f"h{number}.crowd.example" for number in range(50)), "a.example", "www.b.example", "c.example"]
    sources = await follow(conn, *(f"https://{host}/feed" for host in hosts), now=START - 48 * HOUR)
    ids = {source.id: host for source, host in zip(sources, hosts, strict=True)}
    await conn.execute("UPDATE hosts SET answered_at = %s, not_before = %s", (START, START - 24 * HOUR))
    asked = {"c.example": 3, "a.example": 2, "h7.crowd.example": 1}
    for host, hours in asked.items():
        await conn.execute("UPDATE hosts SET not_before = %s WHERE name = %s", (START - hours * HOUR, host))

    probes = await feed_claims.list_probes(conn, now=START, limit=10)

    assert [ids[probe] for probe in probes[:3]] == ["www.b.example", "c.example", "a.example"]
    assert [ids[probe].endswith("crowd.example") for probe in probes] == [False, False, False, True]


async def test_only_hosts_known_to_answer_are_probed_the_one_asked_longest_ago_first(conn: Connection) -> None:
    names = ["known", "known-too", "new", "paused", "waiting", "off", "old"]
    sources = await follow(conn, *(f"https://{name}.example/feed" for name in names), now=START + HOUR)
    ids = dict(zip(names, (source.id for source in sources), strict=True))
    await conn.execute("UPDATE hosts SET answered_at = %s WHERE name <> 'new.example'", (START,))
    await conn.execute("UPDATE hosts SET answered_at = %s WHERE name = 'old.example'", (START - 200 * HOUR,))
    await conn.execute("UPDATE hosts SET not_before = %s WHERE name = 'known.example'", (START - SECOND,))
    await conn.execute("UPDATE hosts SET paused_until = %s WHERE name = 'paused.example'", (START + HOUR,))
    await conn.execute("UPDATE feed_state SET asked_until = %s WHERE host = 'waiting.example'", (START + HOUR,))
    await feed_schedule.disable(conn, source_id=ids["off"], at=START, reason="gone", until=START + HOUR)

    probes = await feed_claims.list_probes(conn, now=START, limit=10)
    much_later = await feed_claims.list_probes(conn, now=START + 1000 * HOUR, limit=1)

    assert list(probes) == [ids["known-too"], ids["known"]]
    assert len(much_later) == 1  # in a long outage no host has answered


async def titled(conn: Connection, title: str, url: str = "https://example.com/feed", name: str | None = None) -> str:
    """The name of a source after a poll that found this title."""
    source = await following.follow(conn, url=url, name=name, now=START)
    if name is None:
        await conn.execute("UPDATE sources SET is_system = false WHERE id = %(id)s", {"id": source.id})
    [claimed] = await claim(conn)
    outcome = Polled(replace(a_read_feed(START), title=title), Validators(None, None))
    await answer(conn, an_answer(claimed, outcome=outcome))
    return (await sources.find_by_id(conn, source_id=source.id)).name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("The River News", "The River News"),
        ("  The\n River \x00 News ", "The River News"),
        ("long " * 100, ("long " * 51).strip()),
        ("", "example.com"),
        ("\u200b", "example.com"),
        ("\u3164\u2800", "example.com"),
    ],
)
async def test_a_source_without_a_name_gets_the_title_of_its_feed(conn: Connection, title: str, name: str) -> None:
    assert await titled(conn, title) == name


async def test_the_name_of_a_host_stays_if_an_operator_chose_it_later(conn: Connection) -> None:
    assert await titled(conn, "The River News") == "The River News"
    await conn.execute("UPDATE sources SET name = 'example.com'")

    [claimed] = await claim(conn, now=START + 2 * HOUR)
    outcome = Polled(replace(a_read_feed(START), title="The River News"), Validators(None, None))
    await answer(conn, an_answer(claimed, outcome=outcome))

    source = await sources.find_by_id(conn, source_id=claimed.source_id)
    assert (claimed.state.last_full_at, source.name) == (START, "example.com")


async def test_a_name_that_an_operator_chose_stays(conn: Connection) -> None:
    assert await titled(conn, "The River News", name="Rivers") == "Rivers"


async def test_the_title_of_a_private_feed_is_not_shown_to_operators(conn: Connection) -> None:
    assert await titled(conn, "Tickets of Ada", url="https://example.com/feed?token=s3cret") == "example.com"
