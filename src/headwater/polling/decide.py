"""What follows from a poll. Pure: state, outcome, policy and clock in, a decision out.

    decide(state, outcome, policy, now) → the next state, the next poll, what happened

It holds for every history: a schedule is never in the past, a success clears all, waits of our own choice never shorten
while a feed keeps failing alike, nothing goes off before its time, and what is off comes back by itself unless only a
person may enable it.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import assert_never

from headwater.polling.policy import Counts, Doubling, Policy, Rule, Steady, Steps
from headwater.polling.rhythm import next_after_success, rhythm_of
from headwater.polling.types import (
    NEVER,
    Decision,
    FeedState,
    Happening,
    Moved,
    NotModified,
    Off,
    Polled,
    PollFailed,
    PollingOptions,
    PollOutcome,
)

MAX_DOUBLINGS = 20  # a second doubled so often is twelve days, and a day is still a timedelta
MOST_OFF = timedelta(days=7)
OUTAGE_RETRY = timedelta(minutes=5)
NEW_FEED_WAITS = (timedelta(minutes=5), timedelta(minutes=15), timedelta(hours=1))
"""The longest waits after the first failures of a feed that was never read: somebody has just added it."""
MOVED_TIMES = 3
MOVED_FOR = timedelta(days=1)
BY_HAND_ONLY = datetime(9999, 12, 31, tzinfo=UTC)
"""When a feed is next polled that only a person can enable: a schedule is never NULL."""


def decide(state: FeedState, outcome: PollOutcome, policy: Policy, options: PollingOptions, now: datetime) -> Decision:
    """The state after this poll, when the next one is, and what somebody should hear of."""
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


def decide_paused(state: FeedState, failed: PollFailed, until: datetime, now: datetime) -> Decision:
    """A failure that is the host's and not the feed's: it is told, but not counted. The feed fails from now on."""
    since = state.failing_since or now
    told = replace(state, last_error=failed.detail, last_error_type=failed.kind, failing_since=since)
    return Decision(told, max(until, _end(state.off)) if state.off else until)


def decide_outage(state: FeedState, now: datetime) -> Decision:
    """A failure that is our own: it never happened. A feed that is off waits for its probe as before."""
    soon = now + OUTAGE_RETRY
    return Decision(state, max(soon, _end(state.off)) if state.off else soon, is_outage=True)


def _after_success(state: FeedState, outcome: Polled | NotModified, options: PollingOptions, now: datetime) -> Decision:
    rhythm = rhythm_of(state, outcome, now)
    moved = _moved(state.moved, outcome.moved_to, now)
    fresh = FeedState(
        source_id=state.source_id,
        own_interval=state.own_interval,
        moved=moved,
        mean_gap=rhythm.mean_gap,
        last_new_at=rhythm.last_new_at,
        last_full_at=now if isinstance(outcome, Polled) and not outcome.is_delta else state.last_full_at,
        wishes=outcome.feed.wishes if isinstance(outcome, Polled) else state.wishes,
    )
    if state.off is not None and state.off.is_by_hand:
        return Decision(replace(fresh, off=state.off), _end(state.off))
    happenings = (Happening.ENABLED,) if state.off else ()
    if moved is not None and moved.times >= MOVED_TIMES and now - moved.since >= MOVED_FOR:
        happenings += (Happening.MOVED,)
    return Decision(fresh, next_after_success(fresh, outcome, options, now), happenings=happenings)


def _moved(before: Moved | None, to: str | None, now: datetime) -> Moved | None:
    """A permanent redirect is believed when several polls over a day have seen the same one."""
    if to is None:
        return None
    if before is None or before.url != to:
        return Moved(to, now, 1)
    return replace(before, times=before.times + 1)


def _after_failure(
    state: FeedState, failed: PollFailed, rule: Rule, options: PollingOptions, now: datetime
) -> Decision:
    same = state.streak_class is failed.kind
    failing = replace(
        state,
        consecutive_errors=state.consecutive_errors + 1,
        streak=state.streak + 1 if same else 1,
        streak_class=failed.kind,
        permanent_errors=state.permanent_errors + rule.permanent,
        failing_since=state.failing_since or now,
        last_error=failed.detail,
        last_error_type=failed.kind,
    )
    if state.off is not None:
        return _probe_failed(failing, state.off, failed, rule, options, now)
    if _is_enough(failing, rule, now):
        off = Off(now, failed.kind, _until(max(rule.cooldown, _asked_for(failed, options)), now))
        happened = (Happening.DISABLED, Happening.LOST) if rule.rediscover else (Happening.DISABLED,)
        return Decision(replace(failing, off=off), _end(off), rule.level, happened)
    # What never was a feed is most likely the page of one, which somebody has just named: look for it at once.
    is_page = rule.rediscover and state.last_full_at is None and failing.consecutive_errors == 1
    happened = (Happening.LOST,) if is_page else ()
    return Decision(failing, now + _wait(failing, failed, rule, options), rule.level, happened)


def _is_enough(failing: FeedState, rule: Rule, now: datetime) -> bool:
    if rule.threshold is None:
        return False
    counted = {
        Counts.CLASS: failing.streak,
        Counts.PERMANENT: failing.permanent_errors,
        Counts.ALL: failing.consecutive_errors,
    }[rule.counts]
    failing_for = now - (failing.failing_since or now)
    return counted >= rule.threshold and failing_for >= rule.failing_for


def _probe_failed(
    failing: FeedState, off: Off, failed: PollFailed, rule: Rule, options: PollingOptions, now: datetime
) -> Decision:
    """It stays off: twice as long after a permanent failure, 7 days at the most; as long as before after another.

    And never shorter than the site asks for. A poll by hand before the cooldown is over is no probe.
    """
    if off.until is None:
        return Decision(failing, BY_HAND_ONLY, rule.level)
    if now < off.until:
        until = max(off.until, now + _asked_for(failed, options))
        return Decision(replace(failing, off=replace(off, until=until)), until, rule.level)
    if rule.threshold is None:
        again = now + _wait(failing, failed, rule, options)
        return Decision(replace(failing, off=replace(off, until=again)), again, rule.level)
    times = off.times + 1 if rule.permanent else off.times
    cooldown = rule.cooldown if rule.cooldown == NEVER else min(rule.cooldown * 2 ** min(times - 1, 10), MOST_OFF)
    until = _until(max(cooldown, _asked_for(failed, options)), now)
    again = replace(off, reason=failed.kind, until=until, times=times, by_operator=False)
    # What went off for another reason, and is a page by now, has not been looked for yet.
    happened = (Happening.LOST,) if rule.rediscover and off.reason is not failed.kind else ()
    return Decision(replace(failing, off=again), _end(again), rule.level, happened)


def _wait(failing: FeedState, failed: PollFailed, rule: Rule, options: PollingOptions) -> timedelta:
    asked = _asked_for(failed, options)
    if asked and rule.site_sets_wait:
        return max(asked, options.interval_min)
    return max(asked, _own_wait(failing, rule, options))


def _own_wait(failing: FeedState, rule: Rule, options: PollingOptions) -> timedelta:
    wait = _policy_wait(failing, rule, options)
    if failing.last_full_at is None and failing.consecutive_errors <= len(NEW_FEED_WAITS):
        return min(wait, NEW_FEED_WAITS[failing.consecutive_errors - 1])
    return wait


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
    """What the site's Retry-After asks for, but not for ever."""
    return min(failed.retry_after or timedelta(0), options.interval_max)


def _until(cooldown: timedelta, now: datetime) -> datetime | None:
    return None if cooldown == NEVER else now + cooldown


def _end(off: Off) -> datetime:
    return off.until or BY_HAND_ONLY
