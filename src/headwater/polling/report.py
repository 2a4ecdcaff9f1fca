"""The log and metrics of polls."""

import time
from collections import Counter
from datetime import timedelta
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
    fields = {"source_id": str(report.source_id), "url": report.feed_url, "took_ms": took_ms}
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
            write(
                "feed poll failed",
                **fields,
                error_type=kind.value,
                status_code=status or 0,
                error=detail,
                next_try=None if again == BY_HAND_ONLY else again.isoformat(),
            )
        case _:
            assert_never(report.outcome)


def _log_happenings(report: PollReport) -> None:
    if not (report.decision.happenings or report.host.paused or report.host.resumed):
        return
    state, bound = report.decision.state, log.bind(source_id=str(report.source_id), url=report.feed_url)
    for happening in report.decision.happenings:
        match happening:
            case Happening.DISABLED if state.off is not None:
                bound.warning(
                    "feed disabled",
                    reason=str(state.off.reason),
                    consecutive_errors=state.consecutive_errors,
                    until=state.off.until.isoformat() if state.off.until else None,
                )
            case Happening.MOVED if state.moved is not None:
                bound.info("feed moved", to=state.moved.url)
            case _:
                bound.info(happening.value)
    if report.host.paused:
        until = report.host.state.paused_until
        bound.warning(
            "host paused",
            host=report.host.state.host,
            reason=report.host.state.alike_class,
            until=until.isoformat() if until else None,
        )
    if report.host.resumed:
        bound.info("host resumed", host=report.host.state.host)


class Round:
    """The polls since no feed was due: their totals are logged at most once a minute."""

    def __init__(self) -> None:
        self._feeds = self._not_modified = self._new_articles = 0
        self._errors: Counter[str] = Counter()
        self._logged_at = -ROUND_EVERY_S

    def add(self, report: PollReport) -> None:
        self._feeds += 1
        self._new_articles += report.new_articles
        self._not_modified += isinstance(report.outcome, NotModified)
        if isinstance(report.outcome, PollFailed):
            self._errors[report.outcome.kind.value] += 1

    def end(self) -> None:
        now = time.monotonic()
        if not self._feeds or now - self._logged_at < ROUND_EVERY_S:
            return
        log.info(
            "polling round done",
            feeds=self._feeds,
            not_modified=self._not_modified,
            new_articles=self._new_articles,
            errors=dict(self._errors),
        )
        self._feeds = self._not_modified = self._new_articles = 0
        self._errors.clear()
        self._logged_at = now
