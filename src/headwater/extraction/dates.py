"""When an article was published, as pages write it. Pure but for htmldate, which accepts no date in the future."""

from datetime import UTC, datetime

from htmldate import find_date
from lxml.html import HtmlElement

from headwater.reading.dates import parse_date

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)


def page_date(text: str) -> datetime | None:
    """A date in any form, or seconds or milliseconds since 1970; None where it is not of the web's time."""
    moment = parse_date(text) or _from_epoch(text.strip())
    return moment if moment and EARLIEST <= moment < LATEST else None


def guess_date(tree: HtmlElement, url: str) -> datetime | None:
    """The date in the page's markup or its URL; never one that is only somewhere in its text."""
    try:
        found = find_date(tree, extensive_search=False, original_date=True, url=url or None)
    except (ValueError, TypeError, OverflowError, RecursionError):  # of what a page may hold
        return None
    return page_date(found) if found else None


def _from_epoch(text: str) -> datetime | None:
    if not (text.isascii() and text.isdigit() and 9 <= len(text) <= 13):
        return None
    seconds = int(text)
    return datetime.fromtimestamp(seconds / 1000 if seconds > 10**11 else seconds, UTC)
