"""The log and metrics of polls."""

import time
from collections import Counter
from datetime import datetime, timedelta
from typing import assert_never

from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.polling.decide import BY_HAND_ONLY
from headwater.polling.types import Happening, Level, NotModified, Polled, PollFailed, PollReport

log = get_logger()

ROUND_EVERY_S = 60.0


def log_poll(report: PollReport) -> None:
    """One log entry for the poll, and one for each change."""
    metrics.POLLS.labels(outcome=report.outcome_name).inc()
    metrics.POLL_SECONDS.observe(report.took.total_seconds())
    metrics.NEW_ARTICLES.inc(report.new_articles)
    _log_outcome(report)
    _log_happenings(report)


def _log_outcome(report: PollReport) -> None:
    took_ms = round(report.took / timedelta(milliseconds=1))
    fields: dict[str, object] = {"source_id": str(report.source_id), "url": report.feed_url, "took_ms": took_ms}
    match report.outcome:
        case Polled(feed=feed):
            write = log.info if report.new_articles else log.debug
            write("feed polled", **fields, entries=len(feed.entries), new=report.new_articles)
        case NotModified():
            log.debug("feed not modified", **fields)
        case PollFailed(kind=kind, status=status, detail=detail):
            # A paused host and our own outage are logged once; failures of their feeds are not warnings.
            level = report.decision.level
            write = log.error if level is Level.ERROR else log.warning if level is Level.WARN else log.info
            again = report.next_poll_at
            next_try = None if again == BY_HAND_ONLY else again.isoformat()
            fields |= {"error_type": kind.value, "status_code": status or 0, "error": detail, "next_try": next_try}
            write("feed poll failed", **fields)
        case _:
            assert_never(report.outcome)


def _log_happenings(report: PollReport) -> None:
    if not (report.decision.happenings or report.host.paused or report.host.resumed):
        return
    state, bound = report.decision.state, log.bind(source_id=str(report.source_id), url=report.feed_url)
    for happening in report.decision.happenings:
        match happening:
            case Happening.DISABLED if state.off is not None:
                reason, errors, until = str(state.off.reason), state.consecutive_errors, _iso(state.off.until)
                bound.warning("feed disabled", reason=reason, consecutive_errors=errors, until=until)
            case Happening.MOVED if state.moved is not None:
                bound.info("feed moved", to=state.moved.url)
            case _:
                bound.info(happening.value)
    host = report.host.state
    if report.host.paused:
        bound.warning("host paused", host=host.host, reason=host.alike_class, until=_iso(host.paused_until))
    if report.host.resumed:
        bound.info("host resumed", host=host.host)


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


class Round:
    """The polls since no feed was due: their totals are logged at most once a minute."""

    def __init__(self) -> None:
        self._outcomes: Counter[str] = Counter()
        self._new_articles = 0
        self._logged_at = -ROUND_EVERY_S

    def add(self, report: PollReport) -> None:
        self._outcomes[report.outcome_name] += 1
        self._new_articles += report.new_articles

    def end(self) -> None:
        now = time.monotonic()
        if not self._outcomes or now - self._logged_at < ROUND_EVERY_S:
            return
        feeds, not_modified = self._outcomes.total(), self._outcomes["not_modified"]
        errors = {name: polls for name, polls in self._outcomes.items() if name not in {"polled", "not_modified"}}
        new = self._new_articles
        log.info("polling round done", feeds=feeds, not_modified=not_modified, new_articles=new, errors=errors)
        self._outcomes.clear()
        self._new_articles, self._logged_at = 0, now
