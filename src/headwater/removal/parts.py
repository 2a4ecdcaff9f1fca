"""The rows of a deleted source or user, part by part. Each call deletes a limited number of rows and returns it.

Articles come before URLs, as everywhere that writes both. What may be shared is checked under lock: an article stays
that another source lists, that a person starred or that was submitted by hand, and so does its URL.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar, assert_never
from uuid import UUID

from headwater.accounts.store import events
from headwater.analytics import store as analytics
from headwater.articles.store import links, locks
from headwater.audit import store as audit
from headwater.bodies import store as bodies
from headwater.db import Connection
from headwater.frontier.store import changes, listing
from headwater.frontier.types import FrontierUrl, UrlFilter
from headwater.library.store import marks, subscriptions
from headwater.library.summaries import store as summaries
from headwater.polling.store import upkeep as feed_upkeep
from headwater.removal.types import Removal, RemovalKind
from headwater.sitemaps import store as sitemaps
from headwater.sources.custom.store import submissions
from headwater.sources.health.store import counts
from headwater.sources.store import custom as custom_store
from headwater.sources.store import imports, sources
from headwater.sources.subscribe import leave_unwanted
from headwater.types import ArticleId, PageKind, SourceId, UserId
from headwater.urls import url_key

SOURCES_AT_ONCE = 100  # each is locked and perhaps deleted: fewer than rows

Id = TypeVar("Id")
OfSource = Callable[[Connection, SourceId, int, datetime], Awaitable[int]]
OfUser = Callable[[Connection, UserId, int, datetime], Awaitable[int]]


async def remove_some(conn: Connection, removal: Removal, *, limit: int, now: datetime) -> int:
    """Delete up to `limit` rows of a deleted source or user. Returns how many went; 0: there are none left."""
    match removal.kind:
        case RemovalKind.SOURCE:
            return await _remove(conn, SOURCE_PARTS, SourceId(removal.id), limit, now)
        case RemovalKind.USER:
            return await _remove(conn, USER_PARTS, UserId(removal.id), limit, now)
        case _:
            assert_never(removal.kind)


async def remove_counters(conn: Connection, removal: Removal) -> None:
    """Delete the few rows that others write for a source without referring to it. Last of all."""
    if removal.kind is RemovalKind.SOURCE:
        await counts.remove_of_source(conn, source_id=SourceId(removal.id))
        await changes.delete_counts(conn, source_id=SourceId(removal.id))


async def _remove(
    conn: Connection,
    parts: Sequence[Callable[[Connection, Id, int, datetime], Awaitable[int]]],
    owner: Id,
    limit: int,
    now: datetime,
) -> int:
    gone = 0
    for part in parts:
        gone += await part(conn, owner, limit - gone, now)
        if gone >= limit:
            break
    return gone


async def _pages(conn: Connection, source_id: SourceId, limit: int, _now: datetime) -> int:
    return await bodies.forget_of_source(conn, source_id=source_id, limit=limit)


async def _articles(conn: Connection, source_id: SourceId, limit: int, _now: datetime) -> int:
    listed = await links.list_linked(conn, source_id=source_id, limit=limit)
    if listed:
        await _forget_unowned(conn, listed, source_id)
        await links.unlink(conn, source_id=source_id, ids=listed)
    return len(listed)


async def _forget_unowned(conn: Connection, ids: Sequence[ArticleId], source_id: SourceId | None) -> None:
    urls = await locks.lock(conn, ids=ids)
    submitted = await changes.find_submitted(conn, urls=list(urls.values()), except_for=source_id)
    unwanted = [article_id for article_id, url in urls.items() if url not in submitted]
    await locks.remove_unlisted(conn, ids=unwanted, except_for=source_id)


async def _urls(conn: Connection, source_id: SourceId, limit: int, now: datetime) -> int:
    found = await listing.list_urls(conn, wanted=UrlFilter(source_id=source_id), limit=limit, now=now)
    if not found.urls:
        return 0
    heirs = await _heirs(conn, found.urls)
    if heirs:
        await changes.set_sources(conn, sources=heirs)
        return len(heirs)  # the others in another transaction: URLs are written once in each
    await changes.delete(conn, ids=[one.id for one in found.urls])
    return len(found.urls)


async def _heirs(conn: Connection, urls: Sequence[FrontierUrl]) -> dict[UUID, SourceId | None]:
    """Those of these URLs that stay, each with the source that it belongs to from now on."""
    keys = {one.id: url_key(one.url) for one in urls if one.kind is PageKind.ARTICLE}
    owners = await links.find_owners(conn, url_keys=list(keys.values()))
    heirs = {one: owners[key] for one, key in keys.items() if key in owners}
    lists = {one.url: one.id for one in urls if one.kind is not PageKind.ARTICLE}
    entered = await sources.find_by_site(conn, urls=list(lists)) if lists else {}
    return heirs | {lists[url]: source_id for url, source_id in entered.items()}


async def _polls(conn: Connection, source_id: SourceId, limit: int, _now: datetime) -> int:
    return await feed_upkeep.forget_events_of(conn, source_id=source_id, limit=limit)


async def _sitemaps(conn: Connection, source_id: SourceId, limit: int, _now: datetime) -> int:
    return await sitemaps.forget_readings_of(conn, source_id=source_id, limit=limit)


async def _clicks(conn: Connection, source_id: SourceId, limit: int, _now: datetime) -> int:
    return await analytics.forget_clicks_of_source(conn, source_id=source_id, limit=limit)


async def _imports(conn: Connection, user_id: UserId, limit: int, _now: datetime) -> int:
    return await imports.remove_of(conn, user_id=user_id, limit=limit)


async def _subscriptions(conn: Connection, user_id: UserId, limit: int, now: datetime) -> int:
    left = await subscriptions.remove_of(conn, user_id=user_id, limit=min(limit, SOURCES_AT_ONCE))
    await leave_unwanted(conn, left, now)
    return len(left)


async def _submissions(conn: Connection, user_id: UserId, limit: int, now: datetime) -> int:
    left = await submissions.remove_of(conn, user_id=user_id, limit=min(limit, SOURCES_AT_ONCE))
    await leave_unwanted(conn, left, now)
    return len(left)


async def _marks(conn: Connection, user_id: UserId, limit: int, _now: datetime) -> int:
    count, starred = await marks.remove_of(conn, user_id=user_id, limit=limit)
    if starred:
        await _forget_unowned(conn, starred, None)
    return count


async def _clicks_of_user(conn: Connection, user_id: UserId, limit: int, _now: datetime) -> int:
    return await analytics.forget_clicks_of_user(conn, user_id=user_id, limit=limit)


async def _summaries(conn: Connection, user_id: UserId, limit: int, _now: datetime) -> int:
    return await summaries.forget_of(conn, user_id=user_id, limit=limit)


async def _events(conn: Connection, user_id: UserId, limit: int, _now: datetime) -> int:
    return await events.remove_of(conn, user_id=user_id, limit=limit)


async def _references(conn: Connection, user_id: UserId, limit: int, _now: datetime) -> int:
    """What the user did for everybody stays, without saying who it was other than by the name that was written."""
    changed = await audit.clear_actor(conn, user_id=user_id, limit=limit)
    changed += await submissions.clear_moderator(conn, user_id=user_id, limit=limit)
    return changed + await custom_store.clear_submitter(conn, user_id=user_id, limit=limit)


SOURCE_PARTS: Sequence[OfSource] = (_pages, _articles, _urls, _polls, _sitemaps, _clicks)
# Imports first, so that none brings a new subscription. Subscriptions and submissions decide which sources are left.
USER_PARTS: Sequence[OfUser] = (
    _imports,
    _subscriptions,
    _submissions,
    _marks,
    _clicks_of_user,
    _summaries,
    _events,
    _references,
)
