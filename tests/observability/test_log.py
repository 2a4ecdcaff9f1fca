import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from structlog.testing import capture_logs

from headwater.observability.log import configure_log, get_logger, mask_secrets


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    before = logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = before
    structlog.reset_defaults()


def test_a_program_gets_json_with_event_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("info", "json")

    get_logger().info("feed polled", source="s1", new=3)

    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["source"], line["new"], line["level"]) == ("feed polled", "s1", 3, "info")
    assert line["timestamp"].endswith("Z")


def test_a_person_gets_a_readable_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("info", "console")

    get_logger().warning("feed poll failed", status=404)

    told = capsys.readouterr().err
    assert "feed poll failed" in told
    assert "status=404" in told


def test_what_is_not_a_terminal_gets_json_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("info", "auto")

    get_logger().info("here")

    assert json.loads(capsys.readouterr().err)["event"] == "here"


def test_less_severe_events_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("warning", "json")

    get_logger().info("quiet")
    get_logger().warning("loud")

    assert "quiet" not in (told := capsys.readouterr().err)
    assert "loud" in told


def test_what_libraries_report_comes_in_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("info", "json")

    logging.getLogger("some.library").error("it broke at %s", "postgresql://ann:s3cret@db/x")

    line = json.loads(capsys.readouterr().err)
    assert line["level"] == "error"
    assert "s3cret" not in line["event"]


@pytest.mark.parametrize(
    "field", ["password", "api_token", "Authorization", "session_cookie", "database_url", "api_key"]
)
def test_fields_that_sound_secret_are_masked(field: str) -> None:
    assert mask_secrets(None, "info", {"event": "x", field: "s3cret"}) == {"event": "x", field: "********"}


def test_credentials_in_any_url_are_masked() -> None:
    masked = mask_secrets(
        None, "info", {"event": "see https://ann:s3cret@example.com/a", "url": "http://bob@example.com/"}
    )

    assert masked == {"event": "see https://********@example.com/a", "url": "http://********@example.com/"}


def test_an_exception_is_told_with_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("info", "json")

    try:
        raise ZeroDivisionError("so it is")
    except ZeroDivisionError:
        get_logger().exception("it broke")

    assert "ZeroDivisionError: so it is" in json.loads(capsys.readouterr().err)["exception"]


def test_capturing_works_for_other_tests() -> None:
    with capture_logs() as logs:
        get_logger().info("x")

    assert logs == [{"event": "x", "log_level": "info"}]
