"""Valid by default; a test names only what it is about."""

from datetime import datetime
from uuid import UUID

from headwater.articles.types import NewArticle
from headwater.db import Connection
from headwater.ids import new_id
from headwater.polling.parse.types import Entry, ParsedFeed
from headwater.polling.types import ClaimedFeed
from headwater.sources.follow import follow
from headwater.sources.types import Source
from headwater.types import SourceId
from headwater.urls import url_key
from tests.clock import START


async def a_source(
    conn: Connection, *, url: str = "https://example.com/feed.xml", name: str | None = None, now: datetime = START
) -> Source:
    return await follow(conn, url=url, name=name, now=now)


def a_claimed_feed(*, errors: int = 0, source_id: UUID | None = None) -> ClaimedFeed:
    return ClaimedFeed(
        source_id=SourceId(source_id or new_id()),
        feed_url="https://example.com/feed.xml",
        lease=new_id(),
        next_poll_at=START,
        last_etag=None,
        last_modified=None,
        consecutive_errors=errors,
    )


def an_article(
    url: str = "https://example.com/1", *, title: str = "One", published_at: datetime | None = START, **more: str
) -> NewArticle:
    return NewArticle(
        entry_id=more.get("entry_id", url),
        url=url,
        url_key=url_key(url),
        title=title,
        author=more.get("author"),
        summary=more.get("summary"),
        content=more.get("content"),
        published_at=published_at,
    )


def a_parsed_feed(*entries: Entry, site_url: str | None = "https://example.com/") -> ParsedFeed:
    return ParsedFeed(format="rss20", title="Example", site_url=site_url, entries=entries)
