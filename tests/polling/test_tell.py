"""What a poll logs: routine at debug, a failure with its next try."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from headwater.polling.decide import BY_HAND_ONLY
from headwater.polling.tell import tell
from headwater.polling.types import (
    Decision,
    FailureClass,
    HostDecision,
    HostState,
    NotModified,
    PollFailed,
    PollOutcome,
    PollReport,
)
from tests.clock import START
from tests.polling.histories import NONE, a_state

HOUR = timedelta(hours=1)


def logged(outcome: PollOutcome, next_poll_at: datetime = START + HOUR) -> Any:
    state = a_state()
    report = PollReport(
        source_id=state.source_id,
        feed_url="https://feeds.example/1.xml",
        outcome=outcome,
        decision=Decision(state, next_poll_at),
        host=HostDecision(HostState("feeds.example")),
        new_articles=0,
        took=timedelta(milliseconds=40),
    )
    with capture_logs() as logs:
        tell(report)
    (line,) = logs
    return line


def test_a_feed_that_has_not_changed_is_routine() -> None:
    assert logged(NotModified(NONE))["log_level"] == "debug"


@pytest.mark.parametrize(
    ("next_poll_at", "told"), [(START + HOUR, (START + HOUR).isoformat()), (BY_HAND_ONLY, None)], ids=["later", "never"]
)
def test_a_failure_carries_its_next_try(next_poll_at: datetime, told: str | None) -> None:
    assert logged(PollFailed(FailureClass.NETWORK, "No answer came."), next_poll_at)["next_try"] == told
