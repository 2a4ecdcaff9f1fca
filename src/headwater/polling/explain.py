"""A poll in sentences: request, response, class of failure, decision, next poll."""

from datetime import datetime, timedelta

from headwater.polling.types import Happening, NotModified, Polled, PollFailed, PollReport


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
    if Happening.DISABLED in decision.happenings and state.off is not None:
        reason = str(state.off.reason)
        return f"That is failure {state.consecutive_errors} in a row: the feed is disabled, reason {reason}."
    if Happening.ENABLED in decision.happenings:
        return "It was disabled, and is enabled again."
    if not report.host.counts:
        host = report.host.state.host
        return f"All feeds of {host} fail in the same way: the host is paused, and the failure does not count."
    if state.off is not None:
        if state.off.is_by_hand:
            return f"An operator disabled it ({state.off.reason}), and it stays disabled."
        return f"It was a probe: the feed stays disabled, for the {state.off.times}. time."
    if isinstance(report.outcome, PollFailed):
        return f"It is failure {state.streak} of this class in a row."
    if state.moved is not None:
        if Happening.MOVED in decision.happenings:
            return f"Three polls over a day say that it has moved to {state.moved.url}: its URL is changed."
        return f"It has moved to {state.moved.url}; its URL is changed after three polls over a day."
    return "The feed works; it has no errors."


def next_try(at: datetime) -> str:
    if at.year == 9999:
        return "It is not polled again until a user enables it: `headwater source enable`."
    return f"The next try is at {at:%Y-%m-%d %H:%M:%S} UTC."
