"""Many concurrent requests of one user do not delay others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from headwater.asgi.guard import guard
from headwater.asgi.session import CONCURRENT, RequestLimiter
from headwater.db import Connection, Database, RequestDatabase
from headwater.errors import TooManyRequests
from headwater.ids import new_id
from headwater.server import create_app
from headwater.types import UserId
from tests.api.conftest import BEARER, TOKEN
from tests.clock import MovableClock
from tests.web.visitor import a_person

ADA, BOB = UserId(new_id()), UserId(new_id())
WAIT = timedelta(minutes=1)
LIMITING = {
    "limit_visitors.<locals>.limited", "limit_rate.<locals>.limited",
    "web_routes.<locals>.with_session", "web_routes.<locals>.with_pictures",
}  # fmt: skip


@asynccontextmanager
async def held_up(database: Database, email: str) -> AsyncIterator[Connection]:
    """While this is open, nothing that this user follows can change."""
    async with database.as_system() as conn:
        row = await (await conn.execute("SELECT id FROM users WHERE email = %(email)s", {"email": email})).fetchone()
        assert row is not None
        await conn.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%(key)s, 0))", {"key": f"subscriptions:{row[0]}"}
        )
        yield conn


async def wait_for_waiting(conn: Connection, count: int) -> None:
    async with asyncio.timeout(300):
        while True:
            cur = await conn.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
            if (row := await cur.fetchone()) and row[0] >= count:
                return
            await asyncio.sleep(0.02)


@pytest.mark.database
async def test_one_user_with_many_slow_requests_does_not_keep_another_user_waiting(
    database: Database, clock: MovableClock
) -> None:
    async with Database(database.conninfo, pool_size=CONCURRENT + 2, wait=WAIT) as small:
        app = create_app(small, clock)
        async with a_person(app) as ada, a_person(app) as bob:
            await ada.register("ada@example.com")
            await bob.register("bob@example.com")
            async with held_up(database, "ada@example.com") as conn:
                slow = [
                    asyncio.create_task(ada.send("POST", "/feeds", name=f"{n}", url=f"https://{n}.example/feed"))
                    for n in range(30)
                ]
                await wait_for_waiting(conn, CONCURRENT)
                answers = [(await bob.part("/feeds")).status_code for _ in range(3)]
            assert answers == [200, 200, 200]
            assert {one.status_code for one in await asyncio.gather(*slow)} == {204}


async def test_a_request_begins_when_another_one_ends() -> None:
    limiter = RequestLimiter(concurrent=2, longest_wait=timedelta(seconds=20))
    first, _second = await limiter.acquire(ADA), await limiter.acquire(ADA)
    third = asyncio.create_task(limiter.acquire(ADA))
    await asyncio.sleep(0)
    was_waiting = not third.done()

    first.close()
    first.close()

    assert was_waiting
    assert await third is not None
    assert await limiter.acquire(BOB) is not None


async def test_a_request_that_waits_too_long_or_behind_too_many_is_refused() -> None:
    limiter = RequestLimiter(concurrent=1, waiting_max=1, longest_wait=timedelta(milliseconds=50))
    _first = await limiter.acquire(ADA)
    waiting = asyncio.create_task(limiter.acquire(ADA))
    await asyncio.sleep(0)

    with pytest.raises(TooManyRequests, match="in progress"):
        await limiter.acquire(ADA)
    with pytest.raises(TooManyRequests):
        await waiting


@pytest.mark.database
@pytest.mark.parametrize("cookie", ["", "headwater_access=x; headwater_refresh=x"])
@pytest.mark.parametrize("path", ["/auth/login", "/view-feeds/a-guess/atom.xml"])
async def test_requests_without_a_login_take_few_connections_and_the_rest_wait(
    database: Database, clock: MovableClock, cookie: str, path: str
) -> None:
    async with Counted(database.conninfo, pool_size=40, wait=WAIT) as counted:
        app = create_app(counted, clock)
        async with a_person(app) as ada, a_person(app) as nobody:
            await ada.register("ada@example.com")
            counted.most = 0
            headers = {"Cookie": cookie} if cookie else {}
            answers = await asyncio.gather(*(nobody.client.get(path, headers=headers) for _ in range(60)))

    assert {one.status_code for one in answers} <= {200, 404}
    assert counted.most <= 2 * CONCURRENT  # those that are processed, and those whose cookie is looked up


@pytest.mark.database
async def test_many_requests_with_one_token_take_few_connections_and_the_rest_wait(
    database: Database, clock: MovableClock
) -> None:
    async with Counted(database.conninfo, pool_size=40, wait=WAIT) as counted:
        limited = RequestDatabase(counted, statement_timeout=WAIT, per_user=3)
        async with a_person(create_app(limited, clock, SecretStr(TOKEN))) as program:
            answers = await asyncio.gather(*(program.client.get("/api/v1/articles", headers=BEARER) for _ in range(40)))

    assert {one.status_code for one in answers} == {200}
    assert counted.most <= 3


@pytest.mark.database
async def test_many_wrong_tokens_take_few_connections(database: Database, clock: MovableClock) -> None:
    wrong = {"Authorization": "Bearer hw_wrong"}
    counted = Counted(database.conninfo, pool_size=40, wait=WAIT)
    async with counted, a_person(create_app(counted, clock)) as program:
        answers = await asyncio.gather(*(program.client.get("/api/v1/rules", headers=wrong) for _ in range(40)))

    assert {one.status_code for one in answers} == {401}
    assert counted.most <= CONCURRENT


class Counted(Database):
    """Remembers how many transactions were open at the same time."""

    most = open = 0

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            async with super().transaction() as conn:
                yield conn
        finally:
            self.open -= 1


@pytest.mark.database
async def test_a_refused_fragment_says_when_to_retry(database: Database, clock: MovableClock) -> None:
    limited = RequestDatabase(database, statement_timeout=WAIT, per_user=1, longest_wait=timedelta(milliseconds=50))
    async with a_person(create_app(limited, clock)) as ada:
        await ada.register("ada@example.com")
        async with database.as_system() as conn:
            row = await (await conn.execute("SELECT id FROM users")).fetchone()
        assert row is not None
        async with limited.slot(UserId(row[0])):  # as another request of hers would
            refused = await ada.part("/feeds")

    assert (refused.status_code, refused.headers.get("retry-after")) == (429, "1")


def test_every_route_limits_the_concurrent_requests_of_a_client() -> None:
    app = create_app(Database("", pool_size=1, wait=WAIT), MovableClock())
    unlimited = {
        route.path
        for route in app.routes
        for handler in getattr(route, "route_handlers", [])
        if not LIMITING & {getattr(one, "__qualname__", "") for one in handler.resolve_middleware()}
    }

    assert unlimited == {"/healthz", "/readyz", "/metrics"}  # those who ask at the same time share one look


async def test_another_network_waits_for_a_few_requests_of_a_flood_not_for_all() -> None:
    begun: list[str] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        begun.append(scope["client"][0])

    guarded: Any = guard(app)

    async def ask(address: str) -> None:
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [], "state": {}}
        await guarded({**scope, "client": (address, 1)}, None, None)

    await asyncio.gather(*(ask("127.0.0.2") for _ in range(100)), ask("127.0.0.9"))

    assert len(begun) == 101
    assert begun.index("127.0.0.9") <= 2
