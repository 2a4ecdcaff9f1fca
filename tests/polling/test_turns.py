"""Redirects keep the politeness of every host they lead to: one request at a time, its delay apart, or later."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import LiteralString

import pytest

from headwater.db import Database
from headwater.errors import HostBusy
from headwater.net import Client
from headwater.polling import worker
from headwater.polling.worker import Poller
from headwater.runtime import utc_now
from headwater.sandbox import Sandbox
from tests.builders import a_source
from tests.polling.histories import OPTIONS
from tests.site import Site, a_site, rss

pytestmark = pytest.mark.database

DELAY = timedelta(seconds=0.3)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        yield site


@pytest.fixture
async def poller(database: Database) -> AsyncIterator[Poller]:
    async with a_poller(database, delay=DELAY, within=timedelta(minutes=1)) as poller:
        yield poller


@asynccontextmanager
async def a_poller(database: Database, *, delay: timedelta, within: timedelta) -> AsyncIterator[Poller]:
    options = replace(OPTIONS, host_delay=delay, timeout=within)
    async with (
        Client(user_agent="Test/1", allow_loopback=True, resolve={"example": "127.0.0.1"}) as client,
        Sandbox(processes=1, time_limit=timedelta(seconds=10), memory_limit=1_000_000_000) as sandbox,
    ):
        yield Poller(database, client, sandbox, utc_now, options)


async def follow(database: Database, *urls: str) -> None:
    async with database.transaction() as conn:
        for url in urls:
            await a_source(conn, url=url, now=utc_now())


def gaps(site: Site, place: str) -> list[float]:
    times = [at for asked, at in zip(site.asked, site.asked_at, strict=True) if place in asked]
    return [after - before for before, after in pairwise(times)]


async def test_feeds_of_many_hosts_that_lead_to_one_ask_it_one_after_another(
    database: Database, poller: Poller, site: Site
) -> None:
    site.answers["one.example/feed"] = rss("One", "a")
    for number in range(4):
        site.answers[f"h{number}.example/feed"] = (302, "text/plain", site.url("one.example/feed").encode())
    await follow(database, *(site.url(f"h{number}.example/feed") for number in range(4)))

    reports = await asyncio.gather(*(poller.work(feed) for feed in await poller.claim(4)))

    assert [report.outcome_name for report in reports] == ["polled"] * 4
    assert len(gaps(site, "one.example")) == 3
    assert min(gaps(site, "one.example")) >= DELAY.total_seconds()


async def test_a_redirect_within_a_host_keeps_its_delay_which_is_not_taken_from_the_time_for_the_answer(
    database: Database, site: Site
) -> None:
    for here, there in pairwise("abcde"):
        site.answers[f"one.example/{here}"] = (302, "text/plain", site.url(f"one.example/{there}").encode())
    site.answers["one.example/e"] = rss("One", "a")
    await follow(database, site.url("one.example/a"))
    delay, timeout = timedelta(seconds=0.8), timedelta(seconds=3)
    async with a_poller(database, delay=delay, within=timeout) as poller:
        (feed,) = await poller.claim(1)
        report = await poller.work(feed)

    assert report.outcome_name == "polled"
    assert sum(gaps(site, "one.example")) > timeout.total_seconds()
    assert min(gaps(site, "one.example")) >= delay.total_seconds()


async def test_a_redirect_is_followed_when_the_time_has_passed_that_it_asks_for(
    database: Database, poller: Poller, site: Site
) -> None:
    site.answers["away.example/feed"] = (302, "text/plain", site.url("one.example/feed").encode())
    site.headers["away.example/feed"] = {"Retry-After": "2"}
    site.answers["one.example/feed"] = rss("One", "a")
    await follow(database, site.url("away.example/feed"))
    (feed,) = await poller.claim(1)

    report = await poller.work(feed)

    assert (report.outcome_name, len(site.asked_at)) == ("polled", 2)
    assert gaps(site, ".example")[0] >= 2


async def test_a_feed_whose_redirect_asks_for_a_long_wait_is_postponed_until_then(
    database: Database, poller: Poller, site: Site
) -> None:
    site.answers["away.example/feed"] = (302, "text/plain", site.url("one.example/feed").encode())
    site.headers["away.example/feed"] = {"Retry-After": "7200"}
    await follow(database, site.url("away.example/feed"))
    (feed,) = await poller.claim(1)

    with pytest.raises(HostBusy, match=r"away\.example"):
        await poller.work(feed)

    async with database.transaction() as conn:
        cur = await conn.execute("SELECT next_poll_at > now() + interval '119 minutes' FROM feed_state")
        assert await cur.fetchone() == (True,)
    assert len(site.asked) == 1


async def test_a_feed_that_redirects_to_a_busy_host_is_postponed_without_an_error(
    database: Database, poller: Poller, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "REDIRECT_WAIT", timedelta(seconds=1))
    site.answers["away.example/feed"] = (302, "text/plain", site.url("busy.example/feed").encode())
    await follow(database, site.url("busy.example/feed"))
    (in_other_hands,) = await poller.claim(1)
    await follow(database, site.url("away.example/feed"))
    (feed,) = await poller.claim(1)

    with pytest.raises(HostBusy, match=r"busy\.example"):
        await poller.work(feed)

    async with database.transaction() as conn:
        cur = await conn.execute(
            """
            SELECT next_poll_at > now() + interval '14 minutes', last_polled_at, consecutive_errors, lease, last_error
            FROM feed_state
            JOIN hosts USING (shard, host_id)
            WHERE host = 'away.example'
            """
        )
        assert await cur.fetchall() == [(True, None, 0, None, None)]
    assert in_other_hands.host == "busy.example"
    assert gaps(site, "busy.example") == []


async def test_a_feed_that_leads_to_a_paused_host_waits_until_it_is_not(
    database: Database, poller: Poller, site: Site
) -> None:
    site.answers["away.example/feed"] = (302, "text/plain", site.url("down.example/feed").encode())
    await follow(database, site.url("away.example/feed"))
    until = utc_now() + timedelta(days=1)
    async with database.transaction() as conn:
        await conn.execute(
            """
            INSERT INTO hosts (shard, host_id, name, free_at, paused_until)
            SELECT shard_of(host_id_of(name)), host_id_of(name), name, %(until)s, %(until)s
            FROM (VALUES ('down.example')) AS given (name)
            """,
            {"until": until},
        )
    (feed,) = await poller.claim(1)

    with pytest.raises(HostBusy):
        await poller.work(feed)

    async with database.transaction() as conn:
        cur = await conn.execute("SELECT next_poll_at, consecutive_errors, last_error FROM feed_state")
        assert await cur.fetchall() == [(until, 0, "It redirects to down.example, which is paused because it fails.")]
    assert gaps(site, "down.example") == []


async def test_a_feed_that_leads_to_a_host_with_many_feeds_of_its_own_gets_its_turn_among_them(
    database: Database, poller: Poller, site: Site
) -> None:
    for number in range(20):
        site.answers[f"many.example/{number}"] = rss("Many", "a")
    site.answers["away.example/feed"] = (302, "text/plain", site.url("many.example/0").encode())
    await follow(database, site.url("away.example/feed"), *(site.url(f"many.example/{n}") for n in range(1, 20)))
    by_host = {feed.host: feed for feed in await poller.claim(2)}
    polls = [asyncio.create_task(poller.work(feed)) for feed in by_host.values()]

    async def keep_claiming() -> None:
        while True:
            polls.extend(asyncio.create_task(poller.work(feed)) for feed in await poller.claim(1))
            await asyncio.sleep(0.02)

    others = asyncio.create_task(keep_claiming())
    redirected = await polls[list(by_host).index("away.example")]
    others.cancel()
    await asyncio.gather(*polls, return_exceptions=True)

    assert redirected.outcome_name == "polled"
    assert min(gaps(site, "many.example")) >= DELAY.total_seconds()


@pytest.mark.parametrize(("moderation", "articles"), [("approved", 0), ("pending", 1), (None, 1)])
async def test_an_approved_suggestion_is_not_read_through_a_blocked_domain(
    database: Database, poller: Poller, site: Site, moderation: str | None, articles: int
) -> None:
    site.answers["a.spam.example/feed"] = rss("Spam", "a")
    site.answers["fine.example/feed"] = (302, "text/plain", site.url("a.spam.example/feed").encode())
    await follow(database, site.url("fine.example/feed"))
    async with database.transaction() as conn:
        await conn.execute(
            "UPDATE sources SET is_system = false, moderation_status = %(status)s", {"status": moderation}
        )
        await conn.execute("INSERT INTO blocked_domains VALUES ('spam.example', 'A farm.', NULL, 'mo', now())")

    (feed,) = await poller.claim(1)
    await poller.work(feed)

    async with database.transaction() as conn:
        cur = await conn.execute("SELECT article_count, last_error FROM feed_state")
        ((count, error),) = await cur.fetchall()
    assert count == articles
    assert ("spam.example is a blocked domain" in (error or "")) is (articles == 0)
    assert ("GET a.spam.example/feed" in site.asked) is (articles == 1)


@pytest.mark.parametrize(("moderation", "articles"), [("approved", 0), ("pending", 1), (None, 1)])
@pytest.mark.parametrize("alias", ["fine.example/feed", "spam.example/alias"], ids=["other host", "same host"])
async def test_an_approved_suggestion_is_not_read_through_a_redirect_to_a_rejected_one(
    database: Database, poller: Poller, site: Site, alias: str, moderation: str | None, articles: int
) -> None:
    site.answers["spam.example/feed"] = rss("Spam", "a")
    site.answers[alias] = (302, "text/plain", site.url("spam.example/feed").encode())
    rejected = {"url": site.url("spam.example/feed"), "status": moderation}
    await follow(database, site.url("spam.example/feed"), site.url(alias))
    async with database.transaction() as conn:
        await conn.execute(
            "UPDATE sources SET is_system = false, enabled = feed_url <> %(url)s, moderation_status = "
            "CASE WHEN feed_url = %(url)s THEN 'rejected' ELSE %(status)s END",
            rejected,
        )
        await conn.execute("UPDATE feed_state SET next_poll_at = '9999-12-31' WHERE feed_url = %(url)s", rejected)
    (feed,) = await poller.claim(2)

    report = await poller.work(feed)

    assert report.outcome_name == ("polled" if articles else "ssrf_blocked")
    assert report.new_articles == articles
    assert ("GET spam.example/feed" in site.asked) is (articles == 1)


OFF: LiteralString = "feed_url ~ 'off.example.*/feed$'"
DISABLES: dict[str, LiteralString] = {
    "whole source": f"UPDATE sources SET enabled = false, disabled_by_operator = true WHERE {OFF}",
    "feed": f"UPDATE feed_state SET disabled_at = now(), disabled_by_operator = true WHERE {OFF}",
}


async def follow_disabled(database: Database, site: Site, alias: str, statement: LiteralString) -> None:
    """A feed of a user that redirects to one that an operator disabled."""
    site.answers["off.example/feed"] = rss("Off", "a")
    site.answers[alias] = (302, "text/plain", site.url("off.example/feed").encode())
    await follow(database, site.url("off.example/feed"), site.url(alias))
    async with database.transaction() as conn:
        await conn.execute("UPDATE sources SET is_system = false WHERE feed_url = %(url)s", {"url": site.url(alias)})
        await conn.execute(statement)
        statement = "UPDATE feed_state SET next_poll_at = '9999-12-31' WHERE feed_url = %(url)s"
        await conn.execute(statement, {"url": site.url("off.example/feed")})


@pytest.mark.parametrize("alias", ["alias.example/feed", "off.example/alias"], ids=["other host", "same host"])
@pytest.mark.parametrize("statement", DISABLES.values(), ids=DISABLES)
async def test_a_feed_of_a_user_is_not_read_through_a_redirect_to_one_that_an_operator_disabled(
    database: Database, poller: Poller, site: Site, alias: str, statement: LiteralString
) -> None:
    await follow_disabled(database, site, alias, statement)
    (feed,) = await poller.claim(2)

    report = await poller.work(feed)

    assert report.outcome_name == "ssrf_blocked"
    assert site.asked == [f"GET {alias}"]
    async with database.transaction() as conn:
        cur = await conn.execute("SELECT last_error FROM feed_state WHERE feed_url = %(u)s", {"u": site.url(alias)})
        assert "a feed that an operator has disabled" in str(await cur.fetchone())


async def test_a_redirect_to_a_feed_that_an_operator_disabled_for_a_time_waits_for_its_end(
    database: Database, poller: Poller, site: Site
) -> None:
    statement = DISABLES["feed"].replace("SET", "SET disabled_until = now() + interval '1 day',")
    await follow_disabled(database, site, "alias.example/feed", statement)
    (feed,) = await poller.claim(2)

    with pytest.raises(HostBusy):
        await poller.work(feed)

    async with database.transaction() as conn:
        cur = await conn.execute(
            "SELECT next_poll_at > now() + interval '23 hours', disabled_at FROM feed_state "
            "WHERE host = 'alias.example'"
        )
        assert await cur.fetchall() == [(True, None)]
    assert site.asked == ["GET alias.example/feed"]


async def test_a_source_of_an_operator_is_read_through_a_redirect_to_one_that_is_disabled(
    database: Database, poller: Poller, site: Site
) -> None:
    await follow_disabled(database, site, "alias.example/feed", DISABLES["whole source"])
    async with database.transaction() as conn:
        await conn.execute("UPDATE sources SET is_system = true")
    (feed,) = await poller.claim(2)

    assert (await poller.work(feed)).outcome_name == "polled"
