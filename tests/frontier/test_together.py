"""Several connections at once: no row is claimed twice, no deadlock, no row is left out."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import psycopg
import pytest

from headwater.db import Connection
from headwater.frontier.store import claims
from headwater.frontier.types import Redirected, Status
from tests.clock import START
from tests.frontier.builders import FETCHED, PAGE, an_answer, claim, counted, found, submit

pytestmark = pytest.mark.database


@pytest.fixture
async def two(conninfo: str) -> AsyncIterator[tuple[Connection, Connection]]:
    one = await psycopg.AsyncConnection.connect(conninfo)
    other = await psycopg.AsyncConnection.connect(conninfo)
    yield one, other
    await one.close()
    await other.close()


async def test_a_claim_skips_hosts_that_another_is_claiming(two: tuple[Connection, Connection]) -> None:
    one, other = two
    await submit(one, *(f"https://h{n}.example/" for n in range(10)))
    await one.commit()

    first = await claim(one, hosts=6)  # not committed
    second = await claim(other, hosts=6)

    assert len(first) == 6
    assert len(second) == 4
    assert {host.host for host in first} & {host.host for host in second} == set()


async def test_concurrent_claims_never_return_a_host_twice(conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        await submit(conn, *(f"https://h{n}.example/" for n in range(200)))

    async def take() -> list[str]:
        taken: list[str] = []
        async with await psycopg.AsyncConnection.connect(conninfo) as conn:
            for _ in range(10):
                taken += [host.host for host in await claim(conn, hosts=5)]
                await conn.commit()
        return taken

    taken = Counter(host for hosts in await asyncio.gather(*(take() for _ in range(5))) for host in hosts)

    assert len(taken) == 200
    assert set(taken.values()) == {1}


async def test_concurrent_submissions_in_any_order_do_not_deadlock(conninfo: str) -> None:
    urls = [f"https://h{n % 40}.example/{n}" for n in range(2_000)]

    async def bring(seed: int) -> int:
        queued = 0
        async with await psycopg.AsyncConnection.connect(conninfo) as conn:
            for turn in range(3):
                mixed = list(urls)
                Random(seed + turn).shuffle(mixed)
                results = await submit(conn, *mixed, priority=1 + 3 * turn)
                await conn.commit()
                queued += sum(one.result == "queued" for one in results)
        return queued

    queued = await asyncio.gather(*(bring(seed) for seed in (1, 100, 200)))

    assert sum(queued) == 2_000
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        assert await counted(conn) == {Status.PENDING: 2_000}


async def test_a_url_submitted_while_its_host_is_released_is_claimed_later(
    two: tuple[Connection, Connection],
) -> None:
    one, other = two
    await submit(one, PAGE)
    await one.commit()
    (host,) = await claim(one)
    await one.commit()

    await submit(other, "https://example.com/b")  # not committed: it holds the host's row
    giving_back = asyncio.create_task(claims.answer(one, answers=[an_answer(host, FETCHED)], now=START))
    await until_another_waits(other)
    await other.commit()
    await giving_back
    await one.commit()

    (again,) = await claim(one, now=START + timedelta(seconds=1))
    assert [url.url for url in again.urls] == ["https://example.com/b"]


async def test_hosts_that_redirect_to_each_other_can_be_answered_concurrently(conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        await submit(conn, *(f"https://{side}.example/{n}" for side in ("left", "right") for n in range(20)))
        await conn.commit()
        hosts = {host.host: host for host in await claim(conn, urls=20)}
        await conn.commit()

    async def give_back(side: str, other: str) -> None:
        async with await psycopg.AsyncConnection.connect(conninfo) as conn:
            outcomes = [Redirected(f"https://{other}.example/moved-{n}", is_permanent=True) for n in range(20)]
            await claims.answer(conn, answers=[an_answer(hosts[f"{side}.example"], *outcomes)], now=START)

    await asyncio.gather(give_back("left", "right"), give_back("right", "left"))

    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        assert await counted(conn) == {Status.PENDING: 40}
        assert len(await claim(conn, now=START + timedelta(seconds=1))) == 2


async def test_two_outcomes_for_one_url_count_once(two: tuple[Connection, Connection]) -> None:
    one, other = two
    await submit(one, PAGE)
    await one.commit()
    (lost,) = await claim(one)
    (held,) = await claim(one, now=START + timedelta(minutes=5))
    await one.commit()

    await claims.answer(one, answers=[an_answer(lost, FETCHED)], now=START)
    late = asyncio.create_task(claims.answer(other, answers=[an_answer(held, FETCHED)], now=START))
    await until_another_waits(one)
    await one.commit()
    await late
    await other.commit()

    assert (await found(one)).fetch_count == 1
    assert await counted(one) == {Status.FETCHED: 1}


async def until_another_waits(conn: Connection) -> None:
    """Returns when another connection waits for a lock of this one."""
    while True:
        cur = await conn.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        row = await cur.fetchone()
        assert row is not None
        if row[0]:
            return
        await asyncio.sleep(0.01)
