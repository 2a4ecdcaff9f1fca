"""When a line of a sitemap last changed. Pure: text in, an aware time out, or None where it says nothing."""

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

# The W3C's profile of ISO 8601, from a year alone to a fraction of a second; a space for the T, no colon in the offset
# and no offset at all are not in it, and common.
_W3C = re.compile(
    r"""(?P<year>\d{4}) (?:-(?P<month>\d\d?) (?:-(?P<day>\d\d?)
    (?:[Tt\s]\s*(?P<hour>\d\d?):(?P<minute>\d\d) (?::(?P<second>\d\d) (?:[.,](?P<fraction>\d{1,9})\d*)? )?
    \s*(?P<zone>[Zz]|UTC|GMT|[+-]\d\d(?::?\d\d)?)? )? )? )?""",
    re.VERBOSE | re.ASCII,
)
_LONGEST = 64
_FUTURE = timedelta(days=1)  # clocks differ, and a day begins earlier elsewhere


def read_lastmod(text: str, now: datetime) -> datetime | None:
    """A date in any of the W3C's forms, or as in RSS. One that is not over yet counts as now, the future as no date."""
    text = text.strip()[:_LONGEST]
    found = _W3C.fullmatch(text)
    try:
        begins, ends = _of_parts(found) if found else _of_mail(text)
    except (ValueError, OverflowError):
        return None
    return None if begins > now + _FUTURE else min(ends, now)


def _of_parts(found: re.Match[str]) -> tuple[datetime, datetime]:
    """From when to when it may have changed: a year, a month, a day, or a moment."""
    year, month, day = int(found["year"]), int(found["month"] or 1), int(found["day"] or 1)
    if found["hour"] is None:
        last_month = int(found["month"] or 12)
        last_day = int(found["day"] or monthrange(year, last_month)[1])
        begins = datetime(year, month, day, tzinfo=UTC)
        return begins, datetime(year, last_month, last_day, 23, 59, 59, tzinfo=UTC)
    fraction = int((found["fraction"] or "0").ljust(6, "0")[:6])
    clock = (int(found["hour"]), int(found["minute"]), int(found["second"] or 0), fraction)
    at = datetime(year, month, day, *clock, tzinfo=_zone(found["zone"])).astimezone(UTC)
    return at, at


def _zone(text: str | None) -> timezone:
    if text is None or text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _of_mail(text: str) -> tuple[datetime, datetime]:
    """As RSS writes it: Mon, 02 Mar 2026 10:00:00 GMT."""
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, IndexError) as error:  # what the standard library does with some nonsense
        raise ValueError(text) from error
    at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    return at, at
