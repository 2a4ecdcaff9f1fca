"""What the frontier decides: how urgent a URL is, whether it is a trap, when it is asked for again. Pure."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never
from uuid import UUID

from headwater.errors import InvalidUrl
from headwater.frontier.keys import locate
from headwater.frontier.types import (
    ClaimedUrl,
    Fetched,
    FetchFailed,
    FrontierOptions,
    Hopeless,
    Origin,
    RecrawlOptions,
    Redirected,
    Status,
    Submission,
    Unchanged,
)
from headwater.hosts.decide import delay_of
from headwater.types import PageKind

LOWEST, DEFAULT, HIGHEST = 1, 5, 10
BONUS = {Origin.FEED: 2, Origin.SITEMAP: 1, Origin.SPIDER: 0, Origin.MANUAL: 0}

BAND_FLOORS = (
    9,
    7,
    5,
    LOWEST,
)  # the lowest priority of each band: breaking, feeds, sitemaps and the rest, what can wait
LAST_BAND = len(BAND_FLOORS) - 1
_BANDS = [sum(priority < floor for floor in BAND_FLOORS) for priority in range(HIGHEST + 1)]
BAND_WEIGHTS = (8, 4, 2, 1)  # of so many claims in fifteen each band is first

TRAPPED = (Origin.SPIDER, Origin.SITEMAP)  # no set: the hash of an enum's member is slow
CAPPED = TRAPPED
MOST_SEGMENTS = 20
MOST_PARAMETERS = 8
MOST_OF_A_SEGMENT = 3
MOST_OF_A_PARAMETER = 3
LONGEST_CYCLE = 4
_CALENDAR = re.compile(r"/(?:calendar|calendario|kalender|agenda|events?|schedule)(?:/|$)", re.IGNORECASE)
_DATE_AT_END = re.compile(r"/(?:1[0-9]|2[0-9])\d\d(?:[-/]?(?:0?[1-9]|1[0-2])){0,1}(?:[-/]?\d\d?)?/?$")
_DATE_IN_QUERY = re.compile(
    r"(?:^|&)(?:date|day|month|year|week|from|to|start|end|[a-z_-]*date)=[\d-]+(?:&|$)", re.IGNORECASE
)

SUCCESSES = (Fetched, Unchanged, Redirected)
LONGEST_ERROR = 500
POISON = "poison"
ROBOTS_BLOCKED = "robots_blocked"
RATE_LIMITED = "rate_limited"


@dataclass(frozen=True, slots=True)
class UrlPlan:
    """What is written of a URL after it was asked for. `next_fetch_at` None: never again."""

    status: Status
    next_fetch_at: datetime | None
    retry_count: int
    failing_since: datetime | None
    interval: timedelta | None
    error: str | None
    is_success: bool
    etag: str | None = None
    last_modified: str | None = None
    new_url: str | None = None  # the same page under another scheme or with another slash


@dataclass(frozen=True, slots=True)
class Recrawl:
    """How often a page is fetched from now on, and when next. `next_fetch_at` None: never again."""

    interval: timedelta
    next_fetch_at: datetime | None


def priority_for(origin: Origin, base: int = DEFAULT) -> int:
    """How urgent what this origin found is, on top of what its source is."""
    return clamp_priority(base + BONUS[origin])


def clamp_priority(priority: int) -> int:
    """Within 1 and 10."""
    return max(LOWEST, min(HIGHEST, priority))


OF_A_FEED = priority_for(Origin.FEED)  # made once: nearly all that is submitted


def priority_of(submission: Submission) -> int:
    """As it was asked for, or the default and the origin's bonus."""
    if submission.priority is None:
        return OF_A_FEED if submission.origin is Origin.FEED else priority_for(submission.origin)
    return clamp_priority(submission.priority)


def band_of(priority: int) -> int:
    """0 for the most urgent, 3 for the least."""
    return _BANDS[priority]


def turns(choice: float) -> Sequence[int]:
    """The order in which bands are served: one goes first by its weight, the others follow by urgency.

    `choice` is a number from 0 to below 1: whoever calls draws it, and a test can choose.
    """
    mark = choice * sum(BAND_WEIGHTS)
    first, end = 0, BAND_WEIGHTS[0]
    while mark >= end:
        first += 1
        end += BAND_WEIGHTS[first]
    return (first, *(band for band in range(len(BAND_WEIGHTS)) if band != first))


def rotate(places: Sequence[int], choice: float) -> Sequence[int]:
    """The same places, beginning somewhere else."""
    start = int(choice * len(places))
    return (*places[start:], *places[:start])


def draw(lease: UUID, now: datetime) -> float:
    """A number from 0 to below 1 that is different for every claim, and always the same for the same claim."""
    digest = hashlib.blake2b(lease.bytes + now.isoformat().encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def trap(url: str, *, origin: Origin, depth: int, options: FrontierOptions) -> str | None:
    """Why a URL that a machine found would lead a crawler in circles; None when it would not."""
    if origin not in TRAPPED:
        return None
    if depth > options.max_depth:
        return "too_deep"
    if len(url) > options.max_length:
        return "too_long"
    address, _, query = url.partition("?")
    path = "/" + address.split("/", 3)[3] if address.count("/") >= 3 else "/"
    if _goes_in_circles([segment for segment in path.split("/") if segment]):
        return "repeating_path"
    if _is_endless(query):
        return "endless_query"
    if _CALENDAR.search(path) and (_DATE_AT_END.search(path) or _DATE_IN_QUERY.search(query)):
        return "calendar"
    return None


def _goes_in_circles(segments: Sequence[str]) -> bool:
    if len(segments) > MOST_SEGMENTS:
        return True
    if any(count > MOST_OF_A_SEGMENT for count in Counter(segments).values()):
        return True
    return any(
        _repeats(segments, start, length) for length in range(2, LONGEST_CYCLE + 1) for start in range(len(segments))
    )


def _repeats(segments: Sequence[str], start: int, length: int) -> bool:
    """Do the same few segments stand here three times in a row?"""
    once = list(segments[start : start + length])
    return len(once) == length and list(segments[start : start + 3 * length]) == once * 3


def _is_endless(query: str) -> bool:
    names = [pair.partition("=")[0] for pair in query.split("&") if pair]
    return len(names) > MOST_PARAMETERS or any(count > MOST_OF_A_PARAMETER for count in Counter(names).values())


def after(
    url: ClaimedUrl, answer: Fetched | Unchanged | FetchFailed | Hopeless, at: datetime, options: FrontierOptions
) -> UrlPlan:
    """What becomes of a URL after it was asked for."""
    match answer:
        case Fetched():
            interval = url.interval or recrawl_options(url.kind, options).first
            return _succeeded(answer.etag, answer.last_modified, Recrawl(interval, at + interval))
        case Unchanged():
            again = recrawl(url.kind, url.interval, at, has_changed=False, options=options)
            return _succeeded(answer.etag or url.etag, answer.last_modified or url.last_modified, again)
        case FetchFailed():
            return _failed(url, answer, at, options)
        case Hopeless():
            return dead(url, f"{answer.reason}: {answer.detail}", url.failing_since or at)
        case _:
            assert_never(answer)


def _succeeded(etag: str | None, last_modified: str | None, again: Recrawl) -> UrlPlan:
    return UrlPlan(
        status=Status.FETCHED,
        next_fetch_at=again.next_fetch_at,
        retry_count=0,
        failing_since=None,
        interval=again.interval,
        error=None,
        is_success=True,
        etag=etag,
        last_modified=last_modified,
    )


def _failed(url: ClaimedUrl, answer: FetchFailed, at: datetime, options: FrontierOptions) -> UrlPlan:
    since = url.failing_since or at
    error = f"{answer.reason}: {answer.detail}"
    if answer.reason == RATE_LIMITED:
        is_over, retries = at - since >= options.rate_limited_span, url.retry_count
    else:
        is_over, retries = url.retry_count >= options.max_retries, url.retry_count + 1
    if is_over:
        return dead(url, error, since)
    return UrlPlan(
        status=Status.FAILED,
        next_fetch_at=at + backoff(url.retry_count, options),
        retry_count=retries,
        failing_since=since,
        interval=url.interval,
        error=error[:LONGEST_ERROR],
        is_success=False,
        etag=url.etag,
        last_modified=url.last_modified,
    )


def dead(url: ClaimedUrl, error: str, since: datetime) -> UrlPlan:
    """Not asked for again."""
    return UrlPlan(
        status=Status.DEAD,
        next_fetch_at=None,
        retry_count=url.retry_count,
        failing_since=since,
        interval=None,
        error=error[:LONGEST_ERROR],
        is_success=False,
    )


def after_redirect(url: ClaimedUrl, redirect: Redirected, at: datetime, options: FrontierOptions) -> UrlPlan | None:
    """None when it leads to another page; else what becomes of a URL that leads nowhere, or to itself.

    From http to https, or with another slash at its end, it is the same page: asked for under the new URL at once.
    """
    try:
        target = locate(redirect.to)
    except InvalidUrl as error:
        return dead(url, f"bad_redirect: {error.reason}", at)
    if target.place.id != url.id:
        return None
    if target.url == url.url or url.retry_count >= options.max_retries:
        return dead(url, f"redirect_loop: {redirect.to}", at)
    return UrlPlan(
        status=Status.PENDING,
        next_fetch_at=at,
        retry_count=url.retry_count + 1,
        failing_since=url.failing_since,
        interval=url.interval,
        error=None,
        is_success=False,
        new_url=target.url,
    )


def led_to(url: ClaimedUrl, redirect: Redirected) -> Submission:
    """What a redirect leads to is wanted for the same reasons."""
    return Submission(
        url=redirect.to,
        origin=url.origin,
        source_id=url.source_id,
        kind=url.kind,
        parent_url=url.url,
        depth=url.depth,
        priority=url.priority,
    )


def backoff(retries: int, options: FrontierOptions) -> timedelta:
    """How long to wait after so many retries: doubled each time, and all of them together fill the span."""
    most = max(1, options.max_retries)
    return options.retry_span * 2 ** min(retries, most - 1) / (2**most - 1)


def recrawl_options(kind: PageKind, options: FrontierOptions) -> RecrawlOptions:
    """How often this kind of page is fetched again."""
    match kind:
        case PageKind.ARTICLE:
            return options.article
        case PageKind.SITEMAP:
            return options.sitemap
        case PageKind.LIST:
            return options.list
        case _:
            assert_never(kind)


def recrawl(
    kind: PageKind, interval: timedelta | None, at: datetime, *, has_changed: bool, options: FrontierOptions
) -> Recrawl:
    """Twice as often when it has changed, half as often when not; what has long been the same may rest for ever."""
    rules = recrawl_options(kind, options)
    if interval is None:
        return Recrawl(rules.first, at + rules.first)
    if has_changed:
        shorter = max(rules.shortest, interval / 2)
        return Recrawl(shorter, at + shorter)
    if rules.ends and interval * 2 > rules.longest:
        return Recrawl(interval, None)
    longer = min(rules.longest, interval * 2)
    return Recrawl(longer, at + longer)


def settled(
    kind: PageKind,
    interval: timedelta | None,
    fetch_count: int,
    at: datetime,
    *,
    has_changed: bool,
    options: FrontierOptions,
) -> Recrawl:
    """The schedule once the content is known. The first content of a page tells nothing of how often it changes."""
    if fetch_count <= 1:
        first = interval or recrawl_options(kind, options).first
        return Recrawl(first, at + first)
    return recrawl(kind, interval, at, has_changed=has_changed, options=options)


def page_delay(robots: timedelta | None, source: timedelta | None, slowed: int, options: FrontierOptions) -> timedelta:
    """How far apart requests for pages of a host are."""
    robots = min(robots or timedelta(0), options.max_crawl_delay)
    return delay_of(options.min_delay, robots, source, slowed=slowed, max_delay=options.max_delay)
