"""Sessions of browsers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from headwater.accounts.preferences.decide import preferences_of
from headwater.accounts.secrets import digest
from headwater.accounts.store.users import USER, user_of
from headwater.accounts.types import SessionLine, SessionRow, Tokens, Visitor
from headwater.db import Connection, fetch_all, fetch_row
from headwater.types import UserId

AGENT_MAX = 300
_SESSIONS: Final = f"""
    SELECT sessions.id, access_hash, access_until, refresh_hash, refresh_until, replaced_hash, replaced_at,
        renewal_used_at,
        (SELECT to_jsonb(chosen) FROM reading_options AS chosen WHERE chosen.user_id = users.id) AS preferences, {USER}
    FROM sessions JOIN users ON users.id = sessions.user_id
"""
_NEW_TOKENS: Final = """
    access_hash = %(access_hash)s, access_until = %(access_until)s, refresh_hash = %(refresh_hash)s,
    refresh_until = %(refresh_until)s, seen_at = %(now)s, renewal_used_at = NULL
"""


async def start(
    conn: Connection, *, session_id: UUID, user_id: UserId, tokens: Tokens, now: datetime, visitor: Visitor
) -> None:
    await conn.execute(
        """
        INSERT INTO sessions (id, user_id, access_hash, access_until, refresh_hash, refresh_until, started_at, seen_at,
            address, user_agent)
        VALUES (%(id)s, %(user_id)s, %(access_hash)s, %(access_until)s, %(refresh_hash)s, %(refresh_until)s, %(now)s,
            %(now)s, %(address)s, %(user_agent)s)
        """,
        {"id": session_id, "user_id": user_id, "address": visitor.address, "user_agent": visitor.user_agent[:AGENT_MAX]}
        | _values(tokens, now),
    )


async def find_by_access(conn: Connection, *, access_hash: bytes) -> SessionRow | None:
    return _session(await fetch_row(conn, _SESSIONS + " WHERE access_hash = %(hash)s", {"hash": access_hash}))


async def find_by_refresh(conn: Connection, *, refresh_hash: bytes) -> SessionRow | None:
    """Lock and return the session of this refresh token, or of which it was the last one before."""
    statement = _SESSIONS + " WHERE refresh_hash = %(hash)s OR replaced_hash = %(hash)s FOR UPDATE OF sessions"
    return _session(await fetch_row(conn, statement, {"hash": refresh_hash}))


def _session(row: Sequence[Any] | None) -> SessionRow | None:
    return SessionRow(row[0], user_of(row[9:]), *row[1:8], preferences=preferences_of(row[8])) if row else None


async def rotate(conn: Connection, *, session_id: UUID, tokens: Tokens, now: datetime) -> None:
    """Set new tokens; the old refresh token is kept, to detect when it is used again."""
    statement = f"""
        UPDATE sessions SET {_NEW_TOKENS}, replaced_hash = refresh_hash, replaced_at = %(now)s WHERE id = %(id)s
    """
    await conn.execute(statement, {"id": session_id, **_values(tokens, now)})


async def reissue(conn: Connection, *, session_id: UUID, tokens: Tokens, now: datetime) -> bool:
    """Set new tokens and delete the old ones. False when the session has ended."""
    statement = f"UPDATE sessions SET {_NEW_TOKENS}, replaced_hash = NULL, replaced_at = NULL WHERE id = %(id)s"
    return (await conn.execute(statement, {"id": session_id, **_values(tokens, now)})).rowcount == 1


def _values(tokens: Tokens, now: datetime) -> dict[str, object]:
    hashes = {"access_hash": digest(tokens.access), "refresh_hash": digest(tokens.refresh)}
    return {"now": now, **hashes, "access_until": tokens.access_until, "refresh_until": tokens.refresh_until}


async def note_renewal_used(conn: Connection, *, session_id: UUID, now: datetime) -> None:
    """The browser has used the tokens of the last renewal: earlier ones are invalid from now on."""
    statement = "UPDATE sessions SET renewal_used_at = %(now)s WHERE id = %(id)s AND renewal_used_at IS NULL"
    await conn.execute(statement, {"id": session_id, "now": now})


async def is_active(conn: Connection, *, session_id: UUID) -> bool:
    return (await conn.execute("SELECT FROM sessions WHERE id = %(id)s", {"id": session_id})).rowcount == 1


async def end(conn: Connection, *, session_id: UUID) -> int:
    """End a session. Returns 0 if the user has no such session."""
    return (await conn.execute("DELETE FROM sessions WHERE id = %(id)s", {"id": session_id})).rowcount


async def end_all_of(conn: Connection, *, user_id: UserId, except_for: UUID | None) -> None:
    """End all sessions of a user except one, and delete all their API tokens."""
    statement = "DELETE FROM sessions WHERE user_id = %(user_id)s AND id IS DISTINCT FROM %(except_for)s::uuid"
    await conn.execute(statement, {"user_id": user_id, "except_for": except_for})
    await conn.execute("DELETE FROM api_tokens WHERE user_id = %(user_id)s", {"user_id": user_id})


async def list_of(conn: Connection, *, user_id: UserId) -> list[SessionLine]:
    statement = """
        SELECT id, started_at, seen_at, address, user_agent FROM sessions
        WHERE user_id = %(user_id)s ORDER BY seen_at DESC
    """
    return await fetch_all(conn, SessionLine, statement, {"user_id": user_id})


async def remove_expired(conn: Connection, *, before: datetime) -> None:
    """Delete sessions, mailed tokens and attempts that expired before a time."""
    await conn.execute("DELETE FROM sessions WHERE refresh_until <= %(before)s", {"before": before})
    await conn.execute("DELETE FROM mailed_tokens WHERE good_until <= %(before)s", {"before": before})
    await conn.execute("DELETE FROM attempts WHERE ends_at <= %(before)s", {"before": before})
