"""Values as text for pages."""

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from markupsafe import Markup

from headwater.frontier.types import Status
from headwater.polling.types import FailureClass
from headwater.sources.health.types import FailureGroup
from headwater.types import SourceState

STATES = {SourceState.WORKING: "Healthy", SourceState.AUTO_DISABLED: "Auto-disabled"}
REASONS = {
    FailureClass.UPSTREAM_FAILURE: "Server error (5xx)",
    FailureClass.NETWORK: "Network error",
    FailureClass.DNS: "DNS error",
    FailureClass.SSRF_BLOCKED: "Blocked address",
}
_STEPS = (
    (timedelta(days=365), "year"), (timedelta(days=30), "month"), (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"), (timedelta(seconds=1), "second"),
)  # fmt: skip


def since(then: datetime, now: datetime) -> str:
    """Time since: `3 minutes ago`."""
    return f"{_largest(now - then)} ago" if now - then >= timedelta(seconds=1) else "just now"


def until(then: datetime, now: datetime) -> str:
    """Time until: `in 3 minutes`."""
    return f"in {_largest(then - now)}" if then - now >= timedelta(seconds=1) else "any moment"


def moment(then: datetime) -> str:
    """The exact time, for a tooltip."""
    return then.strftime("%Y-%m-%d %H:%M:%S UTC")


def host(url: str) -> str:
    """The host of a URL, without `www.`."""
    return (urlsplit(url).hostname or url).removeprefix("www.")


def count(number: int, noun: str) -> str:
    """`1 article`, `2,000 articles`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _largest(length: timedelta) -> str:
    size, unit = next((step for step in _STEPS if length >= step[0]), _STEPS[-1])
    return count(length // size, unit)


def lazy_images(html: str) -> Markup:
    """Sanitised HTML whose images load lazily and without a Referer."""
    attributes = '<img loading="lazy" decoding="async" referrerpolicy="no-referrer" '
    return Markup(html.replace("<img ", attributes))  # noqa: S704  sanitised before it was stored


def state_label(state: str) -> str:
    """The label of a source's state: `Auto-disabled`."""
    return STATES.get(SourceState(state)) or _words(state)


def reason_label(reason: str) -> str:
    """The label of a class of failures: `Server error (5xx)`. A reason that a person wrote is unchanged."""
    return REASONS.get(FailureClass(reason)) or _words(reason) if reason in set(FailureClass) else reason


def failure_group_label(name: str) -> str:
    """The label of a group of failures, by the name of its member: `Server error`."""
    return FailureGroup[name.upper()].value


def url_status_label(status: str) -> str:
    """The label of a URL's status: `Gave up`."""
    return "Gave up" if status == Status.DEAD else _words(status)


def _words(value: str) -> str:
    return value.replace("_", " ").capitalize()


FILTERS = (
    count, failure_group_label, host, lazy_images, moment, reason_label, since, state_label, until, url_status_label,
)  # fmt: skip
