"""`headwater simulate`, as a person and as a script would use it."""

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from headwater.cli.simulate import simulate
from headwater.errors import Invalid

APP = typer.Typer()
APP.command()(simulate)
SMALL = ("--feeds", "120", "--days", "3", "--seed", "2")


@pytest.fixture(autouse=True)
def _log_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command configures the log of its process, which all tests share."""
    monkeypatch.setattr("headwater.cli.terminal.configure_log", lambda *_: None)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(APP, [*SMALL, *arguments])


def test_on_a_terminal_tables_plots_and_results_are_printed() -> None:
    shown = run().stdout

    assert "3 days of 120 feeds" in shown
    assert "delay, median" in shown
    assert "█" in shown
    assert "Requests per day" in shown
    assert "fewer requests" in shown
    assert "none of its feeds was disabled for it" in shown


def test_a_script_gets_json_with_durations_in_seconds() -> None:
    told: dict[str, Any] = json.loads(run("--json").stdout)

    assert (told["feeds"], told["days"], told["seed"], told["world"]) == (120, 3, 2, "mixed")
    assert told["adaptive"]["requests"] < told["hourly"]["requests"]
    assert 0 < told["adaptive"]["median"] < 7_200
    assert len(told["hourly"]["requests_per_day"]) == 3
    assert sum(told["adaptive"]["delays"]) == sum(told["hourly"]["delays"]) == told["articles"]


def test_the_same_seed_gives_the_same_result() -> None:
    assert run("--json").stdout == run("--json").stdout


def test_the_simulation_uses_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = json.loads(run("--json").stdout)
    monkeypatch.setenv("HEADWATER_POLL_INTERVAL", "6h")

    slow = json.loads(run("--json").stdout)

    assert slow["adaptive"]["requests"] < usual["adaptive"]["requests"]
    assert slow["hourly"] == usual["hourly"] | {key: slow["hourly"][key] for key in ("median", "p95", "mean", "delays")}


def test_an_unknown_world_is_refused() -> None:
    assert isinstance(run("--world", "desert").exception, Invalid)
