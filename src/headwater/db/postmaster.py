"""Whether a cluster's server is running, by its lock file, which a killed server leaves behind.

Its process id may be that of a zombie (in a container without an init process), or reused. PostgreSQL does not start
while the file exists, so it is removed when no process of the cluster is left: two servers would corrupt it.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LOCK_NAME = "postmaster.pid"
SOCKET_LOCK_NAME = ".s.PGSQL.5432.lock"
_PROC = Path("/proc")


def postmaster_pid(cluster: Path) -> int | None:
    try:
        pid = int((cluster / LOCK_NAME).read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None
    return pid if _is_running_postgres(pid) else None


def clear_stale_locks(cluster: Path, socket_dir: Path) -> bool:
    """Remove the lock files of a server that has ended. False while processes of it are still ending."""
    if postmaster_pid(cluster) is not None:
        return True
    if any(_processes_in(cluster)):
        return False
    (cluster / LOCK_NAME).unlink(missing_ok=True)
    (socket_dir / SOCKET_LOCK_NAME).unlink(missing_ok=True)
    return True


def _is_running_postgres(pid: int) -> bool:
    if not (_PROC / "self").exists():  # macOS
        with suppress(OSError):
            os.kill(pid, 0)
            return True
    try:
        status = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return False
    end = status.rindex(")")
    name, state = status[status.index("(") + 1 : end], status[end + 2]
    return name == "postgres" and state not in "ZX"


def _processes_in(cluster: Path) -> Iterator[int]:
    """Processes with the cluster as their working folder, as all processes of a server have."""
    for entry in _PROC.glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == cluster.resolve():
                yield int(entry.name)
        except OSError:
            continue  # ended meanwhile, a zombie, or another user's
