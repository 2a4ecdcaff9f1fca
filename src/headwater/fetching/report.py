"""The log and metrics of a turn."""

from datetime import datetime, timedelta
from typing import assert_never

from headwater.fetching.types import TurnResult
from headwater.frontier.decide import after
from headwater.frontier.types import Answered, Fetched, FetchFailed, FrontierOptions, GivenUp, Redirected, Unchanged
from headwater.observability import metrics
from headwater.observability.log import get_logger

log = get_logger()


def report(result: TurnResult, options: FrontierOptions) -> None:
    """One log entry for each URL, and one for a paused host."""
    for answered in result.answered:
        metrics.FETCHES.labels(outcome=outcome_name(answered)).inc()
        _log_answer(answered, result.waits_until, options)
    for robots in result.robots:
        outcome = "unreachable" if robots.unreachable_since else "rules" if robots.body else "none"
        metrics.ROBOTS.labels(outcome=outcome).inc()
    metrics.FETCHED_BYTES.inc(sum(len(page.body) for page in result.pages))
    if result.waits_until is not None:
        log.warning("host paused", host=result.host.host, until=result.waits_until.isoformat())
    took_ms = round(result.took / timedelta(milliseconds=1))
    log.debug("host released", host=result.host.host, answered=len(result.answered), took_ms=took_ms)


def outcome_name(answered: Answered) -> str:
    match answered.answer:
        case Fetched():
            return "fetched"
        case Unchanged():
            return "unchanged"
        case Redirected():
            return "redirected"
        case FetchFailed(reason=reason) | GivenUp(reason=reason):
            return reason
        case _:
            assert_never(answered.answer)


def _log_answer(answered: Answered, blocked_until: datetime | None, options: FrontierOptions) -> None:
    bound = log.bind(url=answered.url.url, kind=answered.url.kind.value)
    match answered.answer:
        case Fetched():
            bound.debug("page fetched")
        case Unchanged():
            bound.debug("page not modified")
        case Redirected(to=to, is_permanent=is_permanent):
            bound.debug("page redirected", to=to, permanent=is_permanent)
        case FetchFailed(reason=reason, detail=detail):
            again = after(answered.url, answered.answer, answered.at, options).next_fetch_at
            next_try = max(again, blocked_until or again).isoformat() if again else None
            retries = answered.url.retry_count
            bound.warning("page fetch failed", error_type=reason, error=detail, retries=retries, next_try=next_try)
        case GivenUp(reason=reason, detail=detail):
            bound.info("page given up", reason=reason, detail=detail)
        case _:
            assert_never(answered.answer)
