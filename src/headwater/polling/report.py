"""A poll in the log, in the metrics, and in sentences for users."""

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
            case Happening.DISABLED if state.disabled is not None:
                reason, errors, until = str(state.disabled.reason), state.consecutive_errors, _iso(state.disabled.until)
                bound.warning("feed disabled", reason=reason, consecutive_errors=errors, until=until)
            case Happening.MOVED if state.moved is not None:
                bound.info("feed moved", to=state.moved.url)
            case _:
                bound.info(happening.value)
    host = report.host.state
    if report.host.paused:
        bound.warning("host paused", host=host.host, reason=host.failure_class, until=_iso(host.paused_until))
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


def explain(report: PollReport) -> list[str]:
    return [
        f"Requested {report.feed_url}; that took {report.took / timedelta(milliseconds=1):.0f} ms.",
        _answer(report),
        _decision(report),
        next_try(report.next_poll_at),
    ]


def _answer(report: PollReport) -> str:
    match report.outcome:
        case Polled(feed=feed, status=status):
            entries, new = len(feed.entries), report.new_articles
            read = f"{entries} {'entry' if entries == 1 else 'entries'} ({feed.format})"
            return f"It answered {status} with {read}; {new} {'is' if new == 1 else 'are'} new."
        case NotModified():
            return "It answered 304: nothing has changed since the last poll."
        case PollFailed(kind=kind, status=status, detail=detail):
            answered = f"It answered {status}" if status else "There was no usable response"
            return f"{answered}. {detail} That is the class {kind.value}."


def _decision(report: PollReport) -> str:
    decision, state = report.decision, report.decision.state
    if decision.is_outage:
        return "Hardly any host can be reached: our own network is down, and the failure does not count."
    if Happening.DISABLED in decision.happenings and state.disabled is not None:
        reason = str(state.disabled.reason)
        return f"That is failure {state.consecutive_errors} in a row: the feed is disabled, reason {reason}."
    if Happening.ENABLED in decision.happenings:
        return "It was disabled, and is enabled again."
    if not report.host.counts:
        host = report.host.state.host
        return f"All feeds of {host} fail in the same way: the host is paused, and the failure does not count."
    if state.disabled is not None:
        if state.disabled.is_by_hand:
            return f"An operator disabled it ({state.disabled.reason}), and it stays disabled."
        return f"It was a probe: the feed stays disabled, for the {state.disabled.times}. time."
    if isinstance(report.outcome, PollFailed):
        return f"It is failure {state.streak} of this class in a row."
    if state.moved is not None:
        if Happening.MOVED in decision.happenings:
            return f"Three polls over a day found that it has moved to {state.moved.url}: its URL is changed."
        return f"It has moved to {state.moved.url}; its URL is changed after three polls over a day."
    return "The feed works; it has no errors."


def next_try(at: datetime) -> str:
    if at.year == 9999:
        return "It is not polled again until a user enables it: `headwater source enable`."
    return f"The next try is at {at:%Y-%m-%d %H:%M:%S} UTC."
