"""Preferences of users. Sessions are found together with them (`accounts/store/sessions.py`)."""

from dataclasses import asdict
from datetime import datetime, timedelta

from headwater.accounts.preferences.decide import preferences_of
from headwater.accounts.preferences.types import DueDigest, Preferences
from headwater.db import Connection, fetch_value
from headwater.types import UserId

SCHEDULED_MAX = timedelta(days=8)


async def find(conn: Connection) -> Preferences:
    """Of the user of this transaction (`Database.as_user`)."""
    return preferences_of(await fetch_value(conn, "SELECT to_jsonb(reading_options) FROM reading_options"))


async def save(conn: Connection, *, user_id: UserId, preferences: Preferences, digest_at: datetime | None) -> None:
    """`digest_at`: when the next email digest is due."""
    statement = """
        INSERT INTO reading_options (
            user_id, theme, density, font, text_size, line_width, layout, sort_order, start_page, article_text,
            article_images, email_digest, time_zone, groups_stories, scroll_marks_read, digest_at
        )
        VALUES (
            %(user_id)s, %(theme)s, %(density)s, %(font)s, %(text_size)s, %(line_width)s, %(layout)s, %(sort_order)s,
            %(start_page)s, %(article_text)s, %(article_images)s, %(email_digest)s, %(time_zone)s,
            %(groups_stories)s, %(scroll_marks_read)s, %(digest_at)s
        )
        ON CONFLICT (user_id) DO UPDATE SET theme = excluded.theme, density = excluded.density, font = excluded.font,
            text_size = excluded.text_size, line_width = excluded.line_width, layout = excluded.layout,
            sort_order = excluded.sort_order, start_page = excluded.start_page, article_text = excluded.article_text,
            article_images = excluded.article_images, email_digest = excluded.email_digest,
            time_zone = excluded.time_zone, groups_stories = excluded.groups_stories,
            scroll_marks_read = excluded.scroll_marks_read, digest_at = excluded.digest_at
    """
    await conn.execute(statement, {"user_id": user_id, "digest_at": digest_at, **asdict(preferences)})


async def set_groups_stories(conn: Connection, *, user_id: UserId, groups_stories: bool) -> None:
    """Whether lists show a story as one line."""
    statement = """
        INSERT INTO reading_options (user_id, groups_stories) VALUES (%(user_id)s, %(groups_stories)s)
        ON CONFLICT (user_id) DO UPDATE SET groups_stories = excluded.groups_stories
    """
    await conn.execute(statement, {"user_id": user_id, "groups_stories": groups_stories})


async def end_digest(conn: Connection, *, user_id: UserId) -> None:
    statement = "UPDATE reading_options SET email_digest = 'off', digest_at = NULL WHERE user_id = %(user_id)s"
    await conn.execute(statement, {"user_id": user_id})


async def claim_digests(conn: Connection, *, now: datetime, leased_until: datetime, limit: int) -> list[DueDigest]:
    """Claim users whose email digest is due, until the lease ends. A time later than SCHEDULED_MAX from now was set by
    a clock that was ahead: the digest is due."""
    statement = """
        UPDATE reading_options SET digest_at = %(leased_until)s WHERE user_id IN (
            SELECT user_id FROM reading_options WHERE digest_at <= %(now)s OR digest_at > %(implausible)s
            ORDER BY digest_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        RETURNING user_id, to_jsonb(reading_options)
    """
    values = {"now": now, "leased_until": leased_until, "implausible": now + SCHEDULED_MAX, "limit": limit}
    rows = await (await conn.execute(statement, values)).fetchall()
    return [DueDigest(UserId(user_id), preferences_of(row), leased_until) for user_id, row in rows]


async def schedule_digest(conn: Connection, *, due: DueDigest, at: datetime | None) -> bool:
    """Set when the next digest is due. False if the lease ended or the user changed the settings meanwhile."""
    statement = """
        UPDATE reading_options SET digest_at = %(at)s
        WHERE user_id = %(user_id)s AND digest_at = %(leased_until)s
    """
    values = {"user_id": due.user_id, "leased_until": due.leased_until, "at": at}
    return (await conn.execute(statement, values)).rowcount == 1


async def oldest_due_digest(conn: Connection, *, now: datetime) -> datetime | None:
    statement = "SELECT min(digest_at) FROM reading_options WHERE digest_at <= %(now)s"
    return await fetch_value(conn, statement, {"now": now})
