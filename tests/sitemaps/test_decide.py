from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from headwater.bodies.types import ClaimedBody, PageSource
from headwater.ids import new_id
from headwater.sitemaps.decide import after_reading, child_submissions, is_over, page_submissions, sites_of
from headwater.sitemaps.types import ListedUrl, Reading, Sitemap, SitemapFormat, SitemapOptions
from headwater.types import PageKind, SourceId
from tests.clock import START
from tests.sitemaps.world import LIMITS

OPTIONS = SitemapOptions(limits=LIMITS, retire_after=timedelta(days=30))
DAY = timedelta(days=1)
LONG_AGO = START - 40 * DAY
URL = "https://example.com/sitemap.xml"
PAGE = ClaimedBody(URL, URL, PageKind.SITEMAP, None, 0, "text/xml", b"", START, new_id(), new_id(), 0)
READING = Reading(URL, None, START, 10, 0, START, START, 0, None)


def a_sitemap_source(*, addresses: tuple[str, ...] = (), priority: int = 5) -> PageSource:
    return PageSource(SourceId(UUID(int=1)), addresses, priority=priority)


def a_sitemap(newest: datetime | None = START, kind: SitemapFormat = SitemapFormat.URLSET) -> Sitemap:
    return Sitemap(kind, [], [], 10, newest, is_cut=False)


def test_reads_that_bring_nothing_are_counted_until_one_brings_something() -> None:
    first = after_reading(PAGE, None, a_sitemap(), 0, START)
    second = after_reading(PAGE, first, a_sitemap(), 0, START + DAY)
    third = after_reading(PAGE, second, a_sitemap(), 3, START + 2 * DAY)
    failed = after_reading(PAGE, third, None, 0, START + 3 * DAY)

    assert [one.unproductive_reads for one in (first, second, third, failed)] == [1, 2, 0, 1]
    assert [one.idle_since for one in (first, second, third, failed)] == [
        START,
        START,
        START + 2 * DAY,
        START + 2 * DAY,
    ]
    assert (failed.new_count, failed.url_count, failed.newest_lastmod) == (0, 10, START)


def test_a_sitemap_that_was_never_read_fails_with_nothing_listed() -> None:
    failed = after_reading(PAGE, None, None, 0, START)

    assert failed == replace(READING, url_count=0, newest_lastmod=None, unproductive_reads=1)


def test_a_first_read_that_brings_something_is_not_idle() -> None:
    assert after_reading(PAGE, None, a_sitemap(), 3, START) == replace(READING, new_count=3)


@pytest.mark.parametrize(
    ("reading", "sitemap", "depth", "over"),
    [
        pytest.param({"unproductive_reads": 99}, a_sitemap(), 0, False, id="what a source begins from stays"),
        pytest.param({"unproductive_reads": 99, "idle_since": LONG_AGO}, None, 0, False, id="even while it is none"),
        pytest.param({"unproductive_reads": 9, "idle_since": LONG_AGO}, None, 1, True, id="none, and quiet for long"),
        pytest.param({"newest_lastmod": LONG_AGO, "unproductive_reads": 1}, a_sitemap(), 1, False, id="old, once"),
        pytest.param({"newest_lastmod": LONG_AGO, "unproductive_reads": 2}, a_sitemap(), 1, True, id="archive"),
        pytest.param({"unproductive_reads": 9}, a_sitemap(), 1, False, id="a quiet day"),
        pytest.param({"unproductive_reads": 9, "idle_since": LONG_AGO}, a_sitemap(), 1, True, id="quiet for long"),
        pytest.param({"unproductive_reads": 4, "idle_since": LONG_AGO}, a_sitemap(), 1, False, id="rarely read"),
        pytest.param({"unproductive_reads": 5, "idle_since": START - 30 * DAY}, a_sitemap(), 1, True, id="just long"),
        pytest.param({"unproductive_reads": 5, "idle_since": START - 29 * DAY}, a_sitemap(), 1, False, id="not long"),
        pytest.param({"newest_lastmod": START - 30 * DAY, "unproductive_reads": 2}, a_sitemap(), 1, False, id="new"),
        pytest.param({"newest_lastmod": LONG_AGO, "unproductive_reads": 2}, a_sitemap(LONG_AGO, SitemapFormat.INDEX),
                     1, True, id="an index of archives"),
        pytest.param({"unproductive_reads": 9, "idle_since": LONG_AGO, "newest_lastmod": None},
                     a_sitemap(None, SitemapFormat.INDEX), 1, False, id="an index without dates"),
    ],
)  # fmt: skip
def test_a_sitemap_is_given_up_when_it_is_an_archive_or_long_silent(
    reading: dict[str, Any], sitemap: Sitemap | None, depth: int, over: bool
) -> None:
    assert is_over(replace(READING, **reading), sitemap, depth, OPTIONS, START) is over


def test_of_an_index_those_are_asked_for_that_are_new_or_changed_since_they_were_given_up() -> None:
    retired = replace(READING, retired_at=START)
    known = {"/known": READING, "/retired": retired, "/undated": retired, "/changed": retired}
    children = [
        ListedUrl("/new", START),
        ListedUrl("/known", START + DAY),
        ListedUrl("/retired", START),
        ListedUrl("/undated", None),
        ListedUrl("/changed", START + DAY),
        ListedUrl("/dead", START),
        ListedUrl("/more", None),
    ]

    wanted = child_submissions(replace(PAGE, depth=1), None, children, known, [*known, "/dead"], 2)

    assert [(one.url, one.depth, one.kind, one.priority) for one in wanted] == [
        ("/new", 2, PageKind.SITEMAP, 6),
        ("/changed", 2, PageKind.SITEMAP, 6),
    ]
    assert child_submissions(PAGE, None, children, known, [], -1) == []


@pytest.mark.parametrize(("own", "priority"), [(None, 6), (1, 2), (9, 10), (10, 10)])
def test_a_url_of_a_sitemap_goes_before_one_of_a_link(own: int | None, priority: int) -> None:
    source = None if own is None else a_sitemap_source(priority=own)

    (page,) = page_submissions(PAGE, source, [ListedUrl("/a", START)])
    (child,) = child_submissions(PAGE, source, [ListedUrl("/s", START)], {}, [], 1)

    assert (page.url, page.kind, page.parent_url, page.depth, page.priority) == (
        "/a",
        PageKind.ARTICLE,
        URL,
        0,
        priority,
    )
    assert (child.url, child.kind, child.parent_url, child.depth, child.priority) == (
        "/s", PageKind.SITEMAP, URL, 1, priority,
    )  # fmt: skip


@pytest.mark.parametrize(("left", "count"), [(-1, 0), (0, 0), (1, 1), (9, 2)])
def test_no_more_sitemaps_are_queued_than_the_budget_allows(left: int, count: int) -> None:
    children = [ListedUrl("/a", None), ListedUrl("/b", None)]

    assert len(child_submissions(PAGE, None, children, {}, [], left)) == count


@pytest.mark.parametrize(
    ("addresses", "sites"),
    [(None, (URL, "https://www.example.com/s.xml")), ((), (URL, "https://www.example.com/s.xml")), (("/",), ("/",))],
)
def test_a_sitemap_may_list_pages_of_its_source_or_else_of_its_own_site(
    addresses: tuple[str, ...] | None, sites: tuple[str, ...]
) -> None:
    source = None if addresses is None else a_sitemap_source(addresses=addresses)

    assert sites_of(replace(PAGE, final_url="https://www.example.com/s.xml"), source) == sites


def test_the_site_of_its_sitemap_counts_as_that_of_the_source() -> None:
    source = replace(a_sitemap_source(addresses=("https://example.org/",)), sitemap_url=URL)

    assert sites_of(PAGE, source) == ("https://example.org/", URL)
