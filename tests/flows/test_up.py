"""`headwater up` as a person lives with it: start, stop, start again, and all that gets in the way."""

import fcntl
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import GIVEN_SERVER
from tests.headwater_process import Headwater, wait_for
from tests.ports import free_port
from tests.reader import Reader

embedded_only = pytest.mark.skipif(bool(GIVEN_SERVER), reason="about the embedded server")


def processes_of(folder: Path) -> list[str]:
    listed = subprocess.run(["ps", "-eww", "-o", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(folder) in line]


@embedded_only
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_runs_and_what_to_do_first_and_leaves_nothing_running(
    headwater: Headwater, how: signal.Signals
) -> None:
    with headwater.start("up") as up:
        status, _ = up.get("/healthz")
        running = processes_of(headwater.folder)
        code = up.stop(how)
        said = up.output

    assert status == 200
    assert f"Headwater runs on {up_url(said)}" in said
    assert "First, open it and register" in said
    assert running
    assert code == 0
    assert processes_of(headwater.folder) == []
    assert "Traceback" not in said


def up_url(said: str) -> str:
    return said.split("Headwater runs on ")[1].split(" ", maxsplit=1)[0]


@embedded_only
def test_it_keeps_its_data_from_one_run_to_the_next(headwater: Headwater) -> None:
    with headwater.start("up") as up:
        up.get("/healthz")
        headwater.run("source", "add", "https://kept.example/feed", "--later")
        with Reader(up.url) as reader:
            reader.register()
    with headwater.start("up") as up:
        status, page = up.get("/")
        said = up.output
    listed = headwater.json("source", "list")

    assert [source["feed_url"] for source in listed] == ["https://kept.example/feed"]
    assert status == 200
    assert "Log in" in page  # somebody has an account now
    assert "make your account" not in said


@pytest.mark.database
def test_a_taken_port_is_said_before_anything_is_started(headwater: Headwater) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = headwater.run("up", "--port", str(port))

    assert done.returncode == 4
    assert f"Port {port} on 127.0.0.1 is in use" in done.stderr
    assert not (headwater.folder / "data").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"HEADWATER_POLL_TIMEOUT": "never"}, "HEADWATER_POLL_TIMEOUT is 'never': a duration from 100ms to 10m"),
        ({"HEADWATER_PROT": "1"}, "Did you mean HEADWATER_PORT?"),
    ],
)
def test_a_wrong_setting_stops_the_start(headwater: Headwater, settings: dict[str, str], message: str) -> None:
    done = headwater.run("up", **settings)

    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_address_that_is_not_ours_is_said(headwater: Headwater, host: str) -> None:
    done = headwater.run("up", "--host", host)

    assert done.returncode == 2
    assert "is not an address of this machine" in done.stderr


def test_a_database_that_does_not_answer_is_said(headwater: Headwater) -> None:
    done = headwater.run("up", DATABASE_URL="postgresql://ann:s3cret@127.0.0.1:1/feeds")

    assert done.returncode == 5
    assert "The database does not answer" in done.stderr
    assert "s3cret" not in done.stderr + done.stdout


@pytest.mark.parametrize("url", ["nonsense", "postgresql://[broken", "mysql://x/y"])
def test_a_database_url_that_is_none_is_said(headwater: Headwater, url: str) -> None:
    done = headwater.run("up", DATABASE_URL=url)

    assert done.returncode in {2, 5}
    assert "Traceback" not in done.stderr


@embedded_only
def test_a_data_folder_that_cannot_be_made_is_said(headwater: Headwater) -> None:
    (headwater.folder / "file").write_text("")

    done = headwater.run("up", HEADWATER_DATA_DIR=str(headwater.folder / "file" / "data"))

    assert done.returncode == 5
    assert "did not start" in done.stderr
    assert "Traceback" not in done.stderr


@embedded_only
def test_serve_and_work_run_apart_on_one_database(headwater: Headwater) -> None:
    with (
        headwater.start("serve") as serve,
        headwater.start("work", "polling", HEADWATER_WORK_PORT=str(free_port())) as work,
    ):
        page = serve.get("/")
        success = 'headwater_stage_last_success_timestamp_seconds{stage="polling"}'
        metrics = wait_for(lambda: found if success in (found := work.get("/metrics"))[1] else None, work)
        codes = work.stop(), serve.stop()

    assert page[0] == metrics[0] == 200
    assert "Sign up" in page[1]
    assert codes == (0, 0)
    assert processes_of(headwater.folder) == []


@embedded_only
def test_a_killed_database_is_survived(headwater: Headwater) -> None:
    """The whole database goes under a running Headwater: pages answer 503, then 200 again, and the stages go on."""
    with headwater.start("up", HEADWATER_POLL_INTERVAL="1s", HEADWATER_DATABASE_WAIT="1s") as up:
        wait_for(lambda: up.get("/")[0] == 200, up)
        headwater.run("source", "add", "http://nothing.invalid/feed", "--later")
        polls = wait_for(lambda: polls_told(up.get("/metrics")[1]), up)
        killed = postmaster_of(headwater)
        assert killed is not None

        with not_started_again(headwater):
            os.kill(killed, signal.SIGKILL)
            wait_for(lambda: up.get("/")[0] == 503, up)  # a backend that has not noticed yet may still answer the first
        wait_for(lambda: up.get("/")[0] == 200, up)
        wait_for(lambda: polls_told(up.get("/metrics")[1]) > polls, up)
        restarted = postmaster_of(headwater)
        code = up.stop()
        said = up.output

    assert restarted not in {None, killed}
    assert "Traceback" not in said
    assert code == 0
    assert processes_of(headwater.folder) == []


@contextmanager
def not_started_again(headwater: Headwater) -> Iterator[None]:
    """Hold the lock under which the embedded database is started: it stays down until pages were asked for."""
    with (headwater.folder / "data/lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def postmaster_of(headwater: Headwater) -> int | None:
    """The process that runs the embedded database, by the file that it writes."""
    try:
        written = (headwater.folder / "data/postgres/postmaster.pid").read_text()
    except FileNotFoundError:
        return None
    return int(written.split()[0]) if written else None


def polls_told(metrics: str) -> float:
    lines = [line for line in metrics.splitlines() if line.startswith("headwater_polls_total{")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)
