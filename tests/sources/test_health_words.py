"""A feed's state machine in words: true for every policy and every kind of failure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from headwater.polling.decide import BY_HAND_ONLY, decide, decide_host, decide_paused
from headwater.polling.policy import POLICIES
from headwater.polling.types import Disabled, FailureClass, FeedState, HostState, Moved, PollFailed, PollingOptions
from headwater.sources.health.decide import describe, forecast, lasting, when
from headwater.sources.health.types import FeedHealth, Forecast
from headwater.types import SourceId

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)  # a Wednesday
TUESDAY = datetime(2026, 3, 3, 9, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ID = SourceId(UUID(int=1))
OPTIONS = PollingOptions(
    interval=HOUR,
    interval_min=timedelta(minutes=15),
    interval_max=DAY,
    host_delay=timedelta(seconds=3),
    concurrency=10,
    timeout=timedelta(seconds=30),
    lease=timedelta(minutes=1),
    max_bytes=10_000_000,
    max_entries=1_000,
    policy="default",
)


def a_feed(policy: str = "default", state: FeedState | None = None, **more: object) -> FeedHealth:
    values: dict[str, object] = {"next_poll_at": NOW + HOUR, "last_polled_at": NOW - HOUR, **more}
    return FeedHealth(state or FeedState(ID), POLICIES[policy], HostState("example.com"), **values)  # pyright: ignore[reportArgumentType]


def failing(times: int, kind: FailureClass, *, since: datetime = TUESDAY, streak: int | None = None) -> FeedState:
    return FeedState(
        ID,
        consecutive_errors=times,
        streak=streak or times,
        streak_class=kind,
        permanent_errors=times,
        failing_since=since,
        last_error="It failed.",
        last_error_type=kind,
    )


def sentences_of(feed: FeedHealth) -> list[str]:
    found = describe(feed, OPTIONS, NOW)
    return [found.state, found.next_poll, found.outlook]


def test_a_failing_feed_is_described_with_its_error_and_forecast() -> None:
    feed = a_feed(state=failing(3, FailureClass.NOT_FOUND), last_status=404, next_poll_at=NOW + 26 * HOUR)

    assert sentences_of(feed) == [
        "Failed 3 times since yesterday at 09:10 with 404, not found.",
        "Next poll tomorrow at 14:00.",
        (
            "Policy default: it is disabled after 3 failures of one kind in a row that last 24 hours, and probed after "
            "48 hours. If it keeps failing, that is after the next failure: tomorrow at 14:00 at the earliest."
        ),
    ]


@pytest.mark.parametrize(
    ("feed", "sentences"),
    [
        pytest.param(
            a_feed(last_polled_at=None, next_poll_at=NOW),
            ["Not polled yet.", "Due now.", ""],
            id="never polled",
        ),
        pytest.param(
            a_feed(),
            ["Healthy. Last polled today at 11:00.", "Next poll today at 13:00.", ""],
            id="works",
        ),
        pytest.param(
            a_feed(state=FeedState(ID, moved=Moved("https://b.example/feed?key=x", TUESDAY, 2))),
            [
                (
                    "Healthy. Last polled today at 11:00. It redirects permanently to https://b.example/feed?key=***: "
                    "seen twice since yesterday at 09:10; the new URL is used after 3 polls over a day."
                ),
                "Next poll today at 13:00.",
                "",
            ],
            id="moves",
        ),
        pytest.param(
            a_feed("five", failing(4, FailureClass.NETWORK, streak=1)),
            [
                "Failed 4 times since yesterday at 09:10, the last time with network.",
                "Next poll today at 13:00.",
                (
                    "Policy five: it is disabled after 5 failures of any kind, since the last success, until an "
                    "operator enables it. If it keeps failing, that is after the next failure: today at 13:00 at the "
                    "earliest."
                ),
            ],
            id="one of five",
        ),
        pytest.param(
            a_feed("once", failing(2, FailureClass.UPSTREAM_FAILURE), last_status=503),
            [
                "Failed twice since yesterday at 09:10 with 503, upstream failure.",
                "Next poll today at 13:00.",
                (
                    "Policy once: such failures never disable it; the waits are 5 minutes, 15 minutes, 1 "
                    "hour, 6 hours, 24 hours."
                ),
            ],
            id="waits it out",
        ),
        pytest.param(
            a_feed("cooldown", failing(1, FailureClass.UNAUTHORIZED, since=NOW - HOUR), last_status=401),
            [
                "Failed once, today at 11:00, with 401, unauthorized.",
                "Next poll today at 13:00.",
                "Policy cooldown: such failures never disable it; it is polled as often as before.",
            ],
            id="a person must look",
        ),
        pytest.param(
            a_feed(
                state=replace(
                    failing(3, FailureClass.NOT_FOUND),
                    disabled=Disabled(NOW - HOUR, FailureClass.NOT_FOUND, NOW + 47 * HOUR),
                ),
                last_status=404,
                next_poll_at=NOW + 47 * HOUR,
            ),
            [
                (
                    "Auto-disabled today at 11:00, with the reason not found. Failed 3 times since yesterday at 09:10 "
                    "with 404, not found."
                ),
                "One probe is sent Friday at 11:00.",
                (
                    "If the probe succeeds, it is enabled and its errors are reset; if it fails in the same way, it "
                    "stays disabled for another 4 days."
                ),
            ],
            id="off for a while",
        ),
        pytest.param(
            a_feed(
                "five",
                replace(failing(5, FailureClass.GONE), disabled=Disabled(NOW - HOUR, FailureClass.GONE, None)),
                last_status=410,
                next_poll_at=BY_HAND_ONLY,
            ),
            [
                (
                    "Auto-disabled today at 11:00, with the reason gone. Failed 5 times since yesterday at 09:10 "
                    "with 410, gone."
                ),
                "Not polled until it is enabled or its URL is changed.",
                "Enabling it resets its errors and polls it at once.",
            ],
            id="off for good",
        ),
        pytest.param(
            a_feed(
                state=FeedState(ID, disabled=Disabled(TUESDAY, "They asked us to stop.", None)),
                next_poll_at=BY_HAND_ONLY,
            ),
            [
                "Disabled by an operator yesterday at 09:10: They asked us to stop.",
                "Not polled until it is enabled or its URL is changed.",
                "Enabling it resets its errors and polls it at once.",
            ],
            id="by hand",
        ),
        pytest.param(
            a_feed(is_enabled=False),
            [
                "The source is disabled.",
                "Not polled until it is enabled or its URL is changed.",
                "Enabling it resets its errors and polls it at once.",
            ],
            id="disabled",
        ),
        pytest.param(
            a_feed(
                state=FeedState(
                    ID,
                    last_error="It redirects to example.net, which is paused because it fails.",
                    last_error_type=FailureClass.NETWORK,
                ),
                last_status=200,
            ),
            [
                "It redirects to example.net, which is paused because it fails; this is not counted for the feed.",
                "Next poll today at 13:00.",
                "Failures of its host are not counted for the feed.",
            ],
            id="it redirects to a paused host",
        ),
        pytest.param(
            replace(
                a_feed(state=FeedState(ID, last_error="No answer.", last_error_type=FailureClass.NETWORK)),
                host=HostState("example.com", (), FailureClass.NETWORK, NOW + 4 * HOUR, 3),
            ),
            [
                "Its host fails, with network; this is not counted for the feed.",
                "Its host is paused until today at 16:00. Then one feed is polled; if it responds, all are.",
                "Failures of its host are not counted for the feed.",
            ],
            id="its host is paused",
        ),
        pytest.param(
            replace(
                a_feed(state=failing(1, FailureClass.FORBIDDEN), last_status=403),
                host=HostState("example.com", (), FailureClass.FORBIDDEN, NOW + 4 * HOUR, 1),
            ),
            [
                "Failed once, yesterday at 09:10, with 403, forbidden.",
                "Its host is paused until today at 16:00. Then one feed is polled; if it responds, all are.",
                "Failures of its host are not counted for the feed.",
            ],
            id="its host was paused after it had failed",
        ),
        pytest.param(
            replace(
                a_feed(
                    state=replace(
                        failing(3, FailureClass.NETWORK),
                        disabled=Disabled(NOW - HOUR, FailureClass.NETWORK, NOW + HOUR),
                    ),
                ),
                host=HostState("example.com", (), FailureClass.NETWORK, NOW + 4 * HOUR, 1),
            ),
            [
                (
                    "Auto-disabled today at 11:00, with the reason network. Failed 3 times since yesterday at 09:10 "
                    "with network."
                ),
                "Its host is paused until today at 16:00. Then one feed is polled; if it responds, all are.",
                (
                    "If the probe succeeds, it is enabled and its errors are reset; if its host still fails, that is "
                    "not counted for the feed."
                ),
            ],
            id="off, and its host is paused",
        ),
        pytest.param(
            a_feed(state=failing(1, FailureClass.GONE), last_status=410),
            [
                "Failed once, yesterday at 09:10, with 410, gone.",
                "Next poll today at 13:00.",
                (
                    "Policy default: it is disabled after the first failure, and probed after 3 days. If it keeps "
                    "failing, that is after the next failure: today at 13:00 at the earliest."
                ),
            ],
            id="gone, under another policy before",
        ),
    ],
)
def test_every_state_has_its_sentences(feed: FeedHealth, sentences: list[str]) -> None:
    assert sentences_of(feed) == sentences


@pytest.mark.parametrize("kind", FailureClass)
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("others", [0, 2], ids=["alone", "with two that fail alike"])
def test_the_forecast_of_a_failing_feed_is_correct(name: str, kind: FailureClass, others: int) -> None:
    """A feed that keeps failing the same way is disabled, and probed, at the times that the page forecast."""
    policy, failed = POLICIES[name], PollFailed(kind, "It failed.", 400 if kind is FailureClass.BAD_REQUEST else None)
    state, at, expected = FeedState(ID), NOW, []
    host = HostState("example.com", tuple(SourceId(uuid4()) for _ in range(others)), kind if others else None)
    for _ in range(40):
        judged = decide_host(host, ID, failed, policy, at)
        host = judged.state
        if not judged.counts and host.paused_until is not None:
            decision = decide_paused(state, failed, host.paused_until, at)
        else:
            decision = decide(state, failed, policy, OPTIONS, at)
        state = decision.state
        if state.disabled is not None:
            break
        feed = a_feed(name, state, next_poll_at=decision.next_poll_at, last_status=failed.status)
        feed = replace(feed, host=host)
        expected.append(forecast(feed, OPTIONS))
        assert all(sentence.endswith(".") for sentence in sentences_of(feed) if sentence)
        assert ("at the earliest" in " ".join(sentences_of(feed))) == (expected[-1] is not None)
        at = decision.next_poll_at

    if state.disabled is None:
        assert set(expected) == {None}
        assert policy.rule(kind, failed.status).threshold is None or host.paused_until is not None
    else:
        assert [(one.at, one.until) for one in expected if one] == [(at, state.disabled.until)] * len(expected)
        assert [one.failures for one in expected if one] == list(range(len(expected), 0, -1))


def test_a_failure_that_does_not_concern_the_host_counts_while_the_host_is_paused() -> None:
    paused = HostState("example.com", (), FailureClass.NETWORK, NOW + 4 * HOUR, 1)

    expected = forecast(replace(a_feed(state=failing(1, FailureClass.SSRF_BLOCKED)), host=paused), OPTIONS)

    assert expected == Forecast(1, NOW + 4 * HOUR, None)


@pytest.mark.parametrize(
    "feed",
    [
        a_feed(),
        a_feed(
            state=replace(failing(3, FailureClass.NOT_FOUND), disabled=Disabled(NOW, FailureClass.NOT_FOUND, NOW + DAY))
        ),
    ],
    ids=["works", "is disabled"],
)
def test_there_is_no_forecast_for_a_feed_that_works_or_is_disabled(feed: FeedHealth) -> None:
    assert forecast(feed, OPTIONS) is None


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (NOW, "today at 12:00"),
        (NOW + DAY, "tomorrow at 12:00"),
        (NOW - DAY, "yesterday at 12:00"),
        (NOW + 2 * DAY, "Friday at 12:00"),
        (NOW - 2 * DAY, "Monday at 12:00"),
        (NOW - 6 * DAY, "Thursday at 12:00"),
        (NOW - 7 * DAY, "25 February at 12:00"),
        (NOW + 6 * DAY, "Tuesday at 12:00"),
        (NOW + 7 * DAY, "11 March at 12:00"),
        (NOW - 365 * DAY, "4 March 2025 at 12:00"),
    ],
    ids=str,
)
def test_a_time_in_words(at: datetime, words: str) -> None:
    assert when(at, NOW) == words


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(0), "0 seconds"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(seconds=45), "45 seconds"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(seconds=119), "119 seconds"),
        (timedelta(seconds=119.6), "2 minutes"),
        (timedelta(seconds=121), "2 minutes"),
        (timedelta(minutes=5), "5 minutes"),
        (timedelta(minutes=90), "90 minutes"),
        (HOUR, "1 hour"),
        (DAY, "24 hours"),
        (2 * DAY, "48 hours"),
        (3 * DAY, "3 days"),
        (timedelta(minutes=7, seconds=20), "7 minutes"),
        (timedelta(minutes=90, seconds=10), "90 minutes"),
    ],
    ids=str,
)
def test_a_duration_in_words(length: timedelta, words: str) -> None:
    assert lasting(length) == words
