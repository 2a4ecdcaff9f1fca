"""The stage `stories`: joins classified articles to stories. One worker at a time has the stories of the last 72 hours
in memory, under a lease; another takes over when it expires, and reads them from the database first.

What is in memory is never ahead of what is written: after anything that failed it is read again.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from headwater.articles.store import state
from headwater.channels.route import router_of
from headwater.db import Connection, Database
from headwater.ids import new_id, time_of
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.stories import store
from headwater.stories.cluster import StoryClusters
from headwater.stories.decide import (
    REVIEWED_EVERY,
    LeaseState,
    first_remembered,
    is_review_due,
    lease_state,
    to_article,
)
from headwater.stories.types import ClusterOptions, StoryArticle, StoryLease, StoryRow, StoryTurn
from headwater.types import ArticleId, Clock

log = get_logger()

LEASE = timedelta(minutes=5)  # reviewing 100,000 articles after a restart takes less
BATCH = 100
RESTORED_AT_ONCE = 1_000
SWEPT_AT_ONCE = 500
SWEEPS = 20  # with each review


class _LeaseLost(Exception):
    """Another worker groups now."""


class StoryGrouper:
    name = "stories"
    concurrency = 1

    def __init__(self, database: Database, clock: Clock, options: ClusterOptions | None = None) -> None:
        self._database, self._clock, self._options = database, clock, options or ClusterOptions()
        self._lease = new_id()
        self._clusters: StoryClusters | None = None

    async def claim(self, _limit: int) -> Sequence[StoryTurn]:
        """The next articles, if this worker has the lease or can get it. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            found = await store.lock_lease(conn)
            holder = lease_state(found, self._lease, now)
            if holder is LeaseState.TAKEN:
                return ()
            due, is_due = await store.list_due(conn, limit=BATCH), is_review_due(found, now)
            if not due and not is_due:
                return ()
            await store.set_lease(conn, lease=self._lease, leased_until=now + LEASE)
        if holder is LeaseState.FREE:
            self._clusters = None
        return [StoryTurn(due, is_due)]

    async def lag(self) -> timedelta:
        """How long the oldest due article has been classified. Raises DatabaseUnavailable."""
        async with self._database.transaction() as conn:
            oldest = await store.oldest_due_at(conn)
        return max(self._clock() - oldest, timedelta(0)) if oldest else timedelta(0)

    async def work(self, turn: StoryTurn) -> None:
        """Place the articles, and review the stories once an hour. Raises DatabaseUnavailable."""
        clusters, self._clusters = self._clusters, None  # forgotten unless all is written
        try:
            clusters = clusters or await self._restore()
            await self._place(clusters, turn.article_ids)
            if turn.is_review_due:
                await self._review(clusters)
                await self._sweep()
        except _LeaseLost:
            log.info("stories left to another worker")
            return
        self._clusters = clusters

    async def _restore(self) -> StoryClusters:
        """The stories as they are written."""
        clusters = StoryClusters(new_id, self._options)
        after = first_remembered(self._clock(), self._options.span)
        while True:
            async with self._database.transaction() as conn:
                reviewed_at = (await self._renew(conn)).reviewed_at
                ids = await store.list_placed(conn, after=after, limit=RESTORED_AT_ONCE)
                rows = await store.read_articles(conn, ids=ids)
            await asyncio.to_thread(_restore_all, clusters, rows, reviewed_at)
            if len(ids) < RESTORED_AT_ONCE:
                log.info("stories read", articles=len(clusters))
                return clusters
            after = ids[-1]

    async def _place(self, clusters: StoryClusters, ids: Sequence[ArticleId]) -> None:
        now = self._clock()
        before = first_remembered(now, self._options.span)
        async with self._database.transaction() as conn:
            rows = await store.read_articles(conn, ids=[one for one in ids if one >= before])
        articles = [article for row in rows if (article := to_article(row))]
        await asyncio.to_thread(_place_all, clusters, articles, now - self._options.span)
        embeddings = {ArticleId(row.id): row.embedding for row in rows}
        async with self._database.transaction() as conn:
            await self._renew(conn)
            await state.hold(conn, ids=sorted({*ids, *clusters.waiting()}))  # in the order of all other writers
            moved = await self._write(conn, clusters, now)
            await store.finish_articles(conn, ids=ids, embeddings=embeddings)
            await router_of(self._database).route_stories(conn, article_ids=moved, now=now)
        metrics.PLACED.inc(len(ids))
        log.debug("articles placed", articles=len(ids), remembered=len(clusters))

    async def _review(self, clusters: StoryClusters) -> None:
        report = await asyncio.to_thread(clusters.review)
        now = self._clock()
        async with self._database.transaction() as conn:
            await self._renew(conn)
            moved = await self._write(conn, clusters, now)
            await store.finish_review(conn, now=now)
            await router_of(self._database).route_stories(conn, article_ids=moved, now=now)
        log.info(
            "stories reviewed", stories=report.stories, articles=report.articles, merged=report.merged, left=report.left
        )

    async def _sweep(self) -> None:
        """Count some stories again: articles are deleted, and stories without articles go with them."""
        for _ in range(SWEEPS):
            async with self._database.transaction() as conn:
                after = (await self._renew(conn)).swept_at
                until = await store.sweep(conn, after=after, limit=SWEPT_AT_ONCE, now=self._clock())
                await store.finish_sweep(conn, until=until)
            if until is None:
                return

    async def _write(self, conn: Connection, clusters: StoryClusters, now: datetime) -> list[ArticleId]:
        """The articles whose story changed."""
        placements = clusters.take_placements()
        stories = {one.story_id for one in placements} - {None}
        heads = {story: head for story in sorted(stories, key=str) if story and (head := clusters.nearest(story))}
        return await store.write_placements(conn, placements=placements, heads=heads, now=now)

    async def _renew(self, conn: Connection) -> StoryLease:
        """Raises _LeaseLost."""
        found = await store.lock_lease(conn)
        if found.lease != self._lease:
            raise _LeaseLost
        await store.set_lease(conn, lease=self._lease, leased_until=self._clock() + LEASE)
        return found


def _restore_all(clusters: StoryClusters, rows: Sequence[StoryRow], reviewed_at: datetime | None) -> None:
    for row in rows:
        if article := to_article(row):
            first_at = row.story_first_at.timestamp() if row.story_first_at else None
            # An article is placed some time after its arrival.
            is_reviewed = reviewed_at is not None and time_of(row.id) < reviewed_at - REVIEWED_EVERY
            clusters.restore(article, row.story_id, first_at, is_reviewed=is_reviewed)


def _place_all(clusters: StoryClusters, articles: Sequence[StoryArticle], before: datetime) -> None:
    clusters.forget_before(before.timestamp())
    for article in articles:
        clusters.place(article)
