"""What follows from reading a sitemap: which URLs to queue, and when to retire it. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from headwater.bodies.types import ClaimedBody, PageSource
from headwater.frontier.types import Origin, Submission
from headwater.sitemaps.types import ListedUrl, Reading, Sitemap, SitemapFormat, SitemapOptions
from headwater.types import PageKind

PRIORITY = 5
PRIORITY_MOST = 10
BONUS = 1  # seed 004: a URL of a sitemap goes before one of a link
RETIRE_READS = 5  # without new URLs, before a sitemap may be retired
RETIRE_READS_OLD = 2  # if all that it lists is old, too


def page_submissions(page: ClaimedBody, source: PageSource | None, listed: Sequence[ListedUrl]) -> list[Submission]:
    given = Submission("", Origin.SITEMAP, page.source_id, PageKind.ARTICLE, page.url, priority=_priority(source))
    return [given._replace(url=line.url) for line in listed]


def child_submissions(
    page: ClaimedBody, source: PageSource | None, children: Sequence[ListedUrl], known: Mapping[str, Reading],
    queued: Collection[str], left: int,
) -> list[Submission]:  # fmt: skip
    """The sitemaps of an index that are worth a request, the newest first, within the rest of the day's budget. A
    queued one has its own schedule; a retired one is read again if its date is later."""
    wanted = [line for line in children if line.url not in queued or _has_changed(line, known.get(line.url))]
    depth, priority = page.depth + 1, _priority(source)
    given = Submission("", Origin.SITEMAP, page.source_id, PageKind.SITEMAP, page.url, depth, priority)
    return [given._replace(url=line.url) for line in wanted[: max(left, 0)]]


def after_reading(
    page: ClaimedBody, before: Reading | None, sitemap: Sitemap | None, new: int, now: datetime
) -> Reading:
    """The results to store. Without a sitemap, it could not be read, and the last counts stay."""
    before = before or Reading(page.url, page.source_id, now, 0, 0, None, now, 0, None)
    if sitemap is not None:
        before = replace(before, url_count=sitemap.url_count, newest_lastmod=sitemap.newest)
    idle_since, unproductive = (now, 0) if new else (before.idle_since, before.unproductive_reads + 1)
    return replace(
        before, url=page.url, source_id=page.source_id, last_read_at=now, new_count=new, retired_at=None,
        idle_since=idle_since, unproductive_reads=unproductive,
    )  # fmt: skip


def is_over(reading: Reading, sitemap: Sitemap | None, depth: int, options: SitemapOptions, now: datetime) -> bool:
    """Whether to retire a sitemap: an archive, or one without new URLs for long. The first sitemap of a source is never
    retired, only read less and less often; nor is an index without dates, since the sitemaps that it lists may still
    change."""
    if depth == 0:
        return False
    long_ago = now - options.retire_after
    if reading.newest_lastmod is not None and reading.newest_lastmod < long_ago:
        return reading.unproductive_reads >= RETIRE_READS_OLD
    if sitemap is not None and sitemap.format is SitemapFormat.INDEX:
        return False
    return reading.unproductive_reads >= RETIRE_READS and reading.idle_since <= long_ago


def _has_changed(line: ListedUrl, before: Reading | None) -> bool:
    """Whether a retired sitemap has changed since."""
    retired_at = before.retired_at if before else None
    return retired_at is not None and line.lastmod is not None and line.lastmod > retired_at


def _priority(source: PageSource | None) -> int:
    return min((source.priority if source else PRIORITY) + BONUS, PRIORITY_MOST)


def sites_of(page: ClaimedBody, source: PageSource | None) -> Sequence[str]:
    own = (*source.addresses, *filter(None, [source.sitemap_url])) if source else ()
    return own or (page.url, page.final_url)
