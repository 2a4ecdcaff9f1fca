"""Connections to PostgreSQL: transactions from a pool, with one error for every kind of outage."""

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Self
from weakref import WeakSet, WeakValueDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from headwater.db.connection import TimedConnection, limit_answers
from headwater.errors import DatabaseUnavailable, Deadlock, HeadwaterError, Invalid, QueryTimedOut, TooManyRequests
from headwater.observability.log import OutageLog
from headwater.types import UserId

Connection = psycopg.AsyncConnection[TupleRow]

# The roles that transactions act as: none is a superuser, owns a table or bypasses row-level security (db/rights.py).
APP_ROLE = "headwater_app"
PERSON_ROLE = "headwater_person"
SYSTEM_ROLE = "headwater_system"
# A server that loses power or its network closes no connection: without these a statement waits for two hours.
_DEAD_PEER = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
FIRST_CONNECTION_S = 30
CHECKED_WITHIN = timedelta(seconds=3)  # at least, so that a busy server is not taken for one that hangs
_HINT = "Rows of users are visible only in Database.as_user or Database.as_system: see docs/architecture.md."


class Database:
    """A pool of connections. Use as an async context manager."""

    def __init__(self, conninfo: str, *, pool_size: int, wait: timedelta) -> None:
        self.conninfo = conninfo
        self._outage: OutageLog | None = None
        self._wait = wait
        self._pool = AsyncConnectionPool(
            conninfo,
            connection_class=TimedConnection,
            open=False,
            min_size=1,
            max_size=pool_size,
            timeout=wait.total_seconds(),
            # Give up early and reconnect at the next call: the pool's default of five minutes of growing waits would
            # delay the return to a database that is available again.
            reconnect_timeout=wait.total_seconds(),
            check=self._check,
            configure=_become_app,
            kwargs={**_DEAD_PEER, **conninfo_to_dict(conninfo), "application_name": "headwater", "connect_timeout": 5},
        )

    async def __aenter__(self) -> Self:
        await self._pool.open(wait=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close()

    async def connect(self) -> None:
        """Wait for the first connection, longer than a request waits: on a busy machine it may take seconds.

        Raises DatabaseUnavailable.
        """
        with unavailable():
            async with self._pool.connection(FIRST_CONNECTION_S):
                pass

    async def _check(self, conn: TimedConnection) -> None:
        """Whether the server still answers, before the connection is used. Raises OperationalError."""
        limit_answers(conn, max(self._wait, CHECKED_WITHIN))
        await AsyncConnectionPool.check_connection(conn)
        limit_answers(conn, None)

    def log_outages(self) -> None:
        self._outage = OutageLog()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One transaction: committed at the end, rolled back on any error. Raises DatabaseUnavailable. Rows that belong
        to users are refused: see `as_user` and `as_system`."""
        try:
            with unavailable():
                async with self._pool.connection() as conn:
                    yield conn
        except DatabaseUnavailable as error:
            if self._outage is not None and not isinstance(error, QueryTimedOut):
                self._outage.failed(error)
            raise
        except psycopg.errors.InsufficientPrivilege as error:
            error.add_note(_HINT)
            raise
        if self._outage is not None:
            self._outage.succeeded()

    @asynccontextmanager
    async def as_user(self, user_id: UserId) -> AsyncIterator[Connection]:
        """A transaction that sees the rows of this user and of no other. Raises DatabaseUnavailable."""
        async with self.transaction() as conn:
            await set_user(conn, user_id)
            yield conn

    @asynccontextmanager
    async def as_system(self) -> AsyncIterator[Connection]:
        """A transaction that sees the rows of all users. Raises DatabaseUnavailable. For accounts, operators and
        background work only; tests/db/test_rights.py lists the modules that use it."""
        async with self.transaction() as conn:
            await see_all_users(conn)
            yield conn

    async def ping(self) -> None:
        """Raises DatabaseUnavailable."""
        async with self.transaction() as conn:
            await conn.execute("SELECT 1")

    @property
    def origin(self) -> "Database":
        """What all clients of this pool share."""
        return self

    def of(self, client: Hashable) -> "Database":  # noqa: ARG002  only requests have a limit for each client
        """For the transactions of one client."""
        return self


class RequestDatabase(Database):
    """The connections of another pool, for requests: what takes too long is cancelled.

    A statement that runs, or waits for a lock, longer than `statement_timeout` raises QueryTimedOut; if the server does
    not even say that within `GRACE`, it raises DatabaseUnavailable. A transaction that does nothing for `IDLE_TIMEOUT`
    loses its connection: no slow client holds locks. The transactions of one user have `per_user` connections together,
    whether pages, tokens, streams or feeds of views begin them (`as_user`, `of`); others wait without one.

    A transaction must not begin inside another one of the same request: where all connections of a client, or of the
    pool, are in use that way, each waits for another. That is a bug, and raises RuntimeError also while some are free.
    """

    IDLE_TIMEOUT = timedelta(minutes=1)
    GRACE = timedelta(seconds=5)

    def __init__(
        self, database: Database, *, statement_timeout: timedelta, per_user: int = 3,
        longest_wait: timedelta = timedelta(seconds=30),
    ) -> None:  # fmt: skip
        self._per_user, self._longest_wait = per_user, longest_wait
        self._slots: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()
        self._holding: WeakSet[asyncio.Task[object]] = WeakSet()  # those with a transaction
        self.conninfo = database.conninfo
        self._database = database
        self._answer_within = statement_timeout + self.GRACE
        timeouts = {"statement": statement_timeout, "idle": self.IDLE_TIMEOUT}
        self._timeouts = {name: str(round(limit.total_seconds() * 1000)) for name, limit in timeouts.items()}

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """As in Database. Raises DatabaseUnavailable, QueryTimedOut."""
        with self._only_one():
            async with self._database.transaction() as conn:
                await self._limit(conn)
                yield conn

    async def _limit(self, conn: Connection) -> None:
        limit_answers(conn, self._answer_within)
        await conn.execute(
            """
            SELECT set_config('statement_timeout', %(statement)s, true),
                set_config('idle_in_transaction_session_timeout', %(idle)s, true)
            """,
            self._timeouts,
        )

    @contextmanager
    def _only_one(self) -> Iterator[None]:
        """While a task has a transaction."""
        task = self._task()
        self._holding.add(task)
        try:
            yield
        finally:
            self._holding.discard(task)

    def _task(self) -> asyncio.Task[object]:
        """The current task, without a transaction. Raises RuntimeError."""
        task = asyncio.current_task()
        assert task is not None
        if task in self._holding:
            raise RuntimeError("A transaction of a request began inside another one.")
        return task

    @asynccontextmanager
    async def as_user(self, user_id: UserId) -> AsyncIterator[Connection]:
        """As in Database. Raises DatabaseUnavailable, QueryTimedOut, TooManyRequests."""
        async with self.slot(user_id), super().as_user(user_id) as conn:
            yield conn

    @asynccontextmanager
    async def slot(self, client: Hashable) -> AsyncIterator[None]:
        """Wait for one of the connections that a client may have. Raises TooManyRequests."""
        self._task()  # before it waits for itself
        slots = self._slots.setdefault(client, asyncio.Semaphore(self._per_user))
        try:
            async with asyncio.timeout(self._longest_wait.total_seconds()):
                await slots.acquire()
        except TimeoutError as error:
            raise TooManyRequests(self._longest_wait) from error
        try:
            yield
        finally:
            slots.release()

    def of(self, client: Hashable) -> Database:
        """The same connections, with the limit of this client for all of its transactions."""
        return ClientDatabase(self, client)


class ClientDatabase(Database):
    """The connections of a request of one client: a user, or the operator's token."""

    def __init__(self, database: RequestDatabase, client: Hashable) -> None:
        self.conninfo = database.conninfo
        self._database, self._client = database, client

    @property
    def origin(self) -> Database:
        return self._database

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """As in Database. Raises DatabaseUnavailable, QueryTimedOut, TooManyRequests."""
        async with self._database.slot(self._client), self._database.transaction() as conn:
            yield conn


@asynccontextmanager
async def time_limit(conn: Connection, limit: timedelta) -> AsyncIterator[None]:
    """Statements of which each takes so long at most. What was done within is rolled back if one takes longer; the
    transaction continues. Raises QueryTimedOut."""
    milliseconds = str(max(1, round(limit.total_seconds() * 1000)))
    try:
        async with conn.transaction():
            cur = await conn.execute("SELECT current_setting('statement_timeout')")
            (before,) = await cur.fetchone() or ("0",)
            await conn.execute("SELECT set_config('statement_timeout', %(limit)s, true)", {"limit": milliseconds})
            yield
            await conn.execute("SELECT set_config('statement_timeout', %(limit)s, true)", {"limit": before})
    except psycopg.errors.QueryCanceled as error:
        raise QueryTimedOut(first_line(error)) from error


async def set_user(conn: Connection, user_id: UserId) -> None:
    """From here to its end this transaction sees only the rows of this user."""
    # One statement, so one round trip. No jit: lists read many small indexes, and compiling takes longer than that.
    await conn.execute(
        """
        SELECT set_config('headwater.user_id', %(id)s, true), set_config('jit', 'off', true),
            set_config('role', 'headwater_person', true)
        """,
        {"id": str(user_id)},
    )


async def see_all_users(conn: Connection) -> None:
    """From here to its end this transaction sees the rows of all users."""
    await conn.execute("SET LOCAL ROLE headwater_system")


async def _become_app(conn: Connection) -> None:
    """Once per connection: drop the rights of the login."""
    await conn.set_autocommit(True)
    await conn.execute("SET ROLE headwater_app")
    await conn.set_autocommit(False)


def check_conninfo(text: str) -> str:
    """Raises Invalid if PostgreSQL's client cannot read the connection string."""
    try:
        conninfo_to_dict(text)
    except psycopg.ProgrammingError as error:
        # Without the client's message, which may quote the password.
        raise Invalid("Invalid DATABASE_URL: use the form postgresql://user:password@host/database.") from error
    return text


@contextmanager
def unavailable() -> Iterator[None]:
    """Turns errors of an unavailable PostgreSQL into DatabaseUnavailable."""
    try:
        yield
    except psycopg.errors.ProgramLimitExceeded:
        raise  # the statement is at fault: retrying does not help
    except psycopg.errors.DeadlockDetected as error:
        raise Deadlock(first_line(error)) from error
    except psycopg.errors.QueryCanceled as error:
        raise QueryTimedOut(first_line(error)) from error
    # PoolTimeout and PoolClosed are OperationalErrors.
    except (psycopg.errors.IdleInTransactionSessionTimeout, psycopg.OperationalError) as error:
        raise DatabaseUnavailable(first_line(error)) from error


@contextmanager
def translate(**errors: HeadwaterError) -> Iterator[None]:
    """Raises the error given for a constraint when that constraint is violated."""
    try:
        yield
    except psycopg.IntegrityError as violation:
        refusal = errors.get(violation.diag.constraint_name or "")
        if refusal is None:
            raise
        raise refusal from violation


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
