"""Queries of the API."""

from collections.abc import Sequence

from headwater.db import Connection
from headwater.types import SourceId


async def known_sources(conn: Connection, *, ids: Sequence[SourceId]) -> set[SourceId]:
    """The ids among these that are sources."""
    cur = await conn.execute("SELECT id FROM sources WHERE id = ANY(%(ids)s)", {"ids": list(ids)})
    return {SourceId(found) for (found,) in await cur.fetchall()}
