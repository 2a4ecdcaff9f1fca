"""Valid by default; a test names only what it is about."""

import hashlib
from datetime import datetime
from uuid import UUID

from headwater.accounts.changes import add_user
from headwater.accounts.types import Role, User
from headwater.articles.types import NewArticle
from headwater.db import Connection, Database
from headwater.feeds.types import Entry, ParsedFeed
from headwater.polling.types import ReadFeed
from headwater.sources.follow import follow
from headwater.sources.types import Source
from headwater.types import UserId
from headwater.urls import url_key
from tests.clock import START


async def a_source(
    conn: Connection, *, url: str = "https://example.com/feed.xml", name: str | None = None, now: datetime = START
) -> Source:
    return await follow(conn, url=url, name=name, now=now)


async def keep_image(conn: Connection, owner_id: UUID, kind: str, data: bytes = b"RIFF....WEBP") -> str:
    """Store the icon of a source or the lead image of an article. Returns its digest."""
    digest = hashlib.sha256(data).hexdigest()[:32]
    statement = """
        INSERT INTO images (owner_id, kind, host, wanted_at, data, digest)
        VALUES (%(id)s, %(kind)s, 'example.com', %(at)s, %(data)s, %(digest)s)
    """
    await conn.execute(statement, {"id": owner_id, "kind": kind, "at": START, "data": data, "digest": digest})
    return digest


async def a_reader(database: Database, email: str = "ada@example.com") -> UserId:
    async with database.as_system() as conn:
        return (await add_user(conn, email, None, Role.READER, START)).id


def an_article(
    url: str = "https://example.com/1",
    *,
    title: str = "One",
    published_at: datetime | None = START,
    is_own: bool = True,
    **more: str,
) -> NewArticle:
    """What a feed of the article's own site says of it, or with `is_own=False` a feed of another site."""
    return NewArticle(
        entry_id=more.get("entry_id", url),
        url=url,
        url_key=url_key(url),
        title=title,
        author=more.get("author"),
        summary=more.get("summary"),
        content=more.get("content"),
        published_at=published_at,
        is_own=is_own,
        enclosures=more.get("enclosures") or None,
    )


def a_read_feed(*dates: datetime) -> ReadFeed:
    return ReadFeed("rss20", "Example", entries=tuple(an_article(published_at=date) for date in dates))


def a_parsed_feed(*entries: Entry, site_url: str | None = "https://example.com/") -> ParsedFeed:
    return ParsedFeed(format="rss20", title="Example", site_url=site_url, entries=entries)


async def another_administrator(database: Database, email: str = "root@example.com") -> User:
    """A super_admin, so that the account which a test removes is not the last one."""
    async with database.as_system() as conn:
        return await add_user(conn, email, None, Role.SUPER_ADMIN, START, confirmed_at=START)
