"""An outage is one line when it begins and one when it is over, however much fails meanwhile."""

from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from headwater.db import Database
from headwater.errors import DatabaseUnavailable
from headwater.observability.log import OutageLog


def test_the_first_failure_is_an_error_and_the_others_are_counted() -> None:
    outage = OutageLog(settled_s=0)
    with capture_logs() as logs:
        for number in range(500):
            outage.failed(DatabaseUnavailable(f"no connection {number}"))
        outage.succeeded()
        outage.succeeded()

    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("database unavailable", "error"),
        ("database available again", "warning"),
    ]
    assert "no connection 0" in logs[0]["error"]
    assert logs[1]["failures"] == 500


def test_calls_that_fail_and_succeed_in_turn_are_one_outage() -> None:
    outage = OutageLog(settled_s=3600)
    with capture_logs() as logs:
        for _ in range(100):
            outage.failed(DatabaseUnavailable("a deadlock"))
            outage.succeeded()

    assert [line["event"] for line in logs] == ["database unavailable"]


def test_a_second_outage_is_logged_again() -> None:
    outage = OutageLog(settled_s=0)
    with capture_logs() as logs:
        for _ in range(2):
            outage.failed(DatabaseUnavailable("gone"))
            outage.succeeded()

    assert [line["log_level"] for line in logs] == ["error", "warning"] * 2


async def test_a_database_that_is_away_is_one_error_for_all_who_ask_it() -> None:
    async with Database("host=127.0.0.1 port=1 dbname=x user=x", pool_size=2, wait=timedelta(milliseconds=50)) as away:
        away.log_outages()
        with capture_logs() as logs:
            for _ in range(5):
                with pytest.raises(DatabaseUnavailable):
                    await away.ping()

    assert [(line["event"], line["log_level"]) for line in logs] == [("database unavailable", "error")]


async def test_a_command_says_it_in_its_own_words() -> None:
    async with Database("host=127.0.0.1 port=1 dbname=x user=x", pool_size=2, wait=timedelta(milliseconds=50)) as away:
        with capture_logs() as logs, pytest.raises(DatabaseUnavailable):
            await away.ping()

    assert logs == []
