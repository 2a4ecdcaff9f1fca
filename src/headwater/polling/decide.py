"""What follows from a poll. Pure: state, outcome, policy and clock in, a decision out.

For every history: a schedule is never in the past, a success clears all errors, our own waits never shorten while a
feed keeps failing in the same way, no feed is disabled too early, and a disabled feed is probed unless only a user may
enable it.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import assert_never

from headwater.articles.decide import is_private_feed
from headwater.hosts.breaker import HostDecision, HostFailure, after_poll
from headwater.hosts.types import HostState
from headwater.polling.policy import Counts, Doubling, Policy, Rule, Steady, Steps
from headwater.polling.rhythm import next_after_success, rhythm_of
from headwater.polling.types import (
    NEVER,
    ClaimedFeed,
    Decision,
    Disabled,
    FeedState,
    Happening,
    Level,
    Moved,
    NotModified,
    Polled,
    PollFailed,
    PollingOptions,
    PollOutcome,
)
from headwater.text import as_name
from headwater.types import SourceId

NAME_MAX = 255  # of a source
MAX_DOUBLINGS = 20  # of a second: twelve days; of a day: still a timedelta
MOST_OFF = timedelta(days=7)
OUTAGE_RETRY = timedelta(minutes=5)
NEW_FEED_WAITS = (timedelta(minutes=5), timedelta(minutes=15), timedelta(hours=1))
"""The longest waits after the first failures of a feed that was never read: a user has just added it."""
MOVED_TIMES = 3
MOVED_FOR = timedelta(days=1)
BY_HAND_ONLY = datetime(9999, 12, 31, tzinfo=UTC)
"""The next poll of a feed that only a user can enable: a schedule is never NULL."""


def decide(state: FeedState, outcome: PollOutcome, policy: Policy, options: PollingOptions, now: datetime) -> Decision:
    match outcome:
        case Polled() | NotModified():
            return _after_success(state, outcome, options, now)
        case PollFailed():
            rule = policy.rule(outcome.kind, outcome.status)
            decision = _after_failure(state, replace(outcome, detail=policy.detail(outcome)), rule, options, now)
            asked = _asked_for(outcome, options)
            return replace(decision, asked_until=now + asked) if asked else decision
        case _:
            assert_never(outcome)


def decide_host(
    host: HostState, source_id: SourceId, outcome: PollOutcome, policy: Policy, now: datetime
) -> HostDecision:
    failure = None
    if isinstance(outcome, PollFailed):
        rule = policy.rule(outcome.kind, outcome.status)
        failure = HostFailure(outcome.kind, outcome.retry_after, rule.host_scope, rule.level is Level.ERROR)
    return after_poll(host, source_id, failure, now)


def decide_paused(state: FeedState, failed: PollFailed, until: datetime, now: datetime) -> Decision:
    """A failure of the host, not of the feed: it is shown, but not counted. The feed fails from now on."""
    since = state.failing_since or now
    shown = replace(state, last_error=failed.detail, last_error_type=failed.kind, failing_since=since)
    return Decision(shown, max(until, _end(state.disabled)) if state.disabled else until)


def decide_outage(state: FeedState, now: datetime) -> Decision:
    """A failure of our own network: nothing changes. A disabled feed waits for its probe as before."""
    soon = now + OUTAGE_RETRY
    return Decision(state, max(soon, _end(state.disabled)) if state.disabled else soon, is_outage=True)


def _after_success(state: FeedState, outcome: Polled | NotModified, options: PollingOptions, now: datetime) -> Decision:
    rhythm = rhythm_of(state, outcome, now)
    moved = _moved(state.moved, outcome.moved_to, now)
    fresh = FeedState(
        source_id=state.source_id, own_interval=state.own_interval, moved=moved,
        mean_gap=rhythm.mean_gap, last_new_at=rhythm.last_new_at,
        last_full_at=now if isinstance(outcome, Polled) and not outcome.is_delta else state.last_full_at,
        hints=outcome.feed.hints if isinstance(outcome, Polled) else state.hints,
    )  # fmt: skip
    if state.disabled is not None and state.disabled.is_by_hand:
        return Decision(replace(fresh, disabled=state.disabled), _end(state.disabled))
    happenings = (Happening.ENABLED,) if state.disabled else ()
    if moved is not None and moved.times >= MOVED_TIMES and now - moved.since >= MOVED_FOR:
        happenings += (Happening.MOVED,)
    return Decision(fresh, next_after_success(fresh, outcome, options, now), happenings=happenings)


def _moved(before: Moved | None, to: str | None, now: datetime) -> Moved | None:
    """A permanent redirect is adopted when several polls over a day have seen the same one."""
    if before is not None and before.url == to:
        return replace(before, times=before.times + 1)
    return Moved(to, now, 1) if to else None


def _after_failure(
    state: FeedState, failed: PollFailed, rule: Rule, options: PollingOptions, now: datetime
) -> Decision:
    same = state.streak_class is failed.kind
    failing = replace(
        state, consecutive_errors=state.consecutive_errors + 1, streak=state.streak + 1 if same else 1,
        streak_class=failed.kind, permanent_errors=state.permanent_errors + rule.permanent,
        failing_since=state.failing_since or now, last_error=failed.detail, last_error_type=failed.kind,
    )  # fmt: skip
    if state.disabled is not None:
        return _probe_failed(failing, state.disabled, failed, rule, options, now)
    if _is_enough(failing, rule, now):
        disabled = Disabled(now, failed.kind, _until(max(rule.cooldown, _asked_for(failed, options)), now))
        happened = (Happening.DISABLED, Happening.LOST) if rule.rediscover else (Happening.DISABLED,)
        return Decision(replace(failing, disabled=disabled), _end(disabled), rule.level, happened)
    # A URL that never was a feed is most likely a page of its site, entered by a user: rediscover it at once.
    is_page = rule.rediscover and state.last_full_at is None and failing.consecutive_errors == 1
    happened = (Happening.LOST,) if is_page else ()
    return Decision(failing, now + _wait(failing, failed, rule, options), rule.level, happened)


def _is_enough(failing: FeedState, rule: Rule, now: datetime) -> bool:
    by_class, permanent, all_errors = failing.streak, failing.permanent_errors, failing.consecutive_errors
    counted = {Counts.CLASS: by_class, Counts.PERMANENT: permanent, Counts.ALL: all_errors}[rule.counts]
    is_long = now - (failing.failing_since or now) >= rule.failing_for
    return rule.threshold is not None and counted >= rule.threshold and is_long


def _probe_failed(
    failing: FeedState, disabled: Disabled, failed: PollFailed, rule: Rule, options: PollingOptions, now: datetime
) -> Decision:
    """It stays disabled: twice as long after a permanent failure, up to 7 days; as long as before after another, and
    never shorter than the site asks for. A user's poll before the end of the cooldown is not a probe."""
    if disabled.until is None:
        return Decision(failing, BY_HAND_ONLY, rule.level)
    if now < disabled.until:
        until = max(disabled.until, now + _asked_for(failed, options))
        return Decision(replace(failing, disabled=replace(disabled, until=until)), until, rule.level)
    if rule.threshold is None:
        again = now + _wait(failing, failed, rule, options)
        return Decision(replace(failing, disabled=replace(disabled, until=again)), again, rule.level)
    times = disabled.times + 1 if rule.permanent else disabled.times
    cooldown = rule.cooldown if rule.cooldown == NEVER else min(rule.cooldown * 2 ** min(times - 1, 10), MOST_OFF)
    until = _until(max(cooldown, _asked_for(failed, options)), now)
    again = replace(disabled, reason=failed.kind, until=until, times=times, by_operator=False)
    # Disabled for another reason before, and a page by now: it was not rediscovered yet.
    happened = (Happening.LOST,) if rule.rediscover and disabled.reason is not failed.kind else ()
    return Decision(replace(failing, disabled=again), _end(again), rule.level, happened)


def _wait(failing: FeedState, failed: PollFailed, rule: Rule, options: PollingOptions) -> timedelta:
    asked = _asked_for(failed, options)
    if asked and rule.site_sets_wait:
        return max(asked, options.interval_min)
    wait = _policy_wait(failing, rule, options)
    if failing.last_full_at is None and failing.consecutive_errors <= len(NEW_FEED_WAITS):
        wait = min(wait, NEW_FEED_WAITS[failing.consecutive_errors - 1])
    return max(asked, wait)


def _policy_wait(failing: FeedState, rule: Rule, options: PollingOptions) -> timedelta:
    interval = failing.own_interval or options.interval
    match rule.backoff:
        case Doubling(first, most):
            return min((first or interval) * 2 ** min(failing.consecutive_errors, MAX_DOUBLINGS), most)
        case Steps(waits):
            return waits[min(failing.consecutive_errors, len(waits)) - 1]
        case Steady():
            return interval
        case _:
            assert_never(rule.backoff)


def _asked_for(failed: PollFailed, options: PollingOptions) -> timedelta:
    return min(failed.retry_after or timedelta(0), options.interval_max)


def _until(cooldown: timedelta, now: datetime) -> datetime | None:
    return None if cooldown == NEVER else now + cooldown


def _end(disabled: Disabled) -> datetime:
    return disabled.until or BY_HAND_ONLY


def source_name(feed: ClaimedFeed, title: str) -> str:
    """The name that a source without one gets when its feed is read for the first time; empty without a title that
    everyone may know. Later an operator may have chosen the name, also that of the host."""
    if feed.state.last_full_at is not None or is_private_feed(feed.feed_url, is_public=feed.is_system):
        return ""
    return as_name(title, most=NAME_MAX)
