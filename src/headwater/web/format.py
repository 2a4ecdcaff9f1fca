"""Values as text for pages."""

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from markupsafe import Markup

from headwater.frontier.types import Status
from headwater.polling.types import FailureClass
from headwater.sources.health.types import FailureGroup
from headwater.types import SourceState

LABELS: dict[str, str] = {
    SourceState.WORKING: "Healthy", SourceState.AUTO_DISABLED: "Auto-disabled", Status.DEAD: "Gave up",
    FailureClass.UPSTREAM_FAILURE: "Server error (5xx)", FailureClass.NETWORK: "Network error",
    FailureClass.DNS: "DNS error", FailureClass.SSRF_BLOCKED: "Blocked address",
}  # fmt: skip
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


def label(value: str) -> str:
    """The label of a state, a status or a class of failures: `Auto-disabled`, `Gave up`, `Server error (5xx)`."""
    return LABELS.get(value) or value.replace("_", " ").capitalize()


def reason_label(reason: str) -> str:
    """The label of a class of failures. A reason that a person wrote is unchanged."""
    return label(reason) if reason in set(FailureClass) else reason


def failure_group_label(name: str) -> str:
    """The label of a group of failures, by the name of its member: `Server error`."""
    return FailureGroup[name.upper()].value


FILTERS = (count, failure_group_label, host, label, lazy_images, moment, reason_label, since, until)
