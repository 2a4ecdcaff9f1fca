import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.db.postmaster import clear_stale_locks, postmaster_pid

on_linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks into /proc")


def write_lock(cluster: Path, pid: int) -> Path:
    lock = cluster / "postmaster.pid"
    lock.write_text(f"{pid}\n{cluster}\n")
    return lock


@pytest.mark.parametrize("content", ["", "nonsense\n", "999999999\n"])
def test_a_lock_file_without_a_process_is_not_a_server(content: str, tmp_path: Path) -> None:
    (tmp_path / "postmaster.pid").write_text(content)

    (tmp_path / ".s.PGSQL.5432.lock").write_text(content)

    assert postmaster_pid(tmp_path) is None
    assert clear_stale_locks(tmp_path, tmp_path)
    assert list(tmp_path.iterdir()) == []


@on_linux
def test_a_reused_process_id_is_not_a_server(tmp_path: Path) -> None:
    lock = write_lock(tmp_path, os.getpid())

    assert postmaster_pid(tmp_path) is None
    assert clear_stale_locks(tmp_path, tmp_path)
    assert not lock.exists()


@on_linux
def test_a_zombie_is_no_server(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        lock = write_lock(tmp_path, ended.pid)
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # it has ended and is not reaped

        assert postmaster_pid(tmp_path) is None
        assert clear_stale_locks(tmp_path, tmp_path)
        assert not lock.exists()


@on_linux
def test_a_lock_stays_while_a_process_of_the_cluster_is_still_ending(tmp_path: Path) -> None:
    lock = write_lock(tmp_path, 999_999_999)
    with subprocess.Popen([sys.executable, "-c", "input()"], cwd=tmp_path, stdin=subprocess.PIPE) as backend:
        meanwhile = clear_stale_locks(tmp_path, tmp_path)
        backend.kill()
        backend.wait()

    assert not meanwhile
    assert lock.exists()
    assert clear_stale_locks(tmp_path, tmp_path)


def test_no_lock_is_no_server_and_nothing_to_clear(tmp_path: Path) -> None:
    assert postmaster_pid(tmp_path) is None
    assert clear_stale_locks(tmp_path, tmp_path)
