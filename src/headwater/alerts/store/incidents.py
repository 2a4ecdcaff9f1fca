"""Incidents: open ones, and those of the past."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from headwater.alerts.rows import IncidentRow, ShownRow
from headwater.alerts.store.facts import LISTED, evaluated_at
from headwater.alerts.types import HeldCondition, Incident, IncidentBoard
from headwater.db import Connection, fetch_all, fetch_value
from headwater.ids import new_id

INCIDENT: Final = "incidents.id, condition::text, subject, summary, since, began_at, last_held_at, ended_at"


async def list_open(conn: Connection) -> list[Incident]:
    """Open incidents, the oldest first."""
    rows = await fetch_all(
        conn,
        IncidentRow,
        f"SELECT {INCIDENT} FROM incidents WHERE ended_at IS NULL ORDER BY began_at, id",
    )
    return [row.incident for row in rows]


async def add(conn: Connection, *, holds: Sequence[HeldCondition], now: datetime) -> list[Incident]:
    """Add incidents."""
    begun = [
        Incident(new_id(), held.condition, held.subject, held.summary, min(held.since, now), now, now) for held in holds
    ]
    if begun:
        await conn.execute(
            """
            INSERT INTO incidents (id, condition, subject, summary, since, began_at, last_held_at)
            SELECT id, condition, subject, summary, since, %(now)s, %(now)s
            FROM unnest(
                %(ids)s::uuid[], %(conditions)s::text[], %(subjects)s::text[], %(summaries)s::text[],
                %(sinces)s::timestamptz[]
            ) AS begun (id, condition, subject, summary, since)
            """,
            {
                "ids": [one.id for one in begun],
                "conditions": [one.condition.value for one in begun],
                "subjects": [one.subject for one in begun],
                "summaries": [one.summary for one in begun],
                "sinces": [one.since for one in begun],
                "now": now,
            },
        )
    return begun


async def update(conn: Connection, *, incidents: Sequence[Incident]) -> None:
    """Update the summary and time of open incidents."""
    await conn.execute(
        """
        UPDATE incidents
        SET summary = held.summary, last_held_at = held.at
        FROM unnest(%(ids)s::uuid[], %(summaries)s::text[], %(times)s::timestamptz[]) AS held (id, summary, at)
        WHERE incidents.id = held.id
        """,
        {
            "ids": [one.id for one in incidents],
            "summaries": [one.summary for one in incidents],
            "times": [one.last_held_at for one in incidents],
        },
    )


async def end(conn: Connection, *, incidents: Sequence[Incident], now: datetime) -> None:
    """End incidents, and queue that for every channel that was sent their start."""
    ids = [one.id for one in incidents]
    await conn.execute("UPDATE incidents SET ended_at = %(now)s WHERE id = ANY(%(ids)s)", {"now": now, "ids": ids})
    await conn.execute(
        """
        INSERT INTO incident_tellings (incident_id, channel, kind)
        SELECT incident_id, channel, 'ended'
        FROM incident_tellings
        WHERE incident_id = ANY(%(ids)s) AND kind = 'began'
        ON CONFLICT ON CONSTRAINT incident_tellings_pkey DO NOTHING
        """,
        {"ids": ids},
    )


async def read_board(conn: Connection, *, past: int, limit: int = LISTED) -> IncidentBoard:
    """Open incidents and the latest past ones, with the messages sent."""
    async with conn.cursor(row_factory=class_row(ShownRow)) as cur:
        await cur.execute(
            """
            WITH shown AS (
                (SELECT * FROM incidents WHERE ended_at IS NULL ORDER BY began_at DESC, id DESC LIMIT %(limit)s)
                UNION ALL
                (SELECT * FROM incidents WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT %(past)s)
            )
            SELECT shown.id, condition::text, subject, summary, since, began_at, last_held_at, ended_at,
                coalesce(
                    jsonb_agg(
                        jsonb_build_object(
                            'channel', notice.channel, 'kind', kind, 'sent_at', sent_at,
                            'attempts', coalesce(attempts, 0), 'error', error
                        )
                        ORDER BY notice.channel, kind
                    ) FILTER (WHERE notice.channel IS NOT NULL),
                    '[]'
                ) AS told
            FROM shown
            LEFT JOIN incident_tellings AS notice ON notice.incident_id = shown.id
            LEFT JOIN incident_messages AS message ON message.id = notice.message_id
            GROUP BY shown.id, condition, subject, summary, since, began_at, last_held_at, ended_at
            ORDER BY ended_at DESC NULLS FIRST, began_at DESC, shown.id DESC
            """,
            {"past": past, "limit": limit},
        )
        shown = [row.shown for row in await cur.fetchall()]
    is_open = [one for one in shown if one.incident.ended_at is None]
    return IncidentBoard(
        sorted(is_open, key=lambda one: one.incident.severity),  # critical ones first, then the newest
        [one for one in shown if one.incident.ended_at is not None],
        await evaluated_at(conn),
    )


async def count_open(conn: Connection) -> int:
    """How many incidents are open."""
    return await fetch_value(conn, "SELECT count(*) FROM incidents WHERE ended_at IS NULL")
