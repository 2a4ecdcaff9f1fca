"""Decisions of the frontier: the priority of a URL, whether it is a crawler trap, when it is fetched again. Pure."""

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
    GivenUp,
    Origin,
    RecrawlOptions,
    Redirected,
    Status,
    Submission,
    Unchanged,
)
from headwater.hosts.decide import delay_of
from headwater.types import PageKind

LOWEST, HIGHEST = 1, 10
FEED_PRIORITY = 7
PRIORITIES = {Origin.FEED: FEED_PRIORITY, Origin.SITEMAP: 6, Origin.SPIDER: 5, Origin.MANUAL: 5, Origin.SAVED: 9}

BAND_FLOORS = (9, 7, 5, LOWEST)  # the lowest priority of each band
LAST_BAND = len(BAND_FLOORS) - 1
_BANDS = [sum(priority < floor for floor in BAND_FLOORS) for priority in range(HIGHEST + 1)]
BAND_WEIGHTS = (8, 4, 2, 1)  # how many of fifteen claims begin with each band

CRAWLED = (Origin.SPIDER, Origin.SITEMAP)  # checked for traps and capped per host. A tuple: enum members hash slowly
MAX_SEGMENTS = 20
MAX_PARAMETERS = 8
MAX_REPEATS = 3  # of one path segment, or of one query parameter
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
    """What is written about a URL after a request. `next_fetch_at` None: never again."""

    status: Status
    next_fetch_at: datetime | None
    interval: timedelta | None = None
    etag: str | None = None
    last_modified: str | None = None
    retry_count: int = 0
    failing_since: datetime | None = None
    error: str | None = None
    new_url: str | None = None  # the same page under another scheme or with another slash


def priority_of(submission: Submission) -> int:
    """The priority that was given, within 1 and 10, or the default of its origin."""
    if submission.priority is None:
        return FEED_PRIORITY if submission.origin is Origin.FEED else PRIORITIES[submission.origin]
    return max(LOWEST, min(HIGHEST, submission.priority))


def band_of(priority: int) -> int:
    """0 for the most urgent, 3 for the least."""
    return _BANDS[priority]


def band_order(choice: float) -> Sequence[int]:
    """The order in which bands are served: the first by its weight and `choice` (0 to below 1), others by urgency."""
    mark = choice * sum(BAND_WEIGHTS)
    first, end = 0, BAND_WEIGHTS[0]
    while mark >= end:
        first += 1
        end += BAND_WEIGHTS[first]
    return (first, *(band for band in range(len(BAND_WEIGHTS)) if band != first))


def rotate(shards: Sequence[int], choice: float) -> Sequence[int]:
    start = int(choice * len(shards))
    return (*shards[start:], *shards[:start])


def draw(lease: UUID, now: datetime) -> float:
    """A number from 0 to below 1 that differs from claim to claim, but is always the same for the same claim."""
    digest = hashlib.blake2b(lease.bytes + now.isoformat().encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def trap(url: str, *, origin: Origin, depth: int, options: FrontierOptions) -> str | None:
    """Why a URL that a spider or sitemap found is a crawler trap; None if it is not."""
    if origin not in CRAWLED:
        return None
    if depth > options.max_depth:
        return "too_deep"
    if len(url) > options.max_length:
        return "too_long"
    address, _, query = url.partition("?")
    path = "/" + address.split("/", 3)[3] if address.count("/") >= 3 else "/"
    if _is_repeating([segment for segment in path.split("/") if segment]):
        return "repeating_path"
    names = [pair.partition("=")[0] for pair in query.split("&") if pair]
    if len(names) > MAX_PARAMETERS or any(count > MAX_REPEATS for count in Counter(names).values()):
        return "endless_query"
    if _CALENDAR.search(path) and (_DATE_AT_END.search(path) or _DATE_IN_QUERY.search(query)):
        return "calendar"
    return None


def _is_repeating(segments: list[str]) -> bool:
    """Whether a path has too many segments, one too often, or two to four of them three times in a row."""
    return (
        len(segments) > MAX_SEGMENTS
        or any(count > MAX_REPEATS for count in Counter(segments).values())
        or any(
            segments[start : start + 3 * length] == segments[start : start + length] * 3
            for length in range(2, LONGEST_CYCLE + 1)
            for start in range(len(segments) - 3 * length + 1)
        )
    )


def after(
    url: ClaimedUrl, answer: Fetched | Unchanged | FetchFailed | GivenUp, at: datetime, options: FrontierOptions
) -> UrlPlan:
    match answer:
        case Fetched():
            interval, next_at = recrawl(url.kind, url.interval, at, has_changed=None, options=options)
            return UrlPlan(Status.FETCHED, next_at, interval, answer.etag, answer.last_modified)
        case Unchanged():
            interval, next_at = recrawl(url.kind, url.interval, at, has_changed=False, options=options)
            etag, last_modified = answer.etag or url.etag, answer.last_modified or url.last_modified
            return UrlPlan(Status.FETCHED, next_at, interval, etag, last_modified)
        case FetchFailed():
            return _failed(url, answer, at, options)
        case GivenUp():
            return dead(url, f"{answer.reason}: {answer.detail}", url.failing_since or at)
        case _:
            assert_never(answer)


def _failed(url: ClaimedUrl, answer: FetchFailed, at: datetime, options: FrontierOptions) -> UrlPlan:
    since = url.failing_since or at
    error = f"{answer.reason}: {answer.detail}"
    if answer.reason == RATE_LIMITED:
        is_over, retries = at - since >= options.rate_limited_span, url.retry_count
    else:
        is_over, retries = url.retry_count >= options.max_retries, url.retry_count + 1
    if is_over:
        return dead(url, error, since)
    error, next_fetch_at = error[:LONGEST_ERROR], at + backoff(url.retry_count, options)
    return UrlPlan(Status.FAILED, next_fetch_at, url.interval, url.etag, url.last_modified, retries, since, error)


def dead(url: ClaimedUrl, error: str, since: datetime) -> UrlPlan:
    error = error[:LONGEST_ERROR]
    return UrlPlan(Status.DEAD, None, retry_count=url.retry_count, failing_since=since, error=error)


def after_redirect(url: ClaimedUrl, redirect: Redirected, at: datetime, options: FrontierOptions) -> UrlPlan | None:
    """What follows for a URL whose redirect is invalid or leads to itself; None if it leads to another page. From http
    to https, or with another slash at its end, it is the same page: fetched under the new URL at once."""
    try:
        target = locate(redirect.to)
    except InvalidUrl as error:
        return dead(url, f"bad_redirect: {error.reason}", at)
    if target.key.id != url.id:
        return None
    if target.url == url.url or url.retry_count >= options.max_retries:
        return dead(url, f"redirect_loop: {redirect.to}", at)
    retries, since = url.retry_count + 1, url.failing_since
    due_at = at + redirect.after
    return UrlPlan(Status.PENDING, due_at, url.interval, retry_count=retries, failing_since=since, new_url=target.url)


def redirect_target(url: ClaimedUrl, redirect: Redirected, at: datetime) -> Submission:
    not_before = at + redirect.after if redirect.after else None
    return Submission(redirect.to, url.origin, url.source_id, url.kind, url.url, url.depth, url.priority, not_before)


def backoff(retries: int, options: FrontierOptions) -> timedelta:
    """How long to wait after so many retries: doubled each time; together all waits fill the span."""
    most = max(1, options.max_retries)
    return options.retry_span * 2 ** min(retries, most - 1) / (2**most - 1)


def recrawl_options(kind: PageKind, options: FrontierOptions) -> RecrawlOptions:
    return {PageKind.ARTICLE: options.article, PageKind.SITEMAP: options.sitemap, PageKind.LIST: options.list}[kind]


def recrawl(
    kind: PageKind, interval: timedelta | None, at: datetime, *, has_changed: bool | None, options: FrontierOptions
) -> tuple[timedelta, datetime | None]:
    """How often the page is fetched from now on, and when next: twice as often if it has changed, half as often if not.
    Articles that stay unchanged end (None). The first content of a page does not show whether it changes (None)."""
    rules = recrawl_options(kind, options)
    if interval is None:
        interval = rules.first
    elif has_changed:
        interval = max(rules.shortest, interval / 2)
    elif has_changed is not None:
        if rules.ends and interval * 2 > rules.longest:
            return interval, None
        interval = min(rules.longest, interval * 2)
    return interval, at + interval


def page_delay(robots: timedelta | None, source: timedelta | None, slowed: int, options: FrontierOptions) -> timedelta:
    robots = min(robots or timedelta(0), options.max_crawl_delay)
    return delay_of(options.min_delay, robots, source, slowed=slowed, max_delay=options.max_delay)
