import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import timedelta
from functools import partial

import psycopg
import pytest

from headwater.db import Connection, Database, RequestDatabase, time_limit, translate
from headwater.errors import DatabaseUnavailable, QueryTimedOut, SourceExists, TooManyRequests
from headwater.ids import new_id
from headwater.types import UserId
from tests.conftest import GIVEN_SERVER
from tests.db.relay import reached_by_tcp

pytestmark = pytest.mark.database


@pytest.fixture
async def diary(database: Database, conninfo: str) -> Database:
    """A table that belongs to users, guarded as all of them are."""
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        await conn.execute("CREATE TABLE diary (user_id uuid NOT NULL, line text NOT NULL)")
        await conn.execute("ALTER TABLE diary ENABLE ROW LEVEL SECURITY")
        await conn.execute("CREATE POLICY own ON diary TO headwater_person USING (user_id = current_person())")
        await conn.execute("CREATE POLICY system ON diary TO headwater_system USING (true)")
        await conn.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON diary TO headwater_person, headwater_system")
        await conn.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON diary TO headwater_app")  # by mistake
    return database


async def lines(conn: Connection) -> list[str]:
    rows = await conn.execute("SELECT line FROM diary ORDER BY line")
    return [line for (line,) in await rows.fetchall()]


async def test_a_transaction_is_kept_whole_or_not_at_all(diary: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        async with diary.as_system() as conn:
            await conn.execute("INSERT INTO diary VALUES (%(id)s, 'lost')", {"id": new_id()})
            raise ZeroDivisionError

    async with diary.as_system() as conn:
        assert await lines(conn) == []


async def test_a_person_sees_and_changes_only_their_own_rows_even_without_a_where(diary: Database) -> None:
    ann, bob = UserId(new_id()), UserId(new_id())
    for person, line in ((ann, "ann's"), (bob, "bob's")):
        async with diary.as_user(person) as conn:
            await conn.execute("INSERT INTO diary VALUES (%(id)s, %(line)s)", {"id": person, "line": line})

    async with diary.as_user(ann) as conn:
        seen = await lines(conn)
        deleted = await conn.execute("DELETE FROM diary")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with conn.transaction():
                await conn.execute("INSERT INTO diary VALUES (%(id)s, 'forged')", {"id": bob})

    assert seen == ["ann's"]
    assert deleted.rowcount == 1
    async with diary.as_user(bob) as conn:
        assert await lines(conn) == ["bob's"]


async def test_the_user_is_reset_when_the_transaction_ends(diary: Database) -> None:
    async with diary.as_user(UserId(new_id())):
        pass

    async with diary.transaction() as conn:
        rows = await conn.execute("SELECT current_user <> 'headwater_person', current_person()")
        assert await rows.fetchone() == (True, None)


async def test_the_role_of_a_person_cannot_escape_row_level_security(conn: Connection) -> None:
    rows = await conn.execute(
        "SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = 'headwater_person'"
    )

    assert await rows.fetchone() == (False, False, False)


async def test_the_role_of_a_person_may_touch_none_of_our_tables_unless_granted(database: Database) -> None:
    async with database.as_user(UserId(new_id())) as conn:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await conn.execute("SELECT * FROM frontier_url")


async def test_connections_that_were_cut_are_replaced(database: Database, conninfo: str) -> None:
    await database.ping()
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as other:
        await other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    await database.ping()


async def test_no_server_is_one_clear_error_within_the_wait() -> None:
    async with Database("host=127.0.0.1 port=1 dbname=x user=x", pool_size=2, wait=timedelta(seconds=0.3)) as database:
        with pytest.raises(DatabaseUnavailable, match="The database does not answer"):
            async with asyncio.timeout(300):
                await database.ping()


async def test_a_violated_constraint_becomes_the_error_given_for_it(conn: Connection) -> None:
    with pytest.raises(SourceExists):
        async with conn.transaction():
            with translate(thing_key=SourceExists("u")):
                await conn.execute("CREATE TEMP TABLE thing (id int CONSTRAINT thing_key UNIQUE)")
                await conn.execute("INSERT INTO thing VALUES (1), (1)")


async def test_another_violated_constraint_is_a_bug_and_surfaces(conn: Connection) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        async with conn.transaction():
            with translate(other_key=SourceExists("u")):
                await conn.execute("CREATE TEMP TABLE thing (id int CONSTRAINT thing_key UNIQUE)")
                await conn.execute("INSERT INTO thing VALUES (1), (1)")


async def test_a_row_that_no_index_can_hold_is_no_outage(diary: Database, conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        await conn.execute("CREATE INDEX diary_line ON diary (line)")

    with pytest.raises(psycopg.errors.ProgramLimitExceeded):
        async with diary.as_system() as conn:
            await conn.execute(
                """
                INSERT INTO diary
                SELECT %(id)s, string_agg(sha512(n::text::bytea)::text, '') FROM generate_series(1, 100) AS n
                """,
                {"id": new_id()},
            )


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the options of Linux are read")
@pytest.mark.parametrize(("more", "idle_s", "timeout_ms"), [("", 30, 60_000), (" keepalives_idle=7", 7, 60_000)])
async def test_a_server_that_vanishes_without_closing_its_connections_is_noticed_within_minutes(
    conninfo: str, more: str, idle_s: int, timeout_ms: int
) -> None:
    async with (
        reached_by_tcp(conninfo) as by_tcp,
        Database(by_tcp + more, pool_size=1, wait=timedelta(seconds=30)) as database,
        database.transaction() as conn,
    ):
        with socket.socket(fileno=os.dup(conn.pgconn.socket)) as connected:
            options = [socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT]
            found = [connected.getsockopt(socket.IPPROTO_TCP, option) for option in options]

    assert found == [idle_s, 10, 3, timeout_ms]


@contextmanager
def suspended(pid: int) -> Iterator[None]:
    """A process of the server that does not run, as when its disk does not answer: its connection stays open."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.skipif(bool(GIVEN_SERVER), reason="suspends a process of the server")
async def test_a_request_does_not_wait_for_a_server_that_hangs(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RequestDatabase, "GRACE", timedelta(milliseconds=100))
    limited = RequestDatabase(database, statement_timeout=timedelta(milliseconds=100))
    async with asyncio.timeout(300):
        with pytest.raises(DatabaseUnavailable):
            async with limited.transaction() as conn:
                with suspended(conn.info.backend_pid):
                    await conn.execute("SELECT 1")
        await database.ping()


@pytest.mark.skipif(bool(GIVEN_SERVER), reason="suspends a process of the server")
async def test_a_connection_whose_server_hangs_is_not_used_again(conninfo: str) -> None:
    async with (
        asyncio.timeout(300),
        Database(conninfo, pool_size=1, wait=timedelta(seconds=5)) as database,
    ):
        async with database.transaction() as conn:
            pid = conn.info.backend_pid
        with suspended(pid), pytest.raises(DatabaseUnavailable):
            await database.ping()
        await database.ping()


Begin = Callable[[], AbstractAsyncContextManager[Connection]]


async def use(begin: Begin) -> None:
    """One transaction, in a request of its own: each is a task."""

    async def request() -> None:
        async with begin() as conn:
            await conn.execute("SELECT 1")

    await asyncio.create_task(request())


@pytest.mark.parametrize("per_user", [1, 3])
async def test_a_request_does_not_begin_a_transaction_inside_another_one(database: Database, per_user: int) -> None:
    ann = UserId(new_id())
    limited = RequestDatabase(database, statement_timeout=timedelta(seconds=5), per_user=per_user)
    of_ann = limited.of(ann)
    for begin in (limited.transaction, limited.as_system, partial(limited.as_user, ann), of_ann.transaction):
        async with of_ann.transaction():
            with pytest.raises(RuntimeError, match="inside another one"):
                async with begin():
                    pass
        async with begin() as conn:
            await conn.execute("SELECT 1")


async def test_one_user_has_only_some_of_the_connections(database: Database) -> None:
    ann, bob = UserId(new_id()), UserId(new_id())
    limited = RequestDatabase(
        database, statement_timeout=timedelta(seconds=5), per_user=1, longest_wait=timedelta(milliseconds=50)
    )
    async with limited.as_user(ann):
        with pytest.raises(TooManyRequests):
            await use(partial(limited.as_user, ann))
        await use(partial(limited.as_user, bob))

    await use(partial(limited.as_user, ann))


async def test_all_transactions_of_a_client_share_its_connections(database: Database) -> None:
    ann, bob = UserId(new_id()), UserId(new_id())
    limited = RequestDatabase(
        database, statement_timeout=timedelta(seconds=5), per_user=1, longest_wait=timedelta(milliseconds=50)
    )
    of_ann = limited.of(ann)
    for begin in (of_ann.transaction, of_ann.as_system, partial(of_ann.as_user, ann), partial(limited.as_user, ann)):
        async with of_ann.transaction():
            with pytest.raises(TooManyRequests):
                await use(begin)
            await use(limited.of(bob).transaction)
        await use(begin)


async def test_a_statement_over_the_time_limit_does_not_end_the_transaction(database: Database) -> None:
    async with RequestDatabase(database, statement_timeout=timedelta(seconds=5)).transaction() as conn:
        with pytest.raises(QueryTimedOut):
            async with time_limit(conn, timedelta(milliseconds=20)):
                await conn.execute("SELECT pg_sleep(60)")
        async with time_limit(conn, timedelta(seconds=1)):
            during = await (await conn.execute("SHOW statement_timeout")).fetchone()
        after = await (await conn.execute("SHOW statement_timeout")).fetchone()

    assert (during, after) == (("1s",), ("5s",))
