"""Following and leaving a source: what a person asks for becomes rows that the stages will find."""

from datetime import datetime
from uuid import UUID

from headwater.articles import store as articles
from headwater.db import Connection
from headwater.errors import Invalid, SourceNotFound
from headwater.ids import new_id
from headwater.polling import store as polling
from headwater.sources import store
from headwater.sources.types import Source
from headwater.types import SourceId
from headwater.urls import complete_url, host_of, url_key

NAME_MAX = 255


async def follow(conn: Connection, *, url: str, name: str | None, now: datetime) -> Source:
    """Follow a feed from now on; it is due at once. Raises InvalidUrl, Invalid, SourceExists."""
    feed_url = complete_url(url)
    chosen = (name or "").strip() or host_of(feed_url)
    if len(chosen) > NAME_MAX:
        raise Invalid(f"A name has at most {NAME_MAX} characters; this one has {len(chosen)}.")
    source_id = SourceId(new_id())
    await store.add(conn, source_id=source_id, name=chosen, feed_url=feed_url, feed_url_key=url_key(feed_url))
    await polling.schedule_first(conn, source_id=source_id, feed_url=feed_url, host=host_of(feed_url), now=now)
    return Source(source_id, chosen, feed_url, now)


async def find(conn: Connection, wanted: str) -> Source:
    """A source by its id or its feed's address. Raises SourceNotFound."""
    try:
        return await store.find_by_id(conn, source_id=SourceId(UUID(wanted)))
    except ValueError:
        pass
    try:
        feed_url = complete_url(wanted)
    except Invalid as error:
        raise SourceNotFound(wanted) from error
    return await store.find_by_url(conn, feed_url=feed_url, feed_url_key=url_key(feed_url))


async def enable(conn: Connection, source: Source, now: datetime) -> None:
    """Poll this source again from now on; all that was held against it is forgotten."""
    await store.set_disabled(conn, source_id=source.id, disabled_at=None, reason=None)
    await polling.start_over(
        conn, source_id=source.id, feed_url=source.feed_url, host=host_of(source.feed_url), now=now
    )


async def leave(conn: Connection, source: Source) -> None:
    """Stop following, and forget the articles that only this source listed. Raises SourceNotFound."""
    await articles.forget_those_only_of(conn, source_id=source.id)
    await store.remove(conn, source_id=source.id)
