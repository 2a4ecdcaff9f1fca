"""The embedded server: its life, its folder, its users."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headwater.db.embedded import EmbeddedServer
from headwater.db.migrate import check_database, migrate_up
from headwater.errors import EmbeddedServerFailed


@pytest.fixture
def server(open_folder: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(open_folder / "a folder" / "data")
    yield server
    server.leave()


def ask(server: EmbeddedServer, question: str) -> object:
    with psycopg.connect(server.conninfo, autocommit=True) as conn:
        answer = conn.execute(question.encode())
        row = answer.fetchone() if answer.description else None
        return row[0] if row else None


def test_it_starts_in_a_new_folder_with_a_space_in_its_name_and_keeps_its_data(server: EmbeddedServer) -> None:
    server.start()
    ask(server, "CREATE TABLE kept AS SELECT 7 AS number")
    server.leave()
    gone = server.pid()
    server.start()

    assert gone is None
    assert ask(server, "SELECT number FROM kept") == 7


def test_it_keeps_what_was_committed_safe(server: EmbeddedServer) -> None:
    server.start()

    assert ask(server, "SELECT current_setting('server_version_num')::int / 10000") == 18
    assert ask(server, "SHOW data_checksums") == "on"
    assert ask(server, "SHOW fsync") == "on"
    assert ask(server, "SHOW server_encoding") == "UTF8"


def test_signs_are_no_letters_in_text_search(server: EmbeddedServer) -> None:
    server.start()

    lexemes = ask(server, "SELECT tsvector_to_array(to_tsvector('simple', '“Harbour”—it’s «Öl» …「東京」、地震。'))")
    assert lexemes == ["harbour", "it", "s", "öl", "地震", "東京"]


def test_only_a_socket_in_a_closed_folder_leads_to_it(server: EmbeddedServer) -> None:
    server.start()

    assert ask(server, "SHOW listen_addresses") == ""
    assert (server.data_dir / "socket").stat().st_mode & 0o077 == 0
    assert (server.data_dir / "postgres").stat().st_mode & 0o077 == 0


def test_the_last_one_to_leave_stops_it(server: EmbeddedServer) -> None:
    other = EmbeddedServer(server.data_dir)
    server.start()
    other.start()

    server.leave()
    still_there = ask(other, "SELECT 1")
    other.leave()

    assert still_there == 1
    while server.pid() is not None or not server._is_over():  # its file is gone a moment before it is
        time.sleep(0.01)


def test_a_user_that_was_killed_does_not_keep_it_running(server: EmbeddedServer) -> None:
    script = (
        "import sys, time; from pathlib import Path; from headwater.db.embedded import EmbeddedServer\n"
        "server = EmbeddedServer(Path(sys.argv[1])); server.start(); print('up', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(server.data_dir)], stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"up\n"
        killed.send_signal(signal.SIGKILL)
    server.start()

    server.leave()

    assert server.pid() is None


def test_several_processes_may_start_it_at_once(server: EmbeddedServer) -> None:
    script = (
        "import sys; from pathlib import Path; from headwater.db.embedded import EmbeddedServer\n"
        "server = EmbeddedServer(Path(sys.argv[1])); server.start(); sys.stdin.read(); server.leave()"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(server.data_dir)], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(4)
    ]

    told = [process.communicate(timeout=300)[1] for process in running]

    assert [process.returncode for process in running] == [0, 0, 0, 0], told
    assert server.pid() is None


async def test_a_server_that_dies_is_started_again(server: EmbeddedServer) -> None:
    server.start()
    ask(server, "CREATE TABLE kept AS SELECT 7 AS number")
    first = server.pid()
    assert first is not None
    watch = asyncio.create_task(server.keep_running())

    os.kill(first, signal.SIGKILL)
    async with asyncio.timeout(300):
        while server.pid() in {None, first}:
            await asyncio.sleep(0.05)
        while True:
            try:
                found = ask(server, "SELECT number FROM kept")
                break
            except psycopg.OperationalError:
                await asyncio.sleep(0.05)
    watch.cancel()

    assert found == 7


def test_a_folder_of_another_version_is_refused_and_left_alone(server: EmbeddedServer) -> None:
    server.start()
    server.leave()
    (server.data_dir / "postgres" / "PG_VERSION").write_text("17\n")

    with pytest.raises(EmbeddedServerFailed, match="made by PostgreSQL 17, this is 18"):
        server.start()

    (server.data_dir / "postgres" / "PG_VERSION").write_text("18\n")


def test_a_server_that_cannot_start_says_why(server: EmbeddedServer) -> None:
    broken = EmbeddedServer(server.data_dir, options={"shared_buffers": "a lot"})

    with pytest.raises(EmbeddedServerFailed, match="shared_buffers"):
        broken.start()

    broken.leave()


def test_a_file_in_place_of_the_folder_is_reported(open_folder: Path) -> None:
    (open_folder / "data").write_text("")

    with pytest.raises(EmbeddedServerFailed, match="did not start"):
        EmbeddedServer(open_folder / "data").start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL under another account")
def test_an_unreachable_folder_is_reported_to_root(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    with pytest.raises(EmbeddedServerFailed, match=r"cannot enter .*HEADWATER_DATA_DIR"):
        EmbeddedServer(closed / "data").start()


def test_a_very_long_path_works_all_the_same(open_folder: Path) -> None:
    server = EmbeddedServer(open_folder / ("long" * 25) / "data")
    server.start()

    assert ask(server, "SELECT 1") == 1

    server.leave()


def test_a_link_planted_where_the_socket_belongs_is_refused_and_its_target_left_alone(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, target = open_folder / "tmp", open_folder / "target"
    shared.mkdir()
    target.mkdir(mode=0o755)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    server = EmbeddedServer(open_folder / ("long-" * 20) / "data")
    Path(str(server.conninfo).split("host=")[1].split()[0].strip("'")).symlink_to(target)
    before = target.stat()

    with pytest.raises(EmbeddedServerFailed, match="is a link or not a folder"):
        server.start()
    server.leave()

    after = target.stat()
    assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)


async def test_the_application_has_a_restricted_login(server: EmbeddedServer) -> None:
    server.start()
    await migrate_up(server.conninfo, is_app_login=False)

    await check_database(server.app_conninfo)
    with psycopg.connect(server.app_conninfo) as conn:
        row = conn.execute("SELECT session_user::text, rolsuper FROM pg_roles WHERE rolname = session_user").fetchone()
    assert row == ("headwater_app", False)
