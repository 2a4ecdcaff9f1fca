"""What follows from reading a sitemap. Pure: what it lists and what is remembered in, what to ask for out."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from headwater.bodies.types import ClaimedBody
from headwater.frontier.types import Origin, Submission
from headwater.sitemaps.types import Listed, Reading, Sitemap, SitemapFormat, SitemapOptions, SitemapSource
from headwater.types import PageKind

PRIORITY = 5
PRIORITY_MOST = 10
BONUS = 1  # seed 004: a URL of a sitemap comes before one that was met by chance
RETIRE_READS = 5  # without anything new, before a sitemap may be given up
RETIRE_READS_OLD = 2  # where all that it lists is old, too


def page_submissions(page: ClaimedBody, source: SitemapSource | None, listed: Sequence[Listed]) -> list[Submission]:
    """The pages that a sitemap lists."""
    priority = _priority(source)
    return [
        Submission(line.url, Origin.SITEMAP, page.source_id, PageKind.ARTICLE, page.url, priority=priority)
        for line in listed
    ]


def child_submissions(
    page: ClaimedBody,
    source: SitemapSource | None,
    children: Sequence[Listed],
    known: Mapping[str, Reading],
    queued: Collection[str],
    left: int,
) -> list[Submission]:
    """The sitemaps of an index that are worth a request: as many as the day has left, the newest first.

    What is queued is asked for by its own rhythm; what was given up only when it says that it has changed since.
    """
    wanted = [line for line in children if line.url not in queued or _lives_again(line, known.get(line.url))]
    priority, depth = _priority(source), page.depth + 1
    return [
        Submission(line.url, Origin.SITEMAP, page.source_id, PageKind.SITEMAP, page.url, depth, priority)
        for line in wanted[: max(left, 0)]
    ]


def after_reading(page: ClaimedBody, before: Reading | None, sitemap: Sitemap, new: int, now: datetime) -> Reading:
    """What to remember of a sitemap that was read, and brought so many new URLs."""
    return Reading(
        url=page.url,
        source_id=page.source_id,
        last_read_at=now,
        url_count=sitemap.url_count,
        new_count=new,
        newest_lastmod=sitemap.newest,
        idle_since=before.idle_since if before and not new else now,
        unproductive_reads=0 if new else (before.unproductive_reads if before else 0) + 1,
        retired_at=None,
    )


def after_failure(page: ClaimedBody, before: Reading | None, now: datetime) -> Reading:
    """What to remember of a sitemap that could not be read, perhaps only today."""
    return Reading(
        url=page.url,
        source_id=page.source_id,
        last_read_at=now,
        url_count=before.url_count if before else 0,
        new_count=0,
        newest_lastmod=before.newest_lastmod if before else None,
        idle_since=before.idle_since if before else now,
        unproductive_reads=(before.unproductive_reads if before else 0) + 1,
        retired_at=None,
    )


def is_over(reading: Reading, sitemap: Sitemap | None, depth: int, options: SitemapOptions, now: datetime) -> bool:
    """Whether to give a sitemap up: an archive, or one that has brought nothing for long.

    What a source begins from is never given up, only read ever more seldom: without it the source were silent for good.
    Nor is an index without dates, since what it leads to may still be alive.
    """
    if depth == 0:
        return False
    long_ago = now - options.retire_after
    if reading.newest_lastmod is not None and reading.newest_lastmod < long_ago:
        return reading.unproductive_reads >= RETIRE_READS_OLD
    if sitemap is not None and sitemap.format is SitemapFormat.INDEX:
        return False
    return reading.unproductive_reads >= RETIRE_READS and reading.idle_since <= long_ago


def _lives_again(line: Listed, before: Reading | None) -> bool:
    if before is None or before.retired_at is None or line.lastmod is None:
        return False
    return line.lastmod > before.retired_at


def _priority(source: SitemapSource | None) -> int:
    return min((source.priority if source else PRIORITY) + BONUS, PRIORITY_MOST)


def sites_of(page: ClaimedBody, source: SitemapSource | None) -> Sequence[str]:
    """Addresses of the sites whose pages this sitemap may list: the source's, or else its own."""
    return source.addresses if source and source.addresses else (page.url, page.final_url)
