"""A few readers who agreed to be counted, and what they did."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headwater.accounts.changes import add_user
from headwater.accounts.types import Role, User
from headwater.analytics import store
from headwater.analytics.types import ReaderAction
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection, Database
from headwater.ids import new_id
from headwater.library.store import subscriptions
from headwater.sources.types import Source
from headwater.types import ArticleId
from tests.builders import a_source, an_article
from tests.clock import START


@dataclass(frozen=True)
class Crowd:
    """Four readers of one source with five articles."""

    readers: Sequence[User]
    source: Source
    articles: Sequence[ArticleId]


async def a_crowd(database: Database, *, name: str = "daily", size: int = 4, agree: bool = True) -> Crowd:
    async with database.as_system() as conn:
        source = await a_source(conn, url=f"https://{name}.example/feed", name=name.title())
        readers = [await add_user(conn, f"{name}{n}@example.com", None, Role.READER, START) for n in range(size)]
        found = await add_articles(conn, source, 5)
        for reader in readers:
            await follow(conn, reader, source)
    for reader in readers if agree else ():
        async with database.as_user(reader.id) as conn:
            await store.answer(conn, user_id=reader.id, consents=True, now=START)
    return Crowd(readers, source, found)


async def follow(conn: Connection, reader: User, source: Source) -> None:
    await subscriptions.add(
        conn, subscription_id=new_id(), user_id=reader.id, source_id=source.id, name="x", category=None, now=START
    )


async def add_articles(conn: Connection, source: Source, count: int) -> list[ArticleId]:
    urls = [f"https://{source.name}.example/{n}".lower() for n in range(count)]
    listed = [ListedEntry(source.id, an_article(url, title=url, published_at=START)) for url in urls]
    await records.keep(conn, seen_at=START, listed=listed)
    cur = await conn.execute("SELECT id FROM articles WHERE url = ANY(%(urls)s) ORDER BY url", {"urls": urls})
    return [ArticleId(UUID(str(row[0]))) for row in await cur.fetchall()]


async def does(
    database: Database,
    reader: User,
    deed: ReaderAction,
    article: ArticleId,
    at: datetime = START + timedelta(minutes=1),
) -> None:
    async with database.as_user(reader.id) as conn:
        await store.record(conn, article_id=article, action=deed, now=at)
