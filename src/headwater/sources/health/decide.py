"""A feed's state machine in words. Pure: state, policy and clock in, sentences out.

What would come next is not told from a second set of rules: it is what `polling.decide` itself says of further failures
of the same kind, so that it is true for every policy, and stays so.
"""

from datetime import datetime, timedelta

from headwater.polling.decide import MOVED_TIMES, decide, decide_host, decide_paused
from headwater.polling.policy import Counts, Doubling, Policy, Rule, Steady, Steps
from headwater.polling.types import NEVER, Decision, FailureClass, FeedState, HostState, PollFailed, PollingOptions
from headwater.sources.health.types import FeedHealth, Prospect, Story
from headwater.urls import masked

LOOKED_AHEAD = 100  # failures; no policy takes half as many to switch a feed off
_UNITS = ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"))
_COUNTED = {
    Counts.CLASS: "of one kind in a row",
    Counts.PERMANENT: "that look permanent, since the last success",
    Counts.ALL: "of any kind, since the last success",
}


def story(feed: FeedHealth, options: PollingOptions, now: datetime) -> Story:
    """How a feed stands, when it is tried again, and what follows then."""
    return Story(_standing(feed, now), _next_try(feed, now), _what_then(feed, options, now))


def prospect(feed: FeedHealth, options: PollingOptions) -> Prospect | None:
    """When it is disabled, should it go on failing as it last did; None for never, as on a paused host."""
    state, host, kind = feed.state, feed.host, feed.state.last_error_type
    if kind is None or state.off is not None:
        return None
    at = max(feed.next_poll_at, host.paused_until or feed.next_poll_at)
    for failures in range(1, LOOKED_AHEAD + 1):
        decision, host = _decide(feed, state, host, _again(kind, feed.last_status), options, at)
        state = decision.state
        if state.off is not None:
            return Prospect(failures, at, state.off.until)
        at = decision.next_poll_at
    return None


def _decide(
    feed: FeedHealth, state: FeedState, host: HostState, failed: PollFailed, options: PollingOptions, at: datetime
) -> tuple[Decision, HostState]:
    """What the poller would decide: a failure that is the host's is not counted against the feed."""
    judged = decide_host(host, state.source_id, failed, feed.policy, at)
    if not judged.counts and judged.state.paused_until is not None:
        return decide_paused(state, failed, judged.state.paused_until, at), judged.state
    return decide(state, failed, feed.policy, options, at), judged.state


def when(at: datetime, now: datetime) -> str:
    """A time as one says it: `today at 14:00`, `Tuesday at 14:00`, `3 March at 14:00`. In UTC."""
    days = (at.date() - now.date()).days
    if days in {-1, 0, 1}:
        day = {-1: "yesterday", 0: "today", 1: "tomorrow"}[days]
    elif -7 < days < 7:
        day = f"{at:%A}"
    else:
        day = f"{at.day} {at:%B}" + (f" {at.year}" if at.year != now.year else "")
    return f"{day} at {at:%H:%M}"


def lasting(length: timedelta) -> str:
    """How long, in the largest units that tell it whole: `48 hours`, `7 days`, `90 minutes`."""
    for size, unit in _UNITS:
        count = length // size
        if length % size == timedelta(0) and (unit != "day" or count > 2) and count:
            return _count(count, unit)
    seconds = round(length.total_seconds())
    return _count(seconds, "second") if seconds < 120 else _count(round(seconds / 60), "minute")


def reason_words(reason: str, status: int | None = None) -> str:
    """What a failure is called: `404, not found`."""
    words = reason.replace("_", " ")
    return f"{status}, {words}" if status else words


def _standing(feed: FeedHealth, now: datetime) -> str:
    state, kind = feed.state, feed.state.last_error_type
    if state.off is not None and state.off.is_by_hand:
        return f"Switched off by hand {when(state.off.at, now)}: {state.off.reason.rstrip('.')}."
    if not feed.is_enabled:
        return "The whole source is disabled, and left alone."
    if state.off is not None:
        return f"Switched off {when(state.off.at, now)}, with the reason {reason_words(state.off.reason)}." + (
            f" {_failures(feed, now)}" if kind else ""
        )
    if kind is not None and state.consecutive_errors == 0:
        return f"Its host fails, with {reason_words(kind, feed.last_status)}; nothing is held against this feed."
    if kind is not None:
        return _failures(feed, now)
    if feed.last_polled_at is None:
        return "It waits for its first poll."
    moved = state.moved
    away = (
        f" It has moved for good to {masked(moved.url)}, it says: seen {_times(moved.times)} since "
        f"{when(moved.since, now)}; that is believed after {MOVED_TIMES} polls over a day."
        if moved
        else ""
    )
    return f"It works, and was last polled {when(feed.last_polled_at, now)}.{away}"


def _failures(feed: FeedHealth, now: datetime) -> str:
    state = feed.state
    kind = state.last_error_type or FailureClass.UNEXPECTED
    since = f" since {when(state.failing_since, now)}" if state.failing_since else ""
    with_what = reason_words(kind, feed.last_status)
    told = f"Failed {_times(state.consecutive_errors)}{since}"
    if state.consecutive_errors == 1 and state.failing_since:
        return f"Failed once, {when(state.failing_since, now)}, with {with_what}."
    if state.consecutive_errors > 1 and state.streak < state.consecutive_errors:
        return f"{told}, the last {_times(state.streak) if state.streak > 1 else 'time'} with {with_what}."
    return f"{told} with {with_what}."


def _next_try(feed: FeedHealth, now: datetime) -> str:
    off = feed.state.off
    if not feed.is_enabled or (off is not None and off.until is None):
        return "It is not tried again until somebody enables it or changes its address."
    paused = feed.host.paused_until
    if paused is not None and paused > max(feed.next_poll_at, now):
        return f"Its host is paused until {when(paused, now)}. Then one of its feeds is tried; if it answers, all are."
    if feed.next_poll_at <= now:
        return "It is due now."
    if off is not None and not off.is_by_hand:
        return f"One probe goes out {when(feed.next_poll_at, now)}."
    return f"{'Tried again' if feed.state.last_error_type else 'Asked again'} {when(feed.next_poll_at, now)}."


def _what_then(feed: FeedHealth, options: PollingOptions, now: datetime) -> str:
    state, kind = feed.state, feed.state.last_error_type
    if not feed.is_enabled or (state.off is not None and (state.off.is_by_hand or state.off.until is None)):
        return "Enabling it clears all that is held against it, and polls it at once."
    if kind is None:
        return ""
    rule = feed.policy.rule(kind, feed.last_status)
    if state.off is not None:
        return _after_probe(feed, kind, options)
    if feed.host.paused_until is not None:
        return "While its host is paused, failures are not held against it. Once the host answers, they are again."
    if state.consecutive_errors == 0:
        return "Once the host answers, its feeds are judged one by one again."
    return f"{_rule_in_words(rule, feed.policy)} {_goes_on(feed, rule, options, now)}".rstrip()


def _after_probe(feed: FeedHealth, kind: FailureClass, options: PollingOptions) -> str:
    at = max(feed.next_poll_at, feed.host.paused_until or feed.next_poll_at)
    decision, host = _decide(feed, feed.state, feed.host, _again(kind, feed.last_status), options, at)
    again = decision.state.off
    success = "If that succeeds, it is on again and all is forgotten"
    if host.paused_until is not None and host.paused_until > at:
        return f"{success}; if its host still fails, that is not held against it."
    if again is None or again.until is None:
        return f"{success}; if it fails alike, it stays off until somebody enables it."
    return f"{success}; if it fails alike, it stays off for another {lasting(again.until - at)}."


def _rule_in_words(rule: Rule, policy: Policy) -> str:
    if rule.threshold is None:
        return f"By the policy {policy.name}, such failures never switch it off; {_backoff_in_words(rule)}."
    count = "the first failure" if rule.threshold == 1 else f"{rule.threshold} failures {_COUNTED[rule.counts]}"
    lasts = f" that last {lasting(rule.failing_for)}" if rule.failing_for else ""
    end = (
        "then off until somebody enables it"
        if rule.cooldown == NEVER
        else f"then tried again after {lasting(rule.cooldown)}"
    )
    return f"By the policy {policy.name}, it is switched off after {count}{lasts}, {end}."


def _backoff_in_words(rule: Rule) -> str:
    match rule.backoff:
        case Doubling(most=most):
            return f"the wait doubles with each, up to {lasting(most)}"
        case Steps(waits):
            return f"the waits are {', '.join(lasting(wait) for wait in waits)}"
        case Steady():
            return "it is asked as often as before"


def _goes_on(feed: FeedHealth, rule: Rule, options: PollingOptions, now: datetime) -> str:
    if rule.threshold is None:
        return ""
    coming = prospect(feed, options)
    if coming is None:
        return ""
    more = "the next failure" if coming.failures == 1 else f"{coming.failures} more"
    return f"If it goes on like this, that is {more}: {when(coming.at, now)} at the earliest."


def _again(kind: FailureClass, status: int | None) -> PollFailed:
    return PollFailed(kind, "", status)


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
