"""Five known sites in a row that fail are our own outage; broken feeds that were just added are not."""

from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from headwater.hosts.outage import (
    KNOWN_FOR,
    OURS,
    OUTAGE_PROBE,
    OUTAGE_WINDOW,
    HostAttempt,
    OutageDetector,
    OutageReporter,
    is_known,
)
from headwater.types import FailureClass
from tests.clock import START

SECOND = timedelta(seconds=1)


def failing(number: int, *, known: bool = True, second: int = 0) -> HostAttempt:
    return HostAttempt(f"bad{number}.example", START + second * SECOND, failed_by_network=True, is_known=known)


def answering(number: int = 0, *, second: int = 0) -> HostAttempt:
    return HostAttempt(f"good{number}.example", START + second * SECOND, failed_by_network=False, is_known=True)


def a_detector(*attempts: HostAttempt) -> OutageDetector:
    detector = OutageDetector()
    for number, attempt in enumerate(attempts):
        detector.note(attempt, max(before.asked_at for before in attempts[: number + 1]))
    return detector


def an_outage() -> OutageDetector:
    return a_detector(*(failing(number) for number in range(5)))


@pytest.mark.parametrize(("count", "expected"), [(4, False), (5, True)])
def test_five_known_sites_that_fail_in_a_row_are_an_outage(count: int, expected: bool) -> None:
    assert a_detector(*(failing(number) for number in range(count))).is_outage is expected


def test_hosts_that_never_answered_say_nothing_however_many_fail() -> None:
    assert not a_detector(*(failing(number, known=False) for number in range(300))).is_outage


def test_the_names_of_one_site_count_once() -> None:
    attempts = (HostAttempt(f"h{n}.wild.example", START, failed_by_network=True, is_known=True) for n in range(300))

    assert not a_detector(*attempts).is_outage


def test_a_known_site_that_answers_in_between_shows_that_the_network_works() -> None:
    before, after = ([failing(number, second=at) for number in range(3)] for at in (0, 2))

    assert not a_detector(*before, answering(second=1), *after[:1]).is_outage


def test_an_answer_to_an_earlier_request_proves_nothing() -> None:
    four = [failing(number, second=5) for number in range(4)]

    assert a_detector(*four, answering(second=4), failing(4, second=6)).is_outage


def test_a_failure_is_ours_only_while_the_outage_lasts() -> None:
    detector = a_detector(*(failing(number) for number in range(4)))

    assert [detector.note(failing(9, known=False), START), detector.note(failing(4), START)] == [False, True]
    assert detector.note(failing(9, known=False), START)  # it cannot be reached anyway


def test_the_first_answer_to_a_later_request_ends_an_outage() -> None:
    detector = an_outage()

    detector.note(answering(second=-1), START + SECOND)
    still = detector.is_outage
    detector.note(answering(second=1), START + SECOND)

    assert (still, detector.is_outage) == (True, False)
    assert not detector.note(failing(1, second=2), START + 2 * SECOND)  # it takes five again


def test_an_outage_without_a_known_site_that_fails_is_over_after_a_while() -> None:
    detector = an_outage()
    later = START + OUTAGE_WINDOW + SECOND

    assert not detector.note(failing(9, known=False, second=601), later)
    assert not detector.is_outage


def test_old_failures_do_not_count() -> None:
    detector = a_detector(*(failing(number) for number in range(4)))

    assert not detector.note(failing(4, second=601), START + OUTAGE_WINDOW + SECOND)


def test_two_known_sites_that_fail_are_a_suspicion() -> None:
    assert [a_detector(*(failing(n) for n in range(count))).is_suspected(START) for count in (1, 2, 5)] == [
        False,
        True,
        False,
    ]


def test_an_outage_seen_under_a_clock_that_was_ahead_ends_with_an_answer() -> None:
    ahead = 200 * 86_400
    detector = a_detector(*(failing(number, second=ahead) for number in range(5)))

    detector.note(answering(second=1), START + SECOND)

    assert not detector.is_outage


@pytest.mark.parametrize(
    ("ago", "expected"), [(None, False), (timedelta(0), True), (KNOWN_FOR, True), (KNOWN_FOR + SECOND, False)]
)
def test_a_host_is_known_for_a_week_after_its_last_answer(ago: timedelta | None, expected: bool) -> None:
    assert is_known(START - ago if ago is not None else None, START) is expected


def test_hosts_below_a_public_suffix_are_sites_of_their_own() -> None:
    detector = OutageDetector()

    for number in range(5):
        detector.note(HostAttempt(f"www.paper{number}.co.uk", START, failed_by_network=True, is_known=True), START)

    assert detector.is_outage


def test_host_names_of_one_domain_are_one_site() -> None:
    detector = OutageDetector()

    for number in range(50):
        detector.note(HostAttempt(f"h{number}.example.co.uk", START, failed_by_network=True, is_known=True), START)

    assert (detector.is_outage, detector.failing_sites) == (False, 1)


@pytest.mark.parametrize(
    ("ago", "expected"), [(timedelta(days=7), True), (timedelta(days=7) + SECOND, False), (timedelta(0), True)]
)
def test_known_means_seven_days(ago: timedelta, expected: bool) -> None:
    assert is_known(START - ago, START) is expected


@pytest.mark.parametrize(("age", "expected"), [(600, True), (601, False)])
def test_a_failure_counts_for_ten_minutes(age: int, expected: bool) -> None:
    detector = a_detector(*(failing(number) for number in range(4)))

    assert detector.note(failing(4, second=age), START + age * SECOND) is expected


def test_during_an_outage_one_host_is_asked_every_thirty_seconds() -> None:
    assert OUTAGE_PROBE == 30 * SECOND


def test_an_answer_is_never_our_own_failure() -> None:
    assert an_outage().note(answering(second=-1), START) is False


def test_an_answer_to_a_request_of_the_same_moment_leaves_the_failures() -> None:
    four = [failing(number, second=5) for number in range(4)]

    assert a_detector(*four, answering(second=5), failing(4, second=6)).is_outage


@pytest.mark.parametrize("kind", FailureClass)
def test_only_failures_of_network_and_dns_can_be_ours(kind: FailureClass) -> None:
    assert (kind in OURS) is (kind.value in {"network", "dns"})


async def test_without_an_outage_nothing_is_written() -> None:
    no_connection: Any = None

    await OutageReporter(OutageDetector(), "polling").write(no_connection, START)


def test_an_outage_is_logged_when_it_begins_and_when_it_ends() -> None:
    reporter = OutageReporter(OutageDetector(), "polling")

    def note(number: int, second: int, *, failed: bool) -> bool:
        at = START + second * SECOND
        return reporter.note(f"bad{number}.example", at, START, at, failed_by_network=failed)

    with capture_logs() as logs:
        ours = [note(number, number, failed=True) for number in range(7)]
        answered = [note(0, 8, failed=False), note(0, 9, failed=False)]

    assert ours == [False] * 4 + [True] * 3
    assert answered == [False, False]
    assert [(line["event"], line.get("sites")) for line in logs] == [
        ("own network is down", 5),
        ("own network is back", None),
    ]
