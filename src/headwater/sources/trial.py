"""Trying a source: its feed is asked for and read as a poll would, and told as one. Nothing of it is kept."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from headwater.articles.types import NewArticle
from headwater.db import Database
from headwater.errors import NothingToPoll
from headwater.net import Client
from headwater.polling.ask import ask
from headwater.polling.decide import decide
from headwater.polling.explain import explain
from headwater.polling.policy import policy_named
from headwater.polling.types import HostDecision, Polled, PollingOptions, PollOutcome, PollReport, Validators
from headwater.sandbox import Sandbox
from headwater.sources import store
from headwater.sources.health.store import find_claimed
from headwater.sources.types import Source
from headwater.types import Clock

SHOWN = 10
NONE_YET = Validators(None, None)  # so that the feed is sent whole, changed or not


@dataclass(frozen=True, slots=True)
class Trial:
    """What a poll would have come to, as sentences, and the first entries that it would have read."""

    has_succeeded: bool
    sentences: Sequence[str]
    entries: Sequence[NewArticle]


class Trials:
    """Polls that leave no trace."""

    def __init__(
        self, database: Database, client: Client, sandbox: Sandbox, clock: Clock, options: PollingOptions
    ) -> None:
        self._database = database
        self._client = client
        self._sandbox = sandbox
        self._clock = clock
        self._options = options

    async def attempt(self, source: Source) -> Trial:
        """Ask for a source's feed. Raises NothingToPoll, Unavailable."""
        async with self._database.transaction() as conn:
            feed = await find_claimed(conn, source_id=source.id)
        if feed is None:
            raise NothingToPoll(source.name)
        started = time.perf_counter()
        policy = policy_named(feed.policy or self._options.policy)
        asked = await ask(
            replace(feed, validators=NONE_YET),
            policy,
            client=self._client,
            sandbox=self._sandbox,
            clock=self._clock,
            options=self._options,
        )
        took = timedelta(seconds=time.perf_counter() - started)
        decision = decide(feed.state, asked.outcome, policy, self._options, self._clock())
        entries = _entries(asked.outcome)
        new = len(entries) - await self._count_known(entries)
        report = PollReport(source.id, feed.feed_url, asked.outcome, decision, HostDecision(feed.host_state), new, took)
        return Trial(isinstance(asked.outcome, Polled), explain(report), entries[:SHOWN])

    async def _count_known(self, entries: Sequence[NewArticle]) -> int:
        async with self._database.transaction() as conn:
            known = await store.find_listed(conn, url_keys=[entry.url_key for entry in entries])
        return sum(entry.url_key in known for entry in entries)


def _entries(outcome: PollOutcome) -> Sequence[NewArticle]:
    return outcome.feed.entries if isinstance(outcome, Polled) else ()
