"""The audit log. An entry is written in the transaction of its change."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from headwater.audit.types import Actor, AuditAction, AuditEntry, AuditFilter, AuditPage
from headwater.db import Connection, fetch_all
from headwater.ids import new_id
from headwater.types import PageCursor, UserId

EVERYTHING = AuditFilter()
NAME_MOST = 500


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
    conn: Connection, *, wanted: AuditFilter = EVERYTHING, after: PageCursor | None = None, limit: int
) -> AuditPage:
    """Entries, the newest first. A user with an account is shown by the current email."""
    statement = """
        SELECT audit_log.id, at, users.id AS actor_id, coalesce(email, actor_name) AS actor_name, action,
            subject_id, subject_name, detail FROM audit_log LEFT JOIN users ON users.id = actor_id
        WHERE (%(action)s::text IS NULL OR action = %(action)s)
            AND (%(actor_id)s::uuid IS NULL OR actor_id = %(actor_id)s)
            AND (%(subject_id)s::uuid IS NULL OR subject_id = %(subject_id)s)
            AND (%(actor)s = '' OR strpos(lower(coalesce(email, actor_name)), lower(%(actor)s)) > 0)
            AND (%(subject)s = '' OR strpos(lower(subject_name), lower(%(subject)s)) > 0)
            AND (%(after_at)s::timestamptz IS NULL OR (at, audit_log.id) < (%(after_at)s, %(after_id)s::uuid))
        ORDER BY at DESC, audit_log.id DESC LIMIT %(limit)s + 1
    """
    place = {"after_at": after.at if after else None, "after_id": after.id if after else None}
    found = await fetch_all(conn, AuditEntry, statement, {**asdict(wanted), **place, "limit": limit})
    shown = found[:limit]
    return AuditPage(shown, PageCursor(shown[-1].at, shown[-1].id) if len(found) > limit else None)


async def clear_actor(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Clear a removed user's id from entries; the name stays. Returns how many were changed."""
    statement = """
        UPDATE audit_log SET actor_id = NULL
        WHERE id = ANY(ARRAY(SELECT id FROM audit_log WHERE actor_id = %(user_id)s LIMIT %(limit)s))
    """
    return (await conn.execute(statement, {"user_id": user_id, "limit": limit})).rowcount
