"""When a line of a sitemap last changed. Pure: text in, an aware time out, or None where it says nothing."""

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta

from headwater.reading.dates import parse_date

_DATE = re.compile(r"\d{4}(?:-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?)?", re.ASCII)
_FUTURE = timedelta(days=1)  # clocks differ, and a day begins earlier elsewhere


def read_lastmod(text: str, now: datetime) -> datetime | None:
    """A date in any form. A year, month or day that is not over yet counts as now, the future as no date."""
    begins = parse_date(text)
    return min(_end(begins, text.strip()), now) if begins and begins <= now + _FUTURE else None


def _end(begins: datetime, text: str) -> datetime:
    """The last second of a year, month or day; a moment is its own end."""
    date = _DATE.fullmatch(text)
    if date is None:
        return begins
    month = begins.month if date["month"] else 12
    day = begins.day if date["day"] else monthrange(begins.year, month)[1]
    return datetime(begins.year, month, day, 23, 59, 59, tzinfo=UTC)
