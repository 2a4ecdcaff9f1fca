"""From a user's articles of the last day to a summary: a row that reserves it, the writing outside any transaction,
then the result and its event in one transaction."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files
from uuid import UUID

from headwater.accounts.store import attempts
from headwater.accounts.store.events import record
from headwater.accounts.types import EventType
from headwater.ai.client import AiClient
from headwater.ai.types import AiCall, AiMessage, NotAnswered, NotAnsweredKind, Purpose
from headwater.db import Database
from headwater.errors import AiUnavailable, NoArticles, QuotaReached, SummaryFailed, Unavailable
from headwater.ids import new_id
from headwater.library.summaries import store
from headwater.library.summaries.decide import CLOCKS_APART, FAILED, UNAVAILABLE, cite, prompt_of, shown, written_of
from headwater.library.summaries.extractive import summarise
from headwater.library.summaries.types import (
    BEYOND_BUDGET,
    ON_THIS_MACHINE,
    DayArticle,
    NotWritten,
    ShownSummary,
    Summary,
    SummaryOptions,
    SummaryOutcome,
    Written,
)
from headwater.observability.log import get_logger
from headwater.types import Clock, UserId

log = get_logger()

ALL_REQUESTS = "summaries:all"
ARTICLES_MAX = 100
PERIOD = timedelta(hours=24)
PROMPT = (files("headwater.library.summaries") / "prompt.txt").read_text(encoding="utf-8")


class SummaryWriter:
    def __init__(self, database: Database, clock: Clock, options: SummaryOptions) -> None:
        self._database, self._clock, self._options = database, clock, options

    @property
    def _ai(self) -> AiClient:
        return AiClient(self._database, self._clock, self._options.ai)

    async def latest(self, user_id: UserId) -> ShownSummary:
        async with self._database.as_user(user_id) as conn:
            newest, ready = await store.find_newest(conn), await store.find_ready(conn)
        return shown(newest, ready, self._clock(), self._options)

    async def make(self, user_id: UserId) -> ShownSummary:
        """A new summary, or the one being made. Raises NoArticles, QuotaReached, SummaryFailed, AiUnavailable."""
        summary_id = new_id()
        articles = await self._begin(summary_id, user_id)
        if articles is None:
            return await self.latest(user_id)
        try:
            outcome = await self._write(articles)
            if isinstance(outcome, Written):
                return ShownSummary(await self._finish(summary_id, user_id, outcome, len(articles)))
        except BaseException:  # also when cancelled: the row should not wait for its timeout
            with suppress(Unavailable):
                await self._fail(summary_id, user_id, FAILED)
            raise
        unavailable = outcome.is_unavailable
        await self._fail(summary_id, user_id, UNAVAILABLE if unavailable else FAILED)
        reason = outcome.reason
        log.warning("summary not written", model=self._options.model, reason=reason, is_unavailable=unavailable)
        raise AiUnavailable if unavailable else SummaryFailed

    async def _begin(self, summary_id: UUID, user_id: UserId) -> list[DayArticle] | None:
        """Claim the making of a summary; None if it is being made. Raises NoArticles, QuotaReached."""
        now = self._clock()
        async with self._database.as_user(user_id) as conn:
            await store.repair_future(conn, after=now + CLOCKS_APART, began_at=now - PERIOD)
            await store.fail(conn, before=now - self._options.given_up_after, error=FAILED, now=now)
            if not await store.begin(conn, summary_id=summary_id, user_id=user_id, now=now):
                return None
            # A user has one summary in the making, over all processes: none is started before this count.
            if limit := self._options.daily_limit:
                begun = await store.list_begun(conn, since=now - PERIOD, limit=limit + 1)
                if len(begun) > limit:
                    raise QuotaReached("summaries", limit, PERIOD, begun[-1] + PERIOD - now)
            await store.remove_failed(conn, before=now - PERIOD)
            articles = await store.list_articles(conn, since=now - PERIOD, limit=ARTICLES_MAX)
            if not articles:
                raise NoArticles
        return articles

    async def _write(self, articles: list[DayArticle]) -> SummaryOutcome:
        if not self._ai.has_key or not await self._may_request():
            return await _write_here(articles, ON_THIS_MACHINE)
        prompt = prompt_of(PROMPT, articles, self._options.prompt_max)
        outcome = await self._ask(prompt)
        if isinstance(outcome, NotWritten):
            log.info("summary retried", model=self._options.model, reason=outcome.reason)
            await asyncio.sleep(self._options.retry_after.total_seconds())
            outcome = await self._ask(prompt) if await self._may_request() else outcome
        if outcome is None:
            return await _write_here(articles, BEYOND_BUDGET)
        if isinstance(outcome, NotWritten):
            return outcome
        return replace(outcome, content=cite(outcome.content, articles))

    async def _ask(self, prompt: str) -> SummaryOutcome | None:
        """One request to the service. None: the budget of the month is reached."""
        options = self._options
        outcome = await self._ai.ask(
            AiCall(
                Purpose.SUMMARY, options.model, [AiMessage("user", prompt)], options.max_tokens, options.temperature,
                timeout=options.timeout,
            )
        )  # fmt: skip
        is_refused = isinstance(outcome, NotAnswered) and outcome.kind is NotAnsweredKind.BUDGET
        return None if is_refused else written_of(outcome)

    async def _may_request(self) -> bool:
        """Count one request to the service, of any user, so that many accounts cost no more than allowed."""
        if not self._options.total_limit:
            return True
        now = self._clock()
        async with self._database.as_system() as conn:
            asked, _ = await attempts.count(conn, bucket=ALL_REQUESTS, now=now, ends_at=now + PERIOD)
        if asked == self._options.total_limit + 1:
            log.warning("summaries are made on this machine for now", reason="HEADWATER_SUMMARY_TOTAL_LIMIT is reached")
        return asked <= self._options.total_limit

    async def _finish(self, summary_id: UUID, user_id: UserId, written: Written, count: int) -> Summary | None:
        now = self._clock()
        async with self._database.as_user(user_id) as conn:
            summary = await store.finish(conn, summary_id=summary_id, written=written, article_count=count, now=now)
            if summary is not None:
                await record(conn, user_id, EventType.SUMMARY_GENERATED, now, article_count=count)
        return summary

    async def _fail(self, summary_id: UUID, user_id: UserId, error: str) -> None:
        async with self._database.as_user(user_id) as conn:
            await store.fail(conn, summary_id=summary_id, error=error, now=self._clock())


async def _write_here(articles: list[DayArticle], model: str) -> Written:
    return Written(await asyncio.to_thread(summarise, articles), model)
