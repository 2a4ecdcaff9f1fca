"""What fetching logs: routine at debug, a failure with its next try."""

from datetime import datetime, timedelta
from typing import Any

from structlog.testing import capture_logs

from headwater.fetching.report import report
from headwater.fetching.types import TurnResult
from headwater.frontier.types import Answer, Answered, Fetched, FetchFailed, FrontierOptions, Redirected, Unchanged
from tests.clock import START
from tests.fetching.claims import SECOND, a_host, a_url

OPTIONS = FrontierOptions()


def logged(answer: Answer, *, blocked_until: datetime | None = None) -> list[Any]:
    url = a_url()
    result = TurnResult(
        host=a_host(url),
        answered=[Answered(url, answer, START)],
        requests=1,
        last_request_at=START,
        blocked_until=blocked_until or START + SECOND,
        paused_until=blocked_until,
        answered_at=START,
        took=SECOND,
        ours_until=0,
    )
    with capture_logs() as logs:
        report(result, OPTIONS)
    return [line for line in logs if line["event"].startswith("page ")]


def test_what_was_fetched_is_routine() -> None:
    routine = (Fetched(None, None), Unchanged(None, None), Redirected("https://example.com/b", is_permanent=True))

    assert [line["log_level"] for answer in routine for line in logged(answer)] == ["debug"] * 3


def test_a_failure_carries_its_next_try() -> None:
    (line,) = logged(FetchFailed("timeout", "It took too long."))

    assert line["log_level"] == "warning"
    assert datetime.fromisoformat(line["next_try"]) > START


def test_a_failure_on_a_paused_host_is_tried_again_when_the_pause_is_over() -> None:
    until = START + timedelta(days=30)
    (line,) = logged(FetchFailed("rate_limited", "Not now."), blocked_until=until)

    assert datetime.fromisoformat(line["next_try"]) == until
