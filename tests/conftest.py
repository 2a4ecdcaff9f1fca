"""What tests stand on: a real PostgreSQL, a clock that can be moved, and no way out of this machine."""

import gc
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from argon2 import PasswordHasher
from hypothesis import HealthCheck, settings
from psycopg.conninfo import make_conninfo

from headwater.accounts import secrets
from headwater.db import Connection, Database, see_all_users
from headwater.db.embedded import EmbeddedServer
from headwater.db.migrate import migrate_up
from headwater.settings import PLAIN_NAMES
from tests.app import release_apps
from tests.clock import MovableClock
from tests.databases import EmptiedDatabase, new_database

# Durability is not what tests test; the crash tests start a server of their own.
QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
# The same examples each time, so that a build says something about a change. HYPOTHESIS_PROFILE=search tries new ones.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
GIVEN_SERVER = os.environ.get("DATABASE_URL", "")
# Making a database from a template takes 0.1 s in memory and 0.9 s on the disk of a busy machine.
MEMORY = Path("/dev/shm")  # noqa: S108
ROOM = 4_000_000_000


def _refuse_the_outside(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and not ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise PermissionError(f"a test tried to connect to {address}: tests talk to loopback only")


sys.addaudithook(_refuse_the_outside)
_getaddrinfo = socket.getaddrinfo


def _look_up_here(host: Any, *arguments: Any, **more: Any) -> list[Any]:
    """Every name but this machine's is unknown. DNS says the same of `.invalid`, but may take seconds to."""
    try:
        is_known = host is None or host == "localhost" or bool(ip_address(str(host).partition("%")[0]))
    except ValueError:
        is_known = False
    if not is_known:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return _getaddrinfo(host, *arguments, **more)


socket.getaddrinfo = _look_up_here


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what waits most, so that others fill the time: the flows start processes, and a browser."""
    items.sort(key=lambda item: "flows" not in item.path.parts)


def pytest_collection_finish() -> None:
    """Leave what collecting made out of every garbage collection: it is most of the memory, and stays."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the developer must not change the results of tests."""
    for name in list(os.environ):
        if name.startswith("HEADWATER_") or name in PLAIN_NAMES:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _release_apps() -> Iterator[None]:
    yield
    release_apps()


@pytest.fixture(autouse=True, scope="session")
def _cheap_password_hashes() -> None:
    """Hash passwords at the lowest cost: the usual one is meant to be slow, and tests register hundreds of users."""
    secrets._HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture(scope="session")
def server_conninfo() -> Iterator[str]:
    """A server in which tests may make databases: the one of DATABASE_URL, or an embedded one."""
    if GIVEN_SERVER:
        yield GIVEN_SERVER
        return
    with _open_folder() as folder:
        server = EmbeddedServer(folder / "data", options=QUICK)
        server.start()
        yield server.conninfo_of("postgres")
        server.leave()


@pytest.fixture(scope="session")
async def template(server_conninfo: str) -> AsyncIterator[str]:
    """A migrated database that others are copied from. Nobody stays connected to it."""
    async with new_database(server_conninfo) as name:
        await migrate_up(make_conninfo(server_conninfo, dbname=name))
        yield name


@pytest.fixture(scope="session")
async def emptied_database(server_conninfo: str, template: str) -> AsyncIterator[EmptiedDatabase]:
    async with EmptiedDatabase(server_conninfo, template) as emptied:
        yield emptied


@pytest.fixture
async def conninfo(emptied_database: EmptiedDatabase) -> AsyncIterator[str]:
    """A migrated and empty database, for tests that commit or need two connections."""
    yield emptied_database.conninfo
    await emptied_database.reset()


@pytest.fixture
async def empty_conninfo(server_conninfo: str) -> AsyncIterator[str]:
    """A database of the test's own in which nothing was migrated."""
    async with new_database(server_conninfo) as name:
        yield make_conninfo(server_conninfo, dbname=name)


@pytest.fixture
async def database(conninfo: str) -> AsyncIterator[Database]:
    """The pool on an empty database."""
    async with Database(conninfo, pool_size=5, wait=timedelta(minutes=1)) as database:
        yield database


@pytest.fixture(scope="session")
async def shared_database(server_conninfo: str, template: str) -> AsyncIterator[EmptiedDatabase]:
    async with EmptiedDatabase(server_conninfo, template) as shared:
        yield shared


@pytest.fixture(scope="module")
async def shared_conn(shared_database: EmptiedDatabase) -> AsyncIterator[Connection]:
    """A new one for each module: plans depend on how large tables have become and on prepared statements, and the order
    of rows on plans. Which modules a worker ran before must not matter."""
    conn = await psycopg.AsyncConnection.connect(shared_database.conninfo, autocommit=True)
    await conn.execute("SET ROLE headwater_app")  # as the pool does
    await conn.set_autocommit(False)
    yield conn
    await conn.close()
    await shared_database.reset()


@pytest.fixture
async def conn(shared_conn: Connection) -> AsyncIterator[Connection]:
    """A transaction as of `Database.as_system` whose every change is rolled back: under a millisecond."""
    async with shared_conn.transaction(force_rollback=True):
        await see_all_users(shared_conn)
        yield shared_conn


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every account of the machine can enter."""
    with _open_folder() as folder:
        yield folder


@contextmanager
def _open_folder() -> Iterator[Path]:
    # Not one of pytest's: each run of pytest closes their common parent to other accounts, and as root
    # PostgreSQL runs under another account.
    with TemporaryDirectory(prefix="headwater-test-", dir=_quickest_folder(), ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def _quickest_folder() -> Path | None:
    """Memory where there is plenty; None means the usual temporary folder."""
    is_there = MEMORY.is_dir() and os.access(MEMORY, os.W_OK | os.X_OK)
    return MEMORY if is_there and shutil.disk_usage(MEMORY).free > ROOM else None
