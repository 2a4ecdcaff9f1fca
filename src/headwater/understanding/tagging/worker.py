"""Tagging: claims articles that the models on this machine are not sure of, asks a language model, writes its labels.

An unusable answer is an attempt; after three the article is tagged, without tags. A service that is unavailable and a
budget that is reached are no attempts: the stage pauses, and the article stays in the queue. docs/understanding.md
describes the order and what is sent.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from headwater.ai.client import AiClient
from headwater.ai.types import AiAnswer, AiOutcome, Budget, BudgetLevel, NotAnswered, NotAnsweredKind
from headwater.articles.store import state
from headwater.channels.route import router_of
from headwater.channels.visible import find_visible
from headwater.db import Database
from headwater.errors import Unavailable
from headwater.ids import first_id_at, new_id
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.types import Clock
from headwater.understanding.tagging import decide, store
from headwater.understanding.tagging.answer import read_tags
from headwater.understanding.tagging.prompt import PROMPT_VERSION, READ_MAX, call_of
from headwater.understanding.tagging.types import (
    TaggingOptions,
    TaggingOutcome,
    TaggingPause,
    Tags,
    UnfitAnswer,
    WaitingArticle,
)

log = get_logger()

ADMITTED_AT_ONCE = 500
ADMITTED_EVERY = timedelta(seconds=5)
COUNTED_EVERY = timedelta(minutes=10)  # how many readers are many


class Tagger:
    name = "tagging"
    check_interval = timedelta(seconds=5)

    def __init__(self, database: Database, clock: Clock, ai: AiClient, options: TaggingOptions) -> None:
        self._database, self._clock, self._ai, self._options = database, clock, ai, options
        self.concurrency = options.concurrency
        self._pause = TaggingPause()
        self._claimed = self._in_progress = 0
        self._admitted_at: datetime | None = None
        self._many: tuple[datetime, int] | None = None
        self._warned: date | None = None

    async def claim(self, limit: int) -> Sequence[WaitingArticle]:
        """The next articles, as far as budget and service allow. Raises DatabaseUnavailable."""
        if not self._ai.has_key:
            return ()
        now = self._clock()
        await self._admit(now)
        limit = decide.how_many(limit, self._pause, self._in_progress, now)
        if not limit:
            return ()
        budget = await self._ai.budget()
        if budget.level is BudgetLevel.REACHED:
            self._warn(budget)
            return ()
        least_readers = await self._many_readers(now) if budget.level is BudgetLevel.SAVING else 0
        longest = decide.share_of_waiting(self._claimed, limit, budget.level)
        claimed = await self._lease(now, limit, longest, least_readers)
        self._claimed, self._in_progress = self._claimed + len(claimed), self._in_progress + len(claimed)
        return claimed

    async def lag(self) -> timedelta:
        """How long the longest-waiting article has been waiting; 0 while articles wait for the budget. Raises
        DatabaseUnavailable."""
        if not self._ai.has_key or (await self._ai.budget()).level is not BudgetLevel.NORMAL:
            return timedelta(0)
        now = self._clock()
        async with self._database.transaction() as conn:
            oldest = await store.oldest_waiting_at(conn, now=now)
        return max(now - oldest, timedelta(0)) if oldest else timedelta(0)

    async def work(self, article: WaitingArticle) -> TaggingOutcome:
        """Tag one article. Raises DatabaseUnavailable: the lease then frees the article."""
        try:
            outcome = await self._tag(article)
        except Unavailable:
            raise
        except Exception:  # a bug: without an attempt, the article would be paid for again and again
            await self._fail(article, "internal error")
            raise
        finally:
            self._in_progress -= 1
        metrics.TAGGED.labels(outcome=outcome.value).inc()
        return outcome

    async def _admit(self, now: datetime) -> None:
        """Count the readers of what is new; withdraw what is too old. Until nothing is left, then every few seconds."""
        if self._admitted_at is not None and timedelta(0) <= now - self._admitted_at < ADMITTED_EVERY:
            return
        oldest = first_id_at(now - decide.OLDEST)
        async with self._database.as_system() as conn:
            admitted = await store.admit(conn, oldest=oldest, now=now, limit=ADMITTED_AT_ONCE)
            withdrawn = await store.withdraw_old(conn, oldest=oldest, now=now, limit=ADMITTED_AT_ONCE)
        if ADMITTED_AT_ONCE not in {admitted, withdrawn}:
            self._admitted_at = now

    async def _many_readers(self, now: datetime) -> int:
        if self._many is None or not timedelta(0) <= now - self._many[0] < COUNTED_EVERY:
            async with self._database.as_system() as conn:
                self._many = now, await store.count_many_readers(conn)
        return self._many[1]

    async def _lease(self, now: datetime, limit: int, longest: int, least_readers: int) -> Sequence[WaitingArticle]:
        lease, until, since = new_id(), now + self._options.lease, now - decide.WAITED_LONG
        async with self._database.transaction() as conn:
            ids = await store.list_longest(conn, now=now, since=since, limit=longest) if longest else []
            first = await store.lease(conn, ids=ids, lease=lease, leased_until=until)
            ids = await store.list_best(conn, now=now, least_readers=least_readers, limit=limit - len(first))
            return first + await store.lease(conn, ids=ids, lease=lease, leased_until=until)

    def _warn(self, budget: Budget) -> None:
        """Once a month. The client has logged it if it has refused a call."""
        if budget.reached_at is None and self._warned != budget.month:
            log.warning("tagging skipped: AI budget reached", month=f"{budget.month:%Y-%m}")
        self._warned = budget.month

    async def _tag(self, article: WaitingArticle) -> TaggingOutcome:
        async with self._database.transaction() as conn:
            # Not what only private feeds list or listed: also its page may be private.
            is_public = bool(await find_visible(conn, [article.article_id], self._clock()))
            text = await store.read_article(conn, article_id=article.article_id, max_chars=READ_MAX)
        call = call_of(text, self._options) if text and is_public else None
        if call is None:
            return await self._finish(article, TaggingOutcome.SKIPPED, due_at=None)
        pause = self._pause
        answer = await self._ai.ask(call)
        self._note(answer, pause)
        match read_tags(answer.content) if isinstance(answer, AiAnswer) else answer:
            case Tags() as tags:
                labels = decide.labels_of(tags, model=self._options.model, prompt_version=PROMPT_VERSION)
                return await self._finish(article, TaggingOutcome.TAGGED, labels=labels)
            case UnfitAnswer(reason) | NotAnswered(reason, NotAnsweredKind.FAILED):
                return await self._fail(article, reason)
            case NotAnswered():
                return await self._finish(article, TaggingOutcome.POSTPONED, due_at=self._clock())

    def _note(self, answer: AiOutcome, before: TaggingPause) -> None:
        """Pause after a refusal. Of several calls that were made at the same time, the first counts."""
        now = self._clock()
        if isinstance(answer, NotAnswered) and answer.kind is not NotAnsweredKind.FAILED:
            if self._pause is not before:
                return
            if answer.kind is NotAnsweredKind.BUDGET:
                self._pause = TaggingPause(before.failures, now + decide.PAUSE_FOR_BUDGET)
                return
            self._pause = decide.paused_after(before, now, answer.retry_after)
            if not before.failures:
                log.warning("tagging paused", reason=answer.reason, until=str(self._pause.until))
        elif self._pause.failures:
            self._pause = TaggingPause()
            log.info("tagging continues")

    async def _fail(self, article: WaitingArticle, reason: str) -> TaggingOutcome:
        attempts = article.attempts + 1
        due_at = decide.retry_at(attempts, self._clock())
        log.warning("article not tagged", article=str(article.article_id), reason=reason, attempts=attempts)
        outcome = TaggingOutcome.FAILED if due_at else TaggingOutcome.GIVEN_UP
        return await self._finish(article, outcome, attempts=attempts, due_at=due_at)

    async def _finish(
        self,
        article: WaitingArticle,
        outcome: TaggingOutcome,
        *,
        labels: Sequence[NewLabel] = (),
        attempts: int | None = None,
        due_at: datetime | None = None,
    ) -> TaggingOutcome:
        """Write what became of it. The article is locked before its state, as its deletion does."""
        now, is_tagged = self._clock(), outcome in {TaggingOutcome.TAGGED, TaggingOutcome.GIVEN_UP}
        attempts = article.attempts if attempts is None else attempts
        async with self._database.transaction() as conn:
            held = await state.hold(conn, ids=[article.article_id])
            if not held or not await store.finish(
                conn, article=article, is_tagged=is_tagged, attempts=attempts, due_at=due_at, now=now
            ):
                return TaggingOutcome.LOST
            if is_tagged:
                given = {article.article_id: labels}
                await replace_labels(conn, given=given, method=Method.AI, schemes=decide.AI_SCHEMES, now=now)
                await router_of(self._database).route(conn, article_ids=held, now=now)
        return outcome
