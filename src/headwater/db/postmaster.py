"""Is a cluster's server alive? Asked of its lock file, which outlives a server that was killed.

The number in the file is not enough: a killed server whose parent is gone too may stay a zombie for ever where nobody
reaps (in many a container), and its number may have become another program's. PostgreSQL itself refuses to start beside
such a file, so it is taken away, but only when no process of the cluster is left: two servers on one cluster ruin it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

LOCK_NAME = "postmaster.pid"
SOCKET_LOCK_NAME = ".s.PGSQL.5432.lock"
_PROC = Path("/proc")


def postmaster_pid(cluster: Path) -> int | None:
    """The process id of the running server, or None."""
    pid = _pid_in(cluster / LOCK_NAME)
    return pid if pid is not None and _is_running_postgres(pid) else None


def clear_stale_locks(cluster: Path, socket_dir: Path) -> bool:
    """Take away the lock files of a server that is dead and gone. False while processes of it are still ending."""
    if postmaster_pid(cluster) is not None:
        return True
    if any(_processes_in(cluster)):
        return False
    (cluster / LOCK_NAME).unlink(missing_ok=True)
    (socket_dir / SOCKET_LOCK_NAME).unlink(missing_ok=True)
    return True


def _pid_in(lock: Path) -> int | None:
    try:
        return int(lock.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def _is_running_postgres(pid: int) -> bool:
    try:
        told = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return not _PROC.joinpath("self").exists() and _answers(pid)  # macOS has no /proc
    name, state = told[told.index("(") + 1 : told.rindex(")")], told[told.rindex(")") + 2]
    return name == "postgres" and state not in "ZX"


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _processes_in(cluster: Path) -> Iterator[int]:
    """Live processes whose working folder is the cluster, as that of every process of a server is."""
    for entry in _PROC.glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == cluster.resolve():
                yield int(entry.name)
        except OSError:
            continue  # ended meanwhile, a zombie, or somebody else's
