"""Filters of the operators' tables that a user saved under a name. In the transaction of that user."""

from uuid import UUID

from headwater.accounts.types import SavedFilter
from headwater.db import Connection, fetch_all, fetch_value
from headwater.types import UserId


async def list_own(conn: Connection, *, page: str) -> list[SavedFilter]:
    statement = "SELECT id, page, name, query FROM saved_filters WHERE page = %(page)s ORDER BY lower(name), id"
    return await fetch_all(conn, SavedFilter, statement, {"page": page})


async def count(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM saved_filters")


async def save(conn: Connection, *, user_id: UserId, saved: SavedFilter) -> None:
    """Save a filter; one of the same name is replaced."""
    statement = """
        INSERT INTO saved_filters (id, user_id, page, name, query)
        VALUES (%(id)s, %(user_id)s, %(page)s, %(name)s, %(query)s)
        ON CONFLICT ON CONSTRAINT saved_filters_one_per_name DO UPDATE SET query = excluded.query
    """
    values = {"id": saved.id, "user_id": user_id, "page": saved.page, "name": saved.name, "query": saved.query}
    await conn.execute(statement, values)


async def remove(conn: Connection, *, filter_id: UUID) -> None:
    await conn.execute("DELETE FROM saved_filters WHERE id = %(id)s", {"id": filter_id})
