"""Options of fetching, and the results of requests and turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.bodies.types import NewBody
from headwater.frontier.types import Answer, ClaimedHost, HostAnswer
from headwater.hosts.types import Robots


@dataclass(frozen=True, slots=True)
class FetchingOptions:
    concurrency: int  # hosts at the same time: WORKER_COUNT
    timeout: timedelta  # of one request: REQUEST_TIMEOUT
    idle: timedelta  # between claims while nothing is due: CLAIM_RETRY_DELAY
    crawl_delay_max: timedelta  # a longer Crawl-delay is not granted
    hold: timedelta  # a turn is at most so long, however many URLs are left
    lease: timedelta  # of a host, after each renewal; longer than a request and the host's delay
    urls_per_host: int  # maximum in one turn
    max_bytes: int  # of one page
    sitemap_max_bytes: int  # of one sitemap; their protocol allows fifty million
    robot: str  # our name in robots.txt


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a request for its URL and its host: `ends_turn` if no more requests are sent now; `pause` is
    for all requests, `pages_pause` for pages."""

    answer: Answer
    ends_turn: bool = False
    pause: timedelta | None = None
    pages_pause: timedelta | None = None
    was_rate_limited: bool = False


@dataclass(frozen=True, slots=True)
class ClaimedTurn:
    """A claimed host, and its robots.txt by origin. `ours_until` is time.monotonic()."""

    host: ClaimedHost
    robots: Mapping[str, Robots]
    ours_until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult(HostAnswer):
    pages: Sequence[NewBody] = ()
    robots: Sequence[Robots] = ()  # those that were requested
    robots_changed: bool = False
    requests: int
    paused_until: datetime | None = None  # for all kinds of requests, beyond the delay
    was_silent: bool = False  # no answer: perhaps our own network is down
    took: timedelta
    waited: timedelta = timedelta(0)  # for responses, and for long robots.txt to be read
    ours_until: float

    @property
    def waits_until(self) -> datetime | None:
        """Until when no page of the host is requested; None if only its delay applies."""
        return max((at for at in (self.paused_until, self.pages_paused_until) if at), default=None)
