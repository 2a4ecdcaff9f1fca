"""A month of polling in a minute: a simulated world, played through the decisions that Headwater really takes.

`play` moves a virtual clock from poll to poll: one request per host at a time, a delay between two, as many at once as
a poller has. `Adaptive` decides as the worker does; `Hourly` is what it is measured against: every feed once an hour,
nothing ever given up. Both live through the same world, so that each article has two delays to compare.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from heapq import heapify, heapreplace
from itertools import accumulate, chain, pairwise
from math import inf
from random import Random
from statistics import fmean
from typing import Protocol
from uuid import UUID

from headwater.articles.types import NewArticle
from headwater.net.outage import OUTAGE_WINDOW, Attempt, is_own_outage
from headwater.polling.breaker import OURS, decide_host
from headwater.polling.decide import decide, decide_outage, decide_paused
from headwater.polling.policy import policy_named
from headwater.polling.rhythm import ENTRIES_LOOKED_AT, next_after_success, wants_full_answer
from headwater.polling.types import (
    NEVER,
    Decision,
    FailureClass,
    FeedState,
    Freshness,
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
    ReadFeed,
    Validators,
)
from headwater.polling.weather import DAY, HOUR, NO_NETWORK, START, Limit, World
from headwater.types import SourceId

ANSWERS_IN = 0.3
FAILS_IN = {FailureClass.NETWORK: 30.0, FailureClass.DNS: 5.0}
ATTEMPTS_REMEMBERED = 1000  # as the worker does
REMEMBERED_FOR = OUTAGE_WINDOW.total_seconds()
A_MOMENT = timedelta(minutes=5)  # what a probe may wait in its host's queue
A_LOOK = 10.0
UNSEEN, MISSED = -1.0, -2.0  # in place of a delay

Tick = Callable[[], object]
"""Called when a day is over."""


@dataclass(frozen=True, slots=True)
class Read:
    """A full answer: how many entries the feed has had so far, and whether none or all that it lists were new."""

    count: int
    is_known: bool
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


class Hourly:
    """Every feed once an hour, come what may; spread a little, so that a limit does not always hit the same."""

    def __init__(self, world: World) -> None:
        self._chance = Random(f"{world.seed} hourly")  # noqa: S311  a world, not a secret
        self.told = Told()

    def wants_full(self, feed: int, at: float) -> bool:  # noqa: ARG002
        """It trusts a 304."""
        return False

    def next_poll(self, feed: int, answer: Answer, due: float, at: float) -> tuple[float, float]:  # noqa: ARG002
        """An hour after the last one was due, or after now where polls have queued up for longer than that."""
        self.told.warnings += isinstance(answer, PollFailed)
        next_at = due + HOUR * (0.95 + 0.1 * self._chance.random())
        return next_at if next_at > at else at + HOUR, at

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
        self._attempts: deque[tuple[float, int, bool]] = deque(maxlen=ATTEMPTS_REMEMBERED)
        self._is_outage = False
        self._look_again_at = 0.0
        self._cooldown_from: dict[int, float] = {}
        self._refused_at: dict[int, float] = {}  # by host
        self.told = Told()

    def wants_full(self, feed: int, at: float) -> bool:
        """Once a week, as the real one."""
        return wants_full_answer(self._states[feed], _moment(at))

    def next_poll(self, feed: int, answer: Answer, due: float, at: float) -> tuple[float, float]:  # noqa: ARG002
        """What the worker writes after a poll."""
        now, number, state = _moment(at), self._world.feeds[feed].host, self._states[feed]
        if self._changes_nothing(feed, answer):
            self._note_attempt(number, at, by_network=False)
            return _seconds(next_after_success(state, self._unchanged(feed, at), self._options, now)), at
        outcome = self._outcome(feed, answer, at)
        is_failure = isinstance(outcome, PollFailed)
        is_ours = self._note_attempt(number, at, by_network=is_failure and outcome.kind in OURS)
        host = decide_host(self._hosts[number], state.source_id, outcome, self._policy, now)
        decision = self._decision(state, outcome, host, now, is_ours=is_ours)
        if not is_ours:
            self._hosts[number] = host.state
            self._tell_host(number, host, at)
        if is_failure and outcome.kind is FailureClass.RATE_LIMITED:
            self._refused_at[number] = at
        self._tell(feed, decision, at)
        self._states[feed] = decision.state
        paused_until = self._hosts[number].paused_until
        return _seconds(decision.next_poll_at), _seconds(paused_until) if paused_until else at

    def _changes_nothing(self, feed: int, answer: Answer) -> bool:
        """Whether `decide` could only say when the next poll is: most answers, and the month takes half as long.

        So it is when there is nothing new, and nothing is held against the feed or its host.
        """
        state, one = self._states[feed], self._world.feeds[feed]
        if state.last_error is not None or self._hosts[one.host].alike:
            return False
        if isinstance(answer, Read):
            return answer.is_known and not one.software.validates
        return answer is None

    def finish(self, end: float) -> None:
        """Feeds that came back and are still off have stayed off until now."""
        for feed in self._cooldown_from:
            off = self._states[feed].off
            if off is not None and self._world.look(feed, end)[0] is None:
                self._note_return(feed, off, end)

    def _outcome(self, feed: int, answer: Answer, at: float) -> PollOutcome:
        if isinstance(answer, PollFailed):
            return answer
        unchanged = self._unchanged(feed, at)
        if answer is None:
            return unchanged
        is_dated = self._world.feeds[feed].software.dated
        parsed = self._listings[feed].parsed(answer.count) if is_dated else _UNDATED
        return Polled(parsed, _NO_VALIDATORS, unchanged.freshness, None, answer.missed)

    def _unchanged(self, feed: int, at: float) -> NotModified:
        software = self._world.feeds[feed].software
        if not software.cached:
            return _not_modified(software.lasts)
        left = self._world.copied_at(feed, at) + software.lasts - at
        return NotModified(_NO_VALIDATORS, Freshness(timedelta(seconds=left)))

    def _note_attempt(self, host: int, at: float, *, by_network: bool) -> bool:
        """As the worker does; for speed what is too old is dropped, and an outage is looked at every few seconds."""
        attempts = self._attempts
        attempts.append((at, host, by_network))
        while at - attempts[0][0] > REMEMBERED_FOR:
            attempts.popleft()
        if by_network != self._is_outage or (by_network and at >= self._look_again_at):
            told = [Attempt(_moment(when), self._world.hosts[which].name, failed) for when, which, failed in attempts]
            before, self._is_outage = self._is_outage, is_own_outage(told, _moment(at), going_on=self._is_outage)
            self._look_again_at = at + A_LOOK
            self.told.own_outages += self._is_outage and not before
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
            self.told.disablings.append(Disabling(feed, at))
        if before.off is not None and decision.state.off is None:
            self._note_return(feed, before.off, at)
            del self._cooldown_from[feed]
        elif decision.state.off is not before.off:
            self._cooldown_from[feed] = at
        if self._world.is_cut_off(at):
            self.told.own_failures_counted += decision.state.consecutive_errors > before.consecutive_errors

    def _note_return(self, feed: int, off: Off, at: float) -> None:
        refused_at = self._refused_at.get(self._world.feeds[feed].host, 0.0)
        answering = max(self._world.well_since(feed, at), _seconds(off.at), refused_at)
        cooldown = off.until - _moment(self._cooldown_from[feed]) if off.until else NEVER
        self.told.returns.append(Return(feed, _moment(at) - _moment(answering), cooldown))

    def _tell_host(self, number: int, host: HostDecision, at: float) -> None:
        if host.paused:
            self.told.warnings += 1
            self.told.host_pauses += 1
            is_refused = host.state.alike_class is FailureClass.RATE_LIMITED
            self.told.mistaken_pauses += not is_refused and not self._world.has_trouble(number, at)


class _Dated(NewArticle):
    """An entry of which nothing is there but its date: a million of them are made in a month."""

    __slots__ = ()

    def __init__(self, published_at: datetime) -> None:
        object.__setattr__(self, "published_at", published_at)


class _Listing:
    """What a feed lists, as far as its rhythm is read from it; made anew only when something was published."""

    __slots__ = ("_count", "_entries", "_parsed", "_published")

    def __init__(self, published: Sequence[float], listed: int) -> None:
        self._published = published
        self._entries: deque[NewArticle] = deque(maxlen=min(listed, ENTRIES_LOOKED_AT))
        self._count = 0
        self._parsed = _UNDATED

    def parsed(self, count: int) -> ReadFeed:
        """The feed as it is when it has had so many entries."""
        if count > self._count:
            first = max(self._count, count - ENTRIES_LOOKED_AT)
            self._entries.extend(_Dated(_moment(at)) for at in self._published[first:count])
            self._count = count
            self._parsed = ReadFeed("rss20", entries=tuple(self._entries))
        return self._parsed


_UNDATED = ReadFeed("rss20")


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
        self._fresh_until = [-inf] * count
        self._known = [-1] * count
        self._counted = [0] * count
        self._history = [bisect_left(feed.published, 0.0) for feed in world.feeds]
        articles = (len(feed.published) - old for feed, old in zip(world.feeds, self._history, strict=True))
        *self._first_article, total = accumulate(articles, initial=0)
        self._delays = array("d", [UNSEEN]) * total
        self._requests = [0] * count
        self._unchanged = self._failed = self._too_soon = self._cut_off = 0

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
            host = ready[0][1]
            due, feed = queues[host][0]
            answer = self._ask(feed, host, start)
            per_day[today] += answer is not NO_NETWORK
            at = start + (FAILS_IN.get(answer.kind, ANSWERS_IN) if isinstance(answer, PollFailed) else ANSWERS_IN)
            next_at, left_alone_until = self._strategy.next_poll(feed, answer, due, at)
            heapreplace(slots, at)
            heapreplace(queues[host], (next_at, feed))
            heapreplace(ready, (max(at + delay, left_alone_until, queues[host][0][0]), host))
        tick()
        self._strategy.finish(end)
        return Played(
            self._strategy.told,
            self._requests,
            per_day,
            self._delays,
            self._unchanged,
            self._failed,
            self._too_soon,
            self._cut_off,
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
        if start >= self._holds_until[feed]:
            self._failing[feed], self._holds_until[feed] = self._world.look(feed, start)
        failing, limiter = self._failing[feed], self._limiters[host]
        if failing is NO_NETWORK:
            self._cut_off += 1
            return failing
        self._requests[feed] += 1
        self._too_soon += start < self._fresh_until[feed]
        if failing is None and limiter is not None:
            failing = limiter.refuses(start)
        if failing is not None:
            self._failed += 1
            return failing
        return self._read(feed, start)

    def _read(self, feed: int, start: float) -> Read | None:
        one, known = self._world.feeds[feed], self._known[feed]
        copied_at = self._world.copied_at(feed, start) if one.software.cached else start
        self._fresh_until[feed] = copied_at + 0.9 * one.software.lasts  # a little too soon is nobody's concern
        count, published = self._counted[feed], one.published
        while count < len(published) and published[count] <= copied_at:
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
        return Read(count, count == known, 0 <= known <= oldest_listed)


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


@cache
def _not_modified(lasts: float) -> NotModified:
    return NotModified(_NO_VALIDATORS, Freshness(timedelta(seconds=lasts)))


def _moment(at: float) -> datetime:
    return START + timedelta(seconds=at)


def _seconds(moment: datetime) -> float:
    return (moment - START).total_seconds()


# What came of it.

LEFT_OUT = DAY
"""Articles of the last day: the end must not cut off the longest delays."""
DELAYS_UP_TO = tuple(timedelta(minutes=minutes) for minutes in (5, 15, 30, 60, 120, 360, 1440))
SPEEDS = {"hourly": 24.0, "daily": 1.0, "weekly": 1 / 7, "less often": 0.0}


@dataclass(frozen=True, slots=True)
class Measured:
    """One strategy's month in numbers. Delays are of the articles that both strategies saw."""

    requests: int
    requests_per_feed_and_day: float
    requests_per_day: Sequence[int]
    unchanged_share: float
    failures: int
    too_soon: int
    cut_off: int
    median: timedelta
    p95: timedelta
    mean: timedelta
    delays: Sequence[int]  # how many up to each of DELAYS_UP_TO, and beyond
    missed: int
    unseen: int
    disablings: int
    host_pauses: int
    mistaken_pauses: int
    warnings: int
    errors: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Feeds that publish at least so often, and how long their articles took: the middle one of each strategy."""

    name: str
    feeds: int
    articles: int
    adaptive_requests: int
    hourly_requests: int
    adaptive_median: timedelta
    hourly_median: timedelta


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both months side by side, and what must not have happened in ours."""

    adaptive: Measured
    hourly: Measured
    articles: int
    speeds: Sequence[Speed]
    returns: int
    late_returns: int
    longest_off: Return | None
    own_outages: int
    own_failures_counted: int
    disabled_in_own_outage: int
    disabled_with_their_platform: int


def compare(world: World, adaptive: Played, hourly: Played) -> Comparison:
    """What the two months come to."""
    by_feed = list(_seen_by_both(world, adaptive, hourly))
    ours, theirs = (array("d", chain.from_iterable(pair[side] for pair in by_feed)) for side in (0, 1))
    told = adaptive.told
    return Comparison(
        adaptive=_measured(world, adaptive, ours),
        hourly=_measured(world, hourly, theirs),
        articles=len(ours),
        speeds=[_speed(name, world, adaptive, hourly, by_feed) for name in SPEEDS],
        returns=len(told.returns),
        late_returns=sum(one.is_late for one in told.returns),
        longest_off=max(told.returns, key=lambda one: one.stayed_off, default=None),
        own_outages=told.own_outages,
        own_failures_counted=told.own_failures_counted,
        disabled_in_own_outage=sum(world.is_cut_off(one.at) for one in told.disablings),
        disabled_with_their_platform=sum(world.is_lost_for_hours(one.feed) for one in told.disablings),
    )


_Delays = tuple[Sequence[float], Sequence[float]]


def _seen_by_both(world: World, adaptive: Played, hourly: Played) -> Iterator[_Delays]:
    """Of each feed, the delays of its articles, ours and theirs."""
    first = 0
    for feed in world.feeds:
        history = bisect_left(feed.published, 0.0)
        counted = bisect_left(feed.published, world.days * DAY - LEFT_OUT) - history
        pairs = zip(adaptive.delays[first : first + counted], hourly.delays[first : first + counted], strict=True)
        both = [pair for pair in pairs if min(pair) >= 0]
        yield array("d", [ours for ours, _ in both]), array("d", [theirs for _, theirs in both])
        first += len(feed.published) - history


def _measured(world: World, played: Played, delays: Sequence[float]) -> Measured:
    requests, in_order = sum(played.requests), sorted(delays)
    bounds = [0, *(bisect_right(in_order, most.total_seconds()) for most in DELAYS_UP_TO), len(in_order)]
    return Measured(
        requests=requests,
        requests_per_feed_and_day=requests / len(world.feeds) / world.days,
        requests_per_day=played.requests_per_day,
        unchanged_share=played.unchanged / requests,
        failures=played.failed,
        too_soon=played.too_soon,
        cut_off=played.cut_off,
        median=_quantile(in_order, 0.5),
        p95=_quantile(in_order, 0.95),
        mean=timedelta(seconds=fmean(in_order) if in_order else 0),
        delays=[after - before for before, after in pairwise(bounds)],
        missed=sum(delay == MISSED for delay in played.delays),
        unseen=sum(delay == UNSEEN for delay in played.delays),
        disablings=len(played.told.disablings),
        host_pauses=played.told.host_pauses,
        mistaken_pauses=played.told.mistaken_pauses,
        warnings=played.told.warnings,
        errors=played.told.errors,
    )


def _speed(name: str, world: World, adaptive: Played, hourly: Played, by_feed: Sequence[_Delays]) -> Speed:
    numbers = [number for number, feed in enumerate(world.feeds) if _speed_name(feed.published, world.days) == name]
    ours, theirs = (sorted(chain.from_iterable(by_feed[number][side] for number in numbers)) for side in (0, 1))
    return Speed(
        name=name,
        feeds=len(numbers),
        articles=len(ours),
        adaptive_requests=sum(adaptive.requests[number] for number in numbers),
        hourly_requests=sum(hourly.requests[number] for number in numbers),
        adaptive_median=_quantile(ours, 0.5),
        hourly_median=_quantile(theirs, 0.5),
    )


def _speed_name(published: Sequence[float], days: int) -> str:
    per_day = (len(published) - bisect_left(published, 0.0)) / days
    return next(name for name, least in SPEEDS.items() if per_day >= least)


def _quantile(in_order: Sequence[float], share: float) -> timedelta:
    return timedelta(seconds=in_order[int(share * len(in_order))] if in_order else 0)
