"""The gate of a host: its robots.txt, asked for when nobody has in a day, and what it lets us ask for.

In: what all workers know of it. Out: rules, and what was learned anew. Only who holds the host stands here: it is asked
once, however many workers there are.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from headwater.hosts.decide import have_changed, is_closed, robots_read, robots_unreachable
from headwater.hosts.robots import Rules, rules_of, sitemaps_in, stripped
from headwater.hosts.types import Robots
from headwater.net import FetchError, FetchFailure, Response
from headwater.net.answers import redirect_of, retry_after
from headwater.observability.log import get_logger
from headwater.types import Clock
from headwater.urls import host_of

log = get_logger()

MOST_REDIRECTS = 5
QUICKLY_READ = 20_000  # characters: a longer robots.txt is read in a thread, while others are served
# Failures after which there is no robots.txt; after all others nobody knows what may be asked for.
NO_ROBOTS = frozenset({FetchFailure.REDIRECT_LOOP, FetchFailure.BLOCKED})

Peek = Callable[[str], Awaitable[Response]]


class Closed(Exception):
    """Nothing may be asked for at an origin, since its robots.txt cannot be read."""

    def __init__(self, robots: Robots) -> None:
        super().__init__(robots.origin)
        self.robots = robots


class Gate:
    """The robots.txt of one host, by origin."""

    def __init__(
        self, known: Mapping[str, Robots], peek: Peek, clock: Clock, *, robot: str, crawl_delay_max: timedelta
    ) -> None:
        self._known = known
        self._robots = dict(known)
        self._peek = peek
        self._clock = clock
        self._robot = robot
        self._crawl_delay_max = crawl_delay_max
        self.was_rate_limited = False
        self.asked_wait: timedelta | None = None  # its Retry-After

    async def robots(self, origin: str) -> Robots:
        """The robots.txt that holds. Raises Closed, and FetchError when the host has no address."""
        robots = self._robots.get(origin)
        if robots is None or robots.expires_at <= self._clock():
            robots = self._robots[origin] = await self._ask(origin, robots)
        if is_closed(robots, self._clock()):
            raise Closed(robots)
        return robots

    async def rules(self, robots: Robots) -> Rules:
        """What it lets us ask for."""
        text = robots.body or ""
        if len(text) <= QUICKLY_READ:
            return rules_of(text, self._robot)
        return await asyncio.to_thread(rules_of, text, self._robot)

    @property
    def asked(self) -> Sequence[Robots]:
        """What was asked for anew."""
        return [robots for origin, robots in self._robots.items() if robots is not self._known.get(origin)]

    @property
    def has_changed(self) -> bool:
        """Whether some rules are others than those that were known."""
        return any(have_changed(self._known.get(robots.origin), robots) for robots in self.asked)

    async def _ask(self, origin: str, before: Robots | None) -> Robots:
        url = f"{origin}/robots.txt"
        try:
            for _ in range(MOST_REDIRECTS + 1):
                response = await self._peek(url)
                target = redirect_of(response)
                if target is None:
                    return await self._judged(origin, before, response)
                url = target
        except FetchError as error:
            if error.kind is FetchFailure.DNS and host_of(url) == host_of(origin):
                raise
            if error.kind not in NO_ROBOTS:
                found = robots_unreachable(origin, before, None, self._clock())
                log.warning(
                    "robots unreachable",
                    origin=origin,
                    error_type=error.kind.value,
                    error=error.detail,
                    next_try=found.expires_at.isoformat(),
                )
                return found
        return robots_read(origin, None, None, self._clock())

    async def _judged(self, origin: str, before: Robots | None, response: Response) -> Robots:
        now, status = self._clock(), response.status
        if status == 429 or status >= 500:
            self.was_rate_limited |= status == 429
            self.asked_wait = retry_after(response.headers, now)
            found = robots_unreachable(origin, before, status, now, self.asked_wait)
            log.warning("robots unreachable", origin=origin, status_code=status, next_try=found.expires_at.isoformat())
            return found
        if not 200 <= status < 300:
            return robots_read(origin, None, status, now)
        text = stripped(response.body)
        found = robots_read(origin, text, status, now, sitemaps=sitemaps_in(text, origin))
        rules = await self.rules(found)
        return replace(found, crawl_delay=rules.crawl_delay(self._crawl_delay_max))
