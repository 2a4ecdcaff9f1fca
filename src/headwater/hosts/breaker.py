"""The circuit breaker: pauses a host whose feeds all fail in the same way. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headwater.hosts.decide import FIRST_GUESS, LONGEST_GUESS, LONGEST_WAIT
from headwater.hosts.types import HostState
from headwater.types import FailureClass, SourceId, record

FAILING_SOURCES_TO_PAUSE = 3
FIRST_PAUSE = timedelta(hours=1)
# The host answered, and the response concerns this feed only.
FEED_FAILURES = frozenset({FailureClass.PARSE_ERROR, FailureClass.TOO_LARGE})
# The host was never asked.
OWN_FAILURES = frozenset({FailureClass.SSRF_BLOCKED, FailureClass.UNEXPECTED})
UNREACHABLE = frozenset({FailureClass.NETWORK, FailureClass.DNS, FailureClass.UPSTREAM_FAILURE})
REFUSED = frozenset({FailureClass.RATE_LIMITED, FailureClass.BOT_CHALLENGE})


@dataclass(frozen=True, slots=True)
class HostFailure:
    """A failed poll, as far as it concerns the host."""

    kind: FailureClass
    retry_after: timedelta | None
    pauses_host: bool  # at once, by the feed's policy
    needs_operator: bool  # logged as an error, which a pause would hide


@record
class HostDecision:
    """The host's next state. `counts` is false when the failure is the host's and does not count against the feed."""

    state: HostState
    counts: bool = True
    paused: bool = False
    resumed: bool = False


def after_poll(host: HostState, source_id: SourceId, failure: HostFailure | None, now: datetime) -> HostDecision:
    """Three feeds of a host that fail in the same way, one after another, pause it; one probe at a time tests it."""
    if failure is None or failure.kind in FEED_FAILURES:
        return HostDecision(HostState(host.host), resumed=host.paused_until is not None)
    if failure.kind in OWN_FAILURES or failure.needs_operator:
        return HostDecision(host)
    failing = _with_failure(host, source_id, failure.kind)
    if host.paused_until is not None and now < host.paused_until and failure.retry_after is None:
        return HostDecision(host, counts=False)  # a user polled it during the pause: nothing new is learned
    # A host that was unreachable may fail now in a way that concerns one feed: then it answers again.
    answers_again = host.failure_class in UNREACHABLE and failure.kind not in UNREACHABLE | REFUSED
    if host.paused_until is not None and not answers_again:
        return HostDecision(_paused(failing, failure, now), counts=False)
    if len(failing.failing_sources) >= FAILING_SOURCES_TO_PAUSE or failure.pauses_host:
        return HostDecision(_paused(failing, failure, now), counts=False, paused=True)
    return HostDecision(replace(failing, paused_until=None, pauses=0), resumed=host.paused_until is not None)


def _with_failure(host: HostState, source_id: SourceId, kind: FailureClass) -> HostState:
    if host.failure_class is not kind:
        return replace(host, failing_sources=(source_id,), failure_class=kind)
    if source_id in host.failing_sources or len(host.failing_sources) >= FAILING_SOURCES_TO_PAUSE:
        return host
    return replace(host, failing_sources=(*host.failing_sources, source_id))


def _paused(host: HostState, failure: HostFailure, now: datetime) -> HostState:
    doublings = 2 ** min(host.pauses, 10)
    pause = LONGEST_WAIT if failure.pauses_host else FIRST_PAUSE * doublings
    if failure.kind is FailureClass.RATE_LIMITED:
        # Its Retry-After is trusted once: if it answers 429 after that time too, the wait grows. An hour would be far
        # more than most hosts ask for.
        trusted = failure.retry_after if host.pauses == 0 else None
        pause = min(FIRST_GUESS * doublings, LONGEST_GUESS) if trusted is None else trusted
    pause = min(max(pause, failure.retry_after or timedelta(0)), LONGEST_WAIT)
    return replace(host, paused_until=now + pause, pauses=host.pauses + 1)
