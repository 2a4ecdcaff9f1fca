"""The rows of `channels` as operators write and see them.

Each change of what is routed raises `channels_version`, before it locks a channel: a transaction that routes articles
holds that row first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.types.json import Jsonb

from headwater.channels.types import Channel, ChannelFields, ChannelId, DestinationKind
from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value, translate
from headwater.errors import ChannelExists, ChannelNotFound

_COLUMNS: Final = """
    id, name, query, destination, options, secret IS NOT NULL AS has_secret, feed_key IS NOT NULL AS has_feed, version,
    is_paused, created_at, updated_at, ready_at, delivered, delivered_at, failures, failed_since, reason,
    replay_to IS NOT NULL AS is_replaying
"""


@dataclass(frozen=True, slots=True)
class RoutedChannel:
    """What decides which articles a channel gets. `is_read`: its destination is none."""

    id: ChannelId
    query: str
    is_read: bool


async def raise_version(conn: Connection) -> None:
    """Processes that route articles read the channels again. Waits for those that route at this moment."""
    await conn.execute("UPDATE publishing_state SET channels_version = channels_version + 1")


async def add(
    conn: Connection, *, channel_id: ChannelId, fields: ChannelFields, secret: str | None, now: datetime
) -> None:
    """Raises ChannelExists."""
    statement = """
        INSERT INTO channels (id, name, query, destination, options, secret, created_at, updated_at, ready_at)
        VALUES (%(id)s, %(name)s, %(query)s, %(destination)s, %(options)s, %(secret)s, %(now)s, %(now)s, %(now)s)
    """
    with translate(channels_by_name=ChannelExists(fields.name)):
        await conn.execute(statement, _values(fields) | {"id": channel_id, "secret": secret, "now": now})


async def change(conn: Connection, *, channel_id: ChannelId, fields: ChannelFields, now: datetime) -> None:
    """Its destination is tried again at once. Raises ChannelExists."""
    statement = """
        UPDATE channels
        SET name = %(name)s, query = %(query)s, destination = %(destination)s, options = %(options)s,
            version = version + 1, ready_at = CASE WHEN lease IS NULL THEN %(now)s ELSE ready_at END,
            failures = 0, failed_since = NULL, reason = NULL
        WHERE id = %(id)s
    """
    with translate(channels_by_name=ChannelExists(fields.name)):
        await conn.execute(statement, _values(fields) | {"id": channel_id, "now": now})


def _values(fields: ChannelFields) -> dict[str, object]:
    return {
        "name": fields.name, "query": fields.query, "destination": fields.destination.value,
        "options": Jsonb(dict(fields.options)),
    }  # fmt: skip


async def remove(conn: Connection, *, channel_id: ChannelId) -> None:
    """Its deliveries are deleted in the background (`deliveries.sweep`)."""
    await conn.execute("DELETE FROM channels WHERE id = %(id)s", {"id": channel_id})


async def set_paused(conn: Connection, *, channel_id: ChannelId, is_paused: bool, now: datetime) -> None:
    """A channel that resumes is tried at once."""
    statement = """
        UPDATE channels
        SET is_paused = %(is_paused)s,
            ready_at = CASE WHEN lease IS NULL AND NOT %(is_paused)s THEN %(now)s ELSE ready_at END
        WHERE id = %(id)s
    """
    await conn.execute(statement, {"id": channel_id, "is_paused": is_paused, "now": now})


async def set_secret(conn: Connection, *, channel_id: ChannelId, secret: str | None, now: datetime) -> None:
    statement = """
        UPDATE channels
        SET secret = %(secret)s, ready_at = CASE WHEN lease IS NULL THEN %(now)s ELSE ready_at END WHERE id = %(id)s
    """
    await conn.execute(statement, {"id": channel_id, "secret": secret, "now": now})


async def read_secret(conn: Connection, *, channel_id: ChannelId) -> str | None:
    return await fetch_value(conn, "SELECT secret FROM channels WHERE id = %(id)s", {"id": channel_id})


async def set_feed_key(conn: Connection, *, channel_id: ChannelId, feed_key: bytes | None) -> None:
    """The digest of the secret in the address of its feed. None: it has no feed."""
    statement = "UPDATE channels SET feed_key = %(feed_key)s WHERE id = %(id)s"
    await conn.execute(statement, {"id": channel_id, "feed_key": feed_key})


async def find(conn: Connection, *, channel_id: ChannelId) -> Channel:
    """Raises ChannelNotFound."""
    statement = f"SELECT {_COLUMNS} FROM channels WHERE id = %(id)s"
    return _found(await fetch_one(conn, Channel, statement, {"id": channel_id}), channel_id)


async def find_named(conn: Connection, *, name: str) -> Channel:
    """Raises ChannelNotFound."""
    statement = f"SELECT {_COLUMNS} FROM channels WHERE name = %(name)s"
    return _found(await fetch_one(conn, Channel, statement, {"name": name}), repr(name))


async def find_by_feed_key(conn: Connection, *, feed_key: bytes) -> Channel | None:
    statement = f"SELECT {_COLUMNS} FROM channels WHERE feed_key = %(feed_key)s"
    found = await fetch_one(conn, Channel, statement, {"feed_key": feed_key})
    return _channel(found) if found else None


async def lock(conn: Connection, *, channel_id: ChannelId) -> Channel:
    """Against other changes, until the transaction ends. Raises ChannelNotFound."""
    statement = f"SELECT {_COLUMNS} FROM channels WHERE id = %(id)s FOR NO KEY UPDATE"
    return _found(await fetch_one(conn, Channel, statement, {"id": channel_id}), channel_id)


async def list_channels(conn: Connection) -> list[Channel]:
    """By name; there are at most some hundred."""
    return [_channel(row) for row in await fetch_all(conn, Channel, f"SELECT {_COLUMNS} FROM channels ORDER BY name")]


async def count(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM channels")


async def channels_version(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT channels_version FROM publishing_state")


async def list_routed(conn: Connection) -> list[RoutedChannel]:
    """Not that of the search index, which also gets articles that are not classified, and deletions (`documents`)."""
    statement = """
        SELECT id, query, destination = 'none' AS is_read FROM channels WHERE destination <> 'search_index' ORDER BY id
    """
    return await fetch_all(conn, RoutedChannel, statement)


async def find_blank(conn: Connection, *, words: Sequence[str]) -> frozenset[str]:
    """Those of these texts that have nothing to search for, such as punctuation: they are found nowhere."""
    statement = "SELECT word FROM unnest(%(words)s::text[]) AS word WHERE numnode(plainto_tsquery('simple', word)) = 0"
    return frozenset(await fetch_column(conn, statement, {"words": list(words)}))


def _found(channel: Channel | None, wanted: UUID | str) -> Channel:
    if channel is None:
        raise ChannelNotFound(wanted)
    return _channel(channel)


def _channel(row: Channel) -> Channel:
    return replace(row, destination=DestinationKind(row.destination))
