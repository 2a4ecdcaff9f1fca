"""OPML files that readers import, and their lines."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_one, fetch_value, translate
from headwater.errors import Conflict
from headwater.ids import new_id
from headwater.sources.opml import OpmlLine
from headwater.sources.types import Import, ImportLine, LineOutcome, RunningImport
from headwater.types import UserId

_IMPORTS: Final = """
    SELECT imports.id, file_name, created_at, finished_at, lines.*
    FROM imports CROSS JOIN LATERAL (
        SELECT count(*) AS total, count(*) FILTER (WHERE outcome = 'added') AS added,
            count(*) FILTER (WHERE outcome = 'followed') AS followed,
            count(*) FILTER (WHERE outcome = 'invalid') AS invalid
        FROM import_lines WHERE import_id = imports.id
    ) AS lines
"""
_LINES: Final = "SELECT id, number, name, url, category, outcome, reason FROM import_lines"


async def add(
    conn: Connection, *, import_id: UUID, user_id: UserId, file_name: str, lines: Sequence[OpmlLine], now: datetime
) -> None:
    """Start an import. Raises Conflict while another of this user's is running."""
    with translate(imports_one_at_a_time=Conflict("An import of yours is under way. Wait until it has ended.")):
        statement = """
            INSERT INTO imports (id, user_id, file_name, created_at)
            VALUES (%(id)s, %(user_id)s, %(file_name)s, %(now)s)
        """
        await conn.execute(statement, {"id": import_id, "user_id": user_id, "file_name": file_name, "now": now})
    of_lines = """
        INSERT INTO import_lines (id, user_id, import_id, number, name, url, category)
        SELECT line.id, %(user_id)s, %(import_id)s, line.number, line.name, line.url, line.category
        FROM unnest(%(ids)s::uuid[], %(names)s::text[], %(urls)s::text[], %(categories)s::text[]) WITH ORDINALITY
            AS line (id, name, url, category, number)
    """
    names, urls, categories = [[getattr(line, key) for line in lines] for key in ("name", "url", "category")]
    values = {"ids": [new_id() for _ in lines], "names": names, "urls": urls, "categories": categories}
    await conn.execute(of_lines, {**values, "import_id": import_id, "user_id": user_id})


async def remove_older(conn: Connection, *, keep: int) -> None:
    statement = """
        DELETE FROM imports
        WHERE finished_at IS NOT NULL
            AND id NOT IN (SELECT id FROM imports ORDER BY created_at DESC, id DESC LIMIT %(keep)s)
    """
    await conn.execute(statement, {"keep": keep})


async def list_all(conn: Connection) -> list[Import]:
    return await fetch_all(conn, Import, _IMPORTS + " ORDER BY created_at DESC, imports.id DESC")


async def find(conn: Connection, *, import_id: UUID) -> Import | None:
    return await fetch_one(conn, Import, _IMPORTS + " WHERE imports.id = %(id)s", {"id": import_id})


async def list_lines(
    conn: Connection, *, import_id: UUID, outcome: LineOutcome | None, after: int, limit: int
) -> list[ImportLine]:
    statement = f"""
        {_LINES}
        WHERE import_id = %(import_id)s AND number > %(after)s AND outcome IS NOT NULL
            AND (%(outcome)s::text IS NULL OR outcome = %(outcome)s)
        ORDER BY number LIMIT %(limit)s
    """
    values = {"import_id": import_id, "after": after, "outcome": outcome, "limit": limit}
    return await fetch_all(conn, ImportLine, statement, values)


async def lock_user(conn: Connection, *, user_id: UserId) -> bool:
    """Lock a user against deletion until the transaction ends; False if there is none. Taken before any other lock, as
    a deletion does, so that the two cannot deadlock."""
    cur = await conn.execute("SELECT FROM users WHERE id = %(id)s FOR KEY SHARE", {"id": user_id})
    return cur.rowcount == 1


async def claim_line(conn: Connection, *, user_id: UserId, import_id: UUID) -> ImportLine | None:
    """Lock and return the next pending line that no other transaction has locked."""
    statement = f"""
        {_LINES}
        WHERE import_id = %(import_id)s AND user_id = %(user_id)s AND outcome IS NULL
        ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED
    """
    return await fetch_one(conn, ImportLine, statement, {"import_id": import_id, "user_id": user_id})


async def answer_line(conn: Connection, *, line_id: UUID, outcome: LineOutcome, reason: str) -> None:
    statement = "UPDATE import_lines SET outcome = %(outcome)s, reason = %(reason)s WHERE id = %(id)s"
    await conn.execute(statement, {"id": line_id, "outcome": outcome.value, "reason": reason})


async def finish(conn: Connection, *, import_id: UUID, now: datetime) -> None:
    """Mark the import as finished if no line is pending."""
    statement = """
        UPDATE imports SET finished_at = %(now)s
        WHERE id = %(id)s AND finished_at IS NULL
            AND NOT EXISTS (SELECT FROM import_lines WHERE import_id = %(id)s AND outcome IS NULL)
    """
    await conn.execute(statement, {"id": import_id, "now": now})


async def list_running(conn: Connection, *, limit: int) -> list[RunningImport]:
    statement = """
        SELECT imports.id, imports.user_id
        FROM imports JOIN users ON users.id = imports.user_id WHERE imports.finished_at IS NULL
        ORDER BY random() LIMIT %(limit)s
    """
    return await fetch_all(conn, RunningImport, statement, {"limit": limit})


async def oldest_running_at(conn: Connection) -> datetime | None:
    statement = """
        SELECT min(imports.created_at)
        FROM imports JOIN users ON users.id = imports.user_id WHERE imports.finished_at IS NULL
    """
    return await fetch_value(conn, statement)


async def remove_of(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Delete lines of a removed user's imports, then the imports. Returns how many rows were deleted."""
    values = {"user_id": user_id, "limit": limit}
    of_lines = """
        DELETE FROM import_lines
        WHERE id = ANY(ARRAY(SELECT id FROM import_lines WHERE user_id = %(user_id)s LIMIT %(limit)s))
    """
    of_imports = """
        DELETE FROM imports
        WHERE id = ANY(ARRAY(SELECT id FROM imports WHERE user_id = %(user_id)s LIMIT %(limit)s))
    """
    return (await conn.execute(of_lines, values)).rowcount or (await conn.execute(of_imports, values)).rowcount
