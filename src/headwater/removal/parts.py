"""The rows of a deleted source or user, part by part. Each call deletes a limited number of rows and returns it.

Articles come before URLs, as everywhere that writes both. Shared rows are checked under lock: an article that another
source lists, a user starred or an operator submitted stays, and so does its URL.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar, assert_never
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

SOURCES_AT_ONCE = 100  # fewer than rows: each is locked and perhaps deleted

Id = TypeVar("Id")
OfSource = Callable[[Connection, SourceId, int, datetime], Awaitable[int]]
OfUser = Callable[[Connection, UserId, int, datetime], Awaitable[int]]


class RemoveOfSource(Protocol):
    """Delete some rows of a source; returns how many."""

    def __call__(self, conn: Connection, /, *, source_id: SourceId, limit: int) -> Awaitable[int]: ...


class RemoveOfUser(Protocol):
    """Delete some rows of a user; returns how many."""

    def __call__(self, conn: Connection, /, *, user_id: UserId, limit: int) -> Awaitable[int]: ...


async def remove_some(conn: Connection, removal: Removal, *, limit: int, now: datetime) -> int:
    """Delete up to `limit` rows of a deleted source or user. Returns how many; 0: none are left."""
    match removal.kind:
        case RemovalKind.SOURCE:
            return await _remove(conn, SOURCE_PARTS, SourceId(removal.id), limit, now)
        case RemovalKind.USER:
            return await _remove(conn, USER_PARTS, UserId(removal.id), limit, now)
        case _:
            assert_never(removal.kind)


async def remove_counters(conn: Connection, removal: Removal) -> None:
    """Delete counters of a source, which no foreign key protects. Called last."""
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
    count = 0
    for part in parts:
        count += await part(conn, owner, limit - count, now)
        if count >= limit:
            break
    return count


async def _articles(conn: Connection, source_id: SourceId, limit: int, _now: datetime) -> int:
    listed = await links.list_linked(conn, source_id=source_id, limit=limit)
    if listed:
        await _remove_unlisted(conn, listed, source_id)
        await links.unlink(conn, source_id=source_id, ids=listed)
    return len(listed)


async def _remove_unlisted(conn: Connection, ids: Sequence[ArticleId], source_id: SourceId | None) -> None:
    urls = await locks.lock(conn, ids=ids)
    submitted = await changes.find_submitted(conn, urls=list(urls.values()), except_for=source_id)
    unwanted = [article_id for article_id, url in urls.items() if url not in submitted]
    await locks.remove_unlisted(conn, ids=unwanted, except_for=source_id)


async def _urls(conn: Connection, source_id: SourceId, limit: int, now: datetime) -> int:
    found = await listing.list_urls(conn, wanted=UrlFilter(source_id=source_id), limit=limit, now=now)
    if not found.urls:
        return 0
    kept = await _find_kept(conn, found.urls)
    if kept:
        await changes.set_sources(conn, sources=kept)
        return len(kept)  # the others in the next transaction: each writes URLs once
    await changes.delete(conn, ids=[one.id for one in found.urls])
    return len(found.urls)


async def _find_kept(conn: Connection, urls: Sequence[FrontierUrl]) -> dict[UUID, SourceId | None]:
    """Those of these URLs that stay, each with its new source."""
    keys = {one.id: url_key(one.url) for one in urls if one.kind is PageKind.ARTICLE}
    owners = await links.find_owners(conn, url_keys=list(keys.values()))
    kept = {one: owners[key] for one, key in keys.items() if key in owners}
    lists = {one.url: one.id for one in urls if one.kind is not PageKind.ARTICLE}
    entered = await sources.find_by_site(conn, urls=list(lists)) if lists else {}
    return kept | {lists[url]: source_id for url, source_id in entered.items()}


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
        await _remove_unlisted(conn, starred, None)
    return count


async def _references(conn: Connection, user_id: UserId, limit: int, _now: datetime) -> int:
    """Rows of others that name the user stay, without the reference."""
    changed = await audit.clear_actor(conn, user_id=user_id, limit=limit)
    changed += await submissions.clear_moderator(conn, user_id=user_id, limit=limit)
    return changed + await custom_store.clear_submitter(conn, user_id=user_id, limit=limit)


def _of_source(remove: RemoveOfSource) -> OfSource:
    return lambda conn, source_id, limit, _now: remove(conn, source_id=source_id, limit=limit)


def _of_user(remove: RemoveOfUser) -> OfUser:
    return lambda conn, user_id, limit, _now: remove(conn, user_id=user_id, limit=limit)


SOURCE_PARTS: Sequence[OfSource] = (
    _of_source(bodies.forget_of_source),
    _articles,
    _urls,
    _of_source(feed_upkeep.forget_events_of),
    _of_source(sitemaps.forget_readings_of),
    _of_source(analytics.remove_of_source),
)
# Imports first, so that none adds a subscription. Subscriptions and submissions decide which sources are deleted.
USER_PARTS: Sequence[OfUser] = (
    _of_user(imports.remove_of),
    _subscriptions,
    _submissions,
    _marks,
    _of_user(analytics.remove_of_user),
    _of_user(summaries.remove_of),
    _of_user(events.remove_of),
    _references,
)
