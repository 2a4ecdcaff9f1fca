"""Mailed tokens, API tokens, and the secrets that all processes share."""

from dataclasses import asdict
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.accounts.mail.types import MailKind
from headwater.accounts.store.users import USER, user_of
from headwater.accounts.types import ApiToken, Scope, User
from headwater.db import Connection, fetch_row, fetch_value, translate
from headwater.errors import TokenNameTaken
from headwater.types import UserId

_IS_VALID: Final = "token_hash = %(token_hash)s AND purpose = %(purpose)s AND good_until > %(now)s"


async def add_mailed(
    conn: Connection, *, token_hash: bytes, user_id: UserId, purpose: MailKind, email: str, good_until: datetime
) -> None:
    """Add a token that will be mailed; it replaces earlier ones for the same purpose."""
    await conn.execute(
        """
        WITH earlier AS (DELETE FROM mailed_tokens WHERE user_id = %(user_id)s AND purpose = %(purpose)s)
        INSERT INTO mailed_tokens (token_hash, user_id, purpose, email, good_until)
        VALUES (%(token_hash)s, %(user_id)s, %(purpose)s, %(email)s, %(until)s)
        """,
        {"token_hash": token_hash, "user_id": user_id, "purpose": purpose.value, "email": email, "until": good_until},
    )


async def find_mailed(
    conn: Connection, *, token_hash: bytes, purpose: MailKind, now: datetime, uses: bool = False
) -> tuple[UserId, str] | None:
    """The user of a mailed token and the email it was sent to; None if it is invalid. `uses`: deletes the token."""
    values = {"token_hash": token_hash, "purpose": purpose.value, "now": now}
    if uses:
        row = await fetch_row(conn, f"DELETE FROM mailed_tokens WHERE {_IS_VALID} RETURNING user_id, email", values)
    else:
        row = await fetch_row(conn, f"SELECT user_id, email FROM mailed_tokens WHERE {_IS_VALID}", values)
    return (UserId(row[0]), row[1]) if row else None


async def revoke_mailed_of(conn: Connection, *, user_id: UserId) -> None:
    await conn.execute("DELETE FROM mailed_tokens WHERE user_id = %(user_id)s", {"user_id": user_id})


async def add(conn: Connection, token: ApiToken, *, user_id: UserId, token_hash: bytes) -> None:
    """Add an API token. Raises TokenNameTaken."""
    with translate(api_tokens_one_per_name=TokenNameTaken(token.name)):
        await conn.execute(
            """
            INSERT INTO api_tokens (id, user_id, name, token_hash, scopes, created_at)
            VALUES (%(id)s, %(user_id)s, %(name)s, %(token_hash)s, %(scopes)s, %(created_at)s)
            """,
            asdict(token) | {"user_id": user_id, "token_hash": token_hash, "scopes": [*map(str, token.scopes)]},
        )


async def find(conn: Connection, *, token_hash: bytes, now: datetime) -> tuple[User, frozenset[Scope]] | None:
    """The user and scopes of an API token. Updates `used_at` at most once a minute."""
    statement = f"""
        WITH noted AS (
            UPDATE api_tokens SET used_at = %(now)s
            WHERE token_hash = %(hash)s AND (used_at IS NULL OR used_at < %(now)s::timestamptz - interval '1 minute')
        )
        SELECT scopes, {USER} FROM api_tokens JOIN users ON users.id = api_tokens.user_id
        WHERE token_hash = %(hash)s
    """
    row = await fetch_row(conn, statement, {"hash": token_hash, "now": now})
    return (user_of(row[1:]), frozenset(Scope(scope) for scope in row[0])) if row else None


async def list_of(conn: Connection, *, user_id: UserId) -> list[ApiToken]:
    statement = """
        SELECT id, name, scopes, created_at, used_at FROM api_tokens
        WHERE user_id = %(user_id)s ORDER BY created_at DESC
    """
    cur = await conn.execute(statement, {"user_id": user_id})
    return [ApiToken(row[0], row[1], [Scope(scope) for scope in row[2]], *row[3:]) for row in await cur.fetchall()]


async def count_of(conn: Connection, *, user_id: UserId) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM api_tokens WHERE user_id = %(id)s", {"id": user_id})


async def remove(conn: Connection, *, token_id: UUID) -> int:
    """Delete an API token. Returns 0 if the user has no such token."""
    return (await conn.execute("DELETE FROM api_tokens WHERE id = %(id)s", {"id": token_id})).rowcount


async def revoke_admin_of(conn: Connection, *, user_id: UserId) -> None:
    statement = "DELETE FROM api_tokens WHERE user_id = %(user_id)s AND 'admin' = ANY (scopes)"
    await conn.execute(statement, {"user_id": user_id})


async def shared_secret(conn: Connection, *, name: str, value: bytes) -> bytes:
    """The secret of this name, the same for all processes: the first caller's value."""
    statement = "INSERT INTO shared_secrets (name, value) VALUES (%(name)s, %(value)s) ON CONFLICT (name) DO NOTHING"
    await conn.execute(statement, {"name": name, "value": value})
    return await fetch_value(conn, "SELECT value FROM shared_secrets WHERE name = %(name)s", {"name": name})


async def remove_secret(conn: Connection, *, name: str) -> None:
    await conn.execute("DELETE FROM shared_secrets WHERE name = %(name)s", {"name": name})
