"""The words of a simulation: what a poll is answered with, what a strategy does, and what is left of its month."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from headwater.polling.types import PollFailed

A_MOMENT = timedelta(minutes=5)  # what a probe may wait in its host's queue
UNSEEN, MISSED = -1.0, -2.0  # in place of a delay

Tick = Callable[[], object]
"""Called when a day is over."""


@dataclass(frozen=True, slots=True)
class Read:
    """A full answer: how many entries the feed has had so far, how many are new, and whether some were missed."""

    count: int
    new: int
    missed: bool


Answer = Read | PollFailed | None
"""None: not modified."""


@dataclass(frozen=True, slots=True)
class Return:
    """A feed that was off and answers again: how long it had done so unnoticed, and which cooldown it waited for."""

    feed: int
    stayed_off: timedelta
    cooldown: timedelta

    @property
    def is_late(self) -> bool:
        """Whether it stayed off longer than its cooldown."""
        return self.stayed_off > self.cooldown + A_MOMENT


@dataclass(frozen=True, slots=True)
class Disabling:
    """A feed that was switched off."""

    feed: int
    at: float


@dataclass(slots=True)
class Told:
    """What a strategy did to feeds and hosts, and how often it raised its voice."""

    warnings: int = 0
    errors: int = 0
    disablings: list[Disabling] = field(default_factory=list[Disabling])
    returns: list[Return] = field(default_factory=list[Return])
    host_pauses: int = 0
    mistaken_pauses: int = 0
    own_outages: int = 0
    own_failures_counted: int = 0


class Strategy(Protocol):
    """What is done after each poll."""

    told: Told

    def wants_full(self, feed: int, at: float) -> bool:
        """Whether to ask without validators."""
        ...

    def next_poll(self, feed: int, answer: Answer, due: float, at: float) -> tuple[float, float]:
        """When the feed is polled again, and until when its host is left alone."""
        ...

    def finish(self, end: float) -> None:
        """The month is over."""
        ...


@dataclass(frozen=True, slots=True)
class Played:
    """One strategy's month. A delay is that of one article, `UNSEEN` or `MISSED`; feed after feed, oldest first.

    Polls while our own network is gone reach nobody: they are `cut_off`, and not requests.
    """

    told: Told
    requests: Sequence[int]  # of each feed
    requests_per_day: Sequence[int]
    delays: Sequence[float]
    unchanged: int
    failed: int
    too_soon: int
    cut_off: int
