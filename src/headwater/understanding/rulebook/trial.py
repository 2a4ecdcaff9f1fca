"""Tests a rule on the newest articles, before it is enabled. Nothing is written; limited in articles and time."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from headwater.channels.visible import find_visible
from headwater.db import Database
from headwater.observability.log import get_logger
from headwater.sandbox import Overrun, Sandbox
from headwater.types import ArticleId, Clock, SourceId
from headwater.understanding.plain_text import TEXT_MAX_CHARS
from headwater.understanding.rulebook import store
from headwater.understanding.rulebook.matching import find_matches
from headwater.understanding.rulebook.types import RuleExample, RuleHit, RuleTrial
from headwater.understanding.store import read_articles
from headwater.understanding.types import ArticleText, ClassificationRule

log = get_logger()

DAYS: Final = 7
DAYS_MOST: Final = 30
ARTICLES_MOST: Final = 5_000
EXAMPLES_MOST: Final = 50
TIME_LIMIT: Final = timedelta(seconds=15)
_BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class RuleTester:
    """Without a sandbox, texts are read in a thread of this process."""

    database: Database
    clock: Clock
    sandbox: Sandbox | None = None
    most: int = ARTICLES_MOST
    time_limit: timedelta = TIME_LIMIT

    async def test(self, rule: ClassificationRule, *, days: int = DAYS) -> RuleTrial:
        """What the rule would have matched. Raises DatabaseUnavailable, SandboxClosed."""
        started = self.clock()
        async with self.database.transaction() as conn:
            recent = await store.list_recent(conn, since=started - timedelta(days=days), limit=self.most)
            ids = await find_visible(conn, recent, started)  # moderators may not see the others
        tested = matched = unreadable = 0
        examples: list[RuleExample] = []
        while tested + unreadable < len(ids) and self.clock() - started < self.time_limit:
            at = tested + unreadable
            async with self.database.transaction() as conn:
                found = await read_articles(conn, ids=ids[at : at + _BATCH], max_chars=TEXT_MAX_CHARS)
            articles, size = list(found.items()), len(ids[at : at + _BATCH])
            missing = EXAMPLES_MOST - len(examples)
            hits = await self._match(rule, [text for _, text in articles], missing)
            if hits is None:
                unreadable += size
                continue
            tested, matched = tested + size, matched + len(hits)
            examples += [_example(*articles[hit.number], hit) for hit in hits[:missing]]
        is_out_of_time = tested + unreadable < len(ids)
        is_whole = len(recent) < self.most and not is_out_of_time
        return RuleTrial(days, tested, matched, unreadable, is_whole, is_out_of_time, examples)

    async def _match(
        self, rule: ClassificationRule, articles: list[ArticleText], explained: int
    ) -> list[RuleHit] | None:
        """None: one of them exceeded a limit."""
        if self.sandbox is None:
            return await asyncio.to_thread(find_matches, rule, articles, explained)
        try:
            return await self.sandbox.run(find_matches, rule, articles, explained)
        except Overrun as error:
            log.warning("articles not tested", rule=rule.name, reason=str(error))
            return None


def _example(article_id: ArticleId, article: ArticleText, hit: RuleHit) -> RuleExample:
    return RuleExample(
        article_id, article.url, article.title or article.url, hit.score, hit.keywords, hit.patterns,
        [SourceId(one) for one in hit.source_ids],
    )  # fmt: skip
