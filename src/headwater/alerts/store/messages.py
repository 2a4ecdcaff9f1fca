"""Messages about incidents, and the notices that each channel has not been sent yet."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.alerts.store.incidents import INCIDENT, incident_of
from headwater.alerts.types import Message, Notice, NoticeKind
from headwater.db import Connection
from headwater.ids import new_id

_NOTICES: Final = f"""
    SELECT message_id, channel, kind::text, {INCIDENT} FROM incident_notices
    JOIN incidents ON incidents.id = incident_id
"""


async def add_pending(conn: Connection, *, channels: Sequence[str]) -> None:
    """Queue every open incident for these channels, unless it was queued before."""
    statement = """
        INSERT INTO incident_notices (incident_id, channel, kind)
        SELECT id, channel, 'began' FROM incidents CROSS JOIN unnest(%(channels)s::text[]) AS channel
        WHERE ended_at IS NULL ON CONFLICT ON CONSTRAINT incident_notices_pkey DO NOTHING
    """
    await conn.execute(statement, {"channels": list(channels)})


async def list_pending(conn: Connection, *, channels: Sequence[str]) -> list[Notice]:
    """Unsent notices of these channels, except channels with an unsent message."""
    statement = f"""
        {_NOTICES} WHERE message_id IS NULL
            AND channel = ANY(%(channels)s) AND NOT EXISTS (
                SELECT FROM incident_messages WHERE channel = incident_notices.channel AND sent_at IS NULL
            )
        ORDER BY began_at, id, kind
    """
    cur = await conn.execute(statement, {"channels": list(channels)})
    return [Notice(incident_of(row), channel, NoticeKind(kind)) for _, channel, kind, *row in await cur.fetchall()]


async def last_feed_messages(conn: Connection, *, channels: Sequence[str]) -> dict[str, datetime]:
    """When the last message about single feeds was made for each channel."""
    statement = """
        SELECT channel, max(made_at) FROM incident_messages
        WHERE is_of_feeds AND channel = ANY(%(channels)s) GROUP BY channel
    """
    cur = await conn.execute(statement, {"channels": list(channels)})
    return dict(await cur.fetchall())


async def add(conn: Connection, *, channel: str, notices: Sequence[Notice], is_of_feeds: bool, now: datetime) -> None:
    values = {
        "id": new_id(), "channel": channel, "is_of_feeds": is_of_feeds, "now": now,
        "ids": [notice.incident.id for notice in notices], "kinds": [notice.kind.value for notice in notices],
    }  # fmt: skip
    statement = """
        INSERT INTO incident_messages (id, channel, is_of_feeds, made_at, ready_at)
        VALUES (%(id)s, %(channel)s, %(is_of_feeds)s, %(now)s, %(now)s)
    """
    await conn.execute(statement, values)
    contain = """
        UPDATE incident_notices SET message_id = %(id)s
        FROM unnest(%(ids)s::uuid[], %(kinds)s::text[]) AS given (incident_id, kind)
        WHERE incident_notices.incident_id = given.incident_id
            AND incident_notices.kind = given.kind AND channel = %(channel)s
    """
    await conn.execute(contain, values)


async def claim(
    conn: Connection, *, channels: Sequence[str], now: datetime, leased_until: datetime, limit: int
) -> list[Message]:
    """Claim messages to be sent, until the lease ends; then they are sent again, with the same id."""
    cur = await conn.execute(
        """
        WITH ready AS (
            SELECT id FROM incident_messages
            WHERE sent_at IS NULL AND ready_at <= %(now)s AND channel = ANY(%(channels)s) ORDER BY ready_at
            LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        UPDATE incident_messages SET ready_at = %(leased_until)s, attempts = attempts + 1 FROM ready
        WHERE incident_messages.id = ready.id RETURNING incident_messages.id, channel, made_at, attempts
        """,
        {"channels": list(channels), "now": now, "leased_until": leased_until, "limit": limit},
    )
    messages = await cur.fetchall()
    if not messages:
        return []
    notices: dict[UUID, list[Notice]] = {row[0]: [] for row in messages}
    statement = _NOTICES + " WHERE message_id = ANY(%(ids)s) ORDER BY began_at, id, kind"
    cur = await conn.execute(statement, {"ids": list(notices)})
    for message_id, channel, kind, *row in await cur.fetchall():
        notices[message_id].append(Notice(incident_of(row), channel, NoticeKind(kind)))
    return [Message(id_, channel, made_at, tries, notices[id_]) for id_, channel, made_at, tries in messages]


async def set_sent(conn: Connection, *, message_id: UUID, now: datetime) -> None:
    statement = "UPDATE incident_messages SET sent_at = %(now)s, error = NULL WHERE id = %(id)s AND sent_at IS NULL"
    await conn.execute(statement, {"id": message_id, "now": now})


async def set_failed(conn: Connection, *, message_id: UUID, until: datetime, error: str) -> None:
    statement = """
        UPDATE incident_messages SET ready_at = %(until)s, error = %(error)s WHERE id = %(id)s AND sent_at IS NULL
    """
    await conn.execute(statement, {"id": message_id, "until": until, "error": error})
