"""The composition root: settings in, an open database, client and clock out, closed again in order.

The only reader of settings: everything below takes the values it needs as arguments.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from headwater import __version__
from headwater.db import Database, check_conninfo
from headwater.db.migrate import check_schema, migrate_up
from headwater.db.server import EmbeddedServer
from headwater.net import Client
from headwater.pipeline import Tools
from headwater.polling.types import PollingOptions
from headwater.sandbox import Sandbox
from headwater.settings import Settings

# How long writing may take once a feed is read; after that its host is somebody else's.
WRITING = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything that is open while Headwater runs."""

    settings: Settings
    tools: Tools
    server: EmbeddedServer | None

    @property
    def database(self) -> Database:
        """The pool of connections."""
        return self.tools.database

    async def watch_database(self) -> None:
        """Keep the embedded server alive for ever; with a server of somebody else's there is nothing to do."""
        if self.server is not None:
            await self.server.keep_running()


def utc_now() -> datetime:
    """The clock on the wall."""
    return datetime.now(UTC)  # noqa: TID251  the one place where the time comes in


@contextmanager
def database_server(settings: Settings) -> Iterator[tuple[str, EmbeddedServer | None]]:
    """How to connect: to the given server, or the embedded one, which runs meanwhile. Raises EmbeddedServerFailed."""
    if settings.database_url is not None:
        yield check_conninfo(settings.database_url.get_secret_value()), None
        return
    server = EmbeddedServer(settings.data_dir)
    try:
        server.start()
        yield server.conninfo, server
    finally:
        server.leave()


@asynccontextmanager
async def open_runtime(settings: Settings, *, migrate: bool = False) -> AsyncIterator[Runtime]:
    """Open everything; close it at the end. An embedded database is always migrated, a given one when told to.

    Raises DatabaseUnavailable, EmbeddedServerFailed, SchemaBehind, SchemaTooNew, MigrationFailed.
    """
    with database_server(settings) as (conninfo, server):
        if migrate or server is not None:
            await migrate_up(conninfo)
        async with (
            Database(conninfo, pool_size=settings.database_pool_size, wait=settings.database_wait) as database,
            open_client(settings) as client,
            open_sandbox(settings) as sandbox,
        ):
            async with database.transaction() as conn:
                await check_schema(conn)
            yield Runtime(settings, Tools(database, client, sandbox, utc_now, polling_options(settings)), server)


def open_client(settings: Settings) -> Client:
    """The outbound client; use as an async context manager."""
    return Client(
        user_agent=f"Headwater/{__version__} (+{settings.contact_url})",
        allow_loopback=settings.allow_loopback,
        resolve=settings.resolve,
    )


def open_sandbox(settings: Settings) -> Sandbox:
    """The processes that read what comes from outside; use as an async context manager."""
    return Sandbox(
        processes=settings.parse_processes,
        time_limit=settings.parse_timeout,
        memory_limit=settings.parse_memory,
        preload=("headwater.polling.read",),
    )


def polling_options(settings: Settings) -> PollingOptions:
    """How feeds are polled."""
    return PollingOptions(
        interval=settings.poll_interval,
        interval_min=settings.poll_interval_min,
        interval_max=settings.poll_interval_max,
        host_delay=settings.poll_host_delay,
        concurrency=settings.poll_concurrency,
        timeout=settings.poll_timeout,
        lease=settings.poll_timeout + settings.parse_timeout + WRITING,
        max_bytes=settings.poll_max_bytes,
        max_entries=settings.poll_max_entries,
        policy=settings.poll_policy,
    )
