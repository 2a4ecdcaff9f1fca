"""A throwaway PostgreSQL server is found, started for a login without superuser, and removed."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg
import pytest

from scripts import server_tests

pytestmark = pytest.mark.soak  # as is what it tests

WAIT = """\
import os, time
try:
    print(os.environ["DATABASE_URL"], flush=True)
    for _ in range(600):  # in small pieces: a signal that comes just before a sleep does not end it
        time.sleep(0.1)
except KeyboardInterrupt:
    print("tidy")
"""

needs_server = pytest.mark.skipif(server_tests.find_programs() is None, reason="no PostgreSQL server is installed here")


def fake_programs(installed: Path, version: str, *missing: str) -> Path:
    bindir = installed / version / "bin"
    bindir.mkdir(parents=True)
    for name in {"initdb", "postgres", "psql", "pg_isready"} - set(missing):
        (bindir / name).write_text(f'#!/bin/sh\necho "{name} (PostgreSQL) {version}.3"\n')
        (bindir / name).chmod(0o755)
    return bindir


@pytest.fixture
def no_path(monkeypatch: pytest.MonkeyPatch):
    """Hide the pg_config of this machine."""
    monkeypatch.setattr(server_tests, "bindir_on_path", list)


@pytest.mark.usefixtures("no_path")
@pytest.mark.parametrize(
    ("versions", "chosen"), [(["14", "15", "17"], 15), (["16", "17"], 17), (["14"], None), ([], None)]
)
def test_the_oldest_promised_version_is_preferred(tmp_path: Path, versions: list[str], chosen: int | None):
    for version in versions:
        fake_programs(tmp_path, version)

    programs = server_tests.find_programs(tmp_path)

    assert (programs and programs.version) == chosen


@pytest.mark.usefixtures("no_path")
def test_a_folder_with_a_client_alone_is_no_server(tmp_path: Path):
    fake_programs(tmp_path, "15", "initdb", "postgres")

    assert server_tests.find_programs(tmp_path) is None


@needs_server
def test_the_login_is_like_one_of_a_managed_server_and_nothing_stays():
    programs = server_tests.find_programs()
    assert programs is not None

    with server_tests.cluster(programs) as server:
        url = server_tests.create_login(server)
        with psycopg.connect(url) as conn:
            role = conn.execute(
                "SELECT rolsuper, rolbypassrls, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
        wrong = url.replace(urlsplit(url).password or "", "wrong")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)

    assert role == (False, False, True, True)
    assert unquote(urlsplit(url).password or "").endswith("@/%:?")
    assert not server.home.exists()
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(url)


@pytest.fixture
def heeded_interrupts():
    """Let children hear Ctrl-C even when we were started in the background, where a shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@needs_server
@pytest.mark.usefixtures("heeded_interrupts")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_server_behind(tmp_path: Path, stop: signal.Signals):
    """Pytest is played by a program that says where its database is, and waits."""
    (tmp_path / "pytest.py").write_text(WAIT)
    command = [sys.executable, server_tests.__file__]
    environ = os.environ | {"PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
        assert run.stdout is not None
        url = run.stdout.readline().strip()

        if stop is signal.SIGINT:
            os.killpg(run.pid, stop)  # as a terminal does
        else:
            run.send_signal(stop)
        rest = run.stdout.read()
        code = run.wait(300)

    assert (code, rest.strip()) == (128 + stop, "tidy")
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(url)


@needs_server
def test_a_run_without_tests_fails(tmp_path: Path):
    (tmp_path / "pytest.py").write_text("raise SystemExit(5)")
    command = [sys.executable, server_tests.__file__]
    environ = os.environ | {"PYTHONPATH": str(tmp_path)}

    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)

    assert done.returncode == 5
    assert "No test is marked" in done.stderr
