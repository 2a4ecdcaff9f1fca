"""The state of a feed as sentences. Pure. What follows is computed by `polling.decide` from further failures of the
same kind, so that it holds for every policy."""

from datetime import datetime, timedelta

from headwater.polling.decide import MOVED_TIMES, decide, decide_host, decide_paused
from headwater.polling.policy import Counts, Doubling, Rule, Steady, Steps
from headwater.polling.types import NEVER, Decision, FailureClass, FeedState, HostState, PollFailed, PollingOptions
from headwater.sources.health.types import FeedDescription, FeedHealth, Forecast
from headwater.urls import masked

FAILURES_MAX = 100  # no policy takes half as many to disable a feed
_UNITS = ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"))
_COUNTED = {
    Counts.CLASS: "of one kind in a row",
    Counts.PERMANENT: "that look permanent, since the last success",
    Counts.ALL: "of any kind, since the last success",
}


def describe(feed: FeedHealth, options: PollingOptions, now: datetime) -> FeedDescription:
    return FeedDescription(_state(feed, now), _next_poll(feed, now), _outlook(feed, options, now))


def forecast(feed: FeedHealth, options: PollingOptions) -> Forecast | None:
    """When it is disabled if it keeps failing as it last did; None: never, as on a paused host."""
    state, host, kind = feed.state, feed.host, feed.state.last_error_type
    if kind is None or state.disabled is not None:
        return None
    at = max(feed.next_poll_at, host.paused_until or feed.next_poll_at)
    for failures in range(1, FAILURES_MAX + 1):
        decision, host = _decide(feed, state, host, kind, options, at)
        state = decision.state
        if state.disabled is not None:
            return Forecast(failures, at, state.disabled.until)
        at = decision.next_poll_at
    return None


def _decide(
    feed: FeedHealth, state: FeedState, host: HostState, kind: FailureClass, options: PollingOptions, at: datetime
) -> tuple[Decision, HostState]:
    """What the poller would decide on another failure: one of the host is not counted for the feed."""
    failed = PollFailed(kind, "", feed.last_status)
    judged = decide_host(host, state.source_id, failed, feed.policy, at)
    if not judged.counts and judged.state.paused_until is not None:
        return decide_paused(state, failed, judged.state.paused_until, at), judged.state
    return decide(state, failed, feed.policy, options, at), judged.state


def when(at: datetime, now: datetime) -> str:
    """A time in UTC: `today at 14:00`, `Tuesday at 14:00`, `3 March at 14:00`."""
    days = (at.date() - now.date()).days
    if days in {-1, 0, 1}:
        day = {-1: "yesterday", 0: "today", 1: "tomorrow"}[days]
    elif -7 < days < 7:
        day = f"{at:%A}"
    else:
        day = f"{at.day} {at:%B}" + (f" {at.year}" if at.year != now.year else "")
    return f"{day} at {at:%H:%M}"


def lasting(length: timedelta) -> str:
    """A duration in whole units, as large as possible: `48 hours`, `7 days`, `90 minutes`."""
    seconds = round(length.total_seconds())
    number, noun = (seconds, "second") if seconds < 120 else (round(seconds / 60), "minute")
    for size, unit in _UNITS:
        if length % size == timedelta(0) and length // size > (2 if unit == "day" else 0):
            number, noun = length // size, unit
            break
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _state(feed: FeedHealth, now: datetime) -> str:
    state, kind, disabled = feed.state, feed.state.last_error_type, feed.state.disabled
    if disabled is not None and disabled.is_by_hand:
        return f"Disabled by an operator {when(disabled.at, now)}: {disabled.reason.rstrip('.')}."
    if not feed.is_enabled:
        return "The source is disabled."
    if disabled is not None:
        failures = f" {_failures(feed, now)}" if kind else ""
        return f"Auto-disabled {when(disabled.at, now)}, with the reason {disabled.reason.replace('_', ' ')}.{failures}"
    if kind is not None and state.consecutive_errors == 0 and feed.host.paused_until is None and state.last_error:
        return f"{state.last_error.rstrip('.')}; this is not counted for the feed."
    if kind is not None and state.consecutive_errors == 0:
        return f"Its host fails, with {_failure(feed)}; this is not counted for the feed."
    if kind is not None:
        return _failures(feed, now)
    if feed.last_polled_at is None:
        return "Not polled yet."
    moved = state.moved
    redirect = (
        f" It redirects permanently to {masked(moved.url)}: seen {_times(moved.times)} since "
        f"{when(moved.since, now)}; the new URL is used after {MOVED_TIMES} polls over a day."
        if moved
        else ""
    )
    return f"Healthy. Last polled {when(feed.last_polled_at, now)}.{redirect}"


def _failures(feed: FeedHealth, now: datetime) -> str:
    state = feed.state
    if state.consecutive_errors == 1 and state.failing_since:
        return f"Failed once, {when(state.failing_since, now)}, with {_failure(feed)}."
    since = f" since {when(state.failing_since, now)}" if state.failing_since else ""
    last = f", the last {_times(state.streak) if state.streak > 1 else 'time'}"
    is_mixed = state.consecutive_errors > 1 and state.streak < state.consecutive_errors
    return f"Failed {_times(state.consecutive_errors)}{since}{last if is_mixed else ''} with {_failure(feed)}."


def _failure(feed: FeedHealth) -> str:
    """The last failure: `404, not found`."""
    words = (feed.state.last_error_type or FailureClass.UNEXPECTED).replace("_", " ")
    return f"{feed.last_status}, {words}" if feed.last_status else words


def _next_poll(feed: FeedHealth, now: datetime) -> str:
    disabled, paused = feed.state.disabled, feed.host.paused_until
    if not feed.is_enabled or (disabled is not None and disabled.until is None):
        return "Not polled until it is enabled or its URL is changed."
    if paused is not None and paused > max(feed.next_poll_at, now):
        return f"Its host is paused until {when(paused, now)}. Then one feed is polled; if it responds, all are."
    if feed.next_poll_at <= now:
        return "Due now."
    if disabled is not None and not disabled.is_by_hand:
        return f"One probe is sent {when(feed.next_poll_at, now)}."
    return f"Next poll {when(feed.next_poll_at, now)}."


def _outlook(feed: FeedHealth, options: PollingOptions, now: datetime) -> str:
    disabled, kind = feed.state.disabled, feed.state.last_error_type
    if not feed.is_enabled or (disabled is not None and (disabled.is_by_hand or disabled.until is None)):
        return "Enabling it resets its errors and polls it at once."
    if kind is None:
        return ""
    if disabled is not None:
        return _after_probe(feed, kind, options)
    if feed.host.paused_until is not None or feed.state.consecutive_errors == 0:
        return "Failures of its host are not counted for the feed."
    rule = feed.policy.rule(kind, feed.last_status)
    coming = forecast(feed, options) if rule.threshold is not None else None
    if coming is None:
        return f"Policy {feed.policy.name}: {_rule(rule)}."
    more = "the next failure" if coming.failures == 1 else f"{coming.failures} more failures"
    end = f"If it keeps failing, that is after {more}: {when(coming.at, now)} at the earliest."
    return f"Policy {feed.policy.name}: {_rule(rule)}. {end}"


def _after_probe(feed: FeedHealth, kind: FailureClass, options: PollingOptions) -> str:
    at = max(feed.next_poll_at, feed.host.paused_until or feed.next_poll_at)
    decision, host = _decide(feed, feed.state, feed.host, kind, options, at)
    success, again = "If the probe succeeds, it is enabled and its errors are reset", decision.state.disabled
    if host.paused_until is not None and host.paused_until > at:
        return f"{success}; if its host still fails, that is not counted for the feed."
    until = again.until if again is not None else None
    end = f"for another {lasting(until - at)}" if until else "until an operator enables it"
    return f"{success}; if it fails in the same way, it stays disabled {end}."


def _rule(rule: Rule) -> str:
    if rule.threshold is None:
        match rule.backoff:
            case Doubling(most=most):
                waits = f"the wait doubles with each, up to {lasting(most)}"
            case Steps(waits=steps):
                waits = f"the waits are {', '.join(lasting(wait) for wait in steps)}"
            case Steady():
                waits = "it is polled as often as before"
        return f"such failures never disable it; {waits}"
    count = "the first failure" if rule.threshold == 1 else f"{rule.threshold} failures {_COUNTED[rule.counts]}"
    lasts = f" that last {lasting(rule.failing_for)}" if rule.failing_for else ""
    end = "until an operator enables it" if rule.cooldown == NEVER else f"and probed after {lasting(rule.cooldown)}"
    return f"it is disabled after {count}{lasts}, {end}"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")
