"""The polling strategies that are compared: Headwater's own decisions, and every feed once an hour."""

from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from random import Random
from uuid import UUID

from headwater.articles.types import NewArticle
from headwater.hosts.breaker import HostDecision
from headwater.hosts.outage import OURS, HostAttempt, OutageDetector, is_known
from headwater.polling.decide import decide, decide_host, decide_outage, decide_paused
from headwater.polling.policy import policy_of
from headwater.polling.rhythm import ENTRIES_LOOKED_AT, needs_full_response, next_after_success
from headwater.polling.types import (
    NEVER,
    Decision,
    Disabled,
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
    ReadFeed,
    Validators,
)
from headwater.types import SourceId
from headwater_lab.simulation.types import FeedDisabled, FeedReturn, FullResponse, PollAnswer, StrategyLog
from headwater_lab.simulation.world import HOUR, World, moment, seconds

_NO_VALIDATORS = Validators(None, None)


class Adaptive:
    """Headwater's own decisions: `decide`, `decide_host`, `decide_outage`, put together as the worker does."""

    def __init__(self, world: World, options: PollingOptions) -> None:
        self._world = world
        self._options = options
        self._policy = policy_of(options.policy, options)
        self._states = [FeedState(SourceId(UUID(int=number))) for number in range(len(world.feeds))]
        self._hosts = [HostState(host.name) for host in world.hosts]
        self._listings = [_Listing(feed.published, feed.software.listed) for feed in world.feeds]
        self._outage = OutageDetector()
        self._answered_at: dict[int, datetime] = {}  # by host
        self._cooldown_from: dict[int, float] = {}
        self._refused_at: dict[int, float] = {}  # by host
        self.log = StrategyLog()

    def wants_full(self, feed: int, at: float) -> bool:
        return needs_full_response(self._states[feed], moment(at))

    def next_poll(self, feed: int, answer: PollAnswer, due: float, at: float) -> tuple[float, float]:  # noqa: ARG002
        now, number, state = moment(at), self._world.feeds[feed].host, self._states[feed]
        if self._changes_nothing(feed, answer):
            self._note_attempt(number, at, by_network=False)
            return seconds(next_after_success(state, self._unchanged(feed, at), self._options, now)), at
        outcome = self._outcome(feed, answer, at)
        is_failure = isinstance(outcome, PollFailed)
        is_ours = self._note_attempt(number, at, by_network=is_failure and outcome.kind in OURS)
        host = decide_host(self._hosts[number], state.source_id, outcome, self._policy, now)
        decision = self._decision(state, outcome, host, now, is_ours=is_ours)
        if not is_ours:
            self._hosts[number] = host.state
            self._log_host(number, host, at)
        if is_failure and outcome.kind is FailureClass.RATE_LIMITED:
            self._refused_at[number] = at
        self._log_decision(feed, decision, at)
        self._states[feed] = decision.state
        paused_until = self._hosts[number].paused_until
        return seconds(decision.next_poll_at), seconds(paused_until) if paused_until else at

    def _changes_nothing(self, feed: int, answer: PollAnswer) -> bool:
        """Whether the answer changes only the next poll: nothing new, no errors. This shortcut halves the time."""
        state, one = self._states[feed], self._world.feeds[feed]
        if state.last_error is not None or self._hosts[one.host].failing_sources:
            return False
        if isinstance(answer, FullResponse):
            return not answer.new and state.last_full_at is not None and not one.software.validates
        return answer is None

    def finish(self, end: float) -> None:
        """Feeds that work again but are still disabled have been so until now."""
        for feed in self._cooldown_from:
            disabled = self._states[feed].disabled
            if disabled is not None and self._world.look(feed, end)[0] is None:
                self._note_return(feed, disabled, end)

    def _outcome(self, feed: int, answer: PollAnswer, at: float) -> PollOutcome:
        if isinstance(answer, PollFailed):
            return answer
        unchanged = self._unchanged(feed, at)
        if answer is None:
            return unchanged
        is_dated = self._world.feeds[feed].software.dated
        parsed = self._listings[feed].parsed(answer.count) if is_dated else _UNDATED
        return Polled(parsed, _NO_VALIDATORS, unchanged.fresh_for, None, answer.missed, new=answer.new)

    def _unchanged(self, feed: int, at: float) -> NotModified:
        software = self._world.feeds[feed].software
        if not software.cached:
            return _not_modified(software.lasts)
        left = self._world.copied_at(feed, at) + software.lasts - at
        return NotModified(_NO_VALIDATORS, timedelta(seconds=left))

    def _note_attempt(self, host: int, at: float, *, by_network: bool) -> bool:
        now, before = moment(at), self._outage.is_outage
        known = is_known(self._answered_at.get(host), now)
        is_ours = self._outage.note(HostAttempt(self._world.hosts[host].name, now, by_network, known), now)
        if not by_network:
            self._answered_at[host] = now
        began, ended = self._outage.is_outage and not before, before and not self._outage.is_outage
        self.log.own_outages += began
        self.log.errors += began
        self.log.warnings += ended
        return is_ours

    def _decision(
        self, state: FeedState, outcome: PollOutcome, host: HostDecision, now: datetime, *, is_ours: bool
    ) -> Decision:
        if is_ours:
            return decide_outage(state, now)
        if isinstance(outcome, PollFailed) and not host.counts and host.state.paused_until is not None:
            return decide_paused(state, outcome, host.state.paused_until, now)
        return decide(state, outcome, self._policy, self._options, now)

    def _log_decision(self, feed: int, decision: Decision, at: float) -> None:
        before = self._states[feed]
        if decision.level is not None:
            self.log.warnings += decision.level is Level.WARN
            self.log.errors += decision.level is Level.ERROR
        if Happening.DISABLED in decision.happenings:
            self.log.warnings += 1
            self.log.disablings.append(FeedDisabled(feed, at))
        if before.disabled is not None and decision.state.disabled is None:
            self._note_return(feed, before.disabled, at)
            del self._cooldown_from[feed]
        elif decision.state.disabled is not before.disabled:
            self._cooldown_from[feed] = at
        if self._world.is_offline(at):
            self.log.own_failures_counted += decision.state.consecutive_errors > before.consecutive_errors

    def _note_return(self, feed: int, disabled: Disabled, at: float) -> None:
        refused_at = self._refused_at.get(self._world.feeds[feed].host, 0.0)
        answering = max(self._world.working_since(feed, at), seconds(disabled.at), refused_at)
        cooldown = disabled.until - moment(self._cooldown_from[feed]) if disabled.until else NEVER
        self.log.returns.append(FeedReturn(feed, moment(at) - moment(answering), cooldown))

    def _log_host(self, number: int, host: HostDecision, at: float) -> None:
        if host.paused:
            self.log.warnings += 1
            self.log.host_pauses += 1
            is_refused = host.state.failure_class is FailureClass.RATE_LIMITED
            self.log.mistaken_pauses += not is_refused and not self._world.has_fault(number, at)


class _Dated(NewArticle):
    """An entry with a date only: a million are made in a month."""

    __slots__ = ()

    def __init__(self, published_at: datetime | None) -> None:
        object.__setattr__(self, "published_at", published_at)


_UNDATED = ReadFeed("rss20", entries=(_Dated(None),))


class _Listing:
    """The dates that a feed lists, made anew only when something was published."""

    __slots__ = ("_count", "_entries", "_parsed", "_published")

    def __init__(self, published: Sequence[float], listed: int) -> None:
        self._published = published
        self._entries: deque[NewArticle] = deque(maxlen=min(listed, ENTRIES_LOOKED_AT))
        self._count = 0
        self._parsed = _UNDATED

    def parsed(self, count: int) -> ReadFeed:
        if count > self._count:
            first = max(self._count, count - ENTRIES_LOOKED_AT)
            self._entries.extend(_Dated(moment(at)) for at in self._published[first:count])
            self._count = count
            self._parsed = ReadFeed("rss20", entries=tuple(self._entries))
        return self._parsed


@cache
def _not_modified(lasts: float) -> NotModified:
    return NotModified(_NO_VALIDATORS, timedelta(seconds=lasts))


class Hourly:
    """Every feed once an hour, whatever happens; with jitter, so that a rate limit does not always hit the same."""

    def __init__(self, world: World) -> None:
        self._chance = Random(f"{world.seed} hourly")  # noqa: S311  a world, not a secret
        self.log = StrategyLog()

    def wants_full(self, feed: int, at: float) -> bool:  # noqa: ARG002
        """It trusts a 304."""
        return False

    def next_poll(self, feed: int, answer: PollAnswer, due: float, at: float) -> tuple[float, float]:  # noqa: ARG002
        """An hour after the last one was due, or after now where polls are late by more than that."""
        self.log.warnings += isinstance(answer, PollFailed)
        next_at = due + HOUR * (0.95 + 0.1 * self._chance.random())
        return next_at if next_at > at else at + HOUR, at

    def finish(self, end: float) -> None:
        """Nothing is left open."""
