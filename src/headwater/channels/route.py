"""Gives changed articles their revisions, and queues them for the channels whose query finds them.

Called at the end of each transaction that changes what a message says of an article: so no change is lost, and none is
seen before it is committed.
"""

import asyncio
from collections.abc import Collection, Mapping
from datetime import datetime
from weakref import WeakKeyDictionary

from headwater.channels.decide import has_story
from headwater.channels.store import records, revisions
from headwater.channels.store.revisions import NewRevision
from headwater.channels.types import ChannelId
from headwater.channels.visible import find_visible
from headwater.db import Connection, Database
from headwater.errors import Invalid
from headwater.labels.store import queue_for_index
from headwater.observability.log import get_logger
from headwater.query.grammar import parse
from headwater.query.matcher import Matcher
from headwater.query.matching import match_all, read_documents
from headwater.query.types import Audience, Query
from headwater.types import ArticleId

log = get_logger()

_Matches = Mapping[ArticleId, list[ChannelId]]


class Router:
    """The queries of all channels, compiled once for each version of them. One for each database and process."""

    def __init__(self) -> None:
        self._matcher: Matcher[ChannelId] = Matcher()
        self._version = -1
        self._read_only: frozenset[ChannelId] = frozenset()
        self._by_story: frozenset[ChannelId] = frozenset()
        self._loading = asyncio.Lock()

    async def route(self, conn: Connection, *, article_ids: Collection[ArticleId], now: datetime) -> int:
        """Give those of these articles a revision of which a message would say something new. Returns how many.

        The articles are locked (`articles.store.state.hold`). Nothing else may be locked after this.
        """
        visible = await find_visible(conn, sorted(article_ids), now)
        changed = await revisions.find_changed(conn, ids=sorted(article_ids), visible=visible) if article_ids else {}
        if not changed:
            return 0
        await queue_for_index(conn, article_ids=changed, now=now)
        routed = [one for one in visible if one in changed]
        version, matches = await self._match(conn, routed, now)
        taken = await revisions.take(conn, count=len(changed), now=now)
        if taken.channels_version != version:  # a channel was changed meanwhile; no other can be until we commit
            _, matches = await self._match(conn, routed, now)
        first = taken.last - len(changed) + 1
        new = {
            first + place: NewRevision(article_id, digest, matches.get(article_id, ()))
            for place, (article_id, digest) in enumerate(changed.items())
        }
        await revisions.write(conn, new=new, read_only=self._read_only, now=now)
        return len(new)

    async def route_stories(self, conn: Connection, *, article_ids: Collection[ArticleId], now: datetime) -> int:
        """The same for articles whose story changed: for channels that ask for a story, and only if one finds them."""
        await self._load(conn)
        if not article_ids or not self._by_story:
            return 0
        revised = await revisions.find_revised(conn, ids=sorted(article_ids))
        _, matches = await self._match(conn, await find_visible(conn, revised, now), now)
        found = {
            article_id: channels
            for article_id in revised
            if (channels := [one for one in matches.get(article_id, ()) if one in self._by_story])
        }
        if not found:
            return 0
        taken = await revisions.take(conn, count=len(found), now=now)
        known = {one.id for one in await records.list_routed(conn)}  # one may have been deleted meanwhile
        first = taken.last - len(found) + 1
        new = {
            first + place: NewRevision(article_id, None, [one for one in channels if one in known])
            for place, (article_id, channels) in enumerate(found.items())
        }
        await revisions.write(conn, new=new, read_only=self._read_only, now=now)
        return len(new)

    async def _match(self, conn: Connection, ids: Collection[ArticleId], now: datetime) -> tuple[int, _Matches]:
        """The channels of each visible article, and the version of the channels that they were found with."""
        async with self._loading:
            version = await self._load_locked(conn)
            if not len(self._matcher) or not ids:
                return version, {}
            documents = await read_documents(conn, sorted(ids))
            matches = await match_all(conn, self._matcher, documents, now)
        return version, matches

    async def _load(self, conn: Connection) -> int:
        async with self._loading:
            return await self._load_locked(conn)

    async def _load_locked(self, conn: Connection) -> int:
        version = await records.channels_version(conn)
        if version == self._version:
            return version
        saved: dict[ChannelId, Query] = {}
        channels = await records.list_routed(conn)
        for channel in channels:
            try:
                saved[channel.id] = parse(channel.query, Audience.EVERYONE)
            except Invalid as error:  # by a grammar of a newer version
                log.error("channel not routed", channel=str(channel.id), reason=str(error))  # noqa: TRY400
        self._matcher.update(saved)
        self._read_only = frozenset(one.id for one in channels if one.is_read)
        self._by_story = frozenset(channel_id for channel_id, query in saved.items() if has_story(query.tree))
        self._version = version
        return version


_ROUTERS: WeakKeyDictionary[Database, Router] = WeakKeyDictionary()


def router_of(database: Database) -> Router:
    """The router that all stages and requests of this process share."""
    return _ROUTERS.setdefault(database.origin, Router())
