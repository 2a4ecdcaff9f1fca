"""Whether it is our own network that is gone: told once when that begins, and once when it ends."""

from collections import deque
from datetime import datetime

from headwater.net.outage import ATTEMPTS_REMEMBERED, Attempt, is_own_outage
from headwater.observability.log import get_logger

log = get_logger()


class Weather:
    """What the last turns met."""

    def __init__(self) -> None:
        self._attempts: deque[Attempt] = deque(maxlen=ATTEMPTS_REMEMBERED)
        self._is_outage = False

    @property
    def is_outage(self) -> bool:
        """Whether our own network is gone, as far as is known."""
        return self._is_outage

    def is_ours(self, host: str, now: datetime, *, was_silent: bool) -> bool:
        """Whether this host's silence is our own fault."""
        self._attempts.append(Attempt(now, host, was_silent))
        before = self._is_outage
        # Only silence can begin an outage: while all is well, nobody need look at a thousand attempts for each turn.
        self._is_outage = (before or was_silent) and is_own_outage(self._attempts, now, going_on=before)
        if self._is_outage and not before:
            log.error("own network is down", stage="fetching")
        if before and not self._is_outage:
            log.warning("own network is back", stage="fetching")
        return self._is_outage and was_silent
