"""Connections to PostgreSQL. Takes a connection string, hands out transactions, and turns outages into one error."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Self

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from headwater.errors import DatabaseUnavailable, Deadlock, HeadwaterError, Invalid, QueryTimedOut
from headwater.observability.log import OutageLog
from headwater.types import UserId

Connection = psycopg.AsyncConnection[TupleRow]

# The roles that transactions act as: none is a superuser, owns a table or bypasses row-level security (db/rights.py).
APP_ROLE = "headwater_app"
PERSON_ROLE = "headwater_person"
SYSTEM_ROLE = "headwater_system"
_HINT = "Rows of users are visible only in Database.as_user or Database.as_system: see docs/architecture.md."


class Database:
    """A pool of connections. Use as an async context manager."""

    def __init__(self, conninfo: str, *, pool_size: int, wait: timedelta) -> None:
        self.conninfo = conninfo
        self._outage: OutageLog | None = None
        self._pool = AsyncConnectionPool(
            conninfo,
            open=False,
            min_size=1,
            max_size=pool_size,
            timeout=wait.total_seconds(),
            # Give up quickly and try again when the next caller comes: the pool's own five minutes of growing waits
            # would keep us away from a database that has long been back.
            reconnect_timeout=wait.total_seconds(),
            check=AsyncConnectionPool.check_connection,
            configure=_become_app,
            kwargs={"application_name": "headwater", "connect_timeout": 5},
        )

    async def __aenter__(self) -> Self:
        await self._pool.open(wait=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close()

    def log_outages(self) -> None:
        """Log from now on when the database fails and when it is back. A command reports that in its own words."""
        self._outage = OutageLog()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One transaction: committed at the end, rolled back on any error. Raises DatabaseUnavailable.

        Rows that belong to users are refused: see `as_user` and `as_system`.
        """
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
            await speak_for(conn, user_id)
            yield conn

    @asynccontextmanager
    async def as_system(self) -> AsyncIterator[Connection]:
        """A transaction that sees the rows of all users. Raises DatabaseUnavailable.

        For accounts, operators and background work only; tests/db/test_rights.py lists the modules that use it.
        """
        async with self.transaction() as conn:
            await see_all_users(conn)
            yield conn

    async def ping(self) -> None:
        """Returns when the database answers. Raises DatabaseUnavailable."""
        async with self.transaction() as conn:
            await conn.execute("SELECT 1")


class RequestDatabase(Database):
    """The connections of another pool, for requests of people and programs: what takes too long is cancelled.

    A statement that runs, or waits for a lock, longer than `statement_timeout` raises QueryTimedOut. A transaction that
    does nothing for `IDLE_TIMEOUT` loses its connection: no slow client holds locks.
    """

    IDLE_TIMEOUT = timedelta(minutes=1)

    def __init__(self, database: Database, *, statement_timeout: timedelta) -> None:
        self.conninfo = database.conninfo
        self._database = database
        self._timeouts = {"statement": _milliseconds(statement_timeout), "idle": _milliseconds(self.IDLE_TIMEOUT)}

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """As in Database. Raises DatabaseUnavailable, QueryTimedOut."""
        async with self._database.transaction() as conn:
            await conn.execute(
                """
                SELECT set_config('statement_timeout', %(statement)s, true),
                    set_config('idle_in_transaction_session_timeout', %(idle)s, true)
                """,
                self._timeouts,
            )
            yield conn


def _milliseconds(duration: timedelta) -> str:
    return str(round(duration.total_seconds() * 1000))


async def speak_for(conn: Connection, user_id: UserId) -> None:
    """From here to its end this transaction sees the rows of this user and of no other."""
    # One statement, so one round trip. A list asks many small indexes, which adds up to what PostgreSQL thinks worth
    # compiling, and that takes it longer: no jit.
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
    """Once for each connection, so that no transaction pays for it: whatever the login may do, this may not."""
    await conn.set_autocommit(True)
    await conn.execute("SET ROLE headwater_app")
    await conn.set_autocommit(False)


def check_conninfo(text: str) -> str:
    """The connection string, if PostgreSQL's client can read it. Raises Invalid."""
    try:
        conninfo_to_dict(text)
    except psycopg.ProgrammingError as error:
        # Not its own words: they may quote the password.
        raise Invalid(
            "DATABASE_URL cannot be read: an address such as postgresql://user:password@host/database is needed."
        ) from error
    return text


@contextmanager
def unavailable() -> Iterator[None]:
    """Turns every way in which PostgreSQL can be away, full or shutting down into DatabaseUnavailable."""
    try:
        yield
    except psycopg.errors.ProgramLimitExceeded:
        raise  # it would say the same to the same statement for ever: what was written is at fault
    except psycopg.errors.DeadlockDetected as error:
        raise Deadlock(first_line(error)) from error
    except psycopg.errors.QueryCanceled as error:
        raise QueryTimedOut(first_line(error)) from error
    except psycopg.errors.IdleInTransactionSessionTimeout as error:  # the connection is closed
        raise DatabaseUnavailable(first_line(error)) from error
    except psycopg.OperationalError as error:  # PoolTimeout and PoolClosed are among its children
        raise DatabaseUnavailable(first_line(error)) from error


@contextmanager
def translate(**errors: HeadwaterError) -> Iterator[None]:
    """Raises the error given under a constraint's name when that constraint is violated."""
    try:
        yield
    except psycopg.IntegrityError as violation:
        refusal = errors.get(violation.diag.constraint_name or "")
        if refusal is None:
            raise
        raise refusal from violation


def first_line(error: BaseException) -> str:
    """PostgreSQL's messages run over several lines; the first says it."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
