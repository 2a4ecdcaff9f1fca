"""Sources: add, change, find."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Final

from psycopg.types.json import Jsonb

from headwater.db import Connection, fetch_all, fetch_one, fetch_value, translate
from headwater.errors import SourceExists, SourceNotFound
from headwater.sources.types import Changes, Label, Source
from headwater.types import SourceId
from headwater.urls import url_key

SOURCE_COLUMNS: Final = """
    sources.id, name, sources.feed_url, sources.created_at, sources.url, sitemap_url, ingestion_mode,
    coalesce(selectors, '{}') AS selectors, article_url_patterns, external_links, max_depth, page_budget,
    min_delay_ms * interval '1 millisecond' AS min_delay, priority, category, policy,
    feed_poll_interval_minutes AS interval_minutes, enabled, is_system, is_critical
"""
SOURCES: Final = f"SELECT {SOURCE_COLUMNS} FROM sources"
_SOURCE_BY_URL: Final = f"""{SOURCES}
    WHERE feed_url_key = %(key)s OR (url_key = %(key)s AND feed_url_key IS NULL)
    ORDER BY feed_url_key IS NULL
    LIMIT 1
"""
# How a source's pages are found and read.
_INGESTION: Final = """
    url, url_key, sitemap_url, ingestion_mode, selectors, article_url_patterns, external_links, max_depth, page_budget,
    min_delay_ms, priority
"""
_INGESTION_VALUES: Final = """
    %(url)s, %(url_key)s, %(sitemap_url)s, %(ingestion_mode)s, %(selectors)s, %(article_url_patterns)s::text[],
    %(external_links)s, %(max_depth)s, %(page_budget)s, %(min_delay_ms)s, %(priority)s
"""
_LABELS: Final = "SELECT id, name, ingestion_mode FROM sources"


async def add(conn: Connection, *, source: Source) -> None:
    """Add a source. Raises SourceExists."""
    taken = SourceExists(source.address)
    with translate(sources_feed_url_key=taken, sources_url_key=taken):
        statement = f"""
            INSERT INTO sources (id, name, feed_url, feed_url_key, {_INGESTION})
            VALUES (%(id)s, %(name)s, %(feed_url)s, %(feed_url_key)s, {_INGESTION_VALUES})
        """
        key = url_key(source.feed_url) if source.feed_url else None
        await conn.execute(statement, {**_values(source), "feed_url_key": key})


async def change_ingestion(conn: Connection, *, source: Source) -> None:
    """Change how the source's pages are found and read. Raises SourceExists."""
    with translate(sources_url_key=SourceExists(source.address)):
        statement = f"UPDATE sources SET ({_INGESTION}) = ({_INGESTION_VALUES}) WHERE id = %(id)s"
        await conn.execute(statement, _values(source))


def _values(source: Source) -> dict[str, object]:
    return {
        **asdict(source),
        "url_key": url_key(source.url) if source.url else None,
        "selectors": Jsonb(dict(source.selectors)) if source.selectors else None,
        "article_url_patterns": list(source.article_url_patterns),
        "min_delay_ms": round(source.min_delay / timedelta(milliseconds=1)) if source.min_delay else None,
    }


async def change_url(
    conn: Connection, *, source_id: SourceId, feed_url: str, feed_url_key: bytes, was_private: bool
) -> None:
    """Change the feed's URL. `was_private`: what it listed until now is for its subscribers. Raises SourceExists."""
    statement = """
        UPDATE sources
        SET feed_url = %(feed_url)s, feed_url_key = %(key)s, was_private = was_private OR %(was_private)s
        WHERE id = %(id)s
    """
    values = {"id": source_id, "feed_url": feed_url, "key": feed_url_key, "was_private": was_private}
    with translate(sources_feed_url_key=SourceExists(feed_url)):
        await conn.execute(statement, values)


async def change(conn: Connection, *, source_id: SourceId, changes: Changes) -> None:
    """Change name, policy, interval, category and flags; None keeps one, an empty one or 0 resets it."""
    statement = """
        UPDATE sources
        SET name = coalesce(%(name)s, name),
            policy = CASE WHEN %(policy)s::text IS NULL THEN policy ELSE nullif(%(policy)s, '') END,
            feed_poll_interval_minutes = CASE
                WHEN %(minutes)s::integer IS NULL THEN feed_poll_interval_minutes
                ELSE nullif(%(minutes)s::integer, 0)
            END,
            category = CASE WHEN %(category)s::text IS NULL THEN category ELSE nullif(%(category)s, '') END,
            is_system = coalesce(%(is_system)s, is_system), is_critical = coalesce(%(is_critical)s, is_critical)
        WHERE id = %(id)s
    """
    minutes = None if changes.interval is None else round(changes.interval / timedelta(minutes=1))
    await conn.execute(statement, {**asdict(changes), "id": source_id, "minutes": minutes})


async def set_disabled(
    conn: Connection, *, source_id: SourceId, disabled_at: datetime | None, reason: str | None
) -> None:
    """Disable the source's feed, or enable it with None."""
    statement = "UPDATE sources SET feed_disabled_at = %(at)s, feed_disable_reason = %(reason)s WHERE id = %(id)s"
    await conn.execute(statement, {"id": source_id, "at": disabled_at, "reason": reason})


async def set_enabled(conn: Connection, *, source_id: SourceId, enabled: bool, by_operator: bool = False) -> None:
    """Enable or disable the whole source. What an operator disabled stays so until it is enabled."""
    statement = """
        UPDATE sources
        SET enabled = %(enabled)s,
            disabled_by_operator = NOT %(enabled)s AND (disabled_by_operator OR %(by_operator)s)
        WHERE id = %(id)s
    """
    await conn.execute(statement, {"id": source_id, "enabled": enabled, "by_operator": by_operator})


async def find_by_id(conn: Connection, *, source_id: SourceId) -> Source:
    return _found(await fetch_one(conn, Source, SOURCES + " WHERE id = %(id)s", {"id": source_id}), str(source_id))


async def find_by_url(conn: Connection, *, url: str) -> Source:
    """The source of this feed or, if none has it, of this site. Raises SourceNotFound."""
    return _found(await fetch_one(conn, Source, _SOURCE_BY_URL, {"key": url_key(url)}), url)


async def lock_by_url(conn: Connection, *, url: str) -> Source:
    """The source as `find_by_url` returns it; it cannot be deleted before the transaction ends. Waits for a transaction
    that is deleting it. Raises SourceNotFound."""
    return _found(await fetch_one(conn, Source, _SOURCE_BY_URL + " FOR KEY SHARE", {"key": url_key(url)}), url)


async def lock_by_id(conn: Connection, *, source_id: SourceId) -> Source:
    """As `lock_by_url`."""
    statement = SOURCES + " WHERE id = %(id)s FOR KEY SHARE"
    return _found(await fetch_one(conn, Source, statement, {"id": source_id}), str(source_id))


def _found(source: Source | None, wanted: str) -> Source:
    if source is None:
        raise SourceNotFound(wanted)
    return source


async def find_moved(conn: Connection, *, url: str) -> SourceId | None:
    """A source whose feed has moved to this URL from another site; the oldest of several."""
    statement = "SELECT id FROM sources WHERE feed_url = %(url)s ORDER BY created_at, id LIMIT 1"
    return await fetch_value(conn, statement, {"url": url})


async def list_all(conn: Connection) -> list[Source]:
    return await fetch_all(conn, Source, SOURCES + " ORDER BY lower(name), id")


async def remove(conn: Connection, *, source_id: SourceId) -> None:
    """Delete a source, its polling state and subscriptions; removal deletes the rest. Raises SourceNotFound."""
    cur = await conn.execute("DELETE FROM sources WHERE id = %(id)s", {"id": source_id})
    if cur.rowcount == 0:
        raise SourceNotFound(str(source_id))


async def find_by_site(conn: Connection, *, urls: Sequence[str]) -> dict[str, SourceId]:
    statement = """
        SELECT start_page.url, min(sources.id::text)::uuid
        FROM sources CROSS JOIN LATERAL (VALUES (sources.url), (sources.sitemap_url)) AS start_page (url)
        WHERE enabled AND (ingestion_mode <> 'feed' OR feed_url IS NULL OR start_page.url = sitemap_url)
            AND start_page.url = ANY(%(urls)s) GROUP BY start_page.url
    """
    cur = await conn.execute(statement, {"urls": list(urls)})
    return {url: SourceId(source_id) for url, source_id in await cur.fetchall()}


async def list_labels(conn: Connection, *, source_ids: Collection[SourceId]) -> dict[SourceId, Label]:
    rows = await fetch_all(conn, Label, _LABELS + " WHERE id = ANY(%(ids)s)", {"ids": list(source_ids)})
    return {label.id: label for label in rows}


async def search_labels(conn: Connection, *, text: str, limit: int) -> list[Label]:
    """Sources whose name contains a text, whatever the case; those that begin with it first."""
    statement = f"""
        {_LABELS} WHERE strpos(lower(name), lower(%(text)s)) > 0
        ORDER BY starts_with(lower(name), lower(%(text)s)) DESC, lower(name), id LIMIT %(limit)s
    """
    return await fetch_all(conn, Label, statement, {"text": text, "limit": limit})


async def find_label(conn: Connection, *, name: str) -> Label | None:
    """The source with this name, or else the first whose name begins with it, whatever the case."""
    statement = f"""
        {_LABELS}
        WHERE starts_with(lower(name), lower(%(name)s)) ORDER BY lower(name), id LIMIT 1
    """
    return await fetch_one(conn, Label, statement, {"name": name})
