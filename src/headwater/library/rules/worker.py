"""The stage `rules`: applies the rules of readers to articles, in the order of their revisions.

One process at a time has the lease. A batch is read and matched outside any transaction that writes; then marks, log,
notifications and the progress are written together, so that a batch is applied once or not at all.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from headwater.accounts.quotas import Quotas
from headwater.db import Connection, Database
from headwater.errors import Deadlock
from headwater.ids import new_id
from headwater.library.notifications import store as notifications
from headwater.library.notifications.decide import next_digest_at
from headwater.library.notifications.types import WantedNotification
from headwater.library.rules import store
from headwater.library.rules.decide import changes_of, notifying_of, readable, within_quota
from headwater.library.rules.types import (
    ARRIVED_WITHIN,
    LOG_KEPT,
    ReaderRuleHit,
    RuleInUse,
    RulesTurn,
)
from headwater.library.store import marks
from headwater.observability.log import get_logger
from headwater.query.document import Document, ReaderContext
from headwater.query.matcher import Matcher
from headwater.query.matching import match_readers, prepare, read_documents
from headwater.query.store import read_contexts
from headwater.query.types import Query
from headwater.timekeeping import store as clocks
from headwater.timekeeping.decide import clock_problem
from headwater.types import ArticleId, Clock, UserId

log = get_logger()

ARTICLES_AT_ONCE = 50
LEASE = timedelta(minutes=2)
CLEANED_EVERY = timedelta(minutes=5)
CLEANED_AT_ONCE = 5_000
TRIES = 3


class RuleApplier:
    name = "rules"
    concurrency = 1

    def __init__(self, database: Database, clock: Clock, quotas: Quotas) -> None:
        self._database, self._clock, self._quotas = database, clock, quotas
        self._matcher: Matcher[UUID] = Matcher()
        self._rules: dict[UUID, RuleInUse] = {}  # by version
        self._queries: dict[UUID, Query] = {}  # of those that can be read
        self._fingerprint: tuple[int, int] = (0, 0)
        self._cleaned_at: datetime | None = None

    async def claim(self, limit: int) -> Sequence[RulesTurn]:
        """The next revisions, if there are any. Raises Unavailable."""
        now = self._clock()
        async with self._database.as_system() as conn:
            await self._clean(conn, now)
            turn = await store.claim(conn, lease=new_id(), now=now, ends_at=now + LEASE)
        return [turn][:limit] if turn else ()

    async def work(self, turn: RulesTurn) -> int:
        """Apply the rules to one batch. Returns how often a rule acted on an article. Raises Unavailable."""
        now = self._clock()
        async with self._database.as_system() as conn:
            await self._load(conn)
            # Without rules, everything until now is done.
            most = ARTICLES_AT_ONCE if self._rules else 0
            batch = await store.read_batch(conn, after=turn.done_to, limit=most)
            documents, contexts = await self._read(conn, batch.article_ids, now)
        matches = await self._match(documents, contexts, now)
        return await self._write(turn, matches, batch.done_to, now)

    async def lag(self) -> timedelta:
        """How long the oldest revision has been waiting. Raises Unavailable."""
        async with self._database.as_system() as conn:
            oldest = await store.oldest_waiting_at(conn)
        return max(self._clock() - oldest, timedelta(0)) if oldest else timedelta(0)

    async def _load(self, conn: Connection) -> None:
        """Read the rules that changed since the last batch."""
        current = await store.fingerprint(conn)
        if current == self._fingerprint:
            return
        versions = set(await store.list_versions(conn))
        kept = {version: rule for version, rule in self._rules.items() if version in versions}
        added = await store.list_in_use(conn, without=list(kept))
        queries = {version: query for version, query in self._queries.items() if version in kept}
        for rule, query in readable(added):  # the others are known: a change of one rule costs no more than that rule
            queries[rule.version] = query
            await asyncio.sleep(0)  # a query of 64 words takes 2 ms
        self._rules, self._queries = kept | {rule.version: rule for rule in added}, queries
        self._matcher.update(queries)
        self._fingerprint = current
        log.info("rules read", rules=len(self._rules), changed=len(added))

    async def _read(
        self, conn: Connection, article_ids: Sequence[ArticleId], now: datetime
    ) -> tuple[Mapping[ArticleId, Document], Mapping[tuple[ArticleId, UserId], ReaderContext]]:
        """The articles that arrived lately for a reader with rules, and what these readers' feeds say about them."""
        arrived = await store.list_arrived(conn, article_ids=article_ids, since=now - ARRIVED_WITHIN)
        if not arrived:
            return {}, {}
        wanted = sorted({article_id for article_id, _ in arrived})
        documents = await read_documents(conn, wanted)
        contexts = await read_contexts(conn, article_ids=wanted, user_ids=sorted({user_id for _, user_id in arrived}))
        await prepare(conn, self._matcher, documents.values())
        return documents, {key: context for key, context in contexts.items() if key in arrived}

    async def _match(
        self, documents: Mapping[ArticleId, Document],
        contexts: Mapping[tuple[ArticleId, UserId], ReaderContext], now: datetime,
    ) -> list[ReaderRuleHit]:  # fmt: skip
        readers: dict[ArticleId, dict[UserId, ReaderContext]] = {}
        for (article_id, user_id), context in contexts.items():
            readers.setdefault(article_id, {})[user_id] = context
        matches: list[ReaderRuleHit] = []
        for article_id, document in documents.items():
            found = match_readers(
                self._matcher, document, readers.get(article_id, {}), lambda version: self._rules[version].user_id, now
            )
            # The oldest rule first: where there are too many tags or notifications, it is not by chance which are left.
            rules = sorted((self._rules[version] for version in found), key=lambda rule: rule.id)
            matches += [ReaderRuleHit(rule, article_id) for rule in rules]
            await asyncio.sleep(0)  # other stages of this process run meanwhile
        return matches

    async def _write(self, turn: RulesTurn, matches: Sequence[ReaderRuleHit], done_to: int, now: datetime) -> int:
        """A reader who marks the same articles at this moment may lock them in another order: then it is done again."""
        for attempt in range(1, TRIES + 1):
            try:
                async with self._database.as_system() as conn:
                    return await self._apply(conn, turn, matches, done_to, now)
            except Deadlock:
                if attempt == TRIES:
                    raise
        raise AssertionError("unreachable")

    async def _apply(
        self, conn: Connection, turn: RulesTurn, matches: Sequence[ReaderRuleHit], done_to: int, now: datetime
    ) -> int:
        if not await store.is_leased(conn, lease=turn.lease):
            return 0  # another process took over
        matches = await self._keep_arrived(conn, matches, now) if matches else []
        fresh = await store.log_matches(conn, matches=matches, now=now) if matches else []
        if changes := changes_of(fresh):
            await marks.apply_rules(conn, changes=changes, most_tags=self._quotas.tags, now=now)
        if notifying := notifying_of(fresh):
            await self._notify(conn, notifying, now)
        await store.finish(conn, lease=turn.lease, done_to=done_to)
        return len(fresh)

    async def _keep_arrived(
        self, conn: Connection, matches: Sequence[ReaderRuleHit], now: datetime
    ) -> list[ReaderRuleHit]:
        """Those of these matches whose article, feed and reader were not deleted since they were read."""
        await store.hold(conn, matches=matches)
        ids = sorted({match.article_id for match in matches})
        arrived = await store.list_arrived(conn, article_ids=ids, since=now - ARRIVED_WITHIN)
        return [match for match in matches if (match.article_id, match.rule.user_id) in arrived]

    async def _notify(self, conn: Connection, matches: Sequence[ReaderRuleHit], now: datetime) -> None:
        readers = sorted({match.rule.user_id for match in matches})
        used = await notifications.count_since(conn, user_ids=readers, since=now - timedelta(days=1))
        wanted = [
            WantedNotification(match.rule.user_id, kind, match.article_id, match.rule.id)
            for match in within_quota(matches, used, self._quotas.notifications_per_day)
            for kind in match.rule.actions.notify
        ]
        await notifications.queue(conn, wanted=wanted, now=now, digest_at=next_digest_at(now))

    async def _clean(self, conn: Connection, now: datetime) -> None:
        """Now and then, delete what is no longer needed; nothing while the clock cannot be trusted."""
        if self._cleaned_at is not None and abs(now - self._cleaned_at) < CLEANED_EVERY:
            return
        self._cleaned_at = now
        if clock_problem(now, await clocks.read(conn)) is None:
            await store.remove_log(conn, before=now - LOG_KEPT, limit=CLEANED_AT_ONCE)
            await notifications.remove_before(conn, before=now - LOG_KEPT, limit=CLEANED_AT_ONCE)
