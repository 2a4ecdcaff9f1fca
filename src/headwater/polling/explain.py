"""A poll told as a story: request, answer, class, decision, next try."""

from datetime import datetime, timedelta

from headwater.polling.types import Happening, Moved, NotModified, Off, Polled, PollFailed, PollReport


def explain(report: PollReport) -> list[str]:
    return [
        f"Asked for {report.feed_url}; that took {report.took / timedelta(milliseconds=1):.0f} ms.",
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
            answered = f"It answered {status}" if status else "There was no usable answer"
            return f"{answered}. {detail} That is the class {kind.value}."


def _decision(report: PollReport) -> str:
    decision, state = report.decision, report.decision.state
    if decision.is_outage:
        return "Hardly any host can be reached: our own network is down, and nothing is held against the feed."
    if Happening.DISABLED in decision.happenings and state.off is not None:
        reason = str(state.off.reason)
        return (
            f"That is failure {state.consecutive_errors} in a row: the feed is switched off with the reason {reason}."
        )
    if Happening.ENABLED in decision.happenings:
        return "It was switched off, and is on again."
    if not report.host.counts:
        host = report.host.state.host
        return f"All feeds of {host} fail alike: the host is paused, and nothing is held against the feed."
    if state.off is not None:
        return _stays_off(state.off)
    if isinstance(report.outcome, PollFailed):
        return f"It is failure {state.streak} of this class in a row."
    if state.moved is not None:
        return _moved(state.moved, is_believed=Happening.MOVED in decision.happenings)
    return "All is well, and nothing is held against the feed."


def _stays_off(off: Off) -> str:
    if off.is_by_hand:
        return f"Somebody switched it off ({off.reason}), and it stays off."
    return f"It was a probe: the feed stays off, by now for the {off.times}. time."


def _moved(moved: Moved, *, is_believed: bool) -> str:
    if is_believed:
        return f"Three polls over a day say that it has moved to {moved.url}: that is believed now."
    return f"It has moved to {moved.url}; that is believed after three polls over a day."


def next_try(at: datetime) -> str:
    """When it is tried again, as a sentence."""
    if at.year == 9999:
        return "It is not tried again until somebody enables it: `headwater source enable`."
    return f"The next try is at {at:%Y-%m-%d %H:%M:%S} UTC."
