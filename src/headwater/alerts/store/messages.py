"""Messages about incidents: what each channel has yet to be sent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.alerts.rows import MessageRow, TellingRow
from headwater.alerts.store.incidents import INCIDENT
from headwater.alerts.types import Message, Notice
from headwater.db import Connection, fetch_all
from headwater.ids import new_id

_PENDING: Final = f"""
    SELECT {INCIDENT}, channel, kind::text, message_id
    FROM incident_tellings
    JOIN incidents ON incidents.id = incident_id
"""


async def add_pending(conn: Connection, *, channels: Sequence[str]) -> None:
    """Queue every open incident for these channels, unless it was sent already."""
    await conn.execute(
        """
        INSERT INTO incident_tellings (incident_id, channel, kind)
        SELECT id, channel, 'began'
        FROM incidents
        CROSS JOIN unnest(%(channels)s::text[]) AS channel
        WHERE ended_at IS NULL
        ON CONFLICT ON CONSTRAINT incident_tellings_pkey DO NOTHING
        """,
        {"channels": list(channels)},
    )


async def list_pending(conn: Connection, *, channels: Sequence[str]) -> list[Notice]:
    """What these channels have yet to be sent, except channels with an unsent message."""
    rows = await fetch_all(
        conn,
        TellingRow,
        f"""
        {_PENDING}
        WHERE message_id IS NULL
            AND channel = ANY(%(channels)s)
            AND NOT EXISTS (
                SELECT
                FROM incident_messages
                WHERE incident_messages.channel = incident_tellings.channel AND sent_at IS NULL
            )
        ORDER BY began_at, id, kind
        """,
        {"channels": list(channels)},
    )
    return [row.notice for row in rows]


async def last_feed_messages(conn: Connection, *, channels: Sequence[str]) -> dict[str, datetime]:
    """When the last message about single feeds was made for each channel."""
    cur = await conn.execute(
        """
        SELECT channel, max(made_at)
        FROM incident_messages
        WHERE is_of_feeds AND channel = ANY(%(channels)s)
        GROUP BY channel
        """,
        {"channels": list(channels)},
    )
    return dict(await cur.fetchall())


async def add(conn: Connection, *, channel: str, notices: Sequence[Notice], is_of_feeds: bool, now: datetime) -> None:
    """Add a message with its contents."""
    message_id = new_id()
    await conn.execute(
        """
        INSERT INTO incident_messages (id, channel, is_of_feeds, made_at, ready_at)
        VALUES (%(id)s, %(channel)s, %(is_of_feeds)s, %(now)s, %(now)s)
        """,
        {"id": message_id, "channel": channel, "is_of_feeds": is_of_feeds, "now": now},
    )
    await conn.execute(
        """
        UPDATE incident_tellings
        SET message_id = %(message_id)s
        FROM unnest(%(ids)s::uuid[], %(kinds)s::text[]) AS given (incident_id, kind)
        WHERE incident_tellings.incident_id = given.incident_id
            AND incident_tellings.kind = given.kind
            AND channel = %(channel)s
        """,
        {
            "message_id": message_id,
            "channel": channel,
            "ids": [notice.incident.id for notice in notices],
            "kinds": [notice.kind.value for notice in notices],
        },
    )


async def claim(
    conn: Connection, *, channels: Sequence[str], now: datetime, leased_until: datetime, limit: int
) -> list[Message]:
    """Claim messages to be sent, until the lease ends; then they are sent again, with the same id."""
    found = await fetch_all(
        conn,
        MessageRow,
        """
        WITH ready AS (
            SELECT id
            FROM incident_messages
            WHERE sent_at IS NULL AND ready_at <= %(now)s AND channel = ANY(%(channels)s)
            ORDER BY ready_at
            LIMIT %(limit)s
            FOR UPDATE SKIP LOCKED
        )
        UPDATE incident_messages
        SET ready_at = %(leased_until)s, attempts = attempts + 1
        FROM ready
        WHERE incident_messages.id = ready.id
        RETURNING incident_messages.id, channel, made_at, attempts
        """,
        {"channels": list(channels), "now": now, "leased_until": leased_until, "limit": limit},
    )
    notices = await _tellings(conn, message_ids=[row.id for row in found]) if found else {}
    return [Message(row.id, row.channel, row.made_at, row.attempts, notices.get(row.id, ())) for row in found]


async def _tellings(conn: Connection, *, message_ids: Sequence[UUID]) -> dict[UUID, list[Notice]]:
    rows = await fetch_all(
        conn,
        TellingRow,
        _PENDING + " WHERE message_id = ANY(%(ids)s) ORDER BY began_at, id, kind",
        {"ids": list(message_ids)},
    )
    found: dict[UUID, list[Notice]] = {}
    for row in rows:
        assert row.message_id is not None
        found.setdefault(row.message_id, []).append(row.notice)
    return found


async def set_sent(conn: Connection, *, message_id: UUID, now: datetime) -> None:
    """Mark the message as sent."""
    await conn.execute(
        "UPDATE incident_messages SET sent_at = %(now)s, error = NULL WHERE id = %(id)s AND sent_at IS NULL",
        {"id": message_id, "now": now},
    )


async def set_failed(conn: Connection, *, message_id: UUID, until: datetime, error: str) -> None:
    """Store the error; the message is sent again at `until`."""
    await conn.execute(
        """
        UPDATE incident_messages
        SET ready_at = %(until)s, error = %(error)s
        WHERE id = %(id)s AND sent_at IS NULL
        """,
        {"id": message_id, "until": until, "error": error},
    )
