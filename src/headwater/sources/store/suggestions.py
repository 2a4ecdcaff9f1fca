"""Feeds that were found in place of a lost one."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

from headwater.db import Connection, fetch_all, fetch_column
from headwater.sources.types import Suggestion
from headwater.types import SourceId

_SUGGESTIONS: Final = """
    SELECT source_id, name AS source_name, source_suggestions.feed_url, title, entry_count
    FROM source_suggestions JOIN sources ON sources.id = source_suggestions.source_id
"""


async def replace(
    conn: Connection, *, source_id: SourceId, suggestions: Sequence[Suggestion], found_at: datetime
) -> None:
    statement = """
        INSERT INTO source_suggestions (source_id, feed_url, title, entry_count, found_at)
        VALUES (%(source_id)s, %(feed_url)s, %(title)s, %(entry_count)s, %(found_at)s)
        ON CONFLICT (source_id, feed_url) DO NOTHING
    """
    await remove(conn, source_id=source_id)
    for one in suggestions:
        await conn.execute(statement, {**asdict(one), "found_at": found_at})


async def list_all(conn: Connection) -> list[Suggestion]:
    return await fetch_all(conn, Suggestion, _SUGGESTIONS + " ORDER BY lower(name), source_id, entry_count DESC")


async def remove(conn: Connection, *, source_id: SourceId) -> None:
    await conn.execute("DELETE FROM source_suggestions WHERE source_id = %(id)s", {"id": source_id})


async def list_for(conn: Connection, *, source_ids: Sequence[SourceId]) -> list[Suggestion]:
    statement = f"""
        {_SUGGESTIONS}
        WHERE source_id = ANY(%(ids)s::uuid[])
        ORDER BY source_id, entry_count DESC, source_suggestions.feed_url
    """
    return await fetch_all(conn, Suggestion, statement, {"ids": list(source_ids)})


async def list_pending(conn: Connection, *, source_ids: Sequence[SourceId]) -> set[SourceId]:
    statement = "SELECT source_id FROM feed_state WHERE needs_rediscovery AND source_id = ANY(%(ids)s::uuid[])"
    return set(await fetch_column(conn, statement, {"ids": list(source_ids)}))
