"""What fetching goes by, and what a request comes to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.bodies.types import NewBody
from headwater.frontier.types import Answer, Answered, ClaimedHost
from headwater.hosts.types import Robots


@dataclass(frozen=True, slots=True)
class FetchingOptions:
    """How pages are fetched; from settings."""

    concurrency: int  # hosts in hand at the same time: WORKER_COUNT
    timeout: timedelta  # of one request: REQUEST_TIMEOUT
    idle: timedelta  # before looking again where there was nothing to claim: CLAIM_RETRY_DELAY
    crawl_delay_max: timedelta  # more than that is not granted to a robots.txt
    hold: timedelta  # after so long a host is given back, however many of its URLs are left
    lease: timedelta  # how long a host is ours after each renewal; never shorter than a request and the host's delay
    urls_per_host: int  # most URLs of a host in one turn
    max_bytes: int  # of one page
    sitemap_max_bytes: int  # of one sitemap, which may have fifty million by their protocol
    robot: str  # the name by which a robots.txt may address us


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a request comes to: the answer for its URL, and what it says of the host.

    `ends_turn` when there is no use in asking the host for more now; `pause` when nothing is to be asked of it for a
    while, `pages_pause` when no pages are.
    """

    answer: Answer
    ends_turn: bool = False
    pause: timedelta | None = None
    pages_pause: timedelta | None = None
    was_rate_limited: bool = False


@dataclass(frozen=True, slots=True)
class Onward:
    """A redirect that is followed at once, as part of the same fetch."""

    url: str


@dataclass(frozen=True, slots=True)
class Claimed:
    """A host in our hands, with what is known of its robots.txt, by origin. `ours_until` is time.monotonic()."""

    host: ClaimedHost
    robots: Mapping[str, Robots]
    ours_until: float


@dataclass(frozen=True, slots=True)
class Harvest:
    """What a turn with a host came to."""

    host: ClaimedHost
    answered: Sequence[Answered]
    pages: Sequence[NewBody]
    robots: Sequence[Robots]  # those that were asked for anew
    robots_changed: bool
    requests: int
    last_request_at: datetime | None
    delay: timedelta  # between requests, as far as it is known now
    blocked_until: datetime | None  # for all kinds of requests
    pages_paused_until: datetime | None
    was_rate_limited: bool
    has_answered: bool
    was_silent: bool  # nothing came from there, and neither may it reach us
    took: timedelta
    ours_until: float
    waited: timedelta = timedelta(0)  # for answers to its requests

    @property
    def waits_until(self) -> datetime | None:
        """Until when no page of the host is asked for; None where only its delay holds them back."""
        return max((at for at in (self.blocked_until, self.pages_paused_until) if at), default=None)
