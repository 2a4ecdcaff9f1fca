"""Which articles everyone may see: those that are not known from private feeds of users only."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headwater.articles.decide import is_private
from headwater.articles.store import state
from headwater.channels.store import listed
from headwater.db import Connection
from headwater.errors import InvalidUrl
from headwater.frontier.keys import locate
from headwater.frontier.store import queue
from headwater.frontier.store.listing import find_several
from headwater.frontier.types import FrontierUrl, Submission, Submitted
from headwater.types import ArticleId
from headwater.urls import key_or_none


async def find_visible(conn: Connection, ids: Sequence[ArticleId], now: datetime) -> list[ArticleId]:
    """Those of these articles that are not known from private feeds of users only, in their order.

    One that no public feed lists is visible if it was submitted to the frontier, or if a sitemap or list of links that
    was names it. A starred one whose feed was deleted is hidden, since the feed may have been private; so is one that
    readers saved for later.
    """
    if not ids:
        return []
    feeds = await listed.find_feeds(conn, article_ids=ids)
    hidden = {one for one, its in feeds.items() if not its or is_private(its)}
    urls = await _find_queued(conn, sorted(hidden), now) if hidden else {}
    submitted = {one for one, url in urls.items() if url.is_submitted}
    return [one for one in ids if one in submitted or (one in feeds and one not in hidden)]


async def route_deleted(conn: Connection, urls: Sequence[str], now: datetime) -> None:
    """These URLs were deleted from the frontier: their articles may not be visible any more."""
    keys = [key for url in urls if (key := key_or_none(url)) is not None]
    if ids := await listed.find_ids(conn, url_keys=keys):
        await state.queue_revised(conn, ids=ids, at=now)


async def submit_urls(conn: Connection, *, submissions: Sequence[Submission], now: datetime) -> list[Submitted]:
    """Queue what operators submit. Articles that only readers or private feeds had are visible from now on: they are
    routed again, whether or not their text changes."""
    results = await queue.submit(conn, submissions=submissions, now=now)
    keys = [key for one in results if one.published_url and (key := key_or_none(one.published_url)) is not None]
    if keys and (ids := await listed.find_ids(conn, url_keys=keys)):
        await state.queue_revised(conn, ids=ids, at=now)
    return results


async def find_saved_only(conn: Connection, ids: Sequence[ArticleId], now: datetime) -> set[ArticleId]:
    """Those of these articles that no feed lists and that are known because readers saved or starred them."""
    feeds = await listed.find_feeds(conn, article_ids=ids) if ids else {}
    unlisted = [one for one in ids if not feeds.get(one)]
    urls = await _find_queued(conn, unlisted, now) if unlisted else {}
    return {one for one, url in urls.items() if url.is_saved}


async def _find_queued(conn: Connection, ids: Sequence[ArticleId], now: datetime) -> dict[ArticleId, FrontierUrl]:
    """The URLs of these articles in the frontier."""
    keys = {one: frontier_id(url) for one, url in (await listed.find_urls(conn, article_ids=ids)).items()}
    found = await find_several(conn, ids=[key for key in keys.values() if key], now=now)
    return {one: found[key] for one, key in keys.items() if key is not None and key in found}


def frontier_id(url: str) -> UUID | None:
    """The id of a URL in the frontier; None for one that cannot be there."""
    try:
        return locate(url).key.id
    except InvalidUrl:
        return None
