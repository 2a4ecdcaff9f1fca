"""The log of an outage of the database: a line when it begins and one when it is over, however many calls fail."""

import time

from headwater.observability.log import get_logger

log = get_logger()

SETTLED_S = 5.0  # without a failure; calls that fail and succeed in turn are one outage


class OutageLog:
    """Reports that the database fails. The first failure is logged at ERROR, the others are counted."""

    def __init__(self, *, settled_s: float = SETTLED_S) -> None:
        self._settled_s = settled_s
        self._failures = 0
        self._began_at = self._failed_at = 0.0

    def failed(self, error: Exception) -> None:
        """A call failed."""
        self._failed_at = time.monotonic()
        self._failures += 1
        if self._failures == 1:
            self._began_at = self._failed_at
            log.error("database unavailable", error=str(error))

    def succeeded(self) -> None:
        """A call succeeded: the outage is over once nothing has failed for a few seconds."""
        if not self._failures:
            return
        now = time.monotonic()
        if now - self._failed_at >= self._settled_s:
            lasted = round(self._failed_at - self._began_at, 1)
            log.warning("database available again", failures=self._failures, lasted_s=lasted)
            self._failures = 0
