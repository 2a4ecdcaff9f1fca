"""Checks of suggestions, who may approve them, and karma. Pure."""

import re
from collections.abc import Sequence
from datetime import timedelta

from headwater.accounts.decide import Limit
from headwater.accounts.types import Role, User
from headwater.errors import Invalid, InvalidProposal, InvalidUrl
from headwater.library.decide import nested
from headwater.sources.custom.types import ExistingSource, ModerationStatus, Proposal
from headwater.sources.decide import check_name
from headwater.sources.types import CATEGORY_MAX
from headwater.text import one_line
from headwater.types import UserId
from headwater.urls import complete_url, host_of, parse_url

REASON_MOST = 500
INTERVAL_LEAST, INTERVAL_MOST = 15, 1440  # minutes
TRUSTED_KARMA = 10
SUBMISSIONS = Limit(20, timedelta(hours=1))  # each sends requests to another server

_DOMAIN = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?)+|\[[0-9a-f:]+\]")


def check_proposal(given: Proposal) -> Proposal:
    """The suggestion with clean values. Raises InvalidProposal, with a sentence for each invalid field."""
    name, category, url = one_line(given.name), nested(one_line(given.category or "")), given.url.strip()
    problems: dict[str, str] = {}
    try:
        check_name(name)
    except Invalid as error:
        problems["name"] = str(error)
    if len(category) > CATEGORY_MAX:
        problems["category"] = f"A category has at most {CATEGORY_MAX} characters; this one has {len(category)}."
    if given.interval_minutes is not None and not INTERVAL_LEAST <= given.interval_minutes <= INTERVAL_MOST:
        problems["refresh_interval_minutes"] = (
            f"An interval is {INTERVAL_LEAST} to {INTERVAL_MOST} minutes; this one is {given.interval_minutes}."
        )
    try:
        if not url.lower().startswith(("http://", "https://")):
            raise InvalidUrl(url, "it must start with http:// or https://")  # noqa: TRY301
        url = parse_url(url)
    except InvalidUrl as error:
        problems["url"] = f"Invalid URL: {error.reason}."
    if problems:
        raise InvalidProposal(problems)
    return Proposal(name, url, category or None, given.interval_minutes)


def check_reason(reason: str) -> str:
    """The reason of a rejection, which its submitter reads. Raises Invalid."""
    reason = one_line(reason)
    if not 1 <= len(reason) <= REASON_MOST:
        raise Invalid(f"A reason of 1 to {REASON_MOST} characters is required; the submitter can read it.")
    return reason


def check_domain(given: str) -> str:
    """A domain, also from a URL or a pattern such as *.spam.example. Raises Invalid."""
    text = given.strip().removeprefix("*.").strip(".")
    try:
        domain = host_of(complete_url(text)).removeprefix("www.").rstrip(".") if text else ""
    except InvalidUrl:
        domain = ""
    if not _DOMAIN.fullmatch(domain):
        raise Invalid(f"{given.strip()[:100]!r} is not a valid domain; write one like spam.example.")
    return domain


def domains_of(host: str) -> Sequence[str]:
    names = host.rstrip(".").split(".")
    return [".".join(names[start:]) for start in range(len(names))]


def is_trusted(karma: int) -> bool:
    return karma >= TRUSTED_KARMA


def may_approve(moderator: User | None, submitter_id: UserId) -> bool:
    """Whether this moderator may approve: not their own, unless super_admin. None: the operator's API token."""
    return moderator is None or moderator.id != submitter_id or moderator.role is Role.SUPER_ADMIN


def why_taken(existing: ExistingSource) -> str | None:
    """Why a URL that has a source cannot be suggested; None: it can, as only its subscribers see that source."""
    if existing.is_public:
        return f"This feed is already public, as {existing.name!r}. Subscribe to it instead."
    if existing.status is None:
        return None
    was = "is already suggested and pending" if existing.status == "pending" else "was suggested before and rejected"
    return f"This feed {was}. You can subscribe to it for yourself."


def worth(before: ModerationStatus, after: ModerationStatus) -> int:
    """Karma of a decision: 1 for an approval, -1 for the rejection of a feed that was approved by karma, else 0."""
    if after is ModerationStatus.APPROVED:
        return 1
    return -1 if before is ModerationStatus.APPROVED else 0
