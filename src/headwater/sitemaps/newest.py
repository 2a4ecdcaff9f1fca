"""The newest lines of a sitemap, in constant memory, and the dates of lines. Pure."""

import heapq
import re
from calendar import monthrange
from collections import deque
from datetime import UTC, datetime, timedelta

from headwater.reading.dates import parse_date
from headwater.sitemaps.types import ListedUrl

_DATE = re.compile(r"\d{4}(?:-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?)?", re.ASCII)
_FUTURE = timedelta(days=1)  # clocks differ, and a day begins earlier elsewhere


class Newest:
    """Keeps the newest `most` lines, at least one; of those without a date both ends of the list, since new lines are
    at the top of some files and at the bottom of others."""

    def __init__(self, most: int) -> None:
        self._most = max(most, 1)
        self._dated: list[tuple[datetime, int, str]] = []  # a heap, the oldest on top
        self._first: list[ListedUrl] = []
        self._last: deque[ListedUrl] = deque(maxlen=self._most - self._most // 2)
        self.taken = 0

    def accepts(self, at: datetime | None) -> bool:
        """Whether a line of this date may be kept."""
        return at is None or len(self._dated) < self._most or at > self._dated[0][0]

    def take(self, line: ListedUrl) -> None:
        self.taken += 1
        if line.lastmod is None:
            (self._first if len(self._first) < self._most // 2 else self._last).append(line)
        elif len(self._dated) < self._most:
            heapq.heappush(self._dated, (line.lastmod, -self.taken, line.url))
        else:
            heapq.heappushpop(self._dated, (line.lastmod, -self.taken, line.url))

    def best(self) -> list[ListedUrl]:
        """The newest first, equal ones in the order of the file; then those without a date."""
        dated = [ListedUrl(url, at) for at, _, url in sorted(self._dated, reverse=True)]
        return [*dated, *self._first, *self._last][: self._most]


def read_lastmod(text: str, now: datetime) -> datetime | None:
    """A date in any form. A year, month or day that has not ended counts as now; a date in the future as none."""
    begins = parse_date(text)
    return min(_end(begins, text.strip()), now) if begins and begins <= now + _FUTURE else None


def _end(begins: datetime, text: str) -> datetime:
    """The last second of a year, month or day; a time is its own end."""
    date = _DATE.fullmatch(text)
    if date is None:
        return begins
    month = begins.month if date["month"] else 12
    day = begins.day if date["day"] else monthrange(begins.year, month)[1]
    return datetime(begins.year, month, day, 23, 59, 59, tzinfo=UTC)
