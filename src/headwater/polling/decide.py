"""When to poll again. Pure: state, outcome, options and clock in, a plan out."""

from datetime import datetime, timedelta
from typing import assert_never

from headwater.polling.types import ClaimedFeed, NotModified, Plan, Polled, PollFailed, PollingOptions, PollOutcome

MAX_DOUBLINGS = 30  # beyond any interval; keeps the power of two a small number


def next_plan(feed: ClaimedFeed, outcome: PollOutcome, options: PollingOptions, now: datetime) -> Plan:
    """When to poll again: at the interval while it works, after ever longer waits while it fails."""
    match outcome:
        case Polled() | NotModified():
            return Plan(now + options.interval, 0, None, None)
        case PollFailed():
            errors = feed.consecutive_errors + 1
            wait = min(options.interval * 2 ** min(errors, MAX_DOUBLINGS), options.interval_max)
            wait = max(wait, min(outcome.retry_after or timedelta(0), options.interval_max))
            return Plan(now + wait, errors, outcome.detail, outcome.kind)
        case _:
            assert_never(outcome)
