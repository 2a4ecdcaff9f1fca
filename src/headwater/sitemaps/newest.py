"""The best of any number of lines, in constant memory: the newest, and of those without a date both ends of the list.

New lines stand at the top of some files and at the bottom of others; where there are no dates, both are looked at.
"""

import heapq
from collections import deque
from datetime import datetime

from headwater.sitemaps.types import Listed


class Newest:
    """Takes lines one after the other, keeps the best `most` of them, at least one."""

    def __init__(self, most: int) -> None:
        self._most = max(most, 1)
        self._dated: list[tuple[datetime, int, str]] = []  # a heap, the oldest on top
        self._first: list[Listed] = []
        self._last: deque[Listed] = deque(maxlen=self._most - self._most // 2)
        self.taken = 0

    def wants(self, at: datetime | None) -> bool:
        """Whether a line of this date has a chance; what has none need not be looked at closer."""
        return at is None or len(self._dated) < self._most or at > self._dated[0][0]

    def take(self, line: Listed) -> None:
        """Keep the line, if it is better than another."""
        self.taken += 1
        if line.lastmod is None:
            (self._first if len(self._first) < self._most // 2 else self._last).append(line)
        elif len(self._dated) < self._most:
            heapq.heappush(self._dated, (line.lastmod, -self.taken, line.url))
        else:
            heapq.heappushpop(self._dated, (line.lastmod, -self.taken, line.url))

    def best(self) -> list[Listed]:
        """The newest first, equals in the order of the file; then those without a date."""
        dated = [Listed(url, at) for at, _, url in sorted(self._dated, reverse=True)]
        return [*dated, *self._first, *self._last][: self._most]
