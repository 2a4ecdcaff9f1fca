"""Every exhibit of the zoo ends in the class it is there for, with an outcome written."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from psycopg.conninfo import make_conninfo
from structlog.testing import capture_logs

from headwater.articles.store import latest
from headwater.db import Database
from headwater.net import Client
from headwater.polling.types import FailureClass, NotModified, Polled, PollFailed, PollingOptions, PollReport
from headwater.polling.worker import Poller
from headwater.sources.store import list_health
from headwater.sources.types import Source
from headwater.zoo import DOMAIN, EXHIBITS, Exhibit, Zoo
from tests.builders import a_source
from tests.clock import MovableClock
from tests.conftest import new_database

pytestmark = pytest.mark.database

OPTIONS = PollingOptions(
    interval=timedelta(hours=1),
    interval_max=timedelta(days=1),
    concurrency=10,
    timeout=timedelta(seconds=1.5),
    max_bytes=10_000_000,
    max_entries=50,
)
BY_NAME = {exhibit.name: exhibit for exhibit in EXHIBITS}


@pytest.fixture(scope="module")
async def zoo() -> AsyncIterator[Zoo]:
    async with Zoo() as zoo:
        yield zoo


@pytest.fixture
async def poller(database: Database, clock: MovableClock) -> AsyncIterator[Poller]:
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client:
        yield Poller(database, client, clock, OPTIONS)


async def follow(database: Database, url: str) -> Source:
    async with database.transaction() as conn:
        return await a_source(conn, url=url)


async def poll(poller: Poller) -> PollReport:
    (claimed,) = await poller.claim(1)
    return await poller.work(claimed)


def test_the_zoo_has_an_exhibit_for_every_class() -> None:
    assert {exhibit.expects for exhibit in EXHIBITS} == {"articles", *FailureClass}


@pytest.fixture(scope="module")
async def all_polled(zoo: Zoo, server_conninfo: str, template: str) -> dict[str, tuple[PollReport, list[str]]]:
    """Every exhibit polled once, all of them by one poller at the same time, with what was logged at which level."""
    clock = MovableClock()
    async with (
        new_database(server_conninfo, template) as name,
        Database(make_conninfo(server_conninfo, dbname=name), pool_size=5, wait=timedelta(seconds=30)) as database,
        Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client,
    ):
        poller = Poller(database, client, clock, OPTIONS)
        names = {(await follow(database, zoo.url_of(exhibit))).id: exhibit.name for exhibit in EXHIBITS}
        with capture_logs() as logs:
            reports: list[PollReport] = []
            while claimed := await poller.claim(10):
                reports += await asyncio.gather(*(poller.work(feed) for feed in claimed))
        levels: dict[str, list[str]] = {}
        for line in logs:
            levels.setdefault(str(line.get("source")), []).append(str(line["log_level"]))
        assert await poller.lag() == timedelta(0)
    return {names[report.source_id]: (report, levels[str(report.source_id)]) for report in reports}


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_an_exhibit_ends_as_expected(exhibit: Exhibit, all_polled: dict[str, tuple[PollReport, list[str]]]) -> None:
    report, levels = all_polled[exhibit.name]

    if exhibit.is_cage:
        assert report.outcome_name == exhibit.expects, report.outcome
        assert levels == ["error" if exhibit.expects == "unexpected" else "warning"]
    else:
        assert isinstance(report.outcome, Polled), report.outcome
        assert report.outcome.feed.entries
        assert levels == ["info"]


async def test_a_feed_that_has_not_changed_is_asked_for_with_its_validators(
    zoo: Zoo, poller: Poller, database: Database, clock: MovableClock
) -> None:
    still = BY_NAME["museum"]
    await follow(database, zoo.url_of(still))

    first = await poll(poller)
    clock.move(hours=1)
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


async def test_the_same_article_in_several_feeds_is_kept_once(zoo: Zoo, poller: Poller, database: Database) -> None:
    for name in ("daily", "merged"):
        await follow(database, zoo.url_of(BY_NAME[name]))
        await poll(poller)

    async with database.transaction() as conn:
        found = await latest(conn, limit=200)

    assert len({article.url for article in found}) == len(found)
    assert any(len(article.sources) == 2 for article in found)


async def test_a_failure_is_written_with_its_reason_and_next_try(
    zoo: Zoo, poller: Poller, database: Database, clock: MovableClock
) -> None:
    await follow(database, zoo.url_of(BY_NAME["gone"]))

    report = await poll(poller)

    async with database.transaction() as conn:
        (health,) = await list_health(conn)
    assert isinstance(report.outcome, PollFailed)
    assert health.last_error == report.outcome.detail == "The site says that this feed is gone for good. (HTTP 410)"
    assert health.next_poll_at == report.next_poll_at == clock() + timedelta(hours=2)


async def test_a_bug_of_ours_is_an_outcome_too(
    zoo: Zoo, poller: Poller, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await follow(database, zoo.url_of(BY_NAME["daily"]))
    monkeypatch.setattr("headwater.polling.worker.articles_of", lambda *_: [None])

    with capture_logs() as logs:
        report = await poll(poller)

    assert report.outcome == PollFailed(FailureClass.UNEXPECTED, "Headwater itself failed: AttributeError.")
    assert [line["log_level"] for line in logs] == ["error", "error"]
    async with database.transaction() as conn:
        (health,) = await list_health(conn)
    assert health.last_error_type == "unexpected"
