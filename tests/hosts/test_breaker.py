from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from headwater.hosts.breaker import HostFailure, after_poll
from headwater.hosts.types import HostState
from headwater.polling.decide import decide_host
from headwater.polling.policy import POLICIES, policy_named
from headwater.polling.types import FailureClass, HostDecision, PollFailed, PollOutcome
from headwater.types import SourceId
from tests.clock import START
from tests.polling.histories import GOOD, HOUR, SAME

HOST = HostState("example.com")
FEEDS = [SourceId(UUID(int=number)) for number in range(5)]
BUSY = PollFailed(FailureClass.RATE_LIMITED, "Less.")
MISSING = PollFailed(FailureClass.NOT_FOUND, "Gone?")


def play(*polls: tuple[int, PollOutcome], host: HostState = HOST) -> list[HostDecision]:
    """What is decided after each poll; a host that is paused is asked again when that is over."""
    decided: list[HostDecision] = []
    for feed, outcome in polls:
        decided.append(decide_host(host, FEEDS[feed], outcome, policy_named("default"), host.paused_until or START))
        host = decided[-1].state
    return decided


def pauses(steps: list[HostDecision]) -> list[timedelta]:
    ends = [START, *(step.state.paused_until for step in steps if step.state.paused_until)]
    return [after - before for before, after in pairwise(ends)]


def test_three_feeds_that_fail_alike_pause_their_host_and_not_each_feed() -> None:
    first, second, third, probe = play((0, MISSING), (1, MISSING), (2, MISSING), (3, MISSING))

    assert (first.counts, second.counts) == (True, True)
    assert (third.paused, third.counts, third.state.paused_until) == (True, False, START + HOUR)
    assert (probe.paused, probe.counts, probe.state.paused_until) == (False, False, START + 3 * HOUR)


def test_one_feed_that_keeps_failing_does_not_pause_its_host() -> None:
    assert not any(step.paused for step in play(*[(0, MISSING)] * 10))


def test_two_failing_feeds_do_not_pause_their_host() -> None:
    assert not any(step.paused for step in play(*[(number % 2, MISSING) for number in range(10)]))


def test_feeds_that_fail_differently_do_not_pause_their_host() -> None:
    steps = play((0, MISSING), (1, BUSY), (2, MISSING), (3, BUSY))

    assert not any(step.paused for step in steps)


@pytest.mark.parametrize("good", [GOOD, SAME])
def test_one_good_answer_ends_the_pause(good: PollOutcome) -> None:
    *_, resumed = play((0, MISSING), (1, MISSING), (2, MISSING), (0, good))

    assert resumed.resumed
    assert resumed.state == HOST


@pytest.mark.parametrize("bad", [FailureClass.PARSE_ERROR, FailureClass.TOO_LARGE])
def test_a_feed_whose_body_is_bad_shows_that_its_host_answers(bad: FailureClass) -> None:
    *_, last = play((0, MISSING), (1, MISSING), (2, PollFailed(bad, "x")))

    assert last.state == HOST


def test_pauses_grow_to_a_day() -> None:
    steps = play(*[(number % 5, MISSING) for number in range(12)])

    assert [pause / HOUR for pause in pauses(steps)] == [1, 2, 4, 8, 16, 24, 24, 24, 24, 24]


def test_a_host_that_is_asked_too_often_is_paused_for_minutes_at_first() -> None:
    steps = play(*[(number % 5, BUSY) for number in range(12)])

    assert [pause / timedelta(minutes=5) for pause in pauses(steps)] == [1, 2, 4, 8, 16, 32, 64, 96, 96, 96]


def test_retry_after_sets_the_length_of_the_pause() -> None:
    asking = PollFailed(FailureClass.RATE_LIMITED, "Less.", retry_after=HOUR / 60)

    *_, third = play((0, asking), (1, asking), (2, asking))

    assert third.state.paused_until == START + HOUR / 60


def test_a_short_retry_after_is_respected_only_once() -> None:
    asking = PollFailed(FailureClass.RATE_LIMITED, "Less.", retry_after=timedelta(seconds=1))

    steps = play(*[(number, asking) for number in range(5)])

    assert pauses(steps) == [timedelta(seconds=1), timedelta(minutes=10), timedelta(minutes=20)]


@pytest.mark.parametrize(
    "other",
    [FailureClass.NETWORK, FailureClass.RATE_LIMITED, FailureClass.BOT_CHALLENGE, FailureClass.UNEXPECTED],
)
def test_a_probe_that_fails_otherwise_ends_no_pause(other: FailureClass) -> None:
    down = PollFailed(FailureClass.UPSTREAM_FAILURE, "Down.", 503)

    *_, probe = play((0, down), (1, down), (2, down), (3, PollFailed(other, "x")))

    assert (probe.resumed, probe.paused) == (False, False)
    assert probe.state.paused_until is not None


@pytest.mark.parametrize("kind", [FailureClass.UPSTREAM_FAILURE, FailureClass.NETWORK, FailureClass.DNS])
def test_a_host_that_was_out_of_reach_and_misses_one_feed_is_back(kind: FailureClass) -> None:
    down = PollFailed(kind, "Down.")

    *_, probe = play((0, down), (1, down), (2, down), (3, MISSING))

    assert (probe.resumed, probe.counts, probe.state.paused_until) == (True, True, None)


def test_what_a_person_must_look_at_is_not_hidden_by_a_pause() -> None:
    denied = PollFailed(FailureClass.UNAUTHORIZED, "Who are you?", 401)

    host = HOST
    for feed in FEEDS:
        decided = decide_host(host, feed, denied, policy_named("cooldown"), START)
        host = decided.state
        assert (decided.counts, decided.paused) == (True, False)


@pytest.mark.parametrize("kind", [FailureClass.RATE_LIMITED, FailureClass.UPSTREAM_FAILURE, FailureClass.FORBIDDEN])
def test_a_host_may_ask_for_a_longer_pause(kind: FailureClass) -> None:
    asking = PollFailed(kind, "Less.", retry_after=5 * HOUR)

    *_, third = play((0, asking), (1, asking), (2, asking))

    assert third.state.paused_until == START + 5 * HOUR


def test_a_bot_challenge_pauses_the_host_for_a_day_at_once() -> None:
    (step,) = play((0, PollFailed(FailureClass.BOT_CHALLENGE, "A test.", 403)))

    assert (step.paused, step.state.paused_until) == (True, START + 24 * HOUR)


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"default"}))
def test_elsewhere_a_bot_challenge_is_the_feeds_own(name: str) -> None:
    failed = PollFailed(FailureClass.BOT_CHALLENGE, "A test.", 403)

    assert decide_host(HOST, FEEDS[0], failed, policy_named(name), START).counts


def test_polls_by_hand_of_a_paused_host_do_not_lengthen_its_pause() -> None:
    *_, paused = play((0, MISSING), (1, MISSING), (2, MISSING))

    by_hand = decide_host(paused.state, FEEDS[0], MISSING, policy_named("default"), START + HOUR / 2)

    assert (by_hand.state, by_hand.counts) == (paused.state, False)


@pytest.mark.parametrize("hours", [2, 30])
def test_a_poll_by_hand_of_a_paused_host_brings_its_retry_after(hours: int) -> None:
    *_, paused = play((0, MISSING), (1, MISSING), (2, MISSING))
    asking = PollFailed(FailureClass.NOT_FOUND, "Gone?", retry_after=hours * HOUR)

    by_hand = decide_host(paused.state, FEEDS[0], asking, policy_named("default"), START)

    assert (by_hand.state.paused_until, by_hand.counts) == (START + min(hours, 24) * HOUR, False)


def test_a_host_keeps_no_more_feeds_than_a_pause_needs() -> None:
    *_, last = play(*[(number, MISSING) for number in range(5)])

    assert last.state.failing_sources == tuple(FEEDS[:3])


@pytest.mark.parametrize("kind", [FailureClass.SSRF_BLOCKED, FailureClass.UNEXPECTED])
def test_what_never_reached_the_host_changes_nothing_about_it(kind: FailureClass) -> None:
    unlogged = HostFailure(kind, None, pauses_host=False, needs_operator=False)
    assert after_poll(HOST, FEEDS[0], unlogged, START) == HostDecision(HOST)

    steps = play(*[(number, PollFailed(kind, "x")) for number in range(4)])

    assert [(step.state, step.counts, step.paused) for step in steps] == [(HOST, True, False)] * 4
