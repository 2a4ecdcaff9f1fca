"""What fetching chooses: when a robots.txt is asked for again, whether it closes a host, where a redirect leads. Pure.

no answer, 5xx, 429     nothing may be asked for, until it can be read, or has failed for thirty days:
                        then its last copy holds again, or all is allowed
4xx, endless redirects  all is allowed
200                     its rules hold for a day
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headwater.fetching.types import Onward, Verdict
from headwater.frontier.types import ClaimedUrl, FetchFailed, Redirected
from headwater.hosts.types import Robots
from headwater.urls import host_of, url_key

ROBOTS_LAST = timedelta(hours=24)
ROBOTS_EASED_AFTER = timedelta(days=30)
ROBOTS_FIRST_RETRY = timedelta(minutes=5)
MOST_REDIRECTS = 5
PERMANENT = frozenset({301, 308})


def robots_read(
    origin: str, body: str | None, status: int | None, now: datetime, sitemaps: Sequence[str] = ()
) -> Robots:
    """An answer that settles what may be asked for: rules, or, without a body, all."""
    return Robots(origin, status, body, now, now + ROBOTS_LAST, sitemaps=sitemaps)


def robots_unreachable(
    origin: str, before: Robots | None, status: int | None, now: datetime, asked_wait: timedelta | None = None
) -> Robots:
    """No answer that settles it. Asked for again after as long as it has been failing, and at least once a day."""
    since = before.unreachable_since if before and before.unreachable_since else now
    wait = min(max(now - since, ROBOTS_FIRST_RETRY, asked_wait or timedelta(0)), ROBOTS_LAST)
    known = before or Robots(origin, None, None, now, now)
    return replace(known, status=status, fetched_at=now, expires_at=now + wait, unreachable_since=since)


def is_closed(robots: Robots, now: datetime) -> bool:
    """Whether nothing at all may be asked for, since nobody knows what may."""
    return robots.unreachable_since is not None and now - robots.unreachable_since < ROBOTS_EASED_AFTER


def have_changed(before: Robots | None, robots: Robots) -> bool:
    """Whether what was blocked may be allowed now."""
    return before is not None and before.body != robots.body


@dataclass(frozen=True, slots=True)
class Trail:
    """The way a fetch has come: its URL, and those that redirects led to."""

    urls: tuple[str, ...]
    is_permanent: bool = True

    @property
    def here(self) -> str:
        """Where it stands."""
        return self.urls[-1]

    def to(self, url: str, status: int) -> "Trail":
        """One redirect further."""
        return Trail((*self.urls, url), self.is_permanent and status in PERMANENT)


def after_redirect(url: ClaimedUrl, trail: Trail) -> Onward | Verdict:
    """Whether the trail's last step is taken now, by us, or is the way of another URL.

    Another host has a queue and a clock of its own. A page of the same host that this one has become for good may be
    known already. All else is followed: the same page under https, or with a slash at its end, is the same URL to us.
    """
    if trail.here in trail.urls[:-1]:
        return Verdict(FetchFailed("redirect_loop", "The redirects lead back to where they began."))
    if len(trail.urls) - 1 > MOST_REDIRECTS:
        return Verdict(FetchFailed("redirect_loop", f"There are more than {MOST_REDIRECTS} redirects."))
    if url_key(trail.here) == url_key(url.url):
        return Onward(trail.here)
    if trail.is_permanent or host_of(trail.here) != host_of(url.url):
        return Verdict(Redirected(trail.here, trail.is_permanent))
    return Onward(trail.here)


def sends_validators(url: ClaimedUrl, trail: Trail) -> bool:
    """Whether what we know of the page holds here: the validators of one page say nothing of another."""
    return len(trail.urls) == 1 or url_key(trail.here) == url_key(url.url)
