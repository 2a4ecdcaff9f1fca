"""Help of every command, and small commands."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from headwater import __version__
from headwater.cli import make_app
from headwater.cli.doctor import text_search
from headwater.settings import Settings
from tests.conftest import GIVEN_SERVER
from tests.headwater_process import Headwater


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


app = make_app()
EVERY = list(commands(typer.main.get_command(app)))


@pytest.fixture
def headwater(open_folder: Path, request: pytest.FixtureRequest) -> Headwater:
    settings = {"DATABASE_URL": request.getfixturevalue("conninfo")} if GIVEN_SERVER else {}
    return Headwater(open_folder, **settings)


def test_all_commands_are_here() -> None:
    named = {" ".join(path) for path in EVERY}

    assert named >= {
        "up", "serve", "work", "migrate up", "migrate down", "migrate status", "settings", "doctor", "source add",
        "source list", "source poll", "source remove", "articles", "demo",
    }  # fmt: skip


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_has_an_example(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*path, "--help"])

    assert result.exit_code == 0
    assert re.search(r"Example:\s+headwater", re.sub(r"[│\n ]+", " ", result.output))


def test_help_lists_the_exit_codes() -> None:
    assert "130 It was stopped by Ctrl-C" in re.sub(r"\s+", " ", CliRunner().invoke(app, ["--help"]).output)


def test_the_version_is_printed() -> None:
    assert CliRunner().invoke(app, ["--version"]).output == f"headwater {__version__}\n"


def test_settings_are_shown_with_their_origin_and_without_secrets(headwater: Headwater) -> None:
    told = {
        row["name"]: row
        for row in headwater.json("settings", HEADWATER_LOG_LEVEL="debug", DATABASE_URL="postgresql://ann:s3cret@db/x")
    }
    table = headwater.run("settings", DATABASE_URL="postgresql://ann:s3cret@db/x")

    assert set(told) == set(Settings.model_fields)
    assert (told["log_level"]["value"], told["log_level"]["origin"]) == ("debug", "HEADWATER_LOG_LEVEL")
    assert told["host"]["origin"] == "default"
    assert told["database_url"]["value"] == "postgresql://ann:********@db/x"
    assert "s3cret" not in table.stdout
    assert "DATABASE_URL" in table.stdout


@pytest.mark.database
def test_migrate_goes_up_and_down_and_reports(headwater: Headwater) -> None:
    if GIVEN_SERVER:
        headwater.run("migrate", "down", "--to", "0", "--yes")
    first = headwater.run("migrate", "up")
    second = headwater.run("migrate", "up")
    status = headwater.json("migrate", "status")
    unasked = headwater.run("migrate", "down")
    down = headwater.run("migrate", "down", "--to", "0", "--yes")
    after = headwater.run("migrate", "status")

    assert "applied 0001_users" in first.stdout
    assert second.stdout == "No migration to apply; roles, grants and policies are complete.\n"
    assert status[0]["applied_at"]
    assert (unasked.returncode, "--yes" in unasked.stderr) == (2, True)
    assert "undone 0001_users" in down.stdout
    assert "not applied" in after.stdout


@pytest.mark.database
def test_doctor_reports_each_check_and_how_to_fix_failures(headwater: Headwater) -> None:
    settings = {"HEADWATER_DOCTOR_URL": "http://127.0.0.1:1/", "HEADWATER_CONTACT_URL": "mailto:ann@example.com"}
    headwater.run("migrate", "up")

    found = {finding["name"]: finding for finding in headwater.json("doctor", **settings)}
    told = headwater.run("doctor", **settings)

    assert found["database"]["ok"]
    assert re.match(r"PostgreSQL \d+\.\d+, ", found["database"]["detail"])  # the minor version has the security fixes
    assert found["text search"]["detail"].startswith("letters by ")
    assert found["clock (database)"]["ok"]
    assert found["port"]["ok"]
    assert found["disk"]["ok"]
    assert not found["network"]["ok"]
    assert "HEADWATER_DOCTOR_URL" in found["network"]["fix"]
    assert told.returncode == 1
    assert "→ Check the network" in told.stdout


def test_doctor_warns_of_a_database_whose_text_search_takes_signs_for_letters() -> None:
    found, other = text_search("C"), text_search("en_US.UTF-8")

    assert "typographic quotation marks" in found.detail
    assert "LC_CTYPE C.UTF-8" in found.fix
    assert not other.fix


def test_doctor_creates_no_database_and_reports_a_port_that_another_program_holds(open_folder: Path) -> None:
    headwater = Headwater(open_folder, HEADWATER_DOCTOR_URL="http://127.0.0.1:1/")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = {one["name"]: one for one in headwater.json("doctor", HEADWATER_PORT=port)}
        working = headwater.run("work", "polling", HEADWATER_WORK_PORT=port)

    assert found["database"]["ok"]
    assert "headwater up" in found["database"]["detail"]
    assert not (open_folder / "data").exists()
    assert not found["port"]["ok"]
    assert "used by another program" in found["port"]["detail"]
    assert working.returncode == 4
    assert "HEADWATER_WORK_PORT" in working.stderr
    assert "Traceback" not in working.stderr


def test_doctor_reports_an_unavailable_database(headwater: Headwater) -> None:
    found = {
        finding["name"]: finding
        for finding in headwater.json(
            "doctor", DATABASE_URL="postgresql://127.0.0.1:1/x", HEADWATER_DOCTOR_URL="http://127.0.0.1:1/"
        )
    }

    assert not found["database"]["ok"]
    assert "DATABASE_URL" in found["database"]["fix"]


@pytest.mark.database
def test_a_closed_pipe_is_not_an_error(headwater: Headwater) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m headwater settings | head -1'],
        env=headwater.environment, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip

    assert done.stderr == ""
