"""A host as it is shown. Pure data."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.frontier.decide import delay_of
from headwater.frontier.types import FrontierOptions


@dataclass(frozen=True, slots=True)
class HostState:
    """How a host stands. Without times: nothing holds it back, or nothing of it is due."""

    name: str
    url_count: int
    ready_at: datetime | None  # None: nothing of it is due
    not_before: datetime | None
    is_held: bool  # in a fetcher's hands
    robots_delay: timedelta | None
    slowed: int  # how often its delay was doubled, for 429s
    unreachable_since: datetime | None  # its robots.txt

    def delay(self, options: FrontierOptions) -> timedelta:
        """Between two requests, as far as the host itself has a say in it."""
        return delay_of(self.robots_delay, None, self.slowed, options)

    def waits(self, now: datetime) -> bool:
        """Whether something else than its turn holds it back."""
        return self.not_before is not None and self.not_before > now

    @property
    def reason(self) -> str:
        """Why it waits, in words."""
        if self.unreachable_since is not None:
            return "Its robots.txt cannot be read"
        return "It said 429: too many requests" if self.slowed else "It asked for patience with Retry-After"
