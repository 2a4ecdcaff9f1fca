"""Every statement on `source_ids` and `user_ids`. Triggers add an id, and mark it when its row is deleted."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_value
from headwater.removal.types import Removal, RemovalKind

LONGEST_LEASE = timedelta(hours=1)

_LEASED: Final = "SET lease = %(lease)s, ready_at = %(leased_until)s"
_DUE: Final = "removed_at IS NOT NULL AND (ready_at <= %(now)s OR ready_at > %(implausible)s) ORDER BY ready_at"
_RENEWED: Final = """
    SET ready_at = %(leased_until)s WHERE id = %(id)s AND lease = %(lease)s AND removed_at IS NOT NULL RETURNING id
"""
_RELEASED: Final = "SET ready_at = '-infinity', lease = NULL WHERE id = %(id)s AND lease = %(lease)s"
_WAITING: Final = "removed_at IS NOT NULL AND ready_at <= %(now)s ORDER BY ready_at LIMIT 1000"


async def claim(conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, limit: int) -> list[Removal]:
    """Claim deleted sources and users for removal until the lease ends; users first.

    A lease that ends later than allowed was written by a clock that was ahead, and is ignored.
    """
    statement = f"""
        WITH users AS (
            UPDATE user_ids {_LEASED} WHERE id = ANY(ARRAY(
                SELECT id FROM user_ids WHERE {_DUE} LIMIT %(limit)s FOR UPDATE SKIP LOCKED
            ))
            RETURNING id
        ), sources AS (
            UPDATE source_ids {_LEASED} WHERE id = ANY(ARRAY(
                SELECT id FROM source_ids
                WHERE {_DUE} LIMIT %(limit)s - (SELECT count(*) FROM users) FOR UPDATE SKIP LOCKED
            ))
            RETURNING id
        )
        SELECT 'user', id FROM users UNION ALL SELECT 'source', id FROM sources
    """
    implausible = leased_until + LONGEST_LEASE
    values = {"lease": lease, "now": now, "leased_until": leased_until, "implausible": implausible, "limit": limit}
    cur = await conn.execute(statement, values)
    return [Removal(RemovalKind(kind), id_, lease) for kind, id_ in await cur.fetchall()]


async def renew(conn: Connection, *, removal: Removal, leased_until: datetime) -> bool:
    """Extend the lease, and lock the row until the transaction ends; False if the lease was lost."""
    statement = f"""
        WITH source AS (UPDATE source_ids {_RENEWED}), person AS (UPDATE user_ids {_RENEWED})
        SELECT FROM source UNION ALL SELECT FROM person
    """
    cur = await conn.execute(statement, {"id": removal.id, "lease": removal.lease, "leased_until": leased_until})
    return cur.rowcount == 1


async def lock(conn: Connection, *, removal: Removal) -> None:
    """Wait for transactions that wrote a row with this id; later ones fail on the foreign key."""
    await conn.execute("SELECT FROM source_ids WHERE id = %(id)s FOR UPDATE", {"id": removal.id})
    await conn.execute("SELECT FROM user_ids WHERE id = %(id)s FOR UPDATE", {"id": removal.id})


async def finish(conn: Connection, *, removal: Removal) -> None:
    """Delete the id, which no row references any more."""
    await conn.execute("DELETE FROM source_ids WHERE id = %(id)s AND removed_at IS NOT NULL", {"id": removal.id})
    await conn.execute("DELETE FROM user_ids WHERE id = %(id)s AND removed_at IS NOT NULL", {"id": removal.id})


async def release(conn: Connection, *, removal: Removal) -> None:
    statement = f"WITH source AS (UPDATE source_ids {_RELEASED}) UPDATE user_ids {_RELEASED}"
    await conn.execute(statement, {"id": removal.id, "lease": removal.lease})


async def oldest_waiting_at(conn: Connection, *, now: datetime) -> datetime | None:
    statement = f"""
        SELECT min(removed_at)
        FROM (
            (SELECT removed_at FROM source_ids WHERE {_WAITING})
            UNION ALL
            (SELECT removed_at FROM user_ids WHERE {_WAITING})
        ) AS waiting
    """
    return await fetch_value(conn, statement, {"now": now})
