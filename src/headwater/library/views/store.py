"""Every statement on `views`.

Run under `Database.as_user`: row-level security leaves only the user's rows. `find_by_feed_key` reads those of
all users.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_one, fetch_value, translate
from headwater.errors import ViewNameTaken
from headwater.feeds.write import TEXT_MAX
from headwater.library.views.types import FeedArticle, SavedView, SharedView
from headwater.types import ArticleId, UserId

_COLUMNS: Final = "id, name, icon, query, feed_key IS NOT NULL AS has_feed"


async def add(
    conn: Connection, *, view_id: UUID, user_id: UserId, name: str, icon: str, query: str, now: datetime
) -> None:
    """Add a view as the last one. Raises ViewNameTaken."""
    statement = """
        INSERT INTO views (id, user_id, name, icon, query, place, created_at)
        SELECT %(id)s, %(user_id)s, %(name)s, %(icon)s, %(query)s, coalesce(max(place), 0) + 1, %(now)s FROM views
    """
    values = {"id": view_id, "user_id": user_id, "name": name, "icon": icon, "query": query, "now": now}
    with translate(views_by_name=ViewNameTaken()):
        await conn.execute(statement, values)


async def count(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM views WHERE deleted_at IS NULL")


async def list_views(conn: Connection) -> list[SavedView]:
    """All, in the user's order."""
    statement = f"SELECT {_COLUMNS} FROM views WHERE deleted_at IS NULL ORDER BY place, id"
    return await fetch_all(conn, SavedView, statement)


async def find(conn: Connection, *, view_id: UUID) -> SavedView | None:
    statement = f"SELECT {_COLUMNS} FROM views WHERE id = %(id)s AND deleted_at IS NULL"
    return await fetch_one(conn, SavedView, statement, {"id": view_id})


async def change(conn: Connection, *, view_id: UUID, name: str, icon: str, query: str) -> bool:
    """Returns whether there is such a view. Raises ViewNameTaken."""
    statement = """
        UPDATE views SET name = %(name)s, icon = %(icon)s, query = %(query)s
        WHERE id = %(id)s AND deleted_at IS NULL
    """
    with translate(views_by_name=ViewNameTaken()):
        cur = await conn.execute(statement, {"id": view_id, "name": name, "icon": icon, "query": query})
    return cur.rowcount == 1


async def order(conn: Connection, *, view_ids: Sequence[UUID]) -> None:
    """Give these views the places 1, 2 and so on."""
    statement = """
        UPDATE views SET place = wanted.place
        FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS wanted (id, place)
        WHERE views.id = wanted.id AND views.place <> wanted.place
    """
    await conn.execute(statement, {"ids": list(view_ids)})


async def remove(conn: Connection, *, view_id: UUID, now: datetime) -> str | None:
    """Delete a view: its feed ends at once, and it can be restored. Returns its name; None if there is no such view."""
    statement = """
        UPDATE views SET deleted_at = %(now)s WHERE id = %(id)s AND deleted_at IS NULL RETURNING name
    """
    return await fetch_value(conn, statement, {"id": view_id, "now": now})


async def restore(conn: Connection, *, view_id: UUID, since: datetime) -> bool:
    """Restore a view that was deleted after a time, at its place. Raises ViewNameTaken."""
    statement = "UPDATE views SET deleted_at = NULL WHERE id = %(id)s AND deleted_at >= %(since)s"
    with translate(views_by_name=ViewNameTaken()):
        cur = await conn.execute(statement, {"id": view_id, "since": since})
    return cur.rowcount == 1


async def purge(conn: Connection, *, before: datetime) -> None:
    """Delete the rows of views that were deleted before a time."""
    await conn.execute("DELETE FROM views WHERE deleted_at < %(before)s", {"before": before})


async def set_feed_key(conn: Connection, *, view_id: UUID, feed_key: bytes | None) -> bool:
    """Set the digest of the secret in the address of a view's feed; None: it has no feed."""
    statement = "UPDATE views SET feed_key = %(feed_key)s WHERE id = %(id)s AND deleted_at IS NULL"
    cur = await conn.execute(statement, {"id": view_id, "feed_key": feed_key})
    return cur.rowcount == 1


async def find_by_feed_key(conn: Connection, *, feed_key: bytes) -> SharedView | None:
    """The view with this digest, of any user that is not deleted. Run under `Database.as_system`."""
    statement = """
        SELECT views.id, user_id, name, query, views.updated_at
        FROM views JOIN users ON users.id = user_id
        WHERE feed_key = %(feed_key)s AND deleted_at IS NULL
    """
    return await fetch_one(conn, SharedView, statement, {"feed_key": feed_key})


async def describe(conn: Connection, *, article_ids: Sequence[ArticleId]) -> list[FeedArticle]:
    """What a feed says of these articles of the user's lists, in their order. Texts that are too long are not read."""
    statement = """
        SELECT articles.id, articles.url,
            coalesce(nullif(described.title, ''), nullif(articles.title, ''), content.title, articles.url) AS title,
            coalesce(described.author, articles.author, array_to_string(content.authors, ', ')) AS author,
            CASE WHEN length(body.summary) <= %(longest)s THEN body.summary END AS summary,
            CASE WHEN length(body.html) <= %(longest)s THEN body.html END AS html,
            coalesce(described.published_at, articles.published_at, content.published_at) AS published_at,
            coalesce((
                SELECT max(listed_at)
                FROM (
                    SELECT source_id, listed_at FROM article_sources
                    WHERE article_sources.article_id = articles.id OFFSET 0
                ) AS links
                JOIN subscriptions USING (source_id)
            ), articles.listed_at) AS listed_at, coalesce(marks.tags, '{}') AS tags
        FROM unnest(%(article_ids)s::uuid[]) WITH ORDINALITY AS wanted (id, place)
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = wanted.id OFFSET 0) AS articles
        LEFT JOIN LATERAL (SELECT * FROM content WHERE content.article_id = wanted.id OFFSET 0) AS content ON true
        LEFT JOIN LATERAL (
            SELECT * FROM content AS whose WHERE whose.article_id = content.duplicate_of OFFSET 0
        ) AS original ON true
        LEFT JOIN LATERAL (SELECT tags FROM marks WHERE marks.article_id = wanted.id OFFSET 0) AS marks ON true
        LEFT JOIN LATERAL article_for_user(wanted.id) AS described ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(described.summary, articles.summary) AS summary,
                coalesce(content.html, original.html, described.content, articles.content) AS html
        ) AS body
        ORDER BY wanted.place
    """
    return await fetch_all(conn, FeedArticle, statement, {"article_ids": list(article_ids), "longest": TEXT_MAX})
