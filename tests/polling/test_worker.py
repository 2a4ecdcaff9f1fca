"""Every exhibit of the zoo ends in the class it is there for, with an outcome, a level and a next try."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import cast

import pytest
from psycopg.conninfo import make_conninfo
from structlog.testing import capture_logs

from headwater.accounts.changes import add_user
from headwater.accounts.types import Role
from headwater.articles.store.listing import latest
from headwater.articles.types import NewArticle
from headwater.db import Database
from headwater.hosts.store.outages import list_outages
from headwater.net import Client
from headwater.polling.policy import POLICIES
from headwater.polling.types import (
    FailureClass,
    Happening,
    NotModified,
    Polled,
    PollFailed,
    PollingOptions,
    PollReport,
    ReadFeed,
)
from headwater.polling.worker import SLOW_S, Poller
from headwater.runtime import utc_now
from headwater.sandbox import Sandbox
from headwater.sources.store.details import list_health
from headwater.sources.subscribe import add_feed
from headwater.sources.types import Source
from headwater.types import SourceId, UserId
from headwater_lab.zoo import DOMAIN, EXHIBITS, Exhibit, Zoo
from tests.builders import a_source
from tests.clock import START, MovableClock
from tests.databases import new_database
from tests.polling.histories import OPTIONS

pytestmark = pytest.mark.database

HOUR = timedelta(hours=1)
QUICK = replace(OPTIONS, timeout=timedelta(seconds=20), host_delay=timedelta(0))
ENDLESS = {"silent", "drip"}
IN_SHORT = {"default", "once"}  # of the policies; the others in `make soak`
BY_NAME = {exhibit.name: exhibit for exhibit in EXHIBITS}


@pytest.fixture(scope="module")
async def zoo() -> AsyncIterator[Zoo]:
    async with Zoo() as zoo:
        yield zoo


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(processes=2, time_limit=timedelta(seconds=10), memory_limit=1_000_000_000) as sandbox:
        yield sandbox


@asynccontextmanager
async def a_poller(
    database: Database, sandbox: Sandbox, clock: MovableClock, options: PollingOptions = QUICK
) -> AsyncIterator[Poller]:
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client:
        yield Poller(database, client, sandbox, clock, options)


@pytest.fixture
async def poller(database: Database, sandbox: Sandbox, clock: MovableClock) -> AsyncIterator[Poller]:
    async with a_poller(database, sandbox, clock) as poller:
        yield poller


async def follow(database: Database, url: str, name: str | None = None) -> Source:
    async with database.transaction() as conn:
        return await a_source(conn, url=url, name=name)


async def poll(poller: Poller) -> PollReport:
    (claimed,) = await poller.claim(1)
    return await poller.work(claimed)


async def poll_all(poller: Poller) -> list[PollReport]:
    reports: list[PollReport] = []
    while claimed := await poller.claim(10):
        reports += await asyncio.gather(*(poller.work(feed) for feed in claimed))
    return reports


@dataclass(frozen=True)
class Visited:
    report: PollReport
    logged: list[tuple[str, str]]


def test_the_zoo_has_an_exhibit_for_every_class() -> None:
    assert {exhibit.expects for exhibit in EXHIBITS} == {"articles", *FailureClass}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if name in IN_SHORT else pytest.mark.soak) for name in sorted(POLICIES)],
)
async def all_visited(
    request: pytest.FixtureRequest, sandbox: Sandbox, server_conninfo: str, template: str
) -> tuple[str, dict[str, Visited]]:
    """Every exhibit polled once under one policy, with what was logged."""
    options = replace(QUICK, policy=request.param)
    opened_at = time.time()
    async with (
        Zoo(clock=lambda: opened_at) as zoo,  # time stands still: some exhibits fail after 45 s
        new_database(server_conninfo, template) as name,
        Database(make_conninfo(server_conninfo, dbname=name), pool_size=5, wait=timedelta(seconds=30)) as database,
        Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client,
    ):
        names = {(await follow(database, zoo.url_of(exhibit))).id: exhibit.name for exhibit in EXHIBITS}
        quick, patient = (
            Poller(database, client, sandbox, MovableClock(), replace(options, timeout=timedelta(seconds=timeout)))
            for timeout in (1.5, 60)  # a busy machine may take seconds for what is not endless
        )
        reports: list[PollReport] = []
        with capture_logs() as logs:
            while claimed := await quick.claim(10):
                pollers = [quick if names[feed.source_id] in ENDLESS else patient for feed in claimed]
                reports += await asyncio.gather(*(p.work(feed) for p, feed in zip(pollers, claimed, strict=True)))
        logged: dict[str, list[tuple[str, str]]] = {}
        for line in logs:
            logged.setdefault(str(line.get("source_id")), []).append((str(line["event"]), str(line["log_level"])))
    visited = {names[report.source_id]: Visited(report, logged[str(report.source_id)]) for report in reports}
    return request.param, visited


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_an_exhibit_ends_as_its_policy_says(exhibit: Exhibit, all_visited: tuple[str, dict[str, Visited]]) -> None:
    policy, visited = all_visited
    report, logged = visited[exhibit.name].report, visited[exhibit.name].logged
    if isinstance(report.outcome, PollFailed) and "Content-Type" in report.outcome.detail:
        assert policy == "once"
        assert "xml" not in report.outcome.detail
        return
    if not exhibit.fails:
        assert isinstance(report.outcome, Polled), report.outcome
        assert report.outcome.feed.entries
        level = "info" if report.new_articles else "debug"
        assert logged == [("feed polled", level)]
        return

    assert isinstance(report.outcome, PollFailed)
    assert report.outcome.kind == exhibit.expects, report.outcome
    rule = POLICIES[policy].rule(report.outcome.kind, report.outcome.status)
    state, wait = report.decision.state, report.next_poll_at - MovableClock().now
    if rule.host_scope:
        assert report.host.paused
        assert [event for event, _ in logged] == ["feed poll failed", "host paused"]
        return
    assert logged[0] == ("feed poll failed", rule.level.value)
    assert (state.consecutive_errors, state.last_error) == (1, POLICIES[policy].detail(report.outcome))
    if rule.threshold == 1:
        assert state.disabled is not None
        assert logged[1:] == [("feed disabled", "warning")]
        assert state.disabled.until is None or wait == rule.cooldown
    else:
        assert state.disabled is None
        # What never was a feed may be the page of one: it is looked for at once.
        assert logged[1:] == ([("feed lost", "info")] if rule.rediscover else [])
        assert timedelta(minutes=5) <= wait <= timedelta(days=1)


async def test_a_feed_that_has_not_changed_is_asked_for_with_its_validators(
    zoo: Zoo, poller: Poller, database: Database, clock: MovableClock
) -> None:
    still = BY_NAME["museum"]
    await follow(database, zoo.url_of(still))

    first = await poll(poller)
    clock.move(days=2)
    second = await poll(poller)

    assert isinstance(first.outcome, Polled)
    assert first.new_articles == len(first.outcome.feed.entries)
    assert isinstance(second.outcome, NotModified)
    visit = zoo.visits_to(still.host)[-1]
    assert (visit.if_none_match, visit.if_modified_since) == (
        first.outcome.validators.etag,
        first.outcome.validators.last_modified,
    )
    assert visit.user_agent == "Test/1"


async def test_once_a_week_a_full_answer_is_asked_for(
    zoo: Zoo, poller: Poller, database: Database, clock: MovableClock
) -> None:
    await follow(database, zoo.url_of(BY_NAME["museum"]))

    await poll(poller)
    clock.move(days=8)
    second = await poll(poller)

    assert isinstance(second.outcome, Polled)


async def test_the_same_article_in_several_feeds_is_kept_once(zoo: Zoo, poller: Poller, database: Database) -> None:
    for name in ("morning-echo", "evening-echo", "night-echo"):
        await follow(database, zoo.url_of(BY_NAME[name]), name)

    await poll_all(poller)

    async with database.transaction() as conn:
        found = await latest(conn, limit=200)
    assert len({article.url for article in found}) == len(found)
    assert any(len(article.sources) == 3 for article in found)


async def test_a_failure_is_written_with_its_reason_and_next_try(
    zoo: Zoo, poller: Poller, database: Database, clock: MovableClock
) -> None:
    await follow(database, zoo.url_of(BY_NAME["gone"]))

    report = await poll(poller)

    async with database.transaction() as conn:
        (health,) = await list_health(conn)
    assert isinstance(report.outcome, PollFailed)
    assert health.last_error == report.outcome.detail == "The site has removed this feed permanently. (HTTP 410)"
    assert health.next_poll_at == report.next_poll_at == clock() + 72 * HOUR
    assert health.feed_disabled_at == clock()


async def test_a_feed_that_dies_goes_off_and_comes_back_by_itself(
    zoo: Zoo, sandbox: Sandbox, database: Database, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole life of a failure, with a fast clock: failing, backed off, off, cooldown, probe, back."""
    await follow(database, zoo.url_of(BY_NAME["missing"]))
    async with database.transaction() as conn:  # it was read before: a new feed is tried again sooner
        await conn.execute("UPDATE feed_state SET last_full_at = %(at)s", {"at": clock() - HOUR})
    async with a_poller(database, sandbox, clock) as poller:
        happened: list[tuple[float, str, tuple[Happening, ...]]] = []
        begun = clock()
        for _ in range(6):
            report = await poll(poller)
            happened.append(((clock() - begun) / HOUR, report.outcome_name, report.decision.happenings))
            clock.now = report.next_poll_at
        async with database.transaction() as conn:
            await conn.execute("UPDATE feed_state SET feed_url = %(url)s", {"url": zoo.url_of(BY_NAME["museum"])})
        back = await poll(poller)

    assert happened == [
        (0, "not_found", ()),
        (2, "not_found", ()),
        (6, "not_found", ()),
        (14, "not_found", ()),
        (30, "not_found", (Happening.DISABLED,)),
        (78, "not_found", ()),
    ]
    assert (back.outcome_name, back.decision.happenings) == ("polled", (Happening.ENABLED,))
    assert back.decision.state.consecutive_errors == 0


async def test_a_host_whose_feeds_all_fail_alike_is_paused_with_one_line_and_one_probe(
    zoo: Zoo, sandbox: Sandbox, database: Database, clock: MovableClock
) -> None:
    for number in range(6):
        await follow(database, zoo.url(BY_NAME["broken"].host, f"/feed.xml?{number}"))
    async with a_poller(database, sandbox, clock) as poller:
        with capture_logs() as logs:
            for _ in range(8):
                await poll_all(poller)
                clock.move(seconds=3)
        counted = [health.consecutive_errors for health in await health_of(database)]

    assert [line["event"] for line in logs].count("host paused") == 1
    assert sorted(counted) == [0, 0, 0, 0, 1, 1]
    assert len([line for line in logs if line["event"] == "feed poll failed"]) == 3


async def health_of(database: Database):
    async with database.transaction() as conn:
        return await list_health(conn)


async def known_to_answer(database: Database, at: datetime) -> None:
    """All hosts there are answered then."""
    async with database.transaction() as conn:
        await conn.execute("UPDATE hosts SET answered_at = %s", (at,))


async def test_when_every_known_host_fails_it_is_our_own_outage_and_nothing_is_counted(
    sandbox: Sandbox, database: Database, clock: MovableClock
) -> None:
    for number in range(12):
        await follow(database, f"http://h{number}.invalid/feed")
    await known_to_answer(database, clock() - timedelta(days=1))
    async with a_poller(database, sandbox, clock) as poller:
        with capture_logs() as logs:
            for _ in range(5):
                await poll(poller)
            clock.move(seconds=31)
            in_vain = [await poller.claim(10) for _ in range(3)]
            for _ in range(7):
                clock.now += timedelta(minutes=3)
                for feed in await poller.claim(10):
                    await poller.work(feed)
        counted = sum(health.consecutive_errors for health in await health_of(database))

    assert [line["event"] for line in logs if line["event"].startswith("own")] == ["own network is down"]
    assert counted == 4
    assert [len(claimed) for claimed in in_vain] == [3, 0, 0]  # probes, one round in half a minute


async def test_connections_that_are_refused_are_a_sign_of_our_own_outage(
    sandbox: Sandbox, database: Database, clock: MovableClock
) -> None:
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        for number in range(5):
            await follow(database, f"http://h{number}.invalid:{taken.getsockname()[1]}/feed")
        await known_to_answer(database, clock())
        async with Client(user_agent="Test/1", allow_loopback=True, resolve={"invalid": "127.0.0.1"}) as client:
            poller = Poller(database, client, sandbox, clock, QUICK)
            reports = [await poller.work(feed) for feed in await poller.claim(10)]

    assert {report.outcome_name for report in reports} == {FailureClass.NETWORK}
    assert await outages_of(database, clock) == ["polling"]


async def test_an_outage_ends_when_a_known_host_answers_though_no_feed_is_due(
    zoo: Zoo, sandbox: Sandbox, database: Database, clock: MovableClock
) -> None:
    await follow(database, zoo.url("h1.crowd", "/feed/0.xml"))
    async with a_poller(database, sandbox, clock) as poller:
        await poll_all(poller)
        clock.move(minutes=1)
        for number in range(5):
            await follow(database, f"http://h{number}.invalid/feed")
        await known_to_answer(database, clock())
        with capture_logs() as logs:
            claimed = [feed for feed in await poller.claim(10) if feed.host.endswith(".invalid")]
            for feed in claimed:
                await poller.work(feed)
            during = await outages_of(database, clock)
            clock.move(seconds=31)
            due = await due_feeds(database, clock)
            reports = [await poller.work(feed) for feed in await poller.claim(10)]

    assert (len(claimed), due) == (5, 0)
    assert during == ["polling"]  # every process can see it
    assert any(not isinstance(report.outcome, PollFailed) for report in reports)
    assert await outages_of(database, clock) == []
    assert [line["event"] for line in logs if line["event"].startswith("own")][-1] == "own network is back"


async def due_feeds(database: Database, clock: MovableClock) -> int:
    async with database.transaction() as conn:
        cur = await conn.execute("SELECT count(*) FROM feed_state WHERE next_poll_at <= %s", (clock(),))
        row = await cur.fetchone()
    return row[0] if row else 0


async def test_three_hundred_dead_feeds_are_counted_and_do_not_disturb_the_good_ones(
    zoo: Zoo, sandbox: Sandbox, database: Database, clock: MovableClock
) -> None:
    good = {(await follow(database, zoo.url(f"h{number}.crowd", "/feed/0.xml"))).id for number in range(60)}
    options = replace(QUICK, concurrency=20)
    async with (
        a_poller(database, sandbox, clock, options) as poller,
        a_poller(database, sandbox, clock, options) as other,
    ):
        await poll_all(poller)
        for number in range(300):
            await follow(database, f"http://dead{number}.invalid/feed")
        clock.move(hours=1.2)
        with capture_logs() as logs:
            reports = [*await poll_all(poller), *await poll_all(other)]
            while claimed := [*await poller.claim(20), *await other.claim(20)]:
                reports += await asyncio.gather(*(poller.work(feed) for feed in claimed))
    failed = [report for report in reports if isinstance(report.outcome, PollFailed)]

    assert {report.source_id for report in reports if not isinstance(report.outcome, PollFailed)} == good
    assert len(failed) == 300
    assert {report.decision.state.consecutive_errors for report in failed} == {1}
    assert not [line for line in logs if line["event"] == "own network is down"]


async def test_a_fresh_instance_without_history_counts_failures_and_soon_tries_again(
    sandbox: Sandbox, database: Database, clock: MovableClock
) -> None:
    for number in range(12):
        await follow(database, f"http://h{number}.invalid/feed")
    async with a_poller(database, sandbox, clock) as poller:
        reports = await poll_all(poller)

    assert {report.decision.state.consecutive_errors for report in reports} == {1}
    assert max(report.next_poll_at for report in reports) <= clock() + timedelta(minutes=10)


async def test_hosts_that_never_answered_leave_a_quarter_of_the_slots_to_the_others(
    sandbox: Sandbox, database: Database, clock: MovableClock
) -> None:
    for number in range(5):
        await follow(database, f"http://known{number}.invalid/feed")
    await known_to_answer(database, clock())
    for number in range(20):
        await follow(database, f"http://new{number}.invalid/feed")
    async with a_poller(database, sandbox, clock) as poller:
        claimed = await poller.claim(10)

    assert sorted(feed.host_answered_at is None for feed in claimed) == [False] * 2 + [True] * 8


async def test_hosts_that_never_answered_use_all_slots_while_no_others_are_due(
    sandbox: Sandbox, database: Database, clock: MovableClock
) -> None:
    for number in range(20):
        await follow(database, f"http://new{number}.invalid/feed")
    async with a_poller(database, sandbox, clock) as poller:
        claimed = await poller.claim(10)

    assert len(claimed) == 10


@pytest.mark.parametrize("are_over", [False, True], ids=["running", "over"])
async def test_the_slow_feeds_of_one_reader_leave_the_next_slot_to_the_others(
    database: Database, sandbox: Sandbox, clock: MovableClock, are_over: bool
) -> None:
    ada, eve = [(await a_reader(database, name)) for name in ("ada", "eve")]
    options = replace(QUICK, concurrency=4, timeout=timedelta(seconds=2 * SLOW_S))
    async with listening() as port, a_poller(database, sandbox, clock, options) as poller:
        for number in range(12):
            await bring(database, eve, f"http://slow{number}.{DOMAIN}:{port}/feed", clock())
        running = [asyncio.create_task(poller.work(feed)) for feed in await poller.claim(3)]
        clock.move(minutes=1)
        hers = await bring(database, ada, f"http://ada.{DOMAIN}:{port}/feed", clock())
        await (asyncio.wait(running) if are_over else asyncio.sleep(1.5 * SLOW_S))

        claimed = await poller.claim(2)
        await asyncio.gather(*running)

    assert claimed[0].source_id == hers
    assert len(claimed) == 2  # what the others leave is for the slow ones


async def a_reader(database: Database, name: str) -> UserId:
    async with database.as_system() as conn:
        return (await add_user(conn, f"{name}@example.com", None, Role.READER, START)).id


async def bring(database: Database, reader: UserId, url: str, now: datetime) -> SourceId:
    async with database.as_system() as conn:
        return (await add_feed(conn, user_id=reader, name=url, url=url, now=now)).source_id


@asynccontextmanager
async def listening() -> AsyncIterator[int]:
    """A server that never answers."""

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_two_known_hosts_that_fail_make_a_quiet_poller_ask_others(
    sandbox: Sandbox, database: Database, clock: MovableClock
) -> None:
    """With one poll a minute, five failures in a row would take too long to tell."""
    for number in range(8):
        await follow(database, f"http://h{number}.invalid/feed")
    await known_to_answer(database, clock())
    async with database.transaction() as conn:  # only two are due
        await conn.execute(
            "UPDATE feed_state SET next_poll_at = %s WHERE host >= 'h2'", (clock() + timedelta(hours=1),)
        )
        await conn.execute("UPDATE hosts SET free_at = %s WHERE name >= 'h2'", (clock() + timedelta(hours=1),))
    async with a_poller(database, sandbox, clock) as poller:
        await poll_all(poller)

    assert await outages_of(database, clock) == ["polling"]


async def outages_of(database: Database, clock: MovableClock) -> list[str]:
    async with database.transaction() as conn:
        return [outage.stage for outage in await list_outages(conn, now=clock())]


async def test_a_permanent_redirect_is_adopted_in_the_end(
    zoo: Zoo, sandbox: Sandbox, database: Database, clock: MovableClock
) -> None:
    await follow(database, zoo.url_of(BY_NAME["moved"]))
    async with a_poller(database, sandbox, clock) as poller:
        reports = [await poll(poller)]
        while Happening.MOVED not in reports[-1].decision.happenings:
            clock.now = reports[-1].next_poll_at
            reports.append(await poll(poller))

    assert clock() - MovableClock().now >= timedelta(days=1)
    assert len(reports) >= 3


async def test_a_bug_of_ours_is_an_outcome_too(
    zoo: Zoo, poller: Poller, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await follow(database, zoo.url_of(BY_NAME["daily"]))
    broken = ReadFeed("rss20", entries=cast("tuple[NewArticle, ...]", (None,)))
    monkeypatch.setattr("headwater.polling.request.Polled", lambda _, *rest, **named: Polled(broken, *rest, **named))

    with capture_logs() as logs:
        report = await poll(poller)

    assert report.outcome == PollFailed(FailureClass.UNEXPECTED, "Headwater itself failed: AttributeError.")
    assert [line["log_level"] for line in logs] == ["error", "error"]
    (health,) = await health_of(database)
    assert health.last_error_type == "unexpected"


async def test_two_pollers_never_ask_a_host_twice_within_its_delay(
    zoo: Zoo, sandbox: Sandbox, database: Database
) -> None:
    """Shown from the zoo's own log, on the real clock."""
    options = replace(QUICK, host_delay=timedelta(seconds=0.5))
    async with database.transaction() as conn:
        for host in range(8):
            for feed in range(3):
                await a_source(conn, url=zoo.url(f"h{host}.crowd", f"/feed/{host * 10 + feed}.xml"), now=utc_now())
    zoo.forget_visits()
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client:
        pollers = [Poller(database, client, sandbox, utc_now, options) for _ in range(3)]

        async def work(poller: Poller) -> int:
            done = 0
            for _ in range(25):
                claimed = await poller.claim(4)
                await asyncio.gather(*(poller.work(feed) for feed in claimed))
                done += len(claimed)
                await asyncio.sleep(0.1)
            return done

        polled = await asyncio.gather(*(work(poller) for poller in pollers))

    assert sum(polled) == len(zoo.visits) == 24
    for host in range(8):
        times = sorted(visit.at for visit in zoo.visits_to(f"h{host}.crowd"))
        assert all(later - earlier >= 0.49 for earlier, later in pairwise(times))


async def test_a_round_of_polling_ends_with_one_line_of_totals(zoo: Zoo, poller: Poller, database: Database) -> None:
    for number in range(3):
        await follow(database, zoo.url(f"h{number}.crowd", "/feed/0.xml"))
    await follow(database, "http://nobody.invalid/feed")

    with capture_logs() as logs:
        reports = await poll_all(poller)
        await poller.claim(10)

    (line,) = [line for line in logs if line["event"] == "polling round done"]
    assert line["log_level"] == "info"
    assert (line["feeds"], line["not_modified"], line["errors"]) == (4, 0, {"dns": 1})
    assert line["new_articles"] == sum(report.new_articles for report in reports) > 0
