"""Changes of many sources at once: what was previewed, how far it is, and how to undo it."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from headwater.db import Connection, fetch_column, fetch_row, translate
from headwater.errors import Conflict
from headwater.sources.types import BulkAction, BulkChange
from headwater.types import SourceId, UserId


async def add(conn: Connection, *, change: BulkChange, undoes: UUID | None = None, now: datetime) -> None:
    """Raises Conflict if it undoes one that is undone."""
    statement = """
        INSERT INTO bulk_changes (id, user_id, created_at, action, value, source_ids, before, undoes)
        VALUES (%(id)s, %(user_id)s, %(now)s, %(action)s, %(value)s, %(source_ids)s, %(before)s, %(undoes)s)
    """
    values = {"id": change.id, "user_id": change.user_id, "action": change.action.value, "value": change.value}
    with translate(bulk_changes_undone_once=Conflict("This change has been undone.")):
        rest = {
            "source_ids": list(change.source_ids),
            "before": Jsonb(dict(change.before)),
            "undoes": undoes,
            "now": now,
        }
        await conn.execute(statement, values | rest)


async def find(conn: Connection, *, change_id: UUID, user_id: UserId) -> BulkChange | None:
    statement = """
        SELECT id, user_id, action, value, source_ids, claimed, changed, before, undoes IS NOT NULL
        FROM bulk_changes WHERE id = %(id)s AND user_id = %(user_id)s
    """
    row = await fetch_row(conn, statement, {"id": change_id, "user_id": user_id})
    return BulkChange(row[0], row[1], BulkAction(row[2]), *row[3:]) if row else None


async def claim(conn: Connection, *, change: BulkChange, limit: int) -> list[SourceId]:
    """The next sources to change; each is returned once, however often it is asked."""
    statement = """
        UPDATE bulk_changes AS next SET claimed = least(last.claimed + %(limit)s, cardinality(last.source_ids))
        FROM (SELECT id, claimed, source_ids FROM bulk_changes WHERE id = %(id)s FOR UPDATE) AS last
        WHERE next.id = last.id RETURNING last.source_ids[last.claimed + 1:last.claimed + %(limit)s]
    """
    found = await fetch_column(conn, statement, {"id": change.id, "limit": limit})
    return found[0] if found else []


async def note(conn: Connection, *, change: BulkChange, changed: int, before: Mapping[str, object]) -> None:
    """Some sources were changed; this is how they were before."""
    statement = """
        UPDATE bulk_changes SET changed = changed + %(changed)s, before = before || %(before)s WHERE id = %(id)s
    """
    await conn.execute(statement, {"id": change.id, "changed": changed, "before": Jsonb(dict(before))})


async def remove(conn: Connection, *, change_id: UUID) -> None:
    await conn.execute("DELETE FROM bulk_changes WHERE id = %(id)s", {"id": change_id})


async def remove_before(conn: Connection, *, before: datetime) -> None:
    await conn.execute("DELETE FROM bulk_changes WHERE created_at < %(before)s", {"before": before})


async def forget_source(conn: Connection, *, source_id: SourceId) -> None:
    """Forget a removed source. The others keep their places: a change may be at work on them."""
    statement = """
        UPDATE bulk_changes
        SET source_ids = array_replace(source_ids, %(id)s, '00000000-0000-0000-0000-000000000000'),
            before = before - %(id)s::text
        WHERE %(id)s = ANY(source_ids)
    """
    await conn.execute(statement, {"id": source_id})
