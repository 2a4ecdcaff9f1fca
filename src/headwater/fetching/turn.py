"""A turn at a claimed host: its URLs are requested one after another, its delay apart, as its robots.txt allows.

Failures are outcomes of URLs; URLs that were not requested stay queued.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

from headwater.bodies.types import NewBody
from headwater.errors import HostBusy, Unavailable
from headwater.fetching import store
from headwater.fetching.classify import Trail, after_redirect, classify, classify_error, sends_validators
from headwater.fetching.pacing import CutShort, Drain, RequestClock
from headwater.fetching.types import ClaimedTurn, FetchingOptions, TurnResult, Verdict
from headwater.frontier.types import Answered, ClaimedUrl, Fetched, FetchFailed, GivenUp
from headwater.hosts.decide import wait_of
from headwater.hosts.robots import FIRST_BYTES, origin_of
from headwater.hosts.robots_cache import Closed, Gate
from headwater.hosts.turns import Turns
from headwater.hosts.types import Robots
from headwater.net import Client, FetchError, FetchFailure, Response
from headwater.net.responses import redirect_of, retry_after
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.reading.text import storable
from headwater.types import PageKind
from headwater.urls import host_of

log = get_logger()

ACCEPT = "text/html, application/xhtml+xml, application/xml;q=0.9, text/plain;q=0.8, */*;q=0.5"

SILENCE = frozenset({FetchFailure.TIMEOUT, FetchFailure.NETWORK, FetchFailure.DNS})

ROBOTS_WAIT = timedelta(seconds=10)  # for another host, to which a robots.txt redirects


class TurnOver(Exception):
    """No more requests in this turn."""


class PageTurn:
    def __init__(
        self, claimed: ClaimedTurn, client: Client, turns: Turns, options: FetchingOptions, drain: Drain
    ) -> None:
        self._host = claimed.host
        self._ours_until = claimed.ours_until
        self._client = client
        self._turns = turns
        self._clock = clock = turns.clock
        self._options = options
        self._drain = drain
        most = options.crawl_delay_max
        self._gate = Gate(claimed.robots, self._peek, clock, robot=options.robot, crawl_delay_max=most)
        self._started = time.monotonic()
        earliest = self._started + (claimed.host.not_before - clock()).total_seconds()
        self._pace = RequestClock(claimed.host.delay, earliest)
        self._answered: list[Answered] = []
        self._closed: list[tuple[ClaimedUrl, Robots]] = []
        self._pages: list[NewBody] = []
        self._verdicts: list[Verdict] = []
        self._host_answers = False
        self._was_silent = False
        self._waited_s = 0.0

    async def run(self) -> TurnResult:
        for position, url in enumerate(self._host.urls):
            if not self._has_time():
                break
            try:
                verdict = await self._fetch(url)
            except (TurnOver, CutShort):
                break
            except Closed as closed:
                self._was_silent |= closed.robots.status is None
                self._closed.append((url, closed.robots))
                continue
            self._note(url, verdict)
            if verdict.ends_turn:
                if isinstance(verdict.answer, FetchFailed) and verdict.answer.reason == FetchFailure.DNS:
                    for other in self._host.urls[position + 1 :]:  # its name has no address, for any of its URLs
                        self._note(other, verdict)
                break
        return self._result(is_open=bool(self._answered) or (bool(self._closed) and await self._works_elsewhere()))

    async def _works_elsewhere(self) -> bool:
        closed = sorted({robots.origin for _, robots in self._closed})
        async with self._turns.database.transaction() as conn:
            return await store.works_elsewhere(conn, host=self._host.host, closed=closed, now=self._clock())

    async def _fetch(self, url: ClaimedUrl) -> Verdict:
        """The result for this URL. Raises TurnOver, CutShort and Closed: then there is none."""
        try:
            return await self._follow(url)
        except FetchError as error:
            self._was_silent |= error.kind in SILENCE
            return classify_error(error, host_answers=self._host_answers)
        except (TurnOver, CutShort, Closed):
            raise
        except Exception as error:  # a bug in Headwater must not leave the URL without an outcome
            log.exception("fetch broke", url=url.url)
            return Verdict(FetchFailed("unexpected", f"Headwater itself failed: {type(error).__name__}."))

    async def _follow(self, url: ClaimedUrl) -> Verdict:
        trail = Trail((url.url,))
        is_allowed = await self._allows(url.url)
        if not self._has_time():
            raise TurnOver  # robots.txt was read in time, and is stored
        while True:
            if not is_allowed:
                return Verdict(GivenUp("robots_blocked", "The site's robots.txt disallows it."))
            response = await self._ask(url, trail)
            target = redirect_of(response)
            if target is None:
                return self._classified(url, response)
            self._client.check(target)
            trail = trail.to(target, response.status)
            asked = retry_after(response.headers, self._clock()) or timedelta(0)
            if asked <= self._pace.delay:
                asked = timedelta(0)  # it waits so long anyway
            if (verdict := after_redirect(url, trail, asked)) is not None:
                return verdict
            is_allowed = await self._allows(trail.here)

    async def _ask(self, url: ClaimedUrl, trail: Trail) -> Response:
        headers = request_headers(url if sends_validators(url, trail) else None)
        max_bytes = self._options.sitemap_max_bytes if url.kind is PageKind.SITEMAP else self._options.max_bytes
        return await self._spaced(
            self._client.ask, trail.here, within=self._options.timeout, max_bytes=max_bytes, headers=headers
        )

    def _classified(self, url: ClaimedUrl, response: Response) -> Verdict:
        now = self._clock()
        verdict = classify(url, self._host, response, now)
        if isinstance(verdict.answer, Fetched):
            content_type = storable(response.headers.get("Content-Type", ""))
            self._pages.append(
                NewBody(url.url, response.url, url.kind, url.source_id, url.depth, content_type, response.body, now)
            )
        return verdict

    async def _allows(self, url: str) -> bool:
        robots = await self._gate.robots(origin_of(url))
        self._pace.slow_down(robots.crawl_delay)
        return await self._gate.allows(robots, url)

    async def _peek(self, url: str) -> Response:
        within = self._options.timeout
        if host_of(url) == self._host.host:
            return await self._spaced(self._client.peek, url, within=within, first_bytes=FIRST_BYTES)
        # A robots.txt that redirects to another host waits for a turn there, while this host stays ours.
        await self._stay(ROBOTS_WAIT.total_seconds())
        try:
            async with self._turns.borrow(wait=ROBOTS_WAIT) as turn, self._drain.request():
                return await turn.ask(self._client.peek, url, within=within, first_bytes=FIRST_BYTES)
        except HostBusy as busy:
            raise FetchError(url, FetchFailure.TIMEOUT, str(busy)) from busy
        except Unavailable as error:
            raise TurnOver from error

    async def _spaced(self, ask: Callable[..., Awaitable[Response]], url: str, **more: object) -> Response:
        """Send a request when the delay has passed. Raises TurnOver when that is not in this turn."""
        await self._stay(self._pace.wait())
        await self._drain.sleep(self._pace.wait())
        if self._drain.has_begun:
            raise TurnOver
        await self._stay(0)
        asked_at = time.monotonic()
        try:
            with metrics.FETCH_SECONDS.time():
                async with self._drain.request():
                    response = await ask(url, **more)
        finally:
            self._pace.has_asked(self._clock())
            self._waited_s += time.monotonic() - asked_at
        self._host_answers = True
        return response

    async def _stay(self, wait: float) -> None:
        """Renew the lease, so that it covers the request and the delay after it, even if this process dies."""
        needed = max(wait, 0) + (self._options.timeout + self._pace.delay).total_seconds()
        now = time.monotonic()
        if self._ours_until - now >= needed:
            return
        span = max(self._options.lease, timedelta(seconds=needed * 1.5))
        try:
            is_ours = await self._turns.renew(self._host.host, self._host.lease, span)
        except Unavailable as error:
            raise TurnOver from error
        if not is_ours:
            log.warning("lease of a host was lost", host=self._host.host)
            raise TurnOver
        self._ours_until = now + span.total_seconds()

    def _has_time(self) -> bool:
        """Whether another request fits into this turn; the first one always does."""
        if not self._pace.requests:
            return True
        in_hand = sum(len(page.body) for page in self._pages)
        next_at = time.monotonic() + self._pace.wait()
        return in_hand < self._options.max_bytes and next_at <= self._started + self._options.hold.total_seconds()

    def _note(self, url: ClaimedUrl, verdict: Verdict) -> None:
        self._answered.append(Answered(url, verdict.answer, self._clock()))
        self._verdicts.append(verdict)

    def _result(self, *, is_open: bool) -> TurnResult:
        now, gate, pace = self._clock(), self._gate, self._pace
        pages_pause = max((one.pages_pause for one in self._verdicts if one.pages_pause), default=None)
        pages_paused_until = now + pages_pause if pages_pause else None
        if self._closed and not is_open:
            pages_paused_until = min(robots.expires_at for _, robots in self._closed)
        elif self._closed:
            # The host works under another scheme or port, and these URLs, which any feed can list, must not pause it.
            for url, robots in self._closed:
                self._note(url, Verdict(FetchFailed("robots_unreachable", f"{robots.origin}/robots.txt fails.")))
        asked = wait_of(gate.asked_wait, self._host.pace, was_rate_limited=gate.was_rate_limited)
        pause = max((wait for wait in (asked, *(one.pause for one in self._verdicts)) if wait), default=None)
        paused_until = now + pause if pause else None
        was_rate_limited = gate.was_rate_limited or any(one.was_rate_limited for one in self._verdicts)
        spaced = pace.last_at + pace.delay if pace.last_at else None  # with the Crawl-delay of a robots.txt just read
        return TurnResult(
            host=self._host, answered=self._answered, pages=self._pages, robots=gate.asked,
            robots_changed=gate.has_changed, last_request_at=pace.last_at, requests=pace.requests,
            blocked_until=max((at for at in (paused_until, spaced) if at), default=None), paused_until=paused_until,
            pages_paused_until=pages_paused_until, was_rate_limited=was_rate_limited,
            answered_at=pace.last_at if self._host_answers else None,
            was_silent=self._was_silent and pace.requests > 0 and not self._host_answers,
            took=timedelta(seconds=time.monotonic() - self._started),
            waited=timedelta(seconds=self._waited_s + gate.reading_s),
            ours_until=self._ours_until,
        )  # fmt: skip


def request_headers(url: ClaimedUrl | None) -> Mapping[str, str]:
    headers = {"Accept": ACCEPT}
    if url is not None and url.etag:
        headers["If-None-Match"] = url.etag
    if url is not None and url.last_modified:
        headers["If-Modified-Since"] = url.last_modified
    return headers
