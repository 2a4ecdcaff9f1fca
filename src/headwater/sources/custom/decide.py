"""What may be suggested, by whom it goes live at once, who may decide on it, and what that is worth. Pure."""

import re
from collections.abc import Sequence
from datetime import timedelta

from headwater.accounts.decide import Limit
from headwater.accounts.types import Role, User
from headwater.errors import Invalid, InvalidProposal, InvalidUrl
from headwater.sources.custom.types import Known, ModerationStatus, Proposal, QueueCursor, QueuePage, Submission
from headwater.text import is_blank, one_line
from headwater.types import UserId
from headwater.urls import complete_url, host_of, parse_url

NAME_MOST = 255
CATEGORY_MOST = 100
REASON_MOST = 500
INTERVAL_LEAST, INTERVAL_MOST = 15, 1440  # minutes
TRUSTED_KARMA = 10
SUBMISSIONS = Limit(20, timedelta(hours=1))  # each makes us ask a stranger's server

_WEB = re.compile(r"^https?://.*", re.IGNORECASE | re.DOTALL)
_DOMAIN = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?)+|\[[0-9a-f:]+\]")


def check_proposal(given: Proposal) -> Proposal:
    """What was suggested, tidied up. Raises InvalidProposal, with a sentence for each field that is wrong."""
    name, category, url = one_line(given.name), one_line(given.category or ""), given.url.strip()
    problems: dict[str, str] = {}
    if is_blank(name) or len(name) > NAME_MOST:
        has = 0 if is_blank(name) else len(name)
        problems["name"] = f"A name has 1 to {NAME_MOST} characters; this one has {has}."
    if len(category) > CATEGORY_MOST:
        problems["category"] = f"A category has at most {CATEGORY_MOST} characters; this one has {len(category)}."
    if given.interval_minutes is not None and not INTERVAL_LEAST <= given.interval_minutes <= INTERVAL_MOST:
        problems["refresh_interval_minutes"] = (
            f"An interval is {INTERVAL_LEAST} to {INTERVAL_MOST} minutes; this one is {given.interval_minutes}."
        )
    try:
        url = _checked_url(url)
    except InvalidUrl as error:
        problems["url"] = f"That address cannot be followed: {error.reason}."
    if problems:
        raise InvalidProposal(problems)
    return Proposal(name, url, category or None, given.interval_minutes)


def _checked_url(url: str) -> str:
    if not _WEB.match(url):
        raise InvalidUrl(url, "it must start with http:// or https://")
    return parse_url(url)


def check_reason(reason: str) -> str:
    """Why something is refused, in a sentence for whoever it is refused to. Raises Invalid."""
    reason = one_line(reason)
    if not 1 <= len(reason) <= REASON_MOST:
        raise Invalid(f"Say why, in 1 to {REASON_MOST} characters: whoever suggested it reads it.")
    return reason


def check_domain(given: str) -> str:
    """A domain as a host's name ends in it; an address is taken as its host. Raises Invalid."""
    text = given.strip().removeprefix("*.").strip(".")
    try:
        domain = host_of(complete_url(text)).removeprefix("www.").rstrip(".") if text else ""
    except InvalidUrl:
        domain = ""
    if not _DOMAIN.fullmatch(domain):
        raise Invalid(f"{given.strip()[:100]!r} is no domain; write one like spam.example.")
    return domain


def domains_of(host: str) -> Sequence[str]:
    """A host's own name, and every domain it is below."""
    names = host.rstrip(".").split(".")
    return [".".join(names[start:]) for start in range(len(names))]


def is_trusted(karma: int) -> bool:
    """Whether what somebody suggests goes live at once."""
    return karma >= TRUSTED_KARMA


def may_approve(judge: User | None, submitter_id: UserId) -> bool:
    """Moderators approve what others suggest. Who runs the place may be alone there; the operator's token is nobody."""
    return judge is None or judge.id != submitter_id or judge.role is Role.SUPER_ADMIN


def why_taken(known: Known) -> str | None:
    """Why an address that is here cannot be suggested; None: it can, since only those who follow it know of it."""
    if known.is_system or known.status is ModerationStatus.APPROVED:
        return f"That feed is here already, as {known.name!r}. Subscribe to it instead."
    match known.status:
        case ModerationStatus.PENDING:
            return "Somebody has suggested that feed already; it waits. Follow it for yourself meanwhile."
        case ModerationStatus.REJECTED:
            return "That feed was suggested before, and not taken. You can follow it for yourself."
        case None:
            return None


def worth(before: ModerationStatus, after: ModerationStatus) -> int:
    """What a person's decision adds to the submitter's karma.

    An approval is worth one. A rejection costs nothing, unless the feed was live by trust: trust can be lost.
    """
    if after is ModerationStatus.APPROVED:
        return 1
    return -1 if before is ModerationStatus.APPROVED else 0


def page_of(found: Sequence[Submission], limit: int) -> QueuePage:
    """A page of a queue, from one row more than it shows: then it has a next page."""
    shown = list(found[:limit])
    last = shown[-1] if len(found) > limit else None
    return QueuePage(shown, QueueCursor(last.decided_at or last.submitted_at, last.id) if last else None)
