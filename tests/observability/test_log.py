import json
import logging
from collections.abc import Iterator
from typing import Literal

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

    logged = capsys.readouterr().err
    assert "feed poll failed" in logged
    assert "status=404" in logged


def test_what_is_not_a_terminal_gets_json_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("info", "auto")

    get_logger().info("here")

    assert json.loads(capsys.readouterr().err)["event"] == "here"


def test_less_severe_events_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("warning", "json")

    get_logger().info("quiet")
    get_logger().warning("loud")

    assert "quiet" not in (logged := capsys.readouterr().err)
    assert "loud" in logged


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


def test_an_exception_is_logged_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    configure_log("info", "json")

    try:
        raise ZeroDivisionError("so it is")
    except ZeroDivisionError:
        get_logger().exception("it broke")

    assert "ZeroDivisionError: so it is" in json.loads(capsys.readouterr().err)["exception"]


SECRET = "a1b2c3d4e5f6a7b8c9d0"
URLS = [f"https://a.example/feed?token={SECRET}", f"http://a.example/{SECRET}/feed", f"https://u:{SECRET}@a.example/"]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("style", ["json", "console"])
def test_no_secret_of_a_url_reaches_the_log_by_any_way(
    url: str, style: Literal["json", "console"], capsys: pytest.CaptureFixture[str]
) -> None:
    configure_log("debug", style)

    get_logger().info("feed looked for", url=url, error=f"{url} failed", source="x")
    get_logger().debug(f"it moved to {url}")
    logging.getLogger("some.library").error("it broke at %s", url)
    try:
        raise ValueError(f"{url} is wrong")
    except ValueError:
        get_logger().exception("it broke")

    logged = capsys.readouterr().err
    assert SECRET not in logged
    assert logged.count("a.example") >= 5


def test_the_link_of_a_letter_that_cannot_be_sent_is_logged_whole() -> None:
    event = mask_secrets(None, "info", {"event": "mail not sent", "text": URLS[0]})

    assert event["text"] == URLS[0]


def test_capturing_works_for_other_tests() -> None:
    with capture_logs() as logs:
        get_logger().info("x")

    assert logs == [{"event": "x", "log_level": "info"}]
