"""Histories of polls, played through `decide`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headwater.ids import new_id
from headwater.polling.decide import decide
from headwater.polling.policy import policy_named
from headwater.polling.types import (
    ClaimedFeed,
    Decision,
    FailureClass,
    FeedState,
    Happening,
    HostState,
    Level,
    NotModified,
    Polled,
    PollFailed,
    PollingOptions,
    PollOutcome,
    Validators,
)
from headwater.types import SourceId
from headwater.urls import host_of
from tests.builders import a_read_feed
from tests.clock import START

HOUR = timedelta(hours=1)
OPTIONS = PollingOptions(
    interval=HOUR,
    interval_min=timedelta(minutes=15),
    interval_max=timedelta(days=1),
    host_delay=timedelta(seconds=3),
    concurrency=10,
    timeout=timedelta(seconds=30),
    lease=timedelta(minutes=1),
    max_bytes=10_000_000,
    max_entries=50,
    policy="default",
)
NONE = Validators(None, None)
GOOD = Polled(a_read_feed(), NONE)
SAME = NotModified(NONE)

Given = PollOutcome | tuple[str, int | None] | str


@dataclass(frozen=True)
class Step:
    now: datetime
    decision: Decision

    @property
    def state(self) -> FeedState:
        return self.decision.state

    @property
    def wait(self) -> timedelta:
        return self.decision.next_poll_at - self.now

    @property
    def level(self) -> Level | None:
        return self.decision.level

    @property
    def happened(self) -> tuple[Happening, ...]:
        return self.decision.happenings


def a_state(number: int = 1) -> FeedState:
    """A feed that was read before. Its id is always the same, and so is the jitter that is made from it."""
    return FeedState(SourceId(UUID(int=number)), last_full_at=START - HOUR)


def a_new_feed() -> FeedState:
    """A feed that was never read."""
    return FeedState(SourceId(UUID(int=2)))


def a_claimed_feed(url: str = "https://feeds.example/1.xml", state: FeedState | None = None) -> ClaimedFeed:
    host, state = host_of(url), state or a_new_feed()
    return ClaimedFeed(url, host, new_id(), 0, None, Validators('"1"', None), state, HostState(host))


def outcome(given_outcome: Given) -> PollOutcome:
    match given_outcome:
        case "good":
            return GOOD
        case "same":
            return SAME
        case str():
            return PollFailed(FailureClass(given_outcome), "It failed.")
        case tuple():
            return PollFailed(FailureClass(given_outcome[0]), "It failed.", given_outcome[1])
        case _:
            return given_outcome


def play(
    policy: str, history: Sequence[Given], *, state: FeedState | None = None, start: datetime = START
) -> list[Step]:
    """Poll after poll, each at the moment the one before asked for."""
    state, now, steps = state or a_state(), start, []
    for given_outcome in history:
        decision = decide(state, outcome(given_outcome), policy_named(policy), OPTIONS, now)
        steps.append(Step(now, decision))
        state = decision.state
        now = decision.next_poll_at
        if now.year == 9999:
            break
    return steps
