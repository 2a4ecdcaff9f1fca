"""A month of polling in a minute: a simulated world, played through the decisions that Headwater really takes.

`play` moves a virtual clock from poll to poll: one request per host at a time, a delay between two, as many at once as a
poller has. `Adaptive` decides as the worker does; `Hourly` is what it is measured against: every feed once an hour, nothing
ever given up. Both live through the same world, so that each article has two delays to compare.
"""

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heapify, heapreplace
from itertools import accumulate, islice
from math import inf
from random import Random
from typing import Protocol
from uuid import UUID

from headwater.polling.breaker import OURS, OUTAGE_WINDOW, Attempt, decide_host, is_own_outage
from headwater.polling.decide import decide, decide_outage, decide_paused
from headwater.polling.parse.types import Entry, ParsedFeed
from headwater.polling.policy import policy_named
from headwater.polling.rhythm import ENTRIES_LOOKED_AT, wants_full_answer
from headwater.polling.types import (
    NEVER,
    Decision,
    FailureClass,
    FeedState,
    Happening,
    HostDecision,
    HostState,
    Level,
    NotModified,
    Off,
    Polled,
    PollFailed,
    PollingOptions,
    PollOutcome,
    Validators,
)
from headwater.polling.weather import DAY, HOUR, START, Limit, World
from headwater.types import SourceId

ANSWERS_IN = 0.3
FAILS_IN = {FailureClass.NETWORK: 30.0, FailureClass.DNS: 5.0}
ATTEMPTS_REMEMBERED = 1000  # as the worker does
A_MOMENT = timedelta(minutes=5)  # what a probe may wait in its host's queue
A_LOOK = timedelta(seconds=10)
UNSEEN, MISSED = -1.0, -2.0  # in place of a delay

Tick = Callable[[], object]
"""Called when a day is over."""


@dataclass(frozen=True, slots=True)
class Read:
    """A full answer: how many entries the feed has had so far, and whether all it lists were new."""

    count: int
    missed: bool


Answer = Read | PollFailed | None
"""None: not modified."""


@dataclass(frozen=True, slots=True)
class Return:
    """A feed that was off and answers again: for how long it had done so unnoticed, and which cooldown it waited for."""

    feed: int
    stayed_off: timedelta
    cooldown: timedelta

    @property
    def is_late(self) -> bool:
        """Whether it stayed off longer than its cooldown."""
        return self.stayed_off > self.cooldown + A_MOMENT


@dataclass(slots=True)
class Told:
    """What a strategy did to feeds and hosts, and how often it raised its voice."""

    warnings: int = 0
    errors: int = 0
    disabled: list[int] = field(default_factory=list[int])
    returns: list[Return] = field(default_factory=list[Return])
    host_pauses: int = 0
    mistaken_pauses: int = 0
    own_failures: int = 0
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


class Hourly:
    """Every feed once an hour, come what may."""

    def __init__(self) -> None:
        self.told = Told()

    def wants_full(self, feed: int, at: float) -> bool:  # noqa: ARG002
        """It trusts a 304."""
        return False

    def next_poll(self, feed: int, answer: Answer, due: float, at: float) -> tuple[float, float]:  # noqa: ARG002
        """An hour after the last one was due, or after now where polls have queued up for longer than that."""
        self.told.warnings += isinstance(answer, PollFailed)
        return due + HOUR if due + HOUR > at else at + HOUR, at

    def finish(self, end: float) -> None:
        """Nothing is left open."""


_NO_VALIDATORS = Validators(None, None)


class Adaptive:
    """Headwater's own decisions: `decide`, `decide_host`, `decide_outage`, put together as the worker does."""

    def __init__(self, world: World, options: PollingOptions) -> None:
        self._world = world
        self._options = options
        self._policy = policy_named(options.policy)
        self._states = [FeedState(SourceId(UUID(int=number))) for number in range(len(world.feeds))]
        self._hosts = [HostState(host.name) for host in world.hosts]
        self._listings = [_Listing(feed.published, feed.software.listed) for feed in world.feeds]
        self._same = [NotModified(_NO_VALIDATORS, feed.software.freshness) for feed in world.feeds]
        self._attempts: deque[Attempt] = deque(maxlen=ATTEMPTS_REMEMBERED)
        self._is_outage = False
        self._look_again_at = START
        self._cooldown_from: dict[int, float] = {}
        self.told = Told()

    def wants_full(self, feed: int, at: float) -> bool:
        """Once a week, as the real one."""
        return wants_full_answer(self._states[feed], _moment(at))

    def next_poll(self, feed: int, answer: Answer, due: float, at: float) -> tuple[float, float]:  # noqa: ARG002
        """What the worker writes after a poll."""
        now, number, state = _moment(at), self._world.feeds[feed].host, self._states[feed]
        outcome = self._outcome(feed, answer)
        is_ours = self._note_attempt(self._hosts[number].host, outcome, now)
        host = decide_host(self._hosts[number], state.source_id, outcome, self._policy, now)
        decision = self._decision(state, outcome, host, now, is_ours=is_ours)
        if not is_ours:
            self._hosts[number] = host.state
            self._tell_host(number, host, at)
        self._tell(feed, decision, at)
        self._states[feed] = decision.state
        paused_until = self._hosts[number].paused_until
        return _seconds(decision.next_poll_at), _seconds(paused_until) if paused_until else at

    def finish(self, end: float) -> None:
        """Feeds that came back and are still off have stayed off until now."""
        for feed in self._cooldown_from:
            off = self._states[feed].off
            if off is not None and self._world.look(feed, end)[0] is None:
                self._note_return(feed, off, end)

    def _outcome(self, feed: int, answer: Answer) -> PollOutcome:
        if answer is None:
            return self._same[feed]
        if isinstance(answer, PollFailed):
            return answer
        software = self._world.feeds[feed].software
        parsed = self._listings[feed].parsed(answer.count) if software.dated else _UNDATED
        return Polled(parsed, _NO_VALIDATORS, software.freshness, None, answer.missed)

    def _note_attempt(self, host: str, outcome: PollOutcome, now: datetime) -> bool:
        """As the worker does, but for speed: what is too old is dropped, and an outage is looked at every few seconds."""
        by_network = isinstance(outcome, PollFailed) and outcome.kind in OURS
        attempts = self._attempts
        attempts.append(Attempt(now, host, by_network))
        while now - attempts[0].at > OUTAGE_WINDOW:
            attempts.popleft()
        if by_network != self._is_outage or (by_network and now >= self._look_again_at):
            before, self._is_outage = self._is_outage, is_own_outage(attempts, now)
            self._look_again_at = now + A_LOOK
            self.told.errors += self._is_outage and not before
            self.told.warnings += before and not self._is_outage
        return self._is_outage and by_network

    def _decision(
        self, state: FeedState, outcome: PollOutcome, host: HostDecision, now: datetime, *, is_ours: bool
    ) -> Decision:
        if is_ours:
            return decide_outage(state, now)
        if isinstance(outcome, PollFailed) and not host.counts and host.state.paused_until is not None:
            return decide_paused(state, outcome, host.state.paused_until)
        return decide(state, outcome, self._policy, self._options, now)

    def _tell(self, feed: int, decision: Decision, at: float) -> None:
        before = self._states[feed]
        if decision.level is not None:
            self.told.warnings += decision.level is Level.WARN
            self.told.errors += decision.level is Level.ERROR
        if Happening.DISABLED in decision.happenings:
            self.told.warnings += 1
            self.told.disabled.append(feed)
        if before.off is not None and decision.state.off is None:
            self._note_return(feed, before.off, at)
            del self._cooldown_from[feed]
        elif decision.state.off is not before.off:
            self._cooldown_from[feed] = at
        if self._world.is_cut_off(at):
            self.told.own_failures += 1
            self.told.own_failures_counted += decision.state.consecutive_errors > before.consecutive_errors

    def _note_return(self, feed: int, off: Off, at: float) -> None:
        answering = max(self._world.well_since(feed, at), _seconds(off.at))
        cooldown = off.until - _moment(self._cooldown_from[feed]) if off.until else NEVER
        self.told.returns.append(Return(feed, _moment(at) - _moment(answering), cooldown))

    def _tell_host(self, number: int, host: HostDecision, at: float) -> None:
        if host.paused:
            self.told.warnings += 1
            self.told.host_pauses += 1
            is_refused = host.state.alike_class is FailureClass.RATE_LIMITED
            self.told.mistaken_pauses += not is_refused and not self._world.has_trouble(number, at)


class _Listing:
    """What a feed lists, as far as its rhythm is read from it; made anew only when something was published."""

    __slots__ = ("_count", "_entries", "_parsed", "_published")

    def __init__(self, published: Sequence[float], listed: int) -> None:
        self._published = published
        self._entries: deque[Entry] = deque(maxlen=min(listed, ENTRIES_LOOKED_AT))
        self._count = 0
        self._parsed = _UNDATED

    def parsed(self, count: int) -> ParsedFeed:
        """The feed as it is when it has had so many entries."""
        if count > self._count:
            first = max(self._count, count - ENTRIES_LOOKED_AT)
            dates = (_moment(at) for at in self._published[first:count])
            self._entries.extend(Entry(id="", published_at=date) for date in dates)
            self._count = count
            self._parsed = ParsedFeed("rss20", entries=tuple(self._entries))
        return self._parsed


_UNDATED = ParsedFeed("rss20")


@dataclass(frozen=True, slots=True)
class Played:
    """One strategy's month. A delay is that of one article, `UNSEEN` or `MISSED`; feed after feed, oldest first."""

    told: Told
    requests: Sequence[int]  # of each feed
    requests_per_day: Sequence[int]
    delays: Sequence[float]
    unchanged: int
    failed: int
    too_soon: int


def play(world: World, strategy: Strategy, options: PollingOptions, tick: Tick = lambda: None) -> Played:
    """Poll this world for as many days as it has."""
    return _Play(world, strategy).run(options, tick)


class _Play:
    """The clock, and what the world answers."""

    def __init__(self, world: World, strategy: Strategy) -> None:
        count = len(world.feeds)
        self._world = world
        self._strategy = strategy
        self._failing: list[PollFailed | None] = [None] * count
        self._holds_until = [-inf] * count
        self._limiters = [_Limiter(host.limit) if host.limit else None for host in world.hosts]
        self._lasts = [feed.software.freshness.lasts.total_seconds() for feed in world.feeds]
        self._asked_at = [-inf] * count
        self._known = [-1] * count
        self._counted = [0] * count
        self._history = [bisect_left(feed.published, 0.0) for feed in world.feeds]
        articles = (len(feed.published) - old for feed, old in zip(world.feeds, self._history, strict=True))
        *self._first_article, total = accumulate(articles, initial=0)
        self._delays = array("d", [UNSEEN]) * total
        self._requests = [0] * count
        self._unchanged = self._failed = self._too_soon = 0

    def run(self, options: PollingOptions, tick: Tick) -> Played:
        """From poll to poll: the host that has been ready longest, and of it the feed that has been due longest."""
        queues, ready = self._first_polls()
        slots = [0.0] * options.concurrency
        delay, end = options.host_delay.total_seconds(), self._world.days * DAY
        per_day = [0] * self._world.days
        today = 0
        while (start := max(ready[0][0], slots[0])) < end:
            if start >= (today + 1) * DAY:
                today += 1
                tick()
            per_day[today] += 1
            host = ready[0][1]
            due, feed = queues[host][0]
            answer = self._ask(feed, host, start)
            at = start + (FAILS_IN.get(answer.kind, ANSWERS_IN) if isinstance(answer, PollFailed) else ANSWERS_IN)
            next_at, left_alone_until = self._strategy.next_poll(feed, answer, due, at)
            heapreplace(slots, at)
            heapreplace(queues[host], (next_at, feed))
            heapreplace(ready, (max(at + delay, left_alone_until, queues[host][0][0]), host))
        tick()
        self._strategy.finish(end)
        return Played(
            self._strategy.told, self._requests, per_day, self._delays, self._unchanged, self._failed, self._too_soon
        )

    def _first_polls(self) -> tuple[list[list[tuple[float, int]]], list[tuple[float, int]]]:
        """Every feed is polled for the first time within the first hour."""
        chance = Random(f"{self._world.seed} first polls")  # noqa: S311  a world, not a secret
        queues = [[(chance.uniform(0, HOUR), feed) for feed in host.feeds] for host in self._world.hosts]
        for queue in queues:
            heapify(queue)
        ready = [(queue[0][0], number) for number, queue in enumerate(queues)]
        heapify(ready)
        return queues, ready

    def _ask(self, feed: int, host: int, start: float) -> Answer:
        self._requests[feed] += 1
        self._too_soon += start - self._asked_at[feed] < self._lasts[feed]
        if start >= self._holds_until[feed]:
            self._failing[feed], self._holds_until[feed] = self._world.look(feed, start)
        failing, limiter = self._failing[feed], self._limiters[host]
        if failing is None and limiter is not None:
            failing = limiter.refuses(start)
        if failing is not None:
            self._failed += 1
            return failing
        self._asked_at[feed] = start
        return self._read(feed, start)

    def _read(self, feed: int, start: float) -> Read | None:
        one, known = self._world.feeds[feed], self._known[feed]
        count, published = self._counted[feed], one.published
        while count < len(published) and published[count] <= start:
            count += 1
        self._counted[feed] = count
        if count == known and one.software.validates and not self._strategy.wants_full(feed, start):
            self._unchanged += 1
            return None
        self._known[feed] = count
        oldest_listed = count - one.software.listed
        history = self._history[feed]
        first = self._first_article[feed] - history
        for number in range(max(known, history), count):
            seen = number >= oldest_listed
            self._delays[first + number] = start + ANSWERS_IN - published[number] if seen else MISSED
        return Read(count, missed=0 <= known <= oldest_listed)


class _Limiter:
    """Counts what a host is asked, and refuses what is too much."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._left = limit.at_once
        self._at = 0.0

    def refuses(self, at: float) -> PollFailed | None:
        left = min(self._limit.at_once, self._left + (at - self._at) * self._limit.per_second)
        self._left, self._at = left - 1 if left >= 1 else left, at
        return None if left >= 1 else self._limit.refusal


def _moment(at: float) -> datetime:
    return START + timedelta(seconds=at)


def _seconds(moment: datetime) -> float:
    return (moment - START).total_seconds()
