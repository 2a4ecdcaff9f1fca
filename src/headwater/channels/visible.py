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
from headwater.frontier.store.listing import find_several
from headwater.frontier.types import Origin
from headwater.types import ArticleId
from headwater.urls import key_or_none


async def find_visible(conn: Connection, ids: Sequence[ArticleId], now: datetime) -> list[ArticleId]:
    """Those of these articles that are not known from private feeds of users only, in their order.

    One that no public feed lists is visible if it was submitted to the frontier. A starred one whose feed was deleted
    is hidden, since the feed may have been private; so is one that readers saved for later.
    """
    if not ids:
        return []
    feeds = await listed.find_feeds(conn, article_ids=ids)
    hidden = {one for one, its in feeds.items() if not its or is_private(its)}
    submitted = await _find_of_origin(conn, sorted(hidden), Origin.MANUAL, now) if hidden else set[ArticleId]()
    return [one for one in ids if one in submitted or (one in feeds and one not in hidden)]


async def route_deleted(conn: Connection, urls: Sequence[str], now: datetime) -> None:
    """These URLs were deleted from the frontier: their articles may not be visible any more."""
    keys = [key for url in urls if (key := key_or_none(url)) is not None]
    if ids := await listed.find_ids(conn, url_keys=keys):
        await state.queue_revised(conn, ids=ids, at=now)


async def find_saved_only(conn: Connection, ids: Sequence[ArticleId], now: datetime) -> set[ArticleId]:
    """Those of these articles that no feed lists and that are known because readers saved them for later."""
    feeds = await listed.find_feeds(conn, article_ids=ids) if ids else {}
    unlisted = [one for one in ids if not feeds.get(one)]
    return await _find_of_origin(conn, unlisted, Origin.SAVED, now) if unlisted else set()


async def _find_of_origin(conn: Connection, ids: Sequence[ArticleId], origin: Origin, now: datetime) -> set[ArticleId]:
    keys = {one: frontier_id(url) for one, url in (await listed.find_urls(conn, article_ids=ids)).items()}
    found = await find_several(conn, ids=[key for key in keys.values() if key], now=now)
    wanted = {key for key, url in found.items() if url.origin is origin}
    return {one for one, key in keys.items() if key in wanted}


def frontier_id(url: str) -> UUID | None:
    """The id of a URL in the frontier; None for one that cannot be there."""
    try:
        return locate(url).key.id
    except InvalidUrl:
        return None
