"""A host as operators see it. Pure data."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.hosts.decide import delay_of


@dataclass(frozen=True, slots=True)
class HostStatus:
    name: str
    url_count: int
    ready_at: datetime | None  # None: no page is due
    not_before: datetime | None  # pages wait until then
    is_held: bool  # a fetcher has its lease
    robots_delay: timedelta | None
    slowed: int  # how often its delay was doubled, after 429
    unreachable_since: datetime | None  # its robots.txt
    is_paused: bool  # by the breaker

    def delay(self, least: timedelta) -> timedelta:
        """Between two requests for pages, not counting the delays of sources."""
        return delay_of(least, self.robots_delay, slowed=self.slowed)

    def waits(self, now: datetime) -> bool:
        return self.not_before is not None and self.not_before > now

    @property
    def reason(self) -> str:
        if self.unreachable_since is not None:
            return "Its robots.txt cannot be read"
        if self.is_paused:
            return "Paused: its feeds fail in the same way"
        return "It answered 429: too many requests" if self.slowed else "It sent Retry-After"
