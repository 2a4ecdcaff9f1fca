"""Users: accounts, roles, karma, and their identities at outside issuers (OpenID Connect)."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from headwater.accounts.store import attempts
from headwater.accounts.types import Credentials, Role, User
from headwater.db import Connection, fetch_column, fetch_row, fetch_value, translate
from headwater.errors import EmailTaken
from headwater.types import UserId

USER: Final = "users.id, email, role, confirmed_at, users.created_at"
_USERS: Final = f"SELECT password_hash, {USER} FROM users"


async def claim_first(conn: Connection) -> bool:
    """Whether there is no user yet. Other callers wait until this transaction ends."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtext('headwater.first_user'))")
    return bool(await fetch_value(conn, "SELECT NOT EXISTS (SELECT FROM users)"))


async def has_any(conn: Connection) -> bool:
    return bool(await fetch_value(conn, "SELECT EXISTS (SELECT FROM users)"))


async def add(conn: Connection, user: User, *, email_key: str, password_hash: str | None) -> None:
    """Raises EmailTaken."""
    with translate(users_email_key=EmailTaken()):
        await conn.execute(
            """
            INSERT INTO users
                (id, email, email_key, password_hash, role, confirmed_at, privacy_accepted_at, created_at)
            VALUES
                (%(id)s, %(email)s, %(key)s, %(hash)s, %(role)s, %(confirmed_at)s, %(created_at)s, %(created_at)s)
            """,
            asdict(user) | {"role": user.role.value, "key": email_key, "hash": password_hash},
        )


async def find_credentials(conn: Connection, *, email_key: str) -> Credentials | None:
    return _credentials(await fetch_row(conn, _USERS + " WHERE email_key = %(key)s", {"key": email_key}))


async def find_credentials_by_id(conn: Connection, *, user_id: UserId) -> Credentials | None:
    return _credentials(await fetch_row(conn, _USERS + " WHERE id = %(id)s", {"id": user_id}))


async def lock_credentials(conn: Connection, *, user_id: UserId) -> Credentials | None:
    """The user with this id; their row stays locked until the transaction ends."""
    return _credentials(await fetch_row(conn, _USERS + " WHERE id = %(id)s FOR NO KEY UPDATE", {"id": user_id}))


async def list_all(conn: Connection) -> list[User]:
    cur = await conn.execute(f"SELECT {USER} FROM users ORDER BY created_at, id")
    return [user_of(row) for row in await cur.fetchall()]


async def lock_administrators(conn: Connection) -> list[UserId]:
    """Every super_admin; their rows stay locked until the transaction ends, in one order for all callers."""
    return await fetch_column(conn, "SELECT id FROM users WHERE role = 'super_admin' ORDER BY id FOR UPDATE")


def user_of(row: Sequence[Any]) -> User:
    """From the columns of USER."""
    user_id, email, role, confirmed_at, created_at = row
    return User(UserId(user_id), email, Role(role), confirmed_at, created_at)


def _credentials(row: Sequence[Any] | None) -> Credentials | None:
    return Credentials(user_of(row[1:]), row[0]) if row else None


async def set_password(conn: Connection, *, user_id: UserId, password_hash: str | None) -> None:
    statement = "UPDATE users SET password_hash = %(hash)s WHERE id = %(id)s"
    await conn.execute(statement, {"id": user_id, "hash": password_hash})


async def set_email(conn: Connection, *, user_id: UserId, email: str, email_key: str, now: datetime) -> None:
    """Set a confirmed email. Raises EmailTaken."""
    with translate(users_email_key=EmailTaken()):
        statement = "UPDATE users SET email = %(email)s, email_key = %(key)s, confirmed_at = %(now)s WHERE id = %(id)s"
        await conn.execute(statement, {"id": user_id, "email": email, "key": email_key, "now": now})


async def set_role(conn: Connection, *, user_id: UserId, role: Role) -> None:
    await conn.execute("UPDATE users SET role = %(role)s WHERE id = %(id)s", {"id": user_id, "role": role.value})


async def find_karma(conn: Connection, *, user_id: UserId) -> int:
    return await fetch_value(conn, "SELECT karma FROM users WHERE id = %(id)s", {"id": user_id}) or 0


async def add_karma(conn: Connection, *, user_id: UserId, karma: int) -> None:
    statement = "UPDATE users SET karma = greatest(karma + %(karma)s, 0) WHERE id = %(id)s"
    await conn.execute(statement, {"id": user_id, "karma": karma})


async def confirm(conn: Connection, *, user_id: UserId, now: datetime) -> None:
    statement = "UPDATE users SET confirmed_at = coalesce(confirmed_at, %(now)s) WHERE id = %(id)s"
    await conn.execute(statement, {"id": user_id, "now": now})


async def remove(conn: Connection, *, user_id: UserId) -> None:
    """Delete a user, and by cascade everything they own."""
    await attempts.clear_of(conn, user_id=user_id)
    await conn.execute("DELETE FROM users WHERE id = %(id)s", {"id": user_id})


async def find_identity(conn: Connection, *, issuer: str, subject: str) -> UserId | None:
    statement = "SELECT user_id FROM outside_identities WHERE issuer = %(issuer)s AND subject = %(subject)s"
    return await fetch_value(conn, statement, {"issuer": issuer, "subject": subject})


async def add_identity(conn: Connection, *, issuer: str, subject: str, user_id: UserId) -> None:
    statement = """
        INSERT INTO outside_identities (issuer, subject, user_id)
        VALUES (%(issuer)s, %(subject)s, %(user_id)s) ON CONFLICT (issuer, subject) DO NOTHING
    """
    await conn.execute(statement, {"issuer": issuer, "subject": subject, "user_id": user_id})


async def remove_identities(conn: Connection, *, user_id: UserId) -> None:
    await conn.execute("DELETE FROM outside_identities WHERE user_id = %(user_id)s", {"user_id": user_id})
