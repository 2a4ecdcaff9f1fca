"""How values read on a page."""

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from markupsafe import Markup

from headwater.types import SourceState

_STEPS = (
    (timedelta(days=365), "year"),
    (timedelta(days=30), "month"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
    (timedelta(seconds=1), "second"),
)


def since(then: datetime, now: datetime) -> str:
    """How long ago: `3 minutes ago`."""
    return f"{_largest(now - then)} ago" if now - then >= timedelta(seconds=1) else "just now"


def until(then: datetime, now: datetime) -> str:
    """How soon: `in 3 minutes`."""
    return f"in {_largest(then - now)}" if then - now >= timedelta(seconds=1) else "any moment"


def moment(then: datetime) -> str:
    """The exact time, for a title or a machine."""
    return then.strftime("%Y-%m-%d %H:%M:%S UTC")


def host(url: str) -> str:
    """Where a URL leads, without the details."""
    return (urlsplit(url).hostname or url).removeprefix("www.")


def count(number: int, noun: str) -> str:
    """`1 article`, `2,000 articles`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _largest(length: timedelta) -> str:
    size, unit = next((step for step in _STEPS if length >= step[0]), _STEPS[-1])
    return count(length // size, unit)


def gentle(html: str) -> Markup:
    """Sanitised HTML as it is shown: pictures are loaded when they are reached, and told nothing of the reader."""
    lazily = '<img loading="lazy" decoding="async" referrerpolicy="no-referrer" '
    return Markup(html.replace("<img ", lazily))  # noqa: S704  sanitised before it was stored


def state_label(state: str) -> str:
    """The word for a source's state: `Auto-disabled`."""
    return SourceState(state).label
