"""When it is not the feed that fails but its host, whose feeds all fail alike. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta

from headwater.polling.policy import Policy
from headwater.polling.types import FailureClass, HostDecision, HostState, PollFailed, PollOutcome
from headwater.types import SourceId

ALIKE = 3
FIRST_PAUSE = timedelta(hours=1)
MOST_PAUSE = timedelta(days=1)
FIRST_WAIT = timedelta(minutes=5)
MOST_WAIT = timedelta(hours=8)
OUTAGE_PROBE = timedelta(seconds=30)
OURS = frozenset({FailureClass.NETWORK, FailureClass.DNS})
# What speaks of one feed and not of its host.
OF_THE_FEED_ALONE = frozenset(
    {FailureClass.PARSE_ERROR, FailureClass.TOO_LARGE, FailureClass.SSRF_BLOCKED, FailureClass.UNEXPECTED}
)


def decide_host(
    host: HostState, source_id: SourceId, outcome: PollOutcome, policy: Policy, now: datetime
) -> HostDecision:
    """Three feeds of a host that fail alike, one after another, pause the host; one probe at a time tests it."""
    if not isinstance(outcome, PollFailed) or outcome.kind in OF_THE_FEED_ALONE:
        return HostDecision(HostState(host.host), resumed=host.paused_until is not None)
    alike = _alike(host, source_id, outcome.kind)
    if host.paused_until is not None and alike.alike_class is host.alike_class:
        return HostDecision(_paused(alike, outcome, policy, now), counts=False)
    if alike.alike >= ALIKE or policy.rule(outcome.kind, outcome.status).host_scope:
        return HostDecision(_paused(alike, outcome, policy, now), counts=False, paused=True)
    return HostDecision(replace(alike, paused_until=None, pauses=0), resumed=host.paused_until is not None)


def _alike(host: HostState, source_id: SourceId, kind: FailureClass) -> HostState:
    if host.alike_class is not kind:
        return replace(host, alike=1, alike_class=kind, last_source=source_id)
    return replace(host, alike=host.alike + (host.last_source != source_id), last_source=source_id)


def _paused(host: HostState, failed: PollFailed, policy: Policy, now: datetime) -> HostState:
    rule = policy.rule(failed.kind, failed.status)
    pause = MOST_PAUSE if rule.host_scope else min(FIRST_PAUSE * 2 ** min(host.pauses, 10), MOST_PAUSE)
    if failed.kind is FailureClass.RATE_LIMITED:
        # The host says how long, or it is found out: an hour would be far less than it allows.
        pause = failed.retry_after or min(FIRST_WAIT * 2 ** min(host.pauses, 10), MOST_WAIT)
    pause = min(max(pause, failed.retry_after or timedelta(0)), MOST_PAUSE)
    return replace(host, paused_until=now + pause, pauses=host.pauses + 1)
