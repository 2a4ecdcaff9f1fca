"""robots.txt is kept for everybody, and what it forbade comes back when it changes."""

from datetime import timedelta

import pytest

from headwater.db import Connection
from headwater.frontier.store import changes
from headwater.frontier.types import GivenUp, Status
from headwater.hosts.store import robots as robots_store
from headwater.hosts.types import Robots
from tests.clock import START
from tests.frontier.builders import PAGE, ask_all, claim, counted, found, submit

pytestmark = pytest.mark.database

ORIGIN = "https://example.com"
BLOCKED = GivenUp("robots_blocked", "Disallow: /")


def robots(body: str | None = "User-agent: *\nDisallow: /", **more: object) -> Robots:
    values = {"status": 200, "fetched_at": START, "expires_at": START + timedelta(days=1)}
    return Robots(ORIGIN, body=body, **{**values, **more})  # pyright: ignore[reportArgumentType]


async def test_stored_rules_are_found(conn: Connection) -> None:
    kept = robots(crawl_delay=timedelta(seconds=3), sitemaps=["https://example.com/map.xml"])
    await robots_store.keep(conn, robots=kept)

    assert await robots_store.find(conn, origins=[ORIGIN, "http://example.com"]) == {ORIGIN: kept}


async def test_storing_rules_returns_whether_they_changed(conn: Connection) -> None:
    changes = [
        await robots_store.keep(conn, robots=one)
        for one in (
            robots(),
            robots(fetched_at=START + timedelta(days=1)),
            robots("User-agent: *"),
            robots(None, status=404),
            robots(None, status=None, unreachable_since=START),
            robots(None, status=None, unreachable_since=START + timedelta(days=1)),
        )
    ]

    assert changes == [True, False, True, True, True, False]


async def test_a_crawl_delay_slows_the_host_up_to_the_cap(conn: Connection) -> None:
    await submit(conn, PAGE, "https://slow.example/")
    await robots_store.keep(conn, robots=robots(crawl_delay=timedelta(seconds=5)))
    far = Robots("https://slow.example", 200, "", START, START, crawl_delay=timedelta(hours=1))
    await robots_store.keep(conn, robots=far)

    delays = {host.host: host.delay for host in await claim(conn)}

    assert delays == {"example.com": timedelta(seconds=5), "slow.example": timedelta(seconds=30)}


async def test_a_blocked_url_is_dead_until_the_rules_change(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn, BLOCKED)
    assert (await found(conn)).status is Status.DEAD
    assert (await found(conn)).last_error == "robots_blocked: Disallow: /"

    later = START + timedelta(hours=1)
    revived = await changes.revive_blocked(conn, host="example.com", now=later)

    assert revived == 1
    assert await counted(conn) == {Status.PENDING: 1}
    assert len(await claim(conn, now=later)) == 1


async def test_a_url_that_is_dead_for_another_reason_stays_dead(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn, GivenUp("gone", "410"))

    assert await changes.revive_blocked(conn, host="example.com", now=START) == 0
