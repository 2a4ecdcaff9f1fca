"""When a robots.txt closes a host and when it is asked for again; where redirects lead."""

from datetime import timedelta

import pytest

from headwater.fetching.classify import Trail, after_redirect, sends_validators
from headwater.fetching.types import Verdict
from headwater.frontier.types import Answer, FetchFailed, Redirected
from headwater.hosts.decide import have_changed, is_closed, robots_read, robots_unreachable
from headwater.hosts.types import Robots
from tests.clock import START
from tests.fetching.claims import a_url

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ORIGIN = "https://example.com"


def read(body: str | None = "") -> Robots:
    return robots_read(ORIGIN, body, 200, START)


def test_what_was_read_holds_for_a_day() -> None:
    robots = read()

    assert robots.expires_at == START + DAY
    assert not is_closed(robots, START)


def test_what_cannot_be_reached_closes_the_host_for_thirty_days_and_then_its_last_copy_holds() -> None:
    robots = robots_unreachable(ORIGIN, read("Disallow: /a"), 503, START)

    assert is_closed(robots, START)
    assert is_closed(robots, START + 30 * DAY - MINUTE)
    assert not is_closed(robots, START + 30 * DAY)
    assert (robots.body, robots.status) == ("Disallow: /a", 503)


def test_a_failing_robots_txt_is_asked_for_ever_more_seldom_and_once_a_day_at_least() -> None:
    robots, waits = None, list[timedelta]()
    now = START
    for _ in range(12):
        robots = robots_unreachable(ORIGIN, robots, None, now)
        waits.append(robots.expires_at - now)
        now = robots.expires_at

    assert waits[:5] == [5 * MINUTE, 5 * MINUTE, 10 * MINUTE, 20 * MINUTE, 40 * MINUTE]
    assert waits[-1] == DAY
    assert robots is not None
    assert robots.unreachable_since == START


def test_retry_after_of_a_robots_txt_is_respected() -> None:
    assert robots_unreachable(ORIGIN, None, 503, START, 2 * HOUR).expires_at == START + 2 * HOUR


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [(None, "a", False), ("a", "a", False), ("a", "b", True), ("a", None, True), (None, None, False)],
)
def test_what_was_blocked_may_be_allowed_when_the_rules_have_changed(
    before: str | None, after: str | None, changed: bool
) -> None:
    assert have_changed(read(before) if before else None, read(after)) is changed


FIRST = "http://example.com/a"


def after(*steps: tuple[int, str]) -> Answer | None:
    trail = Trail((FIRST,))
    for status, url in steps:
        trail = trail.to(url, status)
    step = after_redirect(a_url(FIRST), trail)
    return step.answer if isinstance(step, Verdict) else step


@pytest.mark.parametrize("to", ["http://example.com/b", "https://example.com/a", "http://b.example/a"])
def test_a_redirect_that_asks_for_a_wait_is_queued_for_then_and_for_a_day_at_most(to: str) -> None:
    trail = Trail((FIRST,)).to(to, 302)

    for asked, waited in ((timedelta(hours=1), timedelta(hours=1)), (timedelta(days=9), timedelta(days=1))):
        step = after_redirect(a_url(FIRST), trail, asked)
        assert step == Verdict(Redirected(to, is_permanent=False, after=waited))


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        pytest.param([(301, "https://example.com/a")], None, id="to https"),
        pytest.param([(301, "http://example.com/a/")], None, id="a slash at the end"),
        pytest.param([(302, "http://example.com/b")], None, id="for now"),
        pytest.param([(301, "http://example.com/b")], Redirected("http://example.com/b", True), id="for good"),
        pytest.param([(308, "http://example.com/b")], Redirected("http://example.com/b", True), id="for good, 308"),
        pytest.param([(302, "http://b.example/a")], Redirected("http://b.example/a", False), id="another host"),
        pytest.param([(301, "http://b.example/a")], Redirected("http://b.example/a", True), id="another host for good"),
        pytest.param(
            [(301, "https://example.com/a"), (301, "https://example.com/b")],
            Redirected("https://example.com/b", True),
            id="to https and for good",
        ),
        pytest.param(
            [(302, "http://example.com/b"), (301, "http://example.com/c")],
            None,
            id="for now and then for good",
        ),
        pytest.param([(302, f"http://example.com/{step}") for step in range(5)], None, id="five"),
    ],
)
def test_a_redirect_is_followed_or_is_the_way_of_another_url(
    steps: list[tuple[int, str]], wanted: Answer | None
) -> None:
    assert after(*steps) == wanted


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([(302, FIRST)], id="to itself"),
        pytest.param([(302, "http://example.com/b"), (302, FIRST)], id="and back"),
        pytest.param([(302, f"http://example.com/{step}") for step in range(6)], id="six"),
    ],
)
def test_a_loop_ends(steps: list[tuple[int, str]]) -> None:
    answer = after(*steps)

    assert isinstance(answer, FetchFailed)
    assert answer.reason == "redirect_loop"


def test_validators_of_one_page_are_not_sent_for_another() -> None:
    trail = Trail((FIRST,))

    assert sends_validators(a_url(FIRST), trail)
    assert sends_validators(a_url(FIRST), trail.to("https://example.com/a", 301))
    assert not sends_validators(a_url(FIRST), trail.to("http://example.com/today", 302))
