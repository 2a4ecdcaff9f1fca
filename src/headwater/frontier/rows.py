"""Between rows and what they mean: letters and words, columns and arrays. Pure."""

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

from headwater.errors import InvalidUrl
from headwater.frontier.decide import CAPPED, ROBOTS_BLOCKED, Recrawl, UrlPlan, band_of, page_delay, priority_of, trap
from headwater.frontier.decide import settled as settled_schedule
from headwater.frontier.keys import Located, Place, lengthened, locate, shortened
from headwater.frontier.types import (
    Answered,
    ClaimedHost,
    ClaimedUrl,
    Fate,
    FrontierOptions,
    FrontierUrl,
    Hopeless,
    Origin,
    Settled,
    Status,
    Submission,
    Submitted,
)
from headwater.hosts.arrays import alike, flags, letters, numbers, texts, times, uuids
from headwater.hosts.types import HeldHost, Pace, Wake
from headwater.types import PageKind, SourceId

STATUS_LETTER = {Status.PENDING: "p", Status.FETCHED: "f", Status.FAILED: "r", Status.DEAD: "d"}
STATUS_OF = {letter: status for status, letter in STATUS_LETTER.items()} | {"b": Status.DEAD, "g": Status.FETCHING}
ORIGIN_LETTER = {Origin.FEED: "f", Origin.SITEMAP: "x", Origin.SPIDER: "s", Origin.MANUAL: "m"}
ORIGIN_OF = {letter: origin for origin, letter in ORIGIN_LETTER.items()}
KIND_LETTER = {PageKind.ARTICLE: "a", PageKind.SITEMAP: "x", PageKind.LIST: "l"}
MOST_DEPTH = 32_767  # of a smallint
SOURCE_DELETED = "source_deleted"
KIND_OF = {letter: kind for kind, letter in KIND_LETTER.items()}


@dataclass(slots=True)
class Wanted:
    """One URL of a batch, with all who submitted it."""

    located: Located
    submission: Submission
    priority: int
    next_fetch_at: datetime
    can_revive: bool
    numbers: tuple[int, ...]  # where they stand in the batch


def sort_out(
    submissions: Sequence[Submission], now: datetime, options: FrontierOptions, deleted: Container[SourceId] = ()
) -> tuple[list[Submitted | None], list[Wanted]]:
    """Those that cannot be used are answered; of the others each URL stands once, in the order of the table's key."""
    results: list[Submitted | None] = [None] * len(submissions)
    wanted: dict[Place, Wanted] = {}
    for number, submission in enumerate(submissions):
        if submission.source_id is not None and submission.source_id in deleted:
            results[number] = Submitted(submission.url, Fate.INVALID, reason=SOURCE_DELETED)
            continue
        try:
            located = locate(submission.url)
        except InvalidUrl as error:
            results[number] = Submitted(submission.url, Fate.INVALID, reason=error.reason)
            continue
        reason = trap(located.canonical, origin=submission.origin, depth=submission.depth, options=options)
        if reason is not None:
            results[number] = Submitted(submission.url, Fate.INVALID, reason=reason)
            continue
        one = wanted.get(located.place)
        if one is None:
            wanted[located.place] = _wanted(located, submission, number, now)
        else:
            _want_more(one, _wanted(located, submission, number, now))
    return results, [wanted[place] for place in sorted(wanted)]


def _wanted(located: Located, submission: Submission, number: int, now: datetime) -> Wanted:
    next_fetch_at = now if submission.not_before is None else max(now, submission.not_before)
    can_revive = submission.origin is Origin.FEED
    return Wanted(located, submission, priority_of(submission), next_fetch_at, can_revive, (number,))


def _want_more(one: Wanted, other: Wanted) -> None:
    if other.priority > one.priority:
        one.located, one.submission, one.priority = other.located, other.submission, other.priority
    one.next_fetch_at = min(one.next_fetch_at, other.next_fetch_at)
    one.can_revive |= other.can_revive
    one.numbers += other.numbers


def url_columns(wanted: Sequence[Wanted]) -> dict[str, str]:
    """A batch as arrays."""
    submissions = [one.submission for one in wanted]
    return {
        **place_columns([one.located.place for one in wanted]),
        "urls": texts([shortened(one.located.url, one.located.host) for one in wanted]),
        "source_ids": uuids([one.source_id for one in submissions]),
        "origins": letters(alike([one.origin for one in submissions], ORIGIN_LETTER.__getitem__)),
        "kinds": letters(alike([one.kind for one in submissions], KIND_LETTER.__getitem__)),
        "parents": texts([one.parent_url for one in submissions]),
        "depths": numbers([min(one.depth, MOST_DEPTH) for one in submissions]),
        "priorities": numbers([one.priority for one in wanted]),
        "bands": numbers([band_of(one.priority) for one in wanted]),
        "times": times([one.next_fetch_at for one in wanted]),
        "can_revive": flags([one.can_revive for one in wanted]),
        "positions": numbers(_positions_in_host(wanted)),
    }


def _positions_in_host(wanted: Sequence[Wanted]) -> list[int | None]:
    """Ordinal of each URL within its host, among those that a cap holds for."""
    counts: defaultdict[int, int] = defaultdict(int)
    positions: list[int | None] = []
    for one in wanted:
        if one.submission.origin in CAPPED:
            counts[one.located.place.host_id] += 1
            positions.append(counts[one.located.place.host_id])
        else:
            positions.append(None)
    return positions


def place_columns(places: Sequence[Place]) -> dict[str, str]:
    """Keys as arrays."""
    return {
        "shards": numbers([place.shard for place in places]),
        "host_ids": numbers([place.host_id for place in places]),
        "url_ids": numbers([place.url_id for place in places]),
    }


Counts = dict[UUID | None, list[int]]
COUNTED = ("p", "f", "r", "d")


def count(counts: Counts, source_id: UUID | None, letter: str, by: int) -> None:
    """Remember that so many URLs of a source more (or fewer) stand here."""
    row = counts.setdefault(source_id, [0, 0, 0, 0])
    row[COUNTED.index("d" if letter == "b" else letter)] += by


def tally_columns(counts: Counts) -> dict[str, str]:
    """What changed, as arrays; what did not is left out."""
    rows = [(source_id, row) for source_id, row in counts.items() if any(row)]
    return {
        "tally_sources": uuids([source_id for source_id, _ in rows]),
        **{f"tally_{letter}": numbers([row[place] for _, row in rows]) for place, letter in enumerate(COUNTED)},
    }


@dataclass(slots=True)
class Touched:
    """What is still to be told after URLs were written: to their hosts, and to the tally."""

    wakes: list[Wake] = field(default_factory=list[Wake])
    counts: Counts = field(default_factory=Counts)

    def add(self, other: "Touched") -> None:
        """Tell that too."""
        self.wakes += other.wakes
        for source_id, row in other.counts.items():
            for letter, by in zip(COUNTED, row, strict=True):
                count(self.counts, source_id, letter, by)


AddedRow = tuple[str, Sequence[int], UUID | None, str]
"""What came of URLs in one word, which they are of those wanted, and of a single one its source or where it led."""

Told = tuple[Fate, str | None]
"""What came of a URL, and why."""


def fates_of(
    rows: Iterable[AddedRow], wanted: Sequence[Wanted], touched: Touched
) -> tuple[list[Told], list[tuple[Wanted, str]]]:
    """What came of each of these URLs, and which of them are aliases."""
    fates: list[Told] = [(Fate.KNOWN, None)] * len(wanted)
    led: list[tuple[Wanted, str]] = []
    for word, which, source_id, to_url in rows:
        if word == "queued":
            _queue(which, wanted, fates, touched)
            continue
        place = which[0] - 1
        if word == "alias":
            led.append((wanted[place], to_url))
        elif word == "full":
            fates[place] = Fate.INVALID, "host_full"
        else:
            fate = Fate.REVIVED if word == "revived" else Fate.KNOWN
            fates[place] = fate, None
            touched.wakes.append(_wake_for([wanted[place]], 0))
            if fate is Fate.REVIVED:
                count(touched.counts, source_id, "p", 1)
                count(touched.counts, source_id, "d", -1)
    return fates, led


def _queue(which: Sequence[int], wanted: Sequence[Wanted], fates: list[Told], touched: Touched) -> None:
    """These are new. Those of a host stand together, and mostly come from one source."""
    queued = Fate.QUEUED, None
    for number in which:
        fates[number - 1] = queued
    new = [wanted[number - 1] for number in sorted(which)]
    for _, group in groupby(new, key=lambda one: one.located.place.host_id):
        ones = list(group)
        touched.wakes.append(_wake_for(ones, len(ones)))
        for source_id, of_source in groupby([one.submission.source_id for one in ones]):
            count(touched.counts, source_id, "p", sum(1 for _ in of_source))


def _wake_for(ones: Sequence[Wanted], more: int) -> Wake:
    """What these URLs of one host wake it for."""
    place = ones[0].located.place
    band = band_of(max(one.priority for one in ones))
    return Wake(ones[0].located.host, place.host_id, band, min(one.next_fetch_at for one in ones), more)


def tell_fate(one: Wanted, told: Told, submissions: Sequence[Submission], results: list[Submitted | None]) -> None:
    """Answer all who submitted this URL: it was new to the first of them only."""
    fate, reason = told
    place = None if fate is Fate.INVALID else one.located.place
    for number in one.numbers:
        results[number] = Submitted(submissions[number].url, fate, place, reason)
        fate = Fate.INVALID if fate is Fate.INVALID else Fate.KNOWN


def tell_where_led(
    led: Sequence[Wanted],
    found: Sequence[Submitted],
    submissions: Sequence[Submission],
    results: list[Submitted | None],
) -> None:
    """Answer those who submitted an alias with what came of where it led."""
    for one, result in zip(led, found, strict=True):
        for number in one.numbers:
            results[number] = result._replace(url=submissions[number].url)


class DueRow(NamedTuple):
    """A due URL and the number of its host in a claim: the columns, in their order."""

    number: int
    min_delay_ms: int | None
    url_id: int
    url: str
    kind: str
    origin: str
    source_id: SourceId | None
    depth: int
    priority: int
    etag: str | None
    last_modified: str | None
    fetch_count: int
    retry_count: int
    failing_since: datetime | None
    interval_s: int | None
    status: str


def claimed_host(held: HeldHost, rows: Sequence[DueRow], lease: UUID, options: FrontierOptions) -> ClaimedHost:
    """A host as its fetcher sees it. Without URLs nothing is due."""
    asked = [row.min_delay_ms for row in rows if row.min_delay_ms is not None]
    source = timedelta(milliseconds=max(asked)) if asked else None
    delay = page_delay(held.robots_delay, source, held.slowed, options)
    assert held.ready_at is not None, "a host that is claimed for its pages was ready"
    # Whoever lost the host may have asked it at the last moment of the lease.
    not_before = held.ready_at if held.lost_at is None else max(held.ready_at, held.lost_at + delay)
    urls = [claimed_url(row, held) for row in rows]
    pace = Pace(held.slowed, held.successes)
    return ClaimedHost(held.name, lease, delay, not_before, urls, pace, held.answered_at)


def claimed_url(row: DueRow, host: HeldHost) -> ClaimedUrl:
    """A URL as its fetcher sees it."""
    return ClaimedUrl(
        Place(0, host.host_id, row.url_id).id,
        lengthened(row.url, host.name),
        KIND_OF[row.kind],
        ORIGIN_OF[row.origin],
        row.source_id,
        row.depth,
        row.priority,
        row.etag,
        row.last_modified,
        row.fetch_count,
        row.retry_count,
        row.failing_since,
        None if row.interval_s is None else timedelta(seconds=row.interval_s),
        STATUS_OF[row.status],
    )


class Result(NamedTuple):
    """A URL that was asked for, and what is written of it. Sorts by where it is kept."""

    place: Place
    answered: Answered
    plan: UrlPlan


def letter_of(answered: Answered, plan: UrlPlan) -> str:
    """Its status as a letter: what robots.txt forbids can be found again when that changes."""
    is_blocked = isinstance(answered.answer, Hopeless) and answered.answer.reason == ROBOTS_BLOCKED
    return "b" if is_blocked else STATUS_LETTER[plan.status]


def result_columns(results: Sequence[Result]) -> dict[str, str]:
    """Answers as arrays."""
    plans = [one.plan for one in results]
    return {
        **place_columns([one.place for one in results]),
        "was": letters([STATUS_LETTER[one.answered.url.status] for one in results]),
        "at": times([one.answered.at for one in results]),
        "statuses": letters([letter_of(one.answered, one.plan) for one in results]),
        "times": times([plan.next_fetch_at for plan in plans]),
        "retries": numbers([plan.retry_count for plan in plans]),
        "since": times([plan.failing_since for plan in plans]),
        "intervals": numbers([seconds_of(plan.interval) for plan in plans]),
        "errors": texts([plan.error for plan in plans]),
        "successes": numbers([int(plan.is_success) for plan in plans]),
        "etags": texts([plan.etag for plan in plans]),
        "last_modified": texts([plan.last_modified for plan in plans]),
        "new_urls": texts([plan.new_url and _stored(plan.new_url) for plan in plans]),
    }


def _stored(url: str) -> str:
    located = locate(url)
    return shortened(located.url, located.host)


def seconds_of(interval: timedelta | None) -> int | None:
    """As it is stored."""
    return None if interval is None else int(interval.total_seconds())


class FetchedRow(NamedTuple):
    """A page that was fetched, as its schedule stands."""

    place: Place
    kind: str
    interval_s: int | None
    fetch_count: int
    last_fetched_at: datetime | None
    next_fetch_at: datetime | None
    source_id: UUID | None
    band: int


class Settlement(NamedTuple):
    """What is written of a page once it was read."""

    row: FetchedRow
    settled: Settled
    again: Recrawl

    @property
    def next_fetch_at(self) -> datetime | None:
        """None: never again."""
        return None if self.settled.dead_reason else self.again.next_fetch_at

    def touch(self, touched: Touched) -> None:
        """Tell the host when the page is wanted earlier than before, and the tally when it is dead."""
        row, time = self.row, self.next_fetch_at
        if self.settled.dead_reason:
            count(touched.counts, row.source_id, "f", -1)
            count(touched.counts, row.source_id, "d", 1)
        if time is not None and (row.next_fetch_at is None or time < row.next_fetch_at):
            touched.wakes.append(Wake("", row.place.host_id, row.band, time, 0))


def settlement_of(row: FetchedRow, settled: Settled, now: datetime, options: FrontierOptions) -> Settlement:
    """How often this page is fetched from now on."""
    interval = None if row.interval_s is None else timedelta(seconds=row.interval_s)
    at = row.last_fetched_at or now
    again = settled_schedule(
        KIND_OF[row.kind], interval, row.fetch_count, at, has_changed=settled.changed, options=options
    )
    return Settlement(row, settled, again)


def settlement_columns(settlements: Sequence[Settlement]) -> dict[str, Any]:
    """What reading pages came to, as arrays."""
    return {
        **place_columns([one.row.place for one in settlements]),
        "times": times([one.next_fetch_at for one in settlements]),
        "intervals": numbers([seconds_of(one.again.interval) for one in settlements]),
        "hashes": [one.settled.content_hash for one in settlements],
        "reasons": texts([one.settled.dead_reason for one in settlements]),
    }


@dataclass(frozen=True, slots=True)
class UrlRow:
    """A URL as it is listed."""

    host_id: int
    url_id: int
    url: str
    host: str
    source_id: SourceId | None
    origin: str
    kind: str
    parent_url: str | None
    depth: int
    priority: int
    status: str
    next_fetch_at: datetime | None
    last_fetched_at: datetime | None
    fetch_count: int
    content_hash: bytes | None
    etag: str | None
    last_modified: str | None
    retry_count: int
    last_error: str | None
    discovered_at: datetime


def frontier_url(row: UrlRow) -> FrontierUrl:
    """A URL as it is shown."""
    return FrontierUrl(
        id=Place(0, row.host_id, row.url_id).id,
        url=lengthened(row.url, row.host),
        host=row.host,
        source_id=row.source_id,
        origin=ORIGIN_OF[row.origin],
        kind=KIND_OF[row.kind],
        parent_url=row.parent_url,
        depth=row.depth,
        priority=row.priority,
        status=STATUS_OF[row.status],
        next_fetch_at=row.next_fetch_at,
        last_fetched_at=row.last_fetched_at,
        fetch_count=row.fetch_count,
        content_hash=row.content_hash,
        etag=row.etag,
        last_modified=row.last_modified,
        retry_count=row.retry_count,
        last_error=row.last_error,
        discovered_at=row.discovered_at,
    )


def resubmitted(wanted: Wanted, to_url: str) -> Submission:
    """What was submitted under an alias, where it led."""
    priority, not_before = wanted.priority, wanted.next_fetch_at
    origin = Origin.FEED if wanted.can_revive else wanted.submission.origin
    return wanted.submission._replace(url=to_url, priority=priority, not_before=not_before, origin=origin)
