"""Alerts see what is not counted against a feed: paused hosts, bot challenges, long failures, inactive sources."""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY

from headwater.alerts.show import show_facts
from headwater.alerts.store import facts, incidents
from headwater.alerts.types import AlertOptions, Condition, Incident
from headwater.alerts.worker import Alerter
from headwater.db import Database
from headwater.errors import HostBusy
from headwater.net import Client
from headwater.net.mail import Mailer
from headwater.polling.worker import Poller
from headwater.sandbox import Sandbox
from headwater.sources import follow
from headwater.sources.store.sources import find_by_id
from headwater.sources.types import Source, SourceOverrides
from tests.alerts.receiver import Receiver
from tests.alerts.world import OWN_CLOCK, a_system_feed
from tests.builders import a_source
from tests.clock import START, MovableClock
from tests.polling.histories import OPTIONS
from tests.site import Answer, Site, a_site, rss

pytestmark = pytest.mark.database

CHALLENGE: Answer = (403, "text/html", b"<html><title>Just a moment...</title></html>")
FORBIDDEN: Answer = (403, "text/plain", b"no")
FAILING = Condition.CRITICAL_FEED_FAILING
LONG = Condition.SYSTEM_FEED_DISABLED_LONG
MANY = Condition.SYSTEM_FEEDS_DISABLED


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(processes=1, time_limit=timedelta(seconds=10), memory_limit=1_000_000_000) as sandbox:
        yield sandbox


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        yield site


class Instance:
    """A poller and an alerter on one database and one clock."""

    def __init__(
        self, database: Database, client: Client, sandbox: Sandbox, clock: MovableClock, receiver: Receiver
    ) -> None:
        self.database = database
        self.clock = clock
        options = replace(OPTIONS, host_delay=timedelta(0), timeout=timedelta(seconds=60))
        self.poller = Poller(database, client, sandbox, clock, options)
        mailer = Mailer(None, "Headwater <headwater@example.com>")
        self.alerter = Alerter(
            database,
            mailer,
            clock,
            AlertOptions(webhook_url=receiver.url, settle=timedelta(0), digest=timedelta(0), clock=OWN_CLOCK),
        )

    async def follow(self, url: str, name: str) -> Source:
        async with self.database.transaction() as conn:
            source = await a_source(conn, url=url, name=name)
            await conn.execute("UPDATE sources SET is_critical = true WHERE id = %(id)s", {"id": source.id})
        return source

    async def poll_due(self) -> int:
        polls = 0
        while claimed := await self.poller.claim(1):
            with suppress(HostBusy):
                await self.poller.work(claimed[0])
            polls += 1
        return polls

    async def poll_by_hand(self, source: Source) -> None:
        claimed = await self.poller.claim_one(source.id)
        assert claimed is not None
        await self.poller.work(claimed)

    async def evaluate(self) -> None:
        self.clock.move(minutes=2)
        while items := await self.alerter.claim(self.alerter.concurrency):
            for item in items:
                await self.alerter.work(item)

    async def open(self) -> list[Incident]:
        async with self.database.transaction() as conn:
            return await incidents.list_open(conn)


@pytest.fixture
async def instance(
    database: Database, sandbox: Sandbox, clock: MovableClock, receiver: Receiver
) -> AsyncIterator[Instance]:
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={"example": "127.0.0.1"}) as client:
        yield Instance(database, client, sandbox, clock, receiver)


async def test_four_critical_feeds_of_a_host_that_answers_403_are_one_incident(
    instance: Instance, site: Site, receiver: Receiver
) -> None:
    places = [f"news.example/{number}" for number in range(4)]
    site.answers |= dict.fromkeys(places, FORBIDDEN)
    for place in places:
        await instance.follow(site.url(place), place)
    await instance.poll_due()
    for _ in range(5):
        await instance.evaluate()

    (incident,) = [one for one in await instance.open() if one.condition is FAILING]
    assert incident.host == "news.example"
    assert incident.title == "The host of a critical feed is paused"
    assert "(forbidden)" in incident.summary
    assert all(place in incident.summary for place in places)
    assert sum(one["condition"] == FAILING for body in receiver.bodies for one in body["incidents"]) == 1

    site.answers |= dict.fromkeys(places, rss("News", "a"))
    instance.clock.move(hours=25)
    await instance.poll_due()
    for _ in range(3):
        await instance.evaluate()

    assert [one for one in await instance.open() if one.condition is FAILING] == []
    sent = [one["status"] for body in receiver.bodies for one in body["incidents"] if one["condition"] == FAILING]
    assert sent == ["firing", "resolved"]


async def test_a_critical_feed_behind_a_bot_challenge_is_an_incident_until_it_is_read(
    instance: Instance, site: Site, receiver: Receiver
) -> None:
    site.answers["guarded.example/feed"] = CHALLENGE
    source = await instance.follow(site.url("guarded.example/feed"), "Guarded")
    await instance.poll_due()
    for _ in range(5):
        await instance.poll_by_hand(source)
        await instance.evaluate()

    (incident,) = await instance.open()
    assert (incident.condition, incident.host) == (FAILING, "guarded.example")
    assert "(bot challenge)" in incident.summary
    assert len(receiver.bodies) == 1

    site.answers["guarded.example/feed"] = rss("Guarded", "a")
    instance.clock.move(hours=25)
    await instance.poll_due()
    await instance.evaluate()
    assert await instance.open() == []


async def test_a_critical_feed_that_redirects_to_a_paused_host_is_an_incident_after_a_day_without_success(
    instance: Instance, site: Site
) -> None:
    site.answers["news.example/feed"] = (302, "text/plain", site.url("guarded.example/feed").encode())
    site.answers["guarded.example/feed"] = rss("News", "a")
    source = await instance.follow(site.url("news.example/feed"), "News")
    await instance.poll_due()
    site.answers |= dict.fromkeys(["guarded.example/feed", "guarded.example/other"], CHALLENGE)
    async with instance.database.transaction() as conn:
        await a_source(conn, url=site.url("guarded.example/other"), name="Other")
    for _ in range(30):
        await instance.poll_due()
        instance.clock.move(hours=1)
    await instance.evaluate()

    (incident,) = [one for one in await instance.open() if one.condition is FAILING]
    assert incident.subject == str(source.id)

    site.answers |= dict.fromkeys(["guarded.example/feed", "guarded.example/other"], rss("News", "a"))
    for _ in range(60):
        await instance.poll_due()
        instance.clock.move(hours=1)
    await instance.evaluate()
    assert await instance.open() == []


async def test_a_host_that_answers_429_is_not_an_incident_at_once(instance: Instance, site: Site) -> None:
    places = [f"busy.example/{number}" for number in range(3)]
    site.answers |= dict.fromkeys(places, (429, "text/plain", b"later"))
    for place in places:
        await instance.follow(site.url(place), place)
    await instance.poll_due()
    await instance.evaluate()
    assert await instance.open() == []

    for _ in range(40):
        instance.clock.move(hours=1)
        await instance.poll_due()
        await instance.evaluate()
    assert FAILING in {one.condition for one in await instance.open()}


async def test_after_a_long_pause_feeds_that_are_about_to_be_read_are_no_incidents(
    instance: Instance, site: Site, receiver: Receiver
) -> None:
    places = [f"news.example/{number}" for number in range(6)]
    site.answers |= dict.fromkeys(places, FORBIDDEN)
    for place in places:
        await instance.follow(site.url(place), place)
    for _ in range(60):
        instance.clock.move(hours=1)
        await instance.poll_due()
    await instance.evaluate()
    assert {(one.condition, one.host) for one in await instance.open()} == {
        (FAILING, "news.example"),
        (LONG, "news.example"),
        (MANY, None),
    }

    site.answers |= dict.fromkeys(places, rss("News", "a"))
    instance.clock.move(hours=25)
    (first,) = await instance.poller.claim(1)
    await instance.poller.work(first)  # the host answers again, and the other feeds are due
    await instance.evaluate()

    assert await instance.open() == []


# What is read from the tables, whatever led to it


async def conditions(database: Database, clock: MovableClock) -> set[tuple[Condition, str]]:
    alerter = Alerter(database, Mailer(None, "Headwater <headwater@example.com>"), clock, AlertOptions(clock=OWN_CLOCK))
    clock.move(minutes=2)
    await alerter.evaluate()
    async with database.transaction() as conn:
        return {(one.condition, one.subject) for one in await incidents.list_open(conn)}


async def test_an_inactive_source_counts_as_off_in_both_alerts(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        feeds = [await a_system_feed(conn, number) for number in range(5)]
        for feed in feeds[:2]:
            source = await find_by_id(conn, source_id=feed.id)
            await follow.disable_source(conn, source, clock())
        await conn.execute(
            "UPDATE sources SET inactive_since = %(at)s WHERE NOT enabled", {"at": START - timedelta(hours=23)}
        )
    assert await conditions(database, clock) == {(MANY, "")}

    clock.move(hours=2)
    assert await conditions(database, clock) == {(MANY, ""), *((LONG, str(feed.id)) for feed in feeds[:2])}


async def test_since_when_a_source_is_inactive_is_kept_until_it_is_active_again(database: Database) -> None:
    async with database.transaction() as conn:
        source = await a_system_feed(conn)
        found: list[bool] = []
        for enabled in (False, False, True):
            await conn.execute("UPDATE sources SET enabled = %(enabled)s", {"enabled": enabled})
            cur = await conn.execute(
                "SELECT inactive_since IS NOT NULL FROM sources WHERE id = %(id)s", {"id": source.id}
            )
            row = await cur.fetchone()
            assert row is not None
            found.append(row[0])

    assert found == [True, True, False]


@pytest.mark.parametrize(
    ("is_system", "is_critical", "hours", "expected"),
    [
        (True, False, 23, set[Condition]()),
        (True, False, 25, {LONG}),
        (True, True, 25, {LONG, FAILING}),
        (False, True, 25, {FAILING}),
        (False, False, 25, set[Condition]()),
    ],
)
async def test_a_feed_that_fails_without_a_success_for_a_day_is_an_incident_however_few_its_errors(
    is_system: bool, is_critical: bool, hours: int, expected: set[Condition], database: Database, clock: MovableClock
) -> None:
    async with database.transaction() as conn:
        source = await a_system_feed(conn, errors=1, is_system=is_system, is_critical=is_critical)
        for number in range(10, 20):
            await a_system_feed(conn, number)
        await conn.execute(
            "UPDATE feed_state SET failing_since = %(at)s WHERE source_id = %(id)s",
            {"at": START - timedelta(hours=hours), "id": source.id},
        )

    assert await conditions(database, clock) == {(one, str(source.id)) for one in expected}


async def test_the_incident_of_a_failing_feed_goes_on_when_polling_disables_the_feed(
    instance: Instance, site: Site, receiver: Receiver
) -> None:
    site.answers |= {"news.example/f": (404, "text/plain", b"no")}
    source = await instance.follow(site.url("news.example/f"), "News")
    for _ in range(30):
        await instance.poll_due()
        await instance.evaluate()
        instance.clock.move(hours=2)
    async with instance.database.transaction() as conn:
        cursor = await conn.execute("SELECT FROM sources WHERE feed_disabled_at IS NOT NULL")
        assert cursor.rowcount == 1

    (incident,) = [one for one in await instance.open() if one.condition is LONG]
    sent = [one["status"] for body in receiver.bodies for one in body["incidents"] if one["condition"] == LONG]
    assert sent == ["firing"]
    assert incident.subject == str(source.id)


async def test_a_critical_source_without_a_feed_is_an_incident_after_a_day_of_failing(
    database: Database, clock: MovableClock
) -> None:
    async with database.transaction() as conn:
        overrides = SourceOverrides(site="https://site.example/", sitemap="https://site.example/map.xml", mode="both")
        source = await follow.follow(conn, url=None, name="Site", now=START, overrides=overrides)
        await conn.execute("UPDATE sources SET is_critical = true")
    assert await conditions(database, clock) == set()

    async with database.transaction() as conn:
        await conn.execute(
            "UPDATE frontier_url SET status = 'r', last_error = 'network: no answer', failing_since = %(at)s",
            {"at": clock()},
        )
    clock.move(hours=23)
    assert (FAILING, str(source.id)) not in await conditions(database, clock)
    clock.move(hours=2)
    assert (FAILING, str(source.id)) in await conditions(database, clock)


async def test_what_the_alerts_see_of_failing_hosts_is_shown_to_prometheus(
    database: Database, clock: MovableClock
) -> None:
    async with database.transaction() as conn:
        source = await a_system_feed(conn, is_critical=True)
        await conn.execute(
            "UPDATE hosts SET paused_until = %(until)s, failure_class = 'bot_challenge', pauses = 1",
            {"until": START + timedelta(days=1)},
        )
        await conn.execute("UPDATE feed_state SET failing_since = %(at)s", {"at": START - timedelta(hours=3)})
    await conditions(database, clock)
    async with database.transaction() as conn:
        show_facts(*await facts.find_last(conn))

    labels = {"source_id": str(source.id), "source": source.name}
    since = (START - timedelta(hours=3)).timestamp()
    assert REGISTRY.get_sample_value("headwater_system_feeds_disabled") == 1
    assert REGISTRY.get_sample_value("headwater_system_feed_failing_since_timestamp_seconds", labels) == since
    assert REGISTRY.get_sample_value("headwater_critical_feed_failing_since_timestamp_seconds", labels) == since
    paused = {**labels, "host": "feed-1.example"}
    assert REGISTRY.get_sample_value("headwater_critical_feed_paused", paused) == 1


async def test_overdue_retention_means_the_stage_stopped(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        await conn.execute("UPDATE retention_state SET due_at = %(at)s", {"at": START})
    found: set[tuple[Condition, str]] = set()
    for _ in range(15):
        found = await conditions(database, clock)
    assert (Condition.STAGE_STOPPED, "retaining") in found

    async with database.transaction() as conn:
        await conn.execute(
            "UPDATE retention_state SET due_at = %(at)s, lease = gen_random_uuid()",
            {"at": clock() + timedelta(hours=1)},
        )
    clock.move(minutes=10)
    for _ in range(6):
        found = await conditions(database, clock)
    assert (Condition.STAGE_STOPPED, "retaining") not in found
