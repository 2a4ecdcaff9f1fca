"""The audit log. An entry is written in the transaction of its change."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.types.json import Jsonb

from headwater.audit.types import Actor, AuditAction, AuditEntry, AuditFilter, AuditPage, AuditSort
from headwater.db import Connection, fetch_all
from headwater.ids import new_id
from headwater.types import SortPlace, UserId

EVERYTHING = AuditFilter()
NAME_MOST = 500
# Statements are planned with their values: only the arm of the chosen column is left, and its index is used.
_AFTER: Final = """
    (
        %(after)s::uuid IS NULL
        OR (%(sort)s = 'time' AND (at, audit_log.id) > (%(at)s::timestamptz, %(after)s))
        OR (%(sort)s = '-time' AND (at, audit_log.id) < (%(at)s::timestamptz, %(after)s))
        OR (%(sort)s = 'action' AND (action, audit_log.id) > (%(name)s, %(after)s))
        OR (%(sort)s = '-action' AND (action, audit_log.id) < (%(name)s, %(after)s))
        OR (%(sort)s = 'target' AND (lower(subject_name), audit_log.id) > (lower(%(name)s), %(after)s))
        OR (%(sort)s = '-target' AND (lower(subject_name), audit_log.id) < (lower(%(name)s), %(after)s))
    )
"""
_ORDER: Final = """
    CASE WHEN %(sort)s = 'time' THEN at END, CASE WHEN %(sort)s = '-time' THEN at END DESC,
    CASE WHEN %(sort)s = 'action' THEN action END, CASE WHEN %(sort)s = '-action' THEN action END DESC,
    CASE WHEN %(sort)s = 'target' THEN lower(subject_name) END,
    CASE WHEN %(sort)s = '-target' THEN lower(subject_name) END DESC,
    CASE WHEN %(sort)s NOT LIKE '-%%' THEN audit_log.id END, CASE WHEN %(sort)s LIKE '-%%' THEN audit_log.id END DESC
"""


async def record(
    conn: Connection, actor: Actor, action: AuditAction, now: datetime, *, subject: str, subject_id: UUID | None = None,
    detail: Mapping[str, object] | None = None,
) -> None:  # fmt: skip
    statement = """
        INSERT INTO audit_log (id, at, actor_id, actor_name, action, subject_id, subject_name, detail)
        VALUES (%(id)s, %(now)s, %(actor_id)s, %(actor_name)s, %(action)s, %(subject_id)s, %(subject_name)s, %(detail)s)
    """
    by = {"actor_id": actor.user_id, "actor_name": actor.name[:NAME_MOST]}
    of = {"subject_id": subject_id, "subject_name": subject[:NAME_MOST], "detail": Jsonb(dict(detail or {}))}
    await conn.execute(statement, {"id": new_id(), "now": now, "action": action.value, **by, **of})


async def list_entries(
    conn: Connection, *, wanted: AuditFilter = EVERYTHING, sort: AuditSort = AuditSort.TIME, is_descending: bool = True,
    after: SortPlace | None = None, limit: int,
) -> AuditPage:  # fmt: skip
    """Entries, the newest first unless sorted otherwise. A user with an account is shown by the current email."""
    statement = f"""
        SELECT audit_log.id, at, users.id AS actor_id, coalesce(email, actor_name) AS actor_name, action,
            subject_id, subject_name, detail FROM audit_log LEFT JOIN users ON users.id = actor_id
        WHERE (%(action)s::text IS NULL OR action = %(action)s)
            AND (%(actor_id)s::uuid IS NULL OR actor_id = %(actor_id)s)
            AND (%(subject_id)s::uuid IS NULL OR subject_id = %(subject_id)s)
            AND (%(actor)s = '' OR strpos(lower(coalesce(email, actor_name)), lower(%(actor)s)) > 0)
            AND (%(subject)s = '' OR strpos(lower(subject_name), lower(%(subject)s)) > 0)
            AND (%(since)s::timestamptz IS NULL OR at >= %(since)s)
            AND (%(before)s::timestamptz IS NULL OR at < %(before)s)
            AND {_AFTER}
        ORDER BY {_ORDER} LIMIT %(limit)s + 1
    """
    place = {"after": after and after.id, "at": after.at if after else None, "name": after.name if after else ""}
    values = {**asdict(wanted), **place, "sort": f"-{sort}" if is_descending else sort.value, "limit": limit}
    found = await fetch_all(conn, AuditEntry, statement, values, prepare=False)
    shown = found[:limit]
    return AuditPage(shown, _place_of(shown[-1], sort) if len(found) > limit else None)


def _place_of(last: AuditEntry, sort: AuditSort) -> SortPlace:
    return SortPlace(last.id, last.action if sort is AuditSort.ACTION else last.subject_name, at=last.at)


async def clear_actor(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Clear a removed user's id from entries; the name stays. Returns how many were changed."""
    statement = """
        UPDATE audit_log SET actor_id = NULL
        WHERE id = ANY(ARRAY(SELECT id FROM audit_log WHERE actor_id = %(user_id)s LIMIT %(limit)s))
    """
    return (await conn.execute(statement, {"user_id": user_id, "limit": limit})).rowcount
