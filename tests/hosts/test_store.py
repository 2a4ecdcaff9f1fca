"""The clock of a host on a real PostgreSQL: one holder at a time, feeds before pages, no request before its time."""

import asyncio
import random
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from headwater.db import Connection, Database
from headwater.hosts.keys import ALL_SHARDS, host_id_of, shard_of
from headwater.hosts.store import feeds, pages, turns
from headwater.hosts.store.due import lock, wake_for_feed
from headwater.hosts.store.repair import repair_schedules
from headwater.hosts.types import FeedRelease, HeldHost, HostState, Pace, Release
from headwater.ids import new_id
from headwater.polling.store import claims as feed_claims
from headwater.runtime import utc_now
from headwater.types import SourceId
from tests.builders import a_source
from tests.clock import START
from tests.frontier.builders import submit

pytestmark = pytest.mark.database

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOST = "example.com"
PAGE = f"https://{HOST}/a"
FEED = f"https://{HOST}/feed"


async def claim_feeds(conn: Connection, now: datetime = START) -> list[HeldHost]:
    return await feeds.claim(conn, lease=new_id(), now=now, leased_until=now + MINUTE, limit=9, new_limit=9)


async def claim_pages(
    conn: Connection, now: datetime = START, lease: UUID | None = None, hosts: int = 9
) -> list[HeldHost]:
    return await pages.claim(
        conn,
        lease=lease or new_id(),
        now=now,
        leased_until=now + MINUTE,
        hosts=hosts,
        urls=5,
        bands=pages.EVERY_BAND,
        shards=ALL_SHARDS,
    )


async def take(conn: Connection, now: datetime = START, **more: Any) -> HeldHost | None:
    return await turns.take(conn, host=HOST, lease=new_id(), now=now, leased_until=now + MINUTE, **more)


async def column(conn: Connection, name: str) -> Any:
    cur = await conn.execute(f"SELECT {name} FROM hosts".encode())
    row = await cur.fetchone()
    assert row is not None
    return row[0]


async def test_python_and_sql_make_the_same_keys(conn: Connection) -> None:
    for name in ("example.com", "xn--bcher-kva.example", "127.0.0.1", "a" * 250):
        cur = await conn.execute("SELECT host_id_of(%(name)s), shard_of(host_id_of(%(name)s))", {"name": name})
        assert await cur.fetchone() == (host_id_of(name), shard_of(host_id_of(name)))


async def test_who_holds_a_host_holds_it_for_every_kind_of_request(conn: Connection) -> None:
    await a_source(conn, url=FEED)
    await submit(conn, PAGE)
    (held,) = await claim_feeds(conn)

    assert held.name == HOST
    assert await claim_pages(conn, START + 5 * SECOND) == []
    assert await take(conn, START + 5 * SECOND) is None
    assert (
        await feed_claims.claim_one(
            conn,
            source_id=(await a_source(conn, url=f"{FEED}/2")).id,
            lease=new_id(),
            now=START + SECOND,
            leased_until=START + MINUTE,
        )
        is None
    )


async def test_an_expired_lease_is_a_strike_only_if_pages_were_claimed(conn: Connection) -> None:
    await submit(conn, PAGE)
    await take(conn)
    (after_a_loan,) = await claim_pages(conn, START + MINUTE)
    await take(conn, START + 2 * MINUTE)  # which does not forget that pages were lost before it
    (after_pages,) = await claim_pages(conn, START + 3 * MINUTE)

    assert (after_a_loan.strikes, after_pages.strikes) == (0, 1)


async def test_feeds_go_before_pages_for_a_minute_and_compete_after_it(conn: Connection) -> None:
    await a_source(conn, url=FEED)
    await submit(conn, PAGE)

    at_once = await claim_pages(conn)
    soon = await claim_pages(conn, START + MINUTE - SECOND)
    later = await claim_pages(conn, START + MINUTE)  # where no poller runs, pages are fetched all the same

    assert (at_once, soon, [host.name for host in later]) == ([], [], [HOST])


async def test_a_host_whose_feed_is_not_due_is_claimed_for_its_pages(conn: Connection) -> None:
    source = await a_source(conn, url=FEED)
    await conn.execute("UPDATE feed_state SET next_poll_at = %s", (START + 60 * MINUTE,))
    assert (
        await feed_claims.claim(conn, lease=new_id(), now=START, leased_until=START + MINUTE, limit=1) == []
    )  # it sleeps
    await submit(conn, PAGE)

    assert [host.name for host in await claim_pages(conn)] == [HOST]
    assert source.feed_url == FEED


async def test_what_waits_follows_the_clock_of_its_host(conn: Connection) -> None:
    await a_source(conn, url=FEED)
    await submit(conn, PAGE, now=START + SECOND)
    ready = [await column(conn, name) for name in ("feeds_ready_at = free_at", "pages_ready_at")]
    await turns.take(conn, host=HOST, lease=new_id(), now=START, leased_until=START + MINUTE)
    held = [await column(conn, name) for name in ("feeds_ready_at", "pages_ready_at")]

    assert ready == [True, START + SECOND]  # a new feed comes before all that has been waiting
    assert held == [START + MINUTE] * 2


async def test_a_person_may_lift_a_pause_but_not_what_the_host_asks_for(conn: Connection) -> None:
    await a_source(conn, url=FEED)
    await conn.execute(
        "UPDATE hosts SET not_before = %(asked)s, paused_until = %(paused)s, free_at = %(paused)s",
        {"asked": START + 10 * MINUTE, "paused": START + 60 * MINUTE},
    )

    await wake_for_feed(conn, host=HOST, due_at=START, now=START, lifts_pause=True)

    assert await column(conn, "free_at") == START + 10 * MINUTE
    assert await claim_feeds(conn, START + 9 * MINUTE) == []
    assert await take(conn, START + 9 * MINUTE, through_pause=True) is None
    assert len(await claim_feeds(conn, START + 10 * MINUTE)) == 1


async def test_a_pause_holds_for_all_and_pages_may_be_paused_alone(conn: Connection) -> None:
    await a_source(conn, url=FEED)
    await submit(conn, PAGE)
    lease = new_id()
    (held,) = await claim_pages(conn, START + MINUTE, lease)
    release = Release(held.name, lease, START + MINUTE, Pace(), START, START + 60 * MINUTE)
    await pages.release(conn, releases=[release])

    assert await claim_pages(conn, START + 59 * MINUTE) == []
    assert len(await claim_feeds(conn, START + 2 * MINUTE)) == 1

    await conn.execute(
        "UPDATE hosts SET lease = NULL, paused_until = %(at)s, free_at = %(at)s", {"at": START + 90 * MINUTE}
    )
    assert await claim_pages(conn, START + 89 * MINUTE) == []
    assert await claim_feeds(conn, START + 89 * MINUTE) == []
    assert await take(conn, START + 89 * MINUTE) is None
    assert len(await claim_pages(conn, START + 90 * MINUTE)) == 1


async def test_who_waits_for_a_host_comes_before_its_feeds_and_pages(conn: Connection) -> None:
    await a_source(conn, url=FEED)
    await submit(conn, PAGE)
    await conn.execute("UPDATE hosts SET not_before = %(at)s, free_at = %(at)s", {"at": START + 2 * MINUTE})

    free_at = await turns.reserve(conn, host=HOST)

    assert free_at == START + 2 * MINUTE
    assert await claim_pages(conn, START + 2 * MINUTE) == []
    assert await claim_feeds(conn, START + 2 * MINUTE) == []
    assert await take(conn, START + 2 * MINUTE) is not None


class Holders:
    """Who holds which host, as those who claim them see it."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.chance = random.Random(5)
        self.turns = {"feeds": 0, "pages": 0, "loans": 0}
        self._holders: dict[str, str] = {}

    async def work(self, conninfo: str, kind: str) -> None:
        async with await psycopg.AsyncConnection.connect(conninfo) as conn:
            for _ in range(40):
                lease = new_id()
                held = await self._claim(kind, conn, lease, utc_now())
                await conn.commit()
                await asyncio.gather(*(self._hold(kind, host.name) for host in held))
                for host in held:
                    await self._give_back(kind, conn, host, lease)
                await conn.commit()
                await asyncio.sleep(self.chance.uniform(0, 0.01))

    async def _hold(self, kind: str, host: str) -> None:
        assert host not in self._holders, f"{host} is held for {self._holders[host]} and for {kind}"
        self._holders[host] = kind
        self.turns[kind] += 1
        await asyncio.sleep(self.chance.uniform(0, 0.02))
        del self._holders[host]

    async def _claim(self, kind: str, conn: Connection, lease: UUID, now: datetime) -> list[HeldHost]:
        until = now + MINUTE
        if kind == "feeds":
            return await feeds.claim(conn, lease=lease, now=now, leased_until=until, limit=2, new_limit=2)
        if kind == "pages":
            return await claim_pages(conn, now, lease, hosts=2)
        name = self.chance.choice(self.names)
        held = await turns.take(conn, host=name, lease=lease, now=now, leased_until=until)
        return [held] if held else []

    async def _give_back(self, kind: str, conn: Connection, host: HeldHost, lease: UUID) -> None:
        release = Release(host.name, lease, utc_now(), Pace(), None)
        await lock(conn, host_ids=[host.host_id])
        if kind == "feeds":
            one = FeedRelease(release, HostState(host.name), SourceId(new_id()))
            await feeds.release(conn, releases=[one])
        elif kind == "pages":
            await pages.release(conn, releases=[release])
        else:
            await turns.release(conn, release=release)


async def test_feeds_pages_and_loans_never_hold_one_host_at_a_time(database: Database, conninfo: str) -> None:
    holders, long_ago = Holders([f"h{number}.example" for number in range(6)]), utc_now() - 5 * MINUTE
    async with database.transaction() as conn:
        for name in holders.names:
            await a_source(conn, url=f"https://{name}/feed", now=long_ago)
        await submit(conn, *(f"https://{name}/{n}" for name in holders.names for n in range(5)), now=long_ago)

    async with asyncio.TaskGroup() as group:
        for kind in ("feeds", "feeds", "pages", "pages", "loans", "loans"):
            group.create_task(holders.work(conninfo, kind))

    assert min(holders.turns.values()) > 5  # and none of them starves


async def test_a_host_that_was_borrowed_once_is_deleted_when_it_is_unused_for_a_day(conn: Connection) -> None:
    lease = new_id()
    await turns.take(conn, host="once.example", lease=lease, now=START, leased_until=START + MINUTE)
    await turns.release(conn, release=Release("once.example", lease, START + SECOND, Pace()))
    await a_source(conn, url="https://feed.example/feed")
    await submit(conn, "https://page.example/a")
    hour = timedelta(hours=1)

    early = await turns.delete_unused(conn, now=START + 23 * hour, limit=10)
    late = await turns.delete_unused(conn, now=START + 25 * hour, limit=10)

    cur = await conn.execute("SELECT name FROM hosts ORDER BY name")
    assert (early, late) == (0, 1)
    assert [row[0] for row in await cur.fetchall()] == ["feed.example", "page.example"]


async def test_a_host_with_a_lease_or_a_pause_is_not_deleted(conn: Connection) -> None:
    await turns.take(conn, host="held.example", lease=new_id(), now=START, leased_until=START + 60 * MINUTE)
    await turns.take(conn, host="paused.example", lease=new_id(), now=START, leased_until=START)
    await conn.execute("UPDATE hosts SET paused_until = %s WHERE name = 'paused.example'", (START + timedelta(days=2),))

    assert await turns.delete_unused(conn, now=START + timedelta(days=1, minutes=30), limit=10) == 0


@pytest.mark.parametrize("thoroughly", [False, True])
async def test_a_host_that_was_claimed_by_a_clock_that_was_ahead_is_free_again(
    conn: Connection, *, thoroughly: bool
) -> None:
    await a_source(conn, url=FEED, now=START)
    ahead = START + timedelta(days=200)
    assert await claim_feeds(conn, ahead)  # and its worker was killed

    await repair_schedules(conn, now=START + MINUTE, latest=START + timedelta(days=8), thoroughly=thoroughly)

    assert await claim_feeds(conn, START + MINUTE)
