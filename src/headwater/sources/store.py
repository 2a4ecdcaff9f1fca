"""Every statement on `sources`."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import class_row

from headwater.db import Connection, translate
from headwater.errors import SourceExists, SourceNotFound
from headwater.sources.types import Source, SourceHealth, Suggestion
from headwater.types import SourceId


async def add(conn: Connection, *, source_id: SourceId, name: str, feed_url: str, feed_url_key: bytes) -> None:
    """Add a source. Raises SourceExists."""
    with translate(sources_feed_url_key=SourceExists(feed_url)):
        await conn.execute(
            """
            INSERT INTO sources (id, name, feed_url, feed_url_key)
            VALUES (%(id)s, %(name)s, %(feed_url)s, %(feed_url_key)s)
            """,
            {"id": source_id, "name": name, "feed_url": feed_url, "feed_url_key": feed_url_key},
        )


async def change_url(conn: Connection, *, source_id: SourceId, feed_url: str, feed_url_key: bytes) -> None:
    """The source's feed is at another address. Raises SourceExists."""
    with translate(sources_feed_url_key=SourceExists(feed_url)):
        await conn.execute(
            "UPDATE sources SET feed_url = %(feed_url)s, feed_url_key = %(key)s WHERE id = %(id)s",
            {"id": source_id, "feed_url": feed_url, "key": feed_url_key},
        )


async def change(
    conn: Connection, *, source_id: SourceId, name: str | None, policy: str | None, interval_minutes: int | None
) -> None:
    """Change what is given; None leaves it as it is, and an empty policy or an interval of 0 takes it back."""
    await conn.execute(
        """
        UPDATE sources
        SET name = coalesce(%(name)s, name),
            policy = CASE WHEN %(policy)s::text IS NULL THEN policy ELSE nullif(%(policy)s, '') END,
            feed_poll_interval_minutes = CASE
                WHEN %(minutes)s::integer IS NULL THEN feed_poll_interval_minutes
                ELSE nullif(%(minutes)s::integer, 0)
            END
        WHERE id = %(id)s
        """,
        {"id": source_id, "name": name, "policy": policy, "minutes": interval_minutes},
    )


async def set_disabled(
    conn: Connection, *, source_id: SourceId, disabled_at: datetime | None, reason: str | None
) -> None:
    """Say that the source's feed is off, since when and why; or, with None, that it is on."""
    await conn.execute(
        "UPDATE sources SET feed_disabled_at = %(at)s, feed_disable_reason = %(reason)s WHERE id = %(id)s",
        {"id": source_id, "at": disabled_at, "reason": reason},
    )


async def find_by_id(conn: Connection, *, source_id: SourceId) -> Source:
    """The source with this id. Raises SourceNotFound."""
    async with conn.cursor(row_factory=class_row(Source)) as cur:
        await cur.execute(
            "SELECT id, name, feed_url, created_at FROM sources WHERE id = %(id)s",
            {"id": source_id},
        )
        found = await cur.fetchone()
    if found is None:
        raise SourceNotFound(str(source_id))
    return found


async def find_by_url(conn: Connection, *, feed_url: str, feed_url_key: bytes) -> Source:
    """The source that follows this feed. Raises SourceNotFound."""
    async with conn.cursor(row_factory=class_row(Source)) as cur:
        await cur.execute(
            "SELECT id, name, feed_url, created_at FROM sources WHERE feed_url_key = %(key)s",
            {"key": feed_url_key},
        )
        found = await cur.fetchone()
    if found is None:
        raise SourceNotFound(feed_url)
    return found


async def list_all(conn: Connection) -> list[Source]:
    """Every source, by name."""
    async with conn.cursor(row_factory=class_row(Source)) as cur:
        await cur.execute("SELECT id, name, feed_url, created_at FROM sources ORDER BY lower(name), id")
        return await cur.fetchall()


async def remove(conn: Connection, *, source_id: SourceId) -> None:
    """Stop following. Its polling state goes with it, and its articles' link to it. Raises SourceNotFound."""
    cur = await conn.execute("DELETE FROM sources WHERE id = %(id)s", {"id": source_id})
    if cur.rowcount == 0:
        raise SourceNotFound(str(source_id))


async def list_health(conn: Connection) -> list[SourceHealth]:
    """Every source with the state of its feed, by name."""
    async with conn.cursor(row_factory=class_row(SourceHealth)) as cur:
        await cur.execute(
            """
            SELECT sources.id, name, sources.feed_url, sources.created_at, next_poll_at, last_polled_at,
                last_succeeded_at, last_error, last_error_type, consecutive_errors, article_count,
                feed_disabled_at, off_until
            FROM sources
            JOIN feed_state ON feed_state.source_id = sources.id
            ORDER BY lower(name), sources.id
            """
        )
        return await cur.fetchall()


async def suggest(
    conn: Connection, *, source_id: SourceId, suggestions: Sequence[Suggestion], found_at: datetime
) -> None:
    """Keep where a feed may have gone, in place of what was suggested before."""
    await conn.execute("DELETE FROM source_suggestions WHERE source_id = %(id)s", {"id": source_id})
    for one in suggestions:
        await conn.execute(
            """
            INSERT INTO source_suggestions (source_id, feed_url, title, entry_count, found_at)
            VALUES (%(id)s, %(feed_url)s, %(title)s, %(entry_count)s, %(found_at)s)
            ON CONFLICT (source_id, feed_url) DO NOTHING
            """,
            {
                "id": source_id,
                "feed_url": one.feed_url,
                "title": one.title,
                "entry_count": one.entry_count,
                "found_at": found_at,
            },
        )


async def list_suggestions(conn: Connection) -> list[Suggestion]:
    """All suggestions that wait for a person, by source."""
    async with conn.cursor(row_factory=class_row(Suggestion)) as cur:
        await cur.execute(
            """
            SELECT source_id, name AS source_name, source_suggestions.feed_url, title, entry_count
            FROM source_suggestions
            JOIN sources ON sources.id = source_suggestions.source_id
            ORDER BY lower(name), source_id, entry_count DESC
            """
        )
        return await cur.fetchall()


async def forget_suggestions(conn: Connection, *, source_id: SourceId) -> None:
    """A person has decided."""
    await conn.execute("DELETE FROM source_suggestions WHERE source_id = %(id)s", {"id": source_id})
