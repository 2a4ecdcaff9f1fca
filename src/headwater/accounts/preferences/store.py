"""Preferences of users. Sessions are found together with them (`accounts/store/sessions.py`)."""

from dataclasses import asdict

from headwater.accounts.preferences.decide import preferences_of
from headwater.accounts.preferences.types import Preferences
from headwater.db import Connection, fetch_value
from headwater.types import UserId


async def find(conn: Connection) -> Preferences:
    """Of the user of this transaction (`Database.as_user`)."""
    return preferences_of(await fetch_value(conn, "SELECT to_jsonb(reading_options) FROM reading_options"))


async def save(conn: Connection, *, user_id: UserId, preferences: Preferences) -> None:
    statement = """
        INSERT INTO reading_options (
            user_id, theme, density, font, text_size, line_width, layout, sort_order, start_page, article_text,
            article_images, time_zone, groups_stories, scroll_marks_read
        )
        VALUES (
            %(user_id)s, %(theme)s, %(density)s, %(font)s, %(text_size)s, %(line_width)s, %(layout)s, %(sort_order)s,
            %(start_page)s, %(article_text)s, %(article_images)s, %(time_zone)s, %(groups_stories)s,
            %(scroll_marks_read)s
        )
        ON CONFLICT (user_id) DO UPDATE SET theme = excluded.theme, density = excluded.density, font = excluded.font,
            text_size = excluded.text_size, line_width = excluded.line_width, layout = excluded.layout,
            sort_order = excluded.sort_order, start_page = excluded.start_page, article_text = excluded.article_text,
            article_images = excluded.article_images, time_zone = excluded.time_zone,
            groups_stories = excluded.groups_stories, scroll_marks_read = excluded.scroll_marks_read
    """
    await conn.execute(statement, {"user_id": user_id, **asdict(preferences)})


async def set_groups_stories(conn: Connection, *, user_id: UserId, groups_stories: bool) -> None:
    """Whether lists show a story as one line."""
    statement = """
        INSERT INTO reading_options (user_id, groups_stories) VALUES (%(user_id)s, %(groups_stories)s)
        ON CONFLICT (user_id) DO UPDATE SET groups_stories = excluded.groups_stories
    """
    await conn.execute(statement, {"user_id": user_id, "groups_stories": groups_stories})
