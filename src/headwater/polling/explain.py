"""A poll told as a story: request, answer, class, decision, next try."""

from datetime import datetime, timedelta

from headwater.polling.types import Happening, NotModified, Polled, PollFailed, PollReport


def explain(report: PollReport) -> list[str]:
    """One sentence a step."""
    return [
        f"Asked for {report.feed_url}; that took {report.took / timedelta(milliseconds=1):.0f} ms.",
        _answer(report),
        _decision(report),
        next_try(report.next_poll_at),
    ]


def _answer(report: PollReport) -> str:
    match report.outcome:
        case Polled(feed=feed, status=status):
            read = f"{len(feed.entries)} entries ({feed.format})"
            return f"It answered {status} with {read}; {report.new_articles} are new."
        case NotModified():
            return "It answered 304: nothing has changed since the last poll."
        case PollFailed(kind=kind, status=status, detail=detail):
            answered = f"It answered {status}" if status else "There was no usable answer"
            return f"{answered}. {detail} That is the class {kind.value}."


def _decision(report: PollReport) -> str:
    state, host = report.decision.state, report.host.state
    if Happening.DISABLED in report.decision.happenings and state.off is not None:
        reason = str(state.off.reason)
        return (
            f"That is failure {state.consecutive_errors} in a row: the feed is switched off with the reason {reason}."
        )
    if Happening.ENABLED in report.decision.happenings:
        return "It was switched off, and is on again."
    if host.paused_until is not None:
        return f"All feeds of {host.host} fail alike: the host is paused, and nothing is held against the feed."
    if state.off is not None:
        return f"It was a probe: the feed stays off, by now for the {state.off.times}. time."
    if isinstance(report.outcome, PollFailed):
        return f"It is failure {state.streak} of this class in a row; the wait until the next try grows."
    if state.moved is not None:
        return f"It has moved to {state.moved.url}; that is believed after three polls over a day."
    return "All is well, and nothing is held against the feed."


def next_try(at: datetime) -> str:
    """When it is tried again, as a sentence."""
    if at.year == 9999:
        return "It is not tried again until somebody enables it: `headwater source enable`."
    return f"The next try is at {at:%Y-%m-%d %H:%M:%S} UTC."
