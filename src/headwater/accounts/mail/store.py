"""Every statement on `outgoing_mail`."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from headwater.accounts.mail.types import MailKind, QueuedMail
from headwater.db import Connection, fetch_value
from headwater.types import UserId

SCHEDULED_MAX = timedelta(days=1)


async def queue(
    conn: Connection,
    *,
    mail_id: UUID,
    kind: MailKind,
    email: str,
    email_key: str,
    user_id: UserId | None,
    site: str,
    detail: str,
    now: datetime,
    most: int | None,
) -> bool:
    """Queue a mail, once however often it is asked for. False when `most` others of its kind are waiting already."""
    cur = await conn.execute(
        """
        INSERT INTO outgoing_mail (id, kind, email, email_key, user_id, site, detail, queued_at, ready_at)
        SELECT %(id)s, %(kind)s::text, %(email)s, %(email_key)s, %(user_id)s, %(site)s, %(detail)s, %(now)s, %(now)s
        WHERE %(most)s::bigint IS NULL
            OR EXISTS (
                SELECT FROM outgoing_mail
                WHERE kind = %(kind)s::text
                    AND email_key = %(email_key)s
                    AND user_id IS NOT DISTINCT FROM %(user_id)s::uuid
            )
            OR (
                SELECT count(*) FROM (SELECT FROM outgoing_mail WHERE kind = %(kind)s::text LIMIT %(most)s) AS waiting
            ) < %(most)s
        ON CONFLICT (kind, email_key, user_id) DO UPDATE
        SET id = excluded.id, email = excluded.email, site = excluded.site, detail = excluded.detail,
            queued_at = excluded.queued_at, ready_at = excluded.ready_at, attempts = 0
        """,
        {
            "id": mail_id,
            "kind": kind.value,
            "email": email,
            "email_key": email_key,
            "user_id": user_id,
            "site": site,
            "detail": detail,
            "now": now,
            "most": most,
        },
    )
    return cur.rowcount == 1


async def claim(conn: Connection, *, now: datetime, leased_until: datetime, limit: int) -> list[QueuedMail]:
    """The mails that have waited longest, ours until the lease ends. Counts as an attempt.

    One that is to wait longer than any may was scheduled by a clock that was ahead, and is due.
    """
    cur = await conn.execute(
        """
        UPDATE outgoing_mail
        SET ready_at = %(leased_until)s, attempts = attempts + 1
        WHERE id IN (
            SELECT id FROM outgoing_mail
            WHERE ready_at <= %(now)s OR ready_at > %(implausible)s
            ORDER BY ready_at
            LIMIT %(limit)s
            FOR UPDATE SKIP LOCKED
        )
        RETURNING id, kind, email, user_id, site, detail, queued_at, attempts
        """,
        {"now": now, "leased_until": leased_until, "implausible": now + SCHEDULED_MAX, "limit": limit},
    )
    return [_mail(row) for row in await cur.fetchall()]


def _mail(row: Sequence[Any]) -> QueuedMail:
    mail_id, kind, email, user_id, *rest = row
    return QueuedMail(mail_id, MailKind(kind), email, UserId(user_id) if user_id else None, *rest)


async def is_queued(conn: Connection, *, mail_id: UUID) -> bool:
    """Whether this mail still waits: a password reset drops those that carry a link."""
    cur = await conn.execute("SELECT FROM outgoing_mail WHERE id = %(id)s", {"id": mail_id})
    return cur.rowcount == 1


async def done(conn: Connection, *, mail_id: UUID) -> None:
    """It is sent, or never will be."""
    await conn.execute("DELETE FROM outgoing_mail WHERE id = %(id)s", {"id": mail_id})


async def retry(conn: Connection, *, mail_id: UUID, at: datetime) -> None:
    """It could not be sent; when to try again."""
    await conn.execute("UPDATE outgoing_mail SET ready_at = %(at)s WHERE id = %(id)s", {"id": mail_id, "at": at})


async def oldest_ready(conn: Connection, *, now: datetime) -> datetime | None:
    """Since when the mail that has waited longest could have been sent."""
    return await fetch_value(conn, "SELECT min(ready_at) FROM outgoing_mail WHERE ready_at <= %(now)s", {"now": now})


async def drop_all(conn: Connection, *, email_key: str) -> None:
    """Nothing more is sent to this email, whose account is removed."""
    await conn.execute("DELETE FROM outgoing_mail WHERE email_key = %(email_key)s", {"email_key": email_key})


async def drop_links(conn: Connection, *, user_id: UserId, email_key: str) -> None:
    """No mail with a link that was asked for until now is sent any more."""
    await conn.execute(
        """
        DELETE FROM outgoing_mail
        WHERE (user_id = %(user_id)s OR email_key = %(email_key)s) AND kind IN ('reset', 'confirm', 'email')
        """,
        {"user_id": user_id, "email_key": email_key},
    )
