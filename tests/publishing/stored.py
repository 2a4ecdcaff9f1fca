"""Articles with content, as the stages leave them."""

import hashlib
from datetime import datetime

from headwater.articles.store import content, records
from headwater.articles.types import Extracted, ListedEntry, NewContent
from headwater.db import Connection, Database
from headwater.documents import store as documents
from headwater.documents.types import Action, DocumentEntry
from headwater.types import ArticleId, SourceId
from headwater.urls import url_key
from tests.builders import a_source, an_article
from tests.clock import START


async def some_source(conn: Connection) -> SourceId:
    cur = await conn.execute("SELECT id FROM sources LIMIT 1")
    row = await cur.fetchone()
    return row[0] if row else (await a_source(conn, name="The Source")).id


async def extract(
    conn: Connection,
    url: str,
    *,
    text: str = "Some words.",
    now: datetime = START,
    queue: bool = True,
    **more: object,
) -> ArticleId:
    """What extraction does with a page: the article and its content, and a delivery for the index."""
    await records.keep(conn, seen_at=now, listed=[ListedEntry(await some_source(conn), an_article(url))])
    cur = await conn.execute("SELECT id FROM articles WHERE url_key = %(key)s", {"key": url_key(url)})
    row = await cur.fetchone()
    assert row is not None
    await extract_text(conn, row[0], url, text=text, now=now, queue=queue, **more)
    return row[0]


async def extract_text(
    conn: Connection, article_id: ArticleId, url: str, *, text: str = "Some words.", now: datetime = START,
    queue: bool = True, **more: object,
) -> None:  # fmt: skip
    """The same of an article that is stored."""
    record = Extracted(
        text=text,
        html=f"<p>{text}</p>",
        word_count=len(text.split()),
        content_hash=hashlib.sha256(text.encode()).digest(),
        **more,  # pyright: ignore[reportArgumentType]
    )
    (saved,) = await content.save(conn, records=[NewContent(article_id, url, url_key(url), record)], now=now)
    if queue:
        entry = DocumentEntry(article_id, url_key(url), saved.version, Action.INDEX)
        await documents.enqueue(conn, entries=[entry], now=now)


async def publish(database: Database, *urls: str, text: str = "Some words of", now: datetime = START) -> None:
    """Several pages, each with a text of its own."""
    async with database.transaction() as conn:
        for url in urls:
            await extract(conn, url, text=f"{text} {url}", now=now)


async def forget(database: Database, url: str) -> None:
    async with database.transaction() as conn:
        await conn.execute("DELETE FROM articles WHERE url_key = %(key)s", {"key": url_key(url)})


def key_of(url: str) -> str:
    return url_key(url).hex()
