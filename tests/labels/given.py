"""Articles and what methods say about them."""

from datetime import datetime

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.types import ArticleId, SourceId
from headwater.urls import url_key
from tests.builders import a_source, an_article
from tests.clock import START


async def an_article_of(
    conn: Connection,
    title: str = "The harbour opens",
    *,
    url: str = "https://example.com/1",
    source_id: SourceId | None = None,
    at: datetime = START,
    content: str = "",
) -> ArticleId:
    """An article that its own site lists."""
    source_id = source_id or (await a_source(conn, url=f"{url}/feed.xml", now=at)).id
    listed = ListedEntry(source_id, an_article(url, title=title, published_at=at, content=content), "example.com")
    await records.keep(conn, seen_at=at, listed=[listed])
    cur = await conn.execute("SELECT article_id FROM article_urls WHERE url_key = %(key)s", {"key": url_key(url)})
    row = await cur.fetchone()
    assert row is not None
    return ArticleId(row[0])


async def say(
    conn: Connection,
    article_id: ArticleId,
    method: Method,
    *labels: str,
    scheme: Scheme = Scheme.TYPE,
    score: float = 0.8,
    now: datetime = START,
) -> None:
    new = [NewLabel(scheme, label, score, f"{method} 1") for label in labels]
    await replace_labels(conn, given={article_id: new}, method=method, schemes=[scheme], now=now)


async def disagree(conn: Connection, article_id: ArticleId) -> None:
    """A rule and a model say different types."""
    await say(conn, article_id, Method.RULE, "job", score=0.9)
    await say(conn, article_id, Method.MODEL, "event")
