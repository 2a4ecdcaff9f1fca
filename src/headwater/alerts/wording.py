"""The text of a message: subject and body of an email, JSON for a webhook. Pure."""

from collections.abc import Sequence
from html import escape
from typing import Any

from headwater.alerts.decide import moment
from headwater.alerts.types import Incident, Message, NoticeKind
from headwater.text import one_line

MAX_LINE = 500  # names come from feeds and users, and must not add headers or paragraphs
LISTED = 20
PAYLOAD_LISTED = 200  # most receivers refuse what is larger than some hundred kilobytes


def began_and_ended(message: Message) -> tuple[list[Incident], list[Incident]]:
    """Incidents that began, and that ended; one that did both before a message was sent has ended."""
    ended = {notice.incident.id: notice.incident for notice in message.notices if notice.kind is NoticeKind.ENDED}
    began = [notice.incident for notice in message.notices if notice.kind is NoticeKind.BEGAN]
    return [one for one in began if one.id not in ended], list(ended.values())


def subject_of(message: Message) -> str:
    began, ended = began_and_ended(message)
    match began, ended:
        case [one], []:
            subject = f"{one.title}: {one.summary}"
        case [], [one]:
            subject = f"Resolved: {one.title}"
        case [], []:
            subject = "This is a test"
        case _:
            subject = _counts(began, ended)
    return f"[Headwater] {one_line(subject)[:MAX_LINE]}"


def text_of(message: Message, *, site: str) -> str:
    began, ended = began_and_ended(message)
    if not began and not ended:
        return f"This is a test: alerts of the Headwater at {site} arrive here.\n"
    parts = [*_listed("", began), *_listed("Resolved: ", ended)]
    return "\n".join([f"{_counts(began, ended)} at {site}.", "", *parts, f"{site}/admin/alerts", ""])


def payload_of(message: Message, *, site: str) -> dict[str, Any]:
    """The JSON of the webhook; Slack and Mattermost show its `text`."""
    began, ended = began_and_ended(message)
    incidents = [*(_fields(one, "firing") for one in began), *(_fields(one, "resolved") for one in ended)]
    return {
        # Without commands of Slack, which stand in angle brackets: <!channel> notifies all.
        "text": escape(text_of(message, site=site), quote=False), "id": str(message.id), "attempt": message.attempts,
        "sent_by": "headwater", "site": site, "link": f"{site}/admin/alerts", "began": len(began), "ended": len(ended),
        "incidents": incidents[:PAYLOAD_LISTED],
    }  # fmt: skip


def _fields(incident: Incident, status: str) -> dict[str, Any]:
    return {
        "id": str(incident.id), "status": status, "condition": incident.condition.value, "severity": incident.severity,
        "subject": incident.subject, "title": incident.title, "summary": incident.summary,
        "since": incident.since.isoformat(), "began_at": incident.began_at.isoformat(),
        "ended_at": incident.ended_at.isoformat() if incident.ended_at and status == "resolved" else None,
    }  # fmt: skip


def _listed(prefix: str, incidents: Sequence[Incident]) -> list[str]:
    lines: list[str] = []
    for one in incidents[:LISTED]:
        span = f"Since {moment(one.since)}."
        if one.ended_at is not None:
            span = f"From {moment(one.began_at)} to {moment(one.last_held_at)}."
        summary = one_line(one.summary)[:MAX_LINE]
        lines += [f"{prefix}{one.title} ({one.severity})", f"  {summary}", f"  {span}", ""]
    if len(incidents) > LISTED:
        lines += [f"… and {len(incidents) - LISTED} more.", ""]
    return lines


def _counts(began: Sequence[Incident], ended: Sequence[Incident]) -> str:
    counts = ((len(began), "began"), (len(ended), "resolved"))
    return ", ".join(f"{count} incident{'' if count == 1 else 's'} {verb}" for count, verb in counts if count)
