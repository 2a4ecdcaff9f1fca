"""Incidents: open ones, and those of the past."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from headwater.alerts.store.facts import LISTED, evaluated_at
from headwater.alerts.types import Condition, HeldCondition, Incident, IncidentBoard, NoticeStatus
from headwater.db import Connection
from headwater.ids import new_id

INCIDENT: Final = "incidents.id, condition::text, subject, summary, since, began_at, last_held_at, ended_at"


def incident_of(row: Sequence[Any]) -> Incident:
    """From the columns of INCIDENT, and perhaps its notices."""
    incident_id, condition, *rest = row
    return Incident(incident_id, Condition(condition), *rest)


async def list_open(conn: Connection) -> list[Incident]:
    cur = await conn.execute(f"SELECT {INCIDENT} FROM incidents WHERE ended_at IS NULL ORDER BY began_at, id")
    return [incident_of(row) for row in await cur.fetchall()]


async def add(conn: Connection, *, holds: Sequence[HeldCondition], now: datetime) -> list[Incident]:
    begun = [
        Incident(new_id(), held.condition, held.subject, held.summary, min(held.since, now), now, now) for held in holds
    ]
    statement = """
        INSERT INTO incidents (id, condition, subject, summary, since, began_at, last_held_at)
        SELECT id, condition, subject, summary, since, began_at, last_held_at
        FROM jsonb_populate_recordset(NULL::incidents, %(begun)s)
    """
    await conn.execute(statement, {"begun": msgspec.json.encode(begun).decode()})
    return begun


async def update(conn: Connection, *, incidents: Sequence[Incident]) -> None:
    statement = """
        UPDATE incidents SET summary = held.summary, last_held_at = held.last_held_at
        FROM jsonb_populate_recordset(NULL::incidents, %(held)s) AS held WHERE incidents.id = held.id
    """
    await conn.execute(statement, {"held": msgspec.json.encode(incidents).decode()})


async def end(conn: Connection, *, incidents: Sequence[Incident], now: datetime) -> None:
    """End incidents, and queue a notice for every channel that was sent their beginning."""
    ids = [one.id for one in incidents]
    await conn.execute("UPDATE incidents SET ended_at = %(now)s WHERE id = ANY(%(ids)s)", {"now": now, "ids": ids})
    statement = """
        INSERT INTO incident_notices (incident_id, channel, kind)
        SELECT incident_id, channel, 'ended' FROM incident_notices
        WHERE incident_id = ANY(%(ids)s) AND kind = 'began'
        ON CONFLICT ON CONSTRAINT incident_notices_pkey DO NOTHING
    """
    await conn.execute(statement, {"ids": ids})


async def read_board(conn: Connection, *, past: int, limit: int = LISTED) -> IncidentBoard:
    statement = f"""
        WITH incidents AS (
            (SELECT * FROM incidents WHERE ended_at IS NULL ORDER BY began_at DESC, id DESC LIMIT %(limit)s)
            UNION ALL
            (SELECT * FROM incidents WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT %(past)s)
        )
        SELECT {INCIDENT}, (
                SELECT coalesce(jsonb_agg(notice ORDER BY channel, kind), '[]') FROM (
                    SELECT incident_notices.channel, kind, sent_at, coalesce(attempts, 0) AS attempts, error
                    FROM incident_notices LEFT JOIN incident_messages ON incident_messages.id = message_id
                    WHERE incident_id = incidents.id
                ) AS notice
            )
        FROM incidents ORDER BY ended_at DESC NULLS FIRST, began_at DESC, id DESC
    """
    cur = await conn.execute(statement, {"past": past, "limit": limit})
    rows = await cur.fetchall()
    found = [incident_of([*row, msgspec.convert(notices, list[NoticeStatus])]) for *row, notices in rows]
    is_open = [one for one in found if one.ended_at is None]
    return IncidentBoard(
        sorted(is_open, key=lambda one: one.severity),  # critical ones first, then the newest
        [one for one in found if one.ended_at is not None],
        await evaluated_at(conn),
    )
