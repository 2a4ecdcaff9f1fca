"""A host as operators see it. Pure data."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.hosts.decide import delay_of


@dataclass(frozen=True, slots=True)
class ShownHost:
    """A host as operators see it. Without times: nothing holds it back, or no page of it is due."""

    name: str
    url_count: int
    ready_at: datetime | None  # None: no page of it is due
    not_before: datetime | None  # pages wait until then
    is_held: bool  # in a fetcher's hands
    robots_delay: timedelta | None
    slowed: int  # how often its delay was doubled, for 429s
    unreachable_since: datetime | None  # its robots.txt
    is_paused: bool  # since its feeds fail alike

    def delay(self, least: timedelta) -> timedelta:
        """Between two requests for pages, as far as the host itself has a say in it."""
        return delay_of(least, self.robots_delay, slowed=self.slowed)

    def waits(self, now: datetime) -> bool:
        """Whether something else than its turn holds it back."""
        return self.not_before is not None and self.not_before > now

    @property
    def reason(self) -> str:
        """Why it waits, in words."""
        if self.unreachable_since is not None:
            return "Its robots.txt cannot be read"
        if self.is_paused:
            return "Its feeds fail alike"
        return "It said 429: too many requests" if self.slowed else "It asked for patience with Retry-After"
