"""Sources that a handler reads and changes in one transaction."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from headwater.db import Connection, Database
from headwater.sources.store import sources
from headwater.sources.types import Source
from headwater.types import SourceId


@asynccontextmanager
async def open_source(database: Database, source_id: UUID) -> AsyncIterator[tuple[Connection, Source]]:
    """A system transaction and a source. Raises SourceNotFound."""
    async with database.as_system() as conn:
        yield conn, await sources.find_by_id(conn, source_id=SourceId(source_id))
