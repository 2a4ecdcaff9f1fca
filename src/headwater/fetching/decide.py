"""Redirects of a fetch: followed at once, or queued as another URL. Pure."""

from dataclasses import dataclass

from headwater.fetching.types import Verdict
from headwater.frontier.types import ClaimedUrl, FetchFailed, Redirected
from headwater.urls import host_of, url_key

MOST_REDIRECTS = 5
PERMANENT = frozenset({301, 308})


@dataclass(frozen=True, slots=True)
class Trail:
    """The URL of a fetch, and those that redirects led to."""

    urls: tuple[str, ...]
    is_permanent: bool = True

    @property
    def here(self) -> str:
        return self.urls[-1]

    def to(self, url: str, status: int) -> "Trail":
        return Trail((*self.urls, url), self.is_permanent and status in PERMANENT)


def after_redirect(url: ClaimedUrl, trail: Trail) -> Verdict | None:
    """None if the last redirect is followed now, as part of the same fetch; else its target is queued as another URL.

    Another host has its own queue and clock. The target of a permanent redirect may be known already. All else is
    followed: the same page under https, or with a slash at its end, is the same URL.
    """
    if trail.here in trail.urls[:-1]:
        return Verdict(FetchFailed("redirect_loop", "The redirects lead back to where they began."))
    if len(trail.urls) - 1 > MOST_REDIRECTS:
        return Verdict(FetchFailed("redirect_loop", f"There are more than {MOST_REDIRECTS} redirects."))
    is_elsewhere = trail.is_permanent or host_of(trail.here) != host_of(url.url)
    if is_elsewhere and url_key(trail.here) != url_key(url.url):
        return Verdict(Redirected(trail.here, trail.is_permanent))
    return None


def sends_validators(url: ClaimedUrl, trail: Trail) -> bool:
    """Whether the validators of the URL apply to the current one."""
    return len(trail.urls) == 1 or url_key(trail.here) == url_key(url.url)
