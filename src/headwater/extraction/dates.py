"""When an article was published, as pages write it. Pure but for htmldate, which will not believe in the future."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from htmldate import find_date
from lxml.html import HtmlElement

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)

_ZONE_WITHOUT_COLON = re.compile(r"([+-]\d{2})(\d{2})$")
_FRACTION = re.compile(r"\.(\d{1,6})\d*")


def parse_date(text: str) -> datetime | None:
    """A date as machines write it: ISO 8601, RFC 822, seconds or milliseconds since 1970. Without a zone it is UTC."""
    text = text.strip()[:64]
    for read in (_iso, parsedate_to_datetime, _counted):
        try:
            return _within(read(text))
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None


def guess_date(tree: HtmlElement, url: str) -> datetime | None:
    """The date that stands in the page's markup or its URL; never one that is only somewhere in its text."""
    try:
        found = find_date(tree, extensive_search=False, original_date=True, url=url or None)
    except (ValueError, TypeError, OverflowError, RecursionError):  # of what a page may hold
        return None
    return parse_date(found) if found else None


def _iso(text: str) -> datetime:
    text = _FRACTION.sub(lambda fraction: "." + fraction[1].ljust(6, "0"), text, count=1)
    text = _ZONE_WITHOUT_COLON.sub(r"\1:\2", text) if "T" in text or ":" in text else text
    return datetime.fromisoformat(text.replace(" UTC", "+00:00").replace(" GMT", "+00:00"))


def _counted(text: str) -> datetime:
    seconds = int(text)
    return datetime.fromtimestamp(seconds / 1000 if seconds > 10**11 else seconds, UTC)


def _within(moment: datetime) -> datetime:
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if not EARLIEST <= moment < LATEST:
        raise ValueError(moment)
    return moment
