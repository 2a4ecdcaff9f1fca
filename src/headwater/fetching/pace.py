"""When a host may be asked next, by a clock that nobody moves."""

import time
from datetime import datetime, timedelta


class Pace:
    """The host's delay, counted from the end of each request to the beginning of the next."""

    def __init__(self, delay: timedelta, earliest: float) -> None:
        self.delay = delay
        self.requests = 0
        self.last_at: datetime | None = None
        self._earliest = earliest
        self._last_end = 0.0

    def slow_down(self, delay: timedelta | None) -> None:
        """The host asks for at least this from now on."""
        self.delay = max(self.delay, delay or timedelta(0))

    def wait(self) -> float:
        """Seconds until the next request may go out."""
        now = time.monotonic()
        if not self.requests:
            return self._earliest - now
        return max(self._earliest, self._last_end + self.delay.total_seconds()) - now

    def has_asked(self, now: datetime) -> None:
        """A request has come to its end."""
        self._last_end, self.last_at = time.monotonic(), now
        self.requests += 1
