"""The queue of emails about accounts."""

from dataclasses import asdict
from datetime import datetime, timedelta
from uuid import UUID

from headwater.accounts.mail.types import MailKind, QueuedMail
from headwater.db import Connection, fetch_value
from headwater.types import UserId

SCHEDULED_MAX = timedelta(days=1)


async def queue(conn: Connection, mail: QueuedMail, *, email_key: str, most: int | None) -> bool:
    """Queue an email, replacing an equal one. False when `most` others of its kind are queued already."""
    cur = await conn.execute(
        """
        INSERT INTO outgoing_mail (id, kind, email, email_key, user_id, site, detail, queued_at, ready_at)
        SELECT %(id)s, %(kind)s::text, %(email)s, %(email_key)s, %(user_id)s, %(site)s, %(detail)s, %(queued_at)s,
            %(queued_at)s
        WHERE %(most)s::bigint IS NULL
            OR EXISTS (
                SELECT FROM outgoing_mail WHERE kind = %(kind)s::text
                    AND email_key = %(email_key)s AND user_id IS NOT DISTINCT FROM %(user_id)s::uuid
            )
            OR (
                SELECT count(*) FROM (SELECT FROM outgoing_mail WHERE kind = %(kind)s::text LIMIT %(most)s) AS waiting
            ) < %(most)s
        ON CONFLICT (kind, email_key, user_id) DO UPDATE
        SET id = excluded.id, email = excluded.email, site = excluded.site, detail = excluded.detail,
            queued_at = excluded.queued_at, ready_at = excluded.ready_at, attempts = 0
        """,
        asdict(mail) | {"kind": mail.kind.value, "email_key": email_key, "most": most},
    )
    return cur.rowcount == 1


async def claim(conn: Connection, *, now: datetime, leased_until: datetime, limit: int) -> list[QueuedMail]:
    """Claim the emails that have waited longest, until the lease ends. Counts as an attempt. A time later than
    SCHEDULED_MAX from now was set by a clock that was ahead: the email is due."""
    cur = await conn.execute(
        """
        UPDATE outgoing_mail SET ready_at = %(leased_until)s, attempts = attempts + 1 WHERE id IN (
            SELECT id FROM outgoing_mail WHERE ready_at <= %(now)s OR ready_at > %(implausible)s
            ORDER BY ready_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        RETURNING id, kind, email, user_id, site, detail, queued_at, attempts
        """,
        {"now": now, "leased_until": leased_until, "implausible": now + SCHEDULED_MAX, "limit": limit},
    )
    return [QueuedMail(mail_id, MailKind(kind), *rest) for mail_id, kind, *rest in await cur.fetchall()]


async def is_queued(conn: Connection, *, mail_id: UUID) -> bool:
    """A password reset removes queued emails with a link."""
    cur = await conn.execute("SELECT FROM outgoing_mail WHERE id = %(id)s", {"id": mail_id})
    return cur.rowcount == 1


async def is_kind_queued(conn: Connection, *, user_id: UserId, kind: MailKind) -> bool:
    """Whether an email of this kind to this user still waits."""
    statement = "SELECT EXISTS (SELECT FROM outgoing_mail WHERE user_id = %(user_id)s AND kind = %(kind)s)"
    return await fetch_value(conn, statement, {"user_id": user_id, "kind": kind.value})


async def is_digest_wanted(conn: Connection, *, user_id: UserId, kind: MailKind) -> bool:
    """Whether the user gets such emails; they may have ended them after this one was queued."""
    statement = """
        SELECT EXISTS (
            SELECT FROM reading_options
            WHERE user_id = %(user_id)s AND email_digest <> 'off' AND %(kind)s::text = 'unread'
        ) OR EXISTS (
            SELECT FROM notification_targets
            WHERE user_id = %(user_id)s AND kind = 'email' AND is_enabled AND %(kind)s::text = 'digest'
        )
    """
    return await fetch_value(conn, statement, {"user_id": user_id, "kind": kind.value})


async def remove(conn: Connection, *, mail_id: UUID) -> None:
    await conn.execute("DELETE FROM outgoing_mail WHERE id = %(id)s", {"id": mail_id})


async def retry(conn: Connection, *, mail_id: UUID, at: datetime) -> None:
    await conn.execute("UPDATE outgoing_mail SET ready_at = %(at)s WHERE id = %(id)s", {"id": mail_id, "at": at})


async def oldest_ready(conn: Connection, *, now: datetime) -> datetime | None:
    return await fetch_value(conn, "SELECT min(ready_at) FROM outgoing_mail WHERE ready_at <= %(now)s", {"now": now})


async def drop_requested(conn: Connection, *, email_key: str) -> None:
    """Delete what was requested for an email. The rest belongs to accounts and is deleted with them: a notice to the
    old email of another account stays."""
    statement = "DELETE FROM outgoing_mail WHERE email_key = %(email_key)s AND user_id IS NULL"
    await conn.execute(statement, {"email_key": email_key})


async def drop_links(conn: Connection, *, user_id: UserId, email_key: str) -> None:
    statement = """
        DELETE FROM outgoing_mail
        WHERE (user_id = %(user_id)s OR email_key = %(email_key)s) AND kind IN ('reset', 'confirm', 'email')
    """
    await conn.execute(statement, {"user_id": user_id, "email_key": email_key})
