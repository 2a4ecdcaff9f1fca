"""The rows of a deleted source or user, part by part. Each call deletes a limited number of rows and returns it.
Articles come before URLs, as everywhere that writes both; shared rows are checked under lock."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from headwater.accounts.store import attempts, events
from headwater.analytics import store as analytics
from headwater.articles.store import links, records, state
from headwater.audit import store as audit
from headwater.bodies import store as bodies
from headwater.channels.visible import find_saved_only, frontier_id
from headwater.db import Connection
from headwater.frontier.store import changes, listing
from headwater.frontier.types import FrontierUrl, UrlFilter
from headwater.library.notifications import store as notifications
from headwater.library.rules import store as rules
from headwater.library.store import marks, subscriptions
from headwater.library.summaries import store as summaries
from headwater.polling.store import cleanup as feed_cleanup
from headwater.removal.types import Removal, RemovalKind
from headwater.sitemaps import store as sitemaps
from headwater.sources.custom import store as submissions
from headwater.sources.health.store import counts
from headwater.sources.store import bulk, imports, sources
from headwater.sources.store import custom as custom_store
from headwater.sources.subscribe import leave_unwanted
from headwater.stories import store as stories
from headwater.types import ArticleId, PageKind, SourceId, UserId
from headwater.urls import url_key

SOURCES_AT_ONCE = 100  # fewer than rows: each is locked and perhaps deleted

Part = Callable[[Connection, UUID, int, datetime], Awaitable[int]]
"""Delete up to so many rows of a source or user, by its id; returns how many."""


async def remove_some(conn: Connection, removal: Removal, *, limit: int, now: datetime) -> int:
    """Delete up to `limit` rows of a deleted source or user. Returns how many; 0: none are left."""
    count = 0
    for part in PARTS[removal.kind]:
        count += await part(conn, removal.id, limit - count, now)
        if count >= limit:
            break
    return count


async def remove_counters(conn: Connection, removal: Removal) -> None:
    """Delete counters of a source or user, which no foreign key protects. Called last."""
    if removal.kind is RemovalKind.USER:  # a request that was under way may have counted one
        await attempts.clear_of(conn, user_id=UserId(removal.id))
    if removal.kind is RemovalKind.SOURCE:
        await bulk.forget_source(conn, source_id=SourceId(removal.id))
        await counts.remove_of_source(conn, source_id=SourceId(removal.id))
        await changes.delete_counts(conn, source_id=SourceId(removal.id))


async def _articles(conn: Connection, id_: UUID, limit: int, now: datetime) -> int:
    source_id = SourceId(id_)
    listed = await links.list_linked(conn, source_id=source_id, limit=limit)
    if listed:
        told = await stories.list_of_articles(conn, ids=listed)
        await _remove_unlisted(conn, listed, source_id)
        await links.unlink(conn, source_id=source_id, ids=listed)
        await state.queue_revised(conn, ids=listed, at=now)  # those that stay have other sources now
        await stories.count_stories(conn, ids=told, now=now)  # a title may be that of a removed article
    return len(listed)


async def _remove_unlisted(conn: Connection, ids: Sequence[ArticleId], source_id: SourceId | None) -> None:
    urls = await records.lock(conn, ids=ids)
    submitted = await changes.find_submitted(conn, urls=list(urls.values()), except_for=source_id)
    unwanted = [article_id for article_id, url in urls.items() if url not in submitted]
    await records.remove_unlisted(conn, ids=unwanted, except_for=source_id)


async def remove_unwanted(conn: Connection, ids: Sequence[ArticleId], now: datetime) -> None:
    """Delete those of these articles that no source lists and no user keeps, with the queued URLs of those that were
    only saved for later."""
    told = await stories.list_of_articles(conn, ids=ids)
    saved = await find_saved_only(conn, ids, now)
    before = await records.lock(conn, ids=ids)
    await _remove_unlisted(conn, ids, None)
    left = await records.lock(conn, ids=ids)
    urls = [frontier_id(url) for article_id, url in before.items() if article_id in saved and article_id not in left]
    if queued := [one for one in urls if one]:
        await changes.delete(conn, ids=queued)
    await stories.count_stories(conn, ids=told, now=now)


async def _urls(conn: Connection, id_: UUID, limit: int, now: datetime) -> int:
    found = await listing.list_urls(conn, wanted=UrlFilter(source_id=SourceId(id_)), limit=limit, now=now)
    if not found.urls:
        return 0
    if kept := await _find_kept(conn, found.urls):
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


async def _sources_of(conn: Connection, id_: UUID, limit: int, now: datetime) -> int:
    """Subscriptions and submissions of a user, and the sources that no other user has."""
    user_id, most = UserId(id_), min(limit, SOURCES_AT_ONCE)
    left = await subscriptions.remove_of(conn, user_id=user_id, limit=most)
    left += await submissions.remove_of(conn, user_id=user_id, limit=most - len(left))
    await leave_unwanted(conn, left, now)
    return len(left)


async def _marks(conn: Connection, id_: UUID, limit: int, now: datetime) -> int:
    count, kept = await marks.remove_of(conn, user_id=UserId(id_), limit=limit)
    if kept:
        await remove_unwanted(conn, kept, now)
    return count


async def _references(conn: Connection, id_: UUID, limit: int, _now: datetime) -> int:
    """Rows of others that name the user stay, without the reference."""
    user_id = UserId(id_)
    changed = await audit.clear_actor(conn, user_id=user_id, limit=limit)
    changed += await submissions.clear_moderator(conn, user_id=user_id, limit=limit)
    return changed + await custom_store.clear_submitter(conn, user_id=user_id, limit=limit)


PARTS: Mapping[RemovalKind, Sequence[Part]] = {
    RemovalKind.SOURCE: (
        lambda conn, id_, limit, _: bodies.delete_of_source(conn, source_id=SourceId(id_), limit=limit),
        _articles,
        _urls,
        lambda conn, id_, limit, _: feed_cleanup.delete_events_of(conn, source_id=SourceId(id_), limit=limit),
        lambda conn, id_, limit, _: sitemaps.forget_readings_of(conn, source_id=SourceId(id_), limit=limit),
        lambda conn, id_, limit, _: analytics.remove_of_source(conn, source_id=SourceId(id_), limit=limit),
    ),
    # Rules and imports first, so that none adds a mark or a subscription. Subscriptions and submissions decide which
    # sources are deleted.
    RemovalKind.USER: (
        lambda conn, id_, limit, _: rules.remove_of(conn, user_id=UserId(id_), limit=limit),
        lambda conn, id_, limit, _: notifications.remove_of(conn, user_id=UserId(id_), limit=limit),
        lambda conn, id_, limit, _: imports.remove_of(conn, user_id=UserId(id_), limit=limit),
        _sources_of,
        _marks,
        lambda conn, id_, limit, _: analytics.remove_of_user(conn, user_id=UserId(id_), limit=limit),
        lambda conn, id_, limit, _: summaries.remove_of(conn, user_id=UserId(id_), limit=limit),
        lambda conn, id_, limit, _: events.remove_of(conn, user_id=UserId(id_), limit=limit),
        _references,
    ),
}
