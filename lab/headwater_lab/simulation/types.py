"""Types of a simulation: the answer to a poll, a strategy, and the result of a month."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from headwater.polling.types import PollFailed

TOLERANCE = timedelta(minutes=5)  # for the wait of a probe in its host's queue
UNSEEN, MISSED = -1.0, -2.0  # in place of a delay

Tick = Callable[[], object]
"""Called when a day is over."""


@dataclass(frozen=True, slots=True)
class FullResponse:
    """A 200 response: the number of entries so far, how many are new, and whether some were missed."""

    count: int
    new: int
    missed: bool


PollAnswer = FullResponse | PollFailed | None
"""None: not modified."""


@dataclass(frozen=True, slots=True)
class FeedReturn:
    """A disabled feed that works again: how long it had worked before it was polled, and its cooldown."""

    feed: int
    stayed_off: timedelta
    cooldown: timedelta

    @property
    def is_late(self) -> bool:
        return self.stayed_off > self.cooldown + TOLERANCE


@dataclass(frozen=True, slots=True)
class FeedDisabled:
    feed: int
    at: float


@dataclass(slots=True)
class StrategyLog:
    """What a strategy did to feeds and hosts, and how often it would have logged."""

    warnings: int = 0
    errors: int = 0
    disablings: list[FeedDisabled] = field(default_factory=list[FeedDisabled])
    returns: list[FeedReturn] = field(default_factory=list[FeedReturn])
    host_pauses: int = 0
    mistaken_pauses: int = 0
    own_outages: int = 0
    own_failures_counted: int = 0


class Strategy(Protocol):
    log: StrategyLog

    def wants_full(self, feed: int, at: float) -> bool:
        """Whether to ask without validators."""
        ...

    def next_poll(self, feed: int, answer: PollAnswer, due: float, at: float) -> tuple[float, float]:
        """When the feed is polled again, and until when its host is paused."""
        ...

    def finish(self, end: float) -> None:
        """Called at the end of the month."""
        ...


@dataclass(frozen=True, slots=True)
class Played:
    """One strategy's month. A delay is that of one article, `UNSEEN` or `MISSED`; feed after feed, oldest first.

    Polls while our own network is down are `cut_off`, not requests.
    """

    log: StrategyLog
    requests: Sequence[int]  # of each feed
    requests_per_day: Sequence[int]
    delays: Sequence[float]
    unchanged: int
    failed: int
    too_soon: int
    cut_off: int
