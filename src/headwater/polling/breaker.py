"""When it is not the feed that fails but its host, whose feeds all fail alike. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta

from headwater.hosts.types import HostState
from headwater.polling.policy import Policy, Rule
from headwater.polling.types import HostDecision, Level, PollFailed, PollOutcome
from headwater.types import FailureClass, SourceId

ALIKE = 3
FIRST_PAUSE = timedelta(hours=1)
MOST_PAUSE = timedelta(days=1)
FIRST_WAIT = timedelta(minutes=5)
MOST_WAIT = timedelta(hours=8)
OUTAGE_PROBE = timedelta(seconds=30)
OURS = frozenset({FailureClass.NETWORK, FailureClass.DNS})
# The host answered, and what it sent is a matter of this feed.
OF_THE_FEED_ALONE = frozenset({FailureClass.PARSE_ERROR, FailureClass.TOO_LARGE})
# We never came to hear the host.
OF_OURSELVES = frozenset({FailureClass.SSRF_BLOCKED, FailureClass.UNEXPECTED})
OUT_OF_REACH = frozenset({FailureClass.NETWORK, FailureClass.DNS, FailureClass.UPSTREAM_FAILURE})
REFUSED = frozenset({FailureClass.RATE_LIMITED, FailureClass.BOT_CHALLENGE})


def decide_host(
    host: HostState, source_id: SourceId, outcome: PollOutcome, policy: Policy, now: datetime
) -> HostDecision:
    """Three feeds of a host that fail alike, one after another, pause the host; one probe at a time tests it."""
    if not isinstance(outcome, PollFailed) or outcome.kind in OF_THE_FEED_ALONE:
        return HostDecision(HostState(host.host), resumed=host.paused_until is not None)
    rule = policy.rule(outcome.kind, outcome.status)
    if outcome.kind in OF_OURSELVES or rule.level is Level.ERROR:
        return HostDecision(host)  # a person must look at the feed, which a pause would hide
    alike = _alike(host, source_id, outcome.kind)
    if host.paused_until is not None and now < host.paused_until and outcome.retry_after is None:
        return HostDecision(host, counts=False)  # somebody asked for it before its time: that tells nothing new
    if host.paused_until is not None and not _answers_again(host, outcome.kind):
        return HostDecision(_paused(alike, outcome, rule, now), counts=False)
    if len(alike.alike_sources) >= ALIKE or rule.host_scope:
        return HostDecision(_paused(alike, outcome, rule, now), counts=False, paused=True)
    return HostDecision(replace(alike, paused_until=None, pauses=0), resumed=host.paused_until is not None)


def _answers_again(host: HostState, kind: FailureClass) -> bool:
    """Whether a host that was out of reach now has something to say of one feed, if nothing good."""
    return host.alike_class in OUT_OF_REACH and kind not in OUT_OF_REACH | REFUSED


def _alike(host: HostState, source_id: SourceId, kind: FailureClass) -> HostState:
    if host.alike_class is not kind:
        return replace(host, alike_sources=(source_id,), alike_class=kind)
    if source_id in host.alike_sources or len(host.alike_sources) >= ALIKE:
        return host
    return replace(host, alike_sources=(*host.alike_sources, source_id))


def _paused(host: HostState, failed: PollFailed, rule: Rule, now: datetime) -> HostState:
    pause = MOST_PAUSE if rule.host_scope else min(FIRST_PAUSE * 2 ** min(host.pauses, 10), MOST_PAUSE)
    if failed.kind is FailureClass.RATE_LIMITED:
        pause = _until_it_allows(host, failed.retry_after)
    pause = min(max(pause, failed.retry_after or timedelta(0)), MOST_PAUSE)
    return replace(host, paused_until=now + pause, pauses=host.pauses + 1)


def _until_it_allows(host: HostState, asked_for: timedelta | None) -> timedelta:
    """The host says how long, or it is found out: an hour would be far less than it allows. What it says is believed
    once: where it refuses after that time too, it is found out as well."""
    found_out = min(FIRST_WAIT * 2 ** min(host.pauses, 10), MOST_WAIT)
    return asked_for if asked_for is not None and host.pauses == 0 else found_out
