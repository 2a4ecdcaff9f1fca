"""Following and leaving a source: what a person asks for becomes rows that the stages will find."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from headwater.articles import store as articles
from headwater.db import Connection
from headwater.errors import Invalid, SourceNotFound
from headwater.frontier import store as frontier
from headwater.frontier.types import Fate, UrlFilter
from headwater.ids import new_id
from headwater.polling import store as polling
from headwater.polling.policy import policy_named
from headwater.sources import store
from headwater.sources.decide import as_wished, entrances
from headwater.sources.types import Source, Wishes
from headwater.types import SourceId
from headwater.urls import complete_url, host_of, url_key

NAME_MAX = 255
INTERVAL_LEAST = timedelta(minutes=15)
INTERVAL_MOST = timedelta(days=1)
URLS_AT_ONCE = 1_000
AS_IS = Wishes()


async def follow(
    conn: Connection, *, url: str | None, name: str | None, now: datetime, wishes: Wishes = AS_IS
) -> Source:
    """Follow a feed, or with no URL the site or sitemap of the wishes. All that is to be read of it is due at once.

    Raises InvalidUrl, Invalid, SourceExists.
    """
    feed_url = None if url is None else complete_url(url)
    source = as_wished(Source(SourceId(new_id()), "", feed_url, now), wishes)
    source = replace(source, name=(name or "").strip() or host_of(source.address))
    if len(source.name) > NAME_MAX:
        raise Invalid(f"A name has at most {NAME_MAX} characters; this one has {len(source.name)}.")
    await store.add(conn, source=source)
    if feed_url is not None:
        await polling.schedule_first(conn, source_id=source.id, feed_url=feed_url, host=host_of(feed_url), now=now)
    await _enter(conn, source, now)
    return source


async def find(conn: Connection, wanted: str) -> Source:
    """A source by its id, or by the address of its feed or site. Raises SourceNotFound."""
    try:
        return await store.find_by_id(conn, source_id=SourceId(UUID(wanted)))
    except ValueError:
        pass
    try:
        url = complete_url(wanted)
    except Invalid as error:
        raise SourceNotFound(wanted) from error
    return await store.find_by_url(conn, url=url)


async def change(
    conn: Connection, source: Source, *, name: str | None, policy: str | None, interval: timedelta | None
) -> None:
    """Change how a source is called and polled; an empty policy or an interval of 0 takes it back. Raises Invalid."""
    if policy:
        policy_named(policy)
    if name is not None and not 0 < len(name) <= NAME_MAX:
        raise Invalid(f"A name has at least one and at most {NAME_MAX} characters; this one has {len(name)}.")
    if interval and not INTERVAL_LEAST <= interval <= INTERVAL_MOST:
        raise Invalid("An interval is at least 15 minutes and at most a day; 0 takes it back.")
    minutes = None if interval is None else round(interval / timedelta(minutes=1))
    await store.change(conn, source_id=source.id, name=name, policy=policy, interval_minutes=minutes)


async def change_ingestion(conn: Connection, source: Source, *, wishes: Wishes, now: datetime) -> Source:
    """Change how a source's pages are found and read; where it is entered anew, that is due at once.

    Raises InvalidUrl, Invalid, SourceExists.
    """
    changed = as_wished(source, wishes)
    await store.change_ingestion(conn, source=changed)
    if entrances(changed) != entrances(source):
        await _enter(conn, changed, now)
    return changed


async def move(conn: Connection, source: Source, *, url: str, now: datetime) -> Source:
    """The source's feed is elsewhere: all is forgotten, and it is due at once. Raises InvalidUrl, SourceExists."""
    feed_url = complete_url(url)
    await store.change_url(conn, source_id=source.id, feed_url=feed_url, feed_url_key=url_key(feed_url))
    await store.forget_suggestions(conn, source_id=source.id)
    if source.feed_url is None:
        await polling.schedule_first(conn, source_id=source.id, feed_url=feed_url, host=host_of(feed_url), now=now)
    moved = replace(source, feed_url=feed_url)
    await enable(conn, moved, now)
    return moved


async def enable(conn: Connection, source: Source, now: datetime) -> None:
    """Poll this source again from now on; all that was held against it is forgotten."""
    await store.set_disabled(conn, source_id=source.id, disabled_at=None, reason=None)
    if source.feed_url is not None:
        await polling.start_over(
            conn, source_id=source.id, feed_url=source.feed_url, host=host_of(source.feed_url), now=now
        )
    await _enter(conn, source, now)


async def leave(conn: Connection, source: Source, now: datetime) -> None:
    """Stop following: its articles that no other source lists and what waits for it go too. Raises SourceNotFound."""
    await articles.forget_those_only_of(conn, source_id=source.id)
    await _forget_urls(conn, source, now)
    await store.remove(conn, source_id=source.id)


async def _enter(conn: Connection, source: Source, now: datetime) -> None:
    """Queue the pages that reading a source begins from; what is known of them, even dead, is tried again at once."""
    if pages := entrances(source):
        queued = await frontier.submit(conn, submissions=pages, now=now)
        await frontier.retry(conn, ids=[one.id for one in queued if one.id and one.fate is Fate.KNOWN], now=now)


async def _forget_urls(conn: Connection, source: Source, now: datetime) -> None:
    """Forget what the frontier has of this source, save the articles that others list."""
    wanted, after = UrlFilter(source_id=source.id), None
    while True:
        found = await frontier.list_urls(conn, wanted=wanted, after=after, limit=URLS_AT_ONCE, now=now)
        keys = {one.id: url_key(one.url) for one in found.urls}
        kept = await store.find_listed(conn, url_keys=list(keys.values()))
        await frontier.delete(conn, ids=[one for one, key in keys.items() if key not in kept], now=now)
        after = found.next
        if after is None:
            return
