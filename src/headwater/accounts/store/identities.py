"""Identities of users at outside issuers (OpenID Connect)."""

from headwater.db import Connection, fetch_value
from headwater.types import UserId


async def find(conn: Connection, *, issuer: str, subject: str) -> UserId | None:
    """The user with this outside identity."""
    return await fetch_value(
        conn,
        "SELECT user_id FROM outside_identities WHERE issuer = %(issuer)s AND subject = %(subject)s",
        {"issuer": issuer, "subject": subject},
    )


async def add(conn: Connection, *, issuer: str, subject: str, user_id: UserId) -> None:
    """Link an outside identity to a user."""
    await conn.execute(
        """
        INSERT INTO outside_identities (issuer, subject, user_id)
        VALUES (%(issuer)s, %(subject)s, %(user_id)s)
        ON CONFLICT (issuer, subject) DO NOTHING
        """,
        {"issuer": issuer, "subject": subject, "user_id": user_id},
    )


async def remove_all_of(conn: Connection, *, user_id: UserId) -> None:
    """Unlink all outside identities of a user."""
    await conn.execute("DELETE FROM outside_identities WHERE user_id = %(user_id)s", {"user_id": user_id})
