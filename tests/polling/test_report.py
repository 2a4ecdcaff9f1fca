"""What a poll logs: routine at debug, a failure with its next try."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from headwater.polling.decide import BY_HAND_ONLY
from headwater.polling.report import log_poll
from headwater.polling.types import (
    Decision,
    FailureClass,
    HostDecision,
    HostState,
    NotModified,
    Polled,
    PollFailed,
    PollOutcome,
    PollReport,
    ReadFeed,
)
from tests.clock import START
from tests.polling.histories import NONE, a_claimed_feed, a_state

HOUR = timedelta(hours=1)


def logged(outcome: PollOutcome, next_poll_at: datetime = START + HOUR, new_articles: int = 0) -> Any:
    state = a_state()
    report = PollReport(
        a_claimed_feed(state=state),
        outcome,
        Decision(state, next_poll_at),
        HostDecision(HostState("feeds.example")),
        took=timedelta(milliseconds=40),
        at=START,
        new_articles=new_articles,
    )
    with capture_logs() as logs:
        log_poll(report)
    (line,) = logs
    return line


def test_a_feed_with_nothing_new_is_routine_whatever_its_server_answers() -> None:
    assert logged(NotModified(NONE))["log_level"] == "debug"
    assert logged(Polled(ReadFeed("rss20"), NONE))["log_level"] == "debug"
    assert logged(Polled(ReadFeed("rss20"), NONE), new_articles=1)["log_level"] == "info"


@pytest.mark.parametrize(
    ("next_poll_at", "next_try"),
    [(START + HOUR, (START + HOUR).isoformat()), (BY_HAND_ONLY, None)],
    ids=["later", "never"],
)
def test_a_failure_carries_its_next_try(next_poll_at: datetime, next_try: str | None) -> None:
    assert logged(PollFailed(FailureClass.NETWORK, "No answer came."), next_poll_at)["next_try"] == next_try
