"""The frontier's decisions, as tables and as laws."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.frontier import decide
from headwater.frontier.keys import lengthened, locate, shortened, url_key_of
from headwater.frontier.types import (
    ClaimedUrl,
    Fetched,
    FetchFailed,
    FrontierOptions,
    GivenUp,
    Origin,
    Redirected,
    Status,
    Submission,
    Unchanged,
)
from headwater.hosts.arrays import quoted
from headwater.ids import new_id
from headwater.types import PageKind
from headwater.urls import url_key
from tests.clock import START

OPTIONS = FrontierOptions()
HOUR = timedelta(hours=1)
URL = ClaimedUrl(
    id=locate("https://example.com/a").key.id,
    url="https://example.com/a",
    kind=PageKind.ARTICLE,
    origin=Origin.FEED,
    source_id=None,
    depth=0,
    priority=7,
    etag='"old"',
    last_modified=None,
    fetch_count=1,
    retry_count=0,
    failing_since=None,
    interval=12 * HOUR,
)


@pytest.mark.parametrize(
    ("origin", "priority", "expected"),
    [
        (Origin.FEED, None, 7),
        (Origin.SITEMAP, None, 6),
        (Origin.SPIDER, None, 5),
        (Origin.MANUAL, None, 5),
        (Origin.FEED, 3, 3),
        (Origin.FEED, 0, 1),
        (Origin.FEED, 99, 10),
    ],
)
def test_priority(origin: Origin, priority: int | None, expected: int) -> None:
    assert decide.priority_of(Submission("https://example.com/", origin, priority=priority)) == expected


def test_bands_follow_priorities() -> None:
    assert [decide.band_of(priority) for priority in range(1, 11)] == [3, 3, 3, 3, 2, 2, 1, 1, 0, 0]


@given(st.floats(0, 1, exclude_max=True))
def test_every_band_has_a_turn(choice: float) -> None:
    assert sorted(decide.band_order(choice)) == [0, 1, 2, 3]


def test_no_band_starves() -> None:
    first = Counter(decide.band_order(n / 1500)[0] for n in range(1500))

    assert first == {0: 800, 1: 400, 2: 200, 3: 100}


def test_each_claim_draws_another_number() -> None:
    drawn = [decide.draw(new_id(), START) for _ in range(500)]

    assert all(0 <= one < 1 for one in drawn)
    assert len({decide.band_order(one)[0] for one in drawn}) == 4


@given(st.integers(0, 15), st.floats(0, 1, exclude_max=True))
def test_rotation_keeps_every_shard(size: int, choice: float) -> None:
    assert sorted(decide.rotate(range(size), choice)) == list(range(size))


@pytest.mark.parametrize(
    ("choice", "rotated"), [(0, (1, 2, 3, 4)), (0.49, (2, 3, 4, 1)), (0.5, (3, 4, 1, 2)), (0.99, (4, 1, 2, 3))]
)
def test_shards_begin_at_another_one(choice: float, rotated: tuple[int, ...]) -> None:
    assert decide.rotate([1, 2, 3, 4], choice) == rotated


@pytest.mark.parametrize(("choice", "order"), [(0, (0, 1, 2, 3)), (8 / 15, (1, 0, 2, 3)), (14.5 / 15, (3, 0, 1, 2))])
def test_the_other_bands_follow_by_urgency(choice: float, order: tuple[int, ...]) -> None:
    assert decide.band_order(choice) == order


def test_the_last_band_has_the_lowest_priority() -> None:
    assert decide.band_of(1) == decide.LAST_BAND


SITE = "https://example.com"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/news/2026/03/01/a-story", None),
        ("/2001/01/01/01-first-of-the-first", None),
        ("/events/2026/03/01/the-mayor-speaks", None),
        ("/calendar", None),
        ("/a/b/a/c/a", None),
        ("/search?q=a&page=2", None),
        ("", None),
        ("/a/b/a/b", None),
        ("/a/b/c/d/e" * 3, None),
        ("/a/b/c/d" * 3, "repeating_path"),
        ("/a/b/c" * 3 + "/x", "repeating_path"),
        ("/" + "/".join(str(n) for n in range(20)), None),
        ("/" + "x" * (1024 - len("https://example.com/")), None),
        ("/" + "x" * (1025 - len("https://example.com/")), "too_long"),
        ("/s?" + "&".join(f"f{n}=1" for n in range(8)), None),
        ("/s?tag=a&tag=b&tag=c", None),
        ("/calendar/about", None),
        ("/notes/2031-05", None),
        ("/notes?month=2031-05", None),
        ("/a/a/a/a", "repeating_path"),
        ("/x/a/b/a/b/a/b", "repeating_path"),
        ("/" + "/".join(str(n) for n in range(21)), "repeating_path"),
        ("/" + "x" * 1100, "too_long"),
        ("/s?" + "&".join(f"f{n}=1" for n in range(9)), "endless_query"),
        ("/s?tag=a&tag=b&tag=c&tag=d", "endless_query"),
        ("/calendar/2031-05", "calendar"),
        ("/events/2026/03/", "calendar"),
        ("/agenda?month=2031-05", "calendar"),
        ("/calendar?year=2031&month=5", "calendar"),
    ],
)
def test_traps(path: str, reason: str | None) -> None:
    assert decide.trap(SITE + path, origin=Origin.SPIDER, depth=1, options=OPTIONS) == reason
    assert decide.trap(SITE + path, origin=Origin.FEED, depth=99, options=OPTIONS) is None


def test_a_url_below_the_maximum_depth_is_a_trap() -> None:
    assert decide.trap(SITE, origin=Origin.SITEMAP, depth=11, options=OPTIONS) == "too_deep"
    assert decide.trap(SITE, origin=Origin.SITEMAP, depth=10, options=OPTIONS) is None


@given(st.text())
def test_trap_detection_accepts_any_text(text: str) -> None:
    decide.trap(text, origin=Origin.SPIDER, depth=0, options=OPTIONS)


@pytest.mark.parametrize("most", [1, 2, 3, 8, 20])
def test_any_number_of_retries_spans_a_day(most: int) -> None:
    options = replace(OPTIONS, max_retries=most)
    waits = [decide.backoff(n, options) for n in range(most)]

    assert sum(waits, timedelta(0)) >= timedelta(hours=24) - timedelta(milliseconds=1)
    assert waits == sorted(waits)


@pytest.mark.parametrize(
    ("most", "hours"), [(0, [24, 24]), (1, [24, 24]), (2, [8, 16, 16]), (3, [24 / 7, 48 / 7, 96 / 7, 96 / 7])]
)
def test_each_wait_is_twice_the_one_before(most: int, hours: list[float]) -> None:
    options = replace(OPTIONS, max_retries=most)

    assert [decide.backoff(n, options) / HOUR for n in range(len(hours))] == pytest.approx(hours)


def test_a_url_without_retries_is_dead_after_its_first_failure_but_not_after_a_429() -> None:
    options = replace(OPTIONS, max_retries=0)

    assert decide.after(URL, FetchFailed("timeout", ""), START, options).status is Status.DEAD
    assert decide.after(URL, FetchFailed("rate_limited", ""), START, options).status is Status.FAILED


def test_a_failing_url_is_retried_until_its_retries_are_used_up() -> None:
    failure = FetchFailed("timeout", "10 s")

    plan = decide.after(URL, failure, START, OPTIONS)
    last = decide.after(replace(URL, retry_count=8, failing_since=START - 24 * HOUR), failure, START, OPTIONS)

    assert (plan.status, plan.retry_count, plan.failing_since) == (Status.FAILED, 1, START)
    assert plan.etag == '"old"'
    assert (last.status, last.next_fetch_at, last.error) == (Status.DEAD, None, "timeout: 10 s")


def test_the_last_retry_is_not_the_end() -> None:
    plan = decide.after(replace(URL, retry_count=7), FetchFailed("timeout", "10 s"), START, OPTIONS)

    assert (plan.status, plan.retry_count) == (Status.FAILED, 8)
    assert plan.next_fetch_at == START + decide.backoff(7, OPTIONS)


@pytest.mark.parametrize(
    "answer", [FetchFailed("timeout", "x" * 900), GivenUp("gone", "x" * 900)], ids=["fails", "dead"]
)
def test_an_error_is_cut_to_500_characters_and_keeps_when_it_began(answer: FetchFailed | GivenUp) -> None:
    first = decide.after(URL, answer, START, OPTIONS)
    later = decide.after(replace(URL, failing_since=START - HOUR), answer, START, OPTIONS)

    assert len(first.error or "") == 500
    assert (first.failing_since, later.failing_since) == (START, START - HOUR)


def test_a_429_costs_no_retry() -> None:
    plan = decide.after(replace(URL, retry_count=3), FetchFailed("rate_limited", "429"), START, OPTIONS)

    assert (plan.retry_count, plan.interval) == (3, 12 * HOUR)


def test_a_rate_limited_url_is_retried_for_a_week() -> None:
    limited = FetchFailed("rate_limited", "429")
    failing = replace(URL, retry_count=8, failing_since=START - timedelta(days=6))

    assert decide.after(failing, limited, START, OPTIONS).status is Status.FAILED
    assert decide.after(failing, limited, START + timedelta(days=1), OPTIONS).status is Status.DEAD


def test_success_clears_failures_and_keeps_validators() -> None:
    failing = replace(URL, retry_count=3, failing_since=START)

    fetched = decide.after(failing, Fetched('"new"', "Mon"), START, OPTIONS)
    unchanged = decide.after(failing, Unchanged(), START, OPTIONS)

    assert (fetched.retry_count, fetched.failing_since, fetched.etag) == (0, None, '"new"')
    assert (unchanged.status, unchanged.etag, unchanged.interval) == (Status.FETCHED, '"old"', 24 * HOUR)


@pytest.mark.parametrize(
    ("kind", "interval", "hours"),
    [
        (PageKind.ARTICLE, None, 12),
        (PageKind.SITEMAP, None, 6),
        (PageKind.LIST, None, 1),
        (PageKind.ARTICLE, 3 * HOUR, 3),
    ],
)
def test_a_fetched_page_is_fetched_again_after_its_interval(
    kind: PageKind, interval: timedelta | None, hours: int
) -> None:
    plan = decide.after(replace(URL, kind=kind, interval=interval), Fetched(None, None), START, OPTIONS)

    assert (plan.status, plan.interval, plan.next_fetch_at) == (
        Status.FETCHED,
        hours * HOUR,
        START + hours * HOUR,
    )


def test_new_validators_of_an_unchanged_page_replace_the_old() -> None:
    dated = replace(URL, last_modified="Mon")

    kept, new = (decide.after(dated, one, START, OPTIONS) for one in (Unchanged(), Unchanged('"new"', "Tue")))

    assert [(one.etag, one.last_modified) for one in (kept, new)] == [('"old"', "Mon"), ('"new"', "Tue")]


DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("kind", "interval", "has_changed", "after", "ends"),
    [
        (PageKind.ARTICLE, None, False, 12 * HOUR, False),
        (PageKind.ARTICLE, 12 * HOUR, True, 6 * HOUR, False),
        (PageKind.ARTICLE, HOUR, True, HOUR, False),
        (PageKind.ARTICLE, 12 * HOUR, False, DAY, False),
        (PageKind.ARTICLE, 8 * DAY, False, 16 * DAY, False),
        (PageKind.ARTICLE, 9 * DAY, False, 9 * DAY, True),
        (PageKind.SITEMAP, 4 * DAY, False, 7 * DAY, False),
        (PageKind.LIST, 20 * HOUR, False, DAY, False),
        (PageKind.LIST, 20 * HOUR / 60, True, 15 * HOUR / 60, False),
    ],
)
def test_a_changed_page_is_fetched_twice_as_often_and_an_unchanged_one_half_as_often(
    kind: PageKind, interval: timedelta | None, has_changed: bool, after: timedelta, ends: bool
) -> None:
    again = decide.recrawl(kind, interval, START, has_changed=has_changed, options=OPTIONS)

    assert again == (after, None if ends else START + after)


def test_a_hopeless_failure_makes_a_url_dead_at_once() -> None:
    plan = decide.after(URL, GivenUp("not_html", "application/pdf"), START, OPTIONS)

    assert (plan.status, plan.next_fetch_at, plan.error) == (Status.DEAD, None, "not_html: application/pdf")


@pytest.mark.parametrize(
    ("to", "status"),
    [
        ("https://example.com/b", None),
        ("https://example.com/a/", Status.PENDING),
        ("https://example.com/a", Status.DEAD),
        ("javascript:alert(1)", Status.DEAD),
        ("", Status.DEAD),
    ],
)
def test_redirects(to: str, status: Status | None) -> None:
    plan = decide.after_redirect(URL, Redirected(to, is_permanent=True), START, OPTIONS)

    assert (plan and plan.status) == status


def test_the_other_form_of_a_page_is_fetched_at_once_and_costs_a_retry() -> None:
    to = Redirected("https://example.com/a/", is_permanent=True)

    plan = decide.after_redirect(replace(URL, retry_count=7), to, START, OPTIONS)

    assert plan == decide.UrlPlan(Status.PENDING, START, 12 * HOUR, retry_count=8, new_url="https://example.com/a/")


def test_the_target_of_a_redirect_is_queued_like_the_url_that_redirects() -> None:
    url = replace(URL, depth=3, priority=4, origin=Origin.SPIDER)

    target = decide.redirect_target(url, Redirected("https://example.com/b", is_permanent=True), START)

    assert target == Submission(
        "https://example.com/b", Origin.SPIDER, None, PageKind.ARTICLE, "https://example.com/a", 3, 4
    )


def test_the_target_of_a_redirect_waits_as_long_as_it_asks() -> None:
    elsewhere = Redirected("https://example.com/b", is_permanent=True, after=HOUR)
    other_form = Redirected("https://example.com/a/", is_permanent=True, after=HOUR)

    plan = decide.after_redirect(URL, other_form, START, OPTIONS)

    assert decide.redirect_target(URL, elsewhere, START).not_before == START + HOUR
    assert plan is not None
    assert plan.next_fetch_at == START + HOUR


def test_a_redirect_between_two_forms_of_one_page_ends() -> None:
    plan = decide.after_redirect(
        replace(URL, retry_count=8), Redirected("http://example.com/a", is_permanent=False), START, OPTIONS
    )

    assert plan is not None
    assert plan.status is Status.DEAD


@given(
    st.sampled_from(PageKind),
    st.one_of(st.none(), st.timedeltas(timedelta(minutes=1), timedelta(days=400))),
    st.booleans(),
)
def test_the_schedule_stays_within_its_bounds(kind: PageKind, interval: timedelta | None, has_changed: bool) -> None:
    rules = decide.recrawl_options(kind, OPTIONS)

    now_every, next_at = decide.recrawl(kind, interval, START, has_changed=has_changed, options=OPTIONS)

    if next_at is None:
        assert kind is PageKind.ARTICLE
        assert not has_changed
    else:
        assert next_at - START == now_every
        assert now_every >= rules.shortest or (interval is not None and now_every >= interval)
        assert now_every <= rules.longest or has_changed


def test_the_first_content_does_not_change_the_interval() -> None:
    first, next_at = decide.recrawl(PageKind.ARTICLE, 12 * HOUR, START, has_changed=None, options=OPTIONS)
    second, _ = decide.recrawl(PageKind.ARTICLE, 12 * HOUR, START, has_changed=True, options=OPTIONS)
    _, first_fetch_at = decide.recrawl(PageKind.LIST, None, START, has_changed=None, options=OPTIONS)

    assert (first, second) == (12 * HOUR, 6 * HOUR)
    assert (next_at, first_fetch_at) == (START + 12 * HOUR, START + HOUR)


@pytest.mark.parametrize(
    ("robots", "source", "slowed", "seconds"),
    [
        (None, None, 0, 1),
        (5, None, 0, 5),
        (600, None, 0, 30),
        (5, 10, 0, 10),
        (None, 600, 0, 600),
        (None, None, 3, 8),
        (None, None, 30, 300),
        (None, 600, 2, 600),
    ],
)
def test_the_delay_is_the_longest_of_all_rules(
    robots: int | None, source: int | None, slowed: int, seconds: int
) -> None:
    asked = [None if one is None else timedelta(seconds=one) for one in (robots, source)]

    assert decide.page_delay(asked[0], asked[1], slowed, OPTIONS) == timedelta(seconds=seconds)


@given(st.uuids())
def test_a_key_is_computed_from_the_id(one: UUID) -> None:
    assert url_key_of(one).id == one


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "https://example.com/a?b=%22c",
        "http://example.com/a",
        "https://example.com:8443/a",
        "https://[::1]/a",
        "http://127.0.0.1:8080/a",
    ],
)
def test_a_shortened_url_is_restored(url: str) -> None:
    located = locate(url)

    assert lengthened(shortened(located.url, located.host), located.host) == url
    assert url_key_of(located.key.id) == located.key
    assert located.key.url_id == int.from_bytes(url_key(url)[:8], "big", signed=True)


def test_a_fragment_is_not_requested() -> None:
    assert locate("https://example.com/a#b").url == "https://example.com/a"


@given(st.text())
def test_any_text_is_valid_in_an_array(text: str) -> None:
    element = quoted(text)

    assert element[0] == element[-1] == '"'
    assert "\x00" not in element
    assert '"' not in element[1:-1].replace("\\\\", "").replace('\\"', "")
