"""The embedded PostgreSQL of a folder: started by its first process, stopped by its last.

Each process holds a shared lock on `in-use`, and stops the server when it leaves and holds the only one. The kernel
releases the locks of a killed process. Starting and stopping happen under an exclusive lock.

The wheel's server class is not used: it opens every parent folder to all users when run as root, fails on a space in
the path, and has one lock for all users of a machine.
"""

import asyncio
import fcntl
import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psycopg
from psycopg.conninfo import make_conninfo

from headwater.db.os_user import MAJOR_VERSION, account_for_root, first_closed_folder, program, run_as
from headwater.db.pool import APP_ROLE, first_line
from headwater.db.postmaster import clear_stale_locks, postmaster_pid
from headwater.errors import EmbeddedServerFailed

DATABASE = SUPERUSER = "headwater"
LOG_NAME = "postgres.log"
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 30
LOG_KEPT_BYTES = 10_000_000
# LC_CTYPE, by which text search knows letters. In `C` every character outside ASCII is one: “harbour”, with these
# quotation marks, was not found by harbour.
LETTERS = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"
# sun_path holds 108 bytes on Linux and 104 on macOS, with the socket's own name and a closing NUL.
SOCKET_DIR_MAX_BYTES = 104 - len("/.s.PGSQL.5432") - 1


class EmbeddedServer:
    """Call `start`, use `conninfo`, call `leave`."""

    def __init__(self, data_dir: Path, *, options: Mapping[str, str] | None = None) -> None:
        self.data_dir = data_dir.expanduser().absolute()
        self._cluster = self.data_dir / "postgres"
        self._log = self.data_dir / LOG_NAME
        self._options = dict(options or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._in_use: IO[bytes] | None = None
        self._account: pwd.struct_passwd | None = None

    @property
    def conninfo(self) -> str:
        """The connection string of the owner, to migrate. The socket is in a folder closed to other users."""
        return self.conninfo_of(DATABASE)

    @property
    def app_conninfo(self) -> str:
        """The connection string for everything else: a login that is not a superuser and owns nothing."""
        return make_conninfo(self.conninfo, user=APP_ROLE)

    def conninfo_of(self, database: str) -> str:
        return make_conninfo(host=str(self._socket_dir), dbname=database, user=SUPERUSER)

    def start(self) -> None:
        """Create the folder if it is new, start the server if it is down. Raises EmbeddedServerFailed."""
        try:
            self._prepare_folder()
            with self._starting_or_stopping():
                if self._in_use is None:
                    self._in_use = (self.data_dir / "in-use").open("wb")
                    fcntl.flock(self._in_use, fcntl.LOCK_SH)
                self._start_locked()
        except OSError as error:
            raise self._failure(f"{error.strerror or error} ({error.filename or self.data_dir})") from error

    def leave(self) -> None:
        """Stop the server if no other process uses it."""
        if self._in_use is None:
            return
        with self._starting_or_stopping():
            with suppress(BlockingIOError):  # another process holds it
                fcntl.flock(self._in_use, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._stop()
            self._in_use.close()
            self._in_use = None

    def pid(self) -> int | None:
        self._is_over()  # reaps a child that has ended
        return postmaster_pid(self._cluster)

    async def keep_running(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            if self.pid() is None:
                try:
                    await asyncio.to_thread(self.start)
                except EmbeddedServerFailed:
                    await asyncio.sleep(2)  # children of a crashed server may still be ending

    def _prepare_folder(self) -> None:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        if os.geteuid() != 0:
            return
        self._account = account_for_root(self._cluster)
        if self._account is None:
            raise self._failure("PostgreSQL does not run as root, and there is no account `postgres` or `nobody`.")
        self.data_dir.chmod(self.data_dir.stat().st_mode | stat.S_IXOTH | stat.S_IXGRP)
        blocked = first_closed_folder(self.data_dir, self._account)
        if blocked is not None:
            raise self._failure(
                f"PostgreSQL does not run as root, and the account {self._account.pw_name!r} cannot enter {blocked}. "
                "Choose another folder with HEADWATER_DATA_DIR, or run Headwater as an ordinary user."
            )

    @contextmanager
    def _starting_or_stopping(self) -> Iterator[None]:
        with (self.data_dir / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _start_locked(self) -> None:
        version = self._cluster / "PG_VERSION"
        made_by = version.read_text().strip() if version.exists() else None
        if made_by not in {None, str(MAJOR_VERSION)}:
            raise self._failure(
                f"it was made by PostgreSQL {made_by}, this is {MAJOR_VERSION}. Dump it with the older version and "
                "restore it here, or choose a new folder with HEADWATER_DATA_DIR."
            )
        self._own(self._socket_dir)
        if made_by is None:
            self._initialise()
        if self.pid() is None:
            self._clear_locks()
            self._spawn()
        self._wait_until_ready()
        with psycopg.connect(self.conninfo_of("postgres"), autocommit=True) as conn:
            if not conn.execute("SELECT FROM pg_database WHERE datname = %(name)s", {"name": DATABASE}).rowcount:
                conn.execute("CREATE DATABASE headwater")
            if not conn.execute("SELECT FROM pg_roles WHERE rolname = 'headwater_app'").rowcount:
                conn.execute("CREATE ROLE headwater_app LOGIN NOINHERIT")

    def _initialise(self) -> None:
        # Created beside its place and then moved, so that an interrupted initdb leaves no incomplete cluster.
        fresh = self._cluster.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        self._own(fresh)
        arguments = ["--username", SUPERUSER, "--auth", "trust", "--encoding", "UTF8", "--no-instructions"]
        arguments += ["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"]
        arguments += ["--lc-ctype", LETTERS]
        done = subprocess.run(  # noqa: S603  our own binary, arguments as a list
            [program("initdb", self._account, self.data_dir), "--pgdata", str(fresh), *arguments],
            capture_output=True, check=False, text=True, cwd="/", **run_as(self._account),
        )  # fmt: skip
        if done.returncode != 0:
            shutil.rmtree(fresh, ignore_errors=True)
            raise self._failure(f"initdb failed: {done.stderr.strip() or done.stdout.strip()}")
        fresh.replace(self._cluster)

    def _spawn(self) -> None:
        options = {
            "listen_addresses": "", "unix_socket_directories": f'"{self._socket_dir}"',
            "unix_socket_permissions": "0700", "max_connections": "200", "timezone": "UTC", **self._options,
        }  # fmt: skip
        flags = [f"--{name}={value}" for name, value in options.items()]
        if self._log.exists() and self._log.stat().st_size > LOG_KEPT_BYTES:
            self._log.replace(self._log.with_suffix(".log.1"))
        self._reap()
        with self._log.open("ab") as log:
            # In its own session: Ctrl-C in the terminal must reach only us.
            self._process = subprocess.Popen(  # noqa: S603
                [program("postgres", self._account, self.data_dir), "-D", str(self._cluster), *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
                **run_as(self._account),
            )  # fmt: skip

    def _clear_locks(self) -> None:
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while not clear_stale_locks(self._cluster, self._socket_dir):
            if time.monotonic() > deadline:
                raise self._failure("it was killed, and its processes do not end. Stop them, and try again.")
            time.sleep(0.05)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                psycopg.connect(self.conninfo_of("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError as error:
                if self._is_over():
                    raise self._failure(self._last_log_lines()) from error
                if time.monotonic() > deadline:
                    raise self._failure(f"no answer within {START_TIMEOUT_S} s: {first_line(error)}") from error
                time.sleep(0.02)
            else:
                return

    def _stop(self) -> None:
        if (pid := self.pid()) is not None:
            os.kill(pid, signal.SIGINT)  # PostgreSQL's fast shutdown: roll back, disconnect, checkpoint
            deadline = time.monotonic() + STOP_TIMEOUT_S
            while self.pid() is not None and time.monotonic() < deadline:
                time.sleep(0.02)
            if self.pid() is not None:
                os.kill(pid, signal.SIGQUIT)  # it recovers from its log at the next start
        self._reap()

    def _reap(self) -> None:
        """Wait for the child whose lock file is gone: it ends a moment later."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_TIMEOUT_S)

    def _is_over(self) -> bool:
        """Whether the server that this process started has ended."""
        return self._process is not None and self._process.poll() is not None

    @property
    def _socket_dir(self) -> Path:
        inside = self.data_dir / "socket"
        if len(os.fsencode(inside)) <= SOCKET_DIR_MAX_BYTES and '"' not in str(inside):
            return inside
        name = hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"headwater-{name}"

    def _own(self, folder: Path) -> None:
        """Create a folder that only the account which runs PostgreSQL, and root, can enter. In a shared temporary
        folder another user may have created it: links are not followed, and a folder of another user is refused."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = self._account.pw_uid if self._account else os.geteuid()
        try:
            found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            raise self._failure(f"{folder} is a link or not a folder. Remove it.") from error
        try:  # by file descriptor, which another user cannot replace
            if (has := os.fstat(found).st_uid) != owner:
                if os.geteuid() != 0 or has != 0:
                    raise self._failure(f"{folder} belongs to another user.")
                os.fchown(found, owner, self._account.pw_gid if self._account else -1)
            os.fchmod(found, 0o700)
        finally:
            os.close(found)

    def _last_log_lines(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        causes = [line for line in lines[-30:] if "FATAL" in line or "PANIC" in line or "HINT" in line]
        return " ".join(causes or lines[-1:] or ["no message."]) + f" (log: {self._log})"

    def _failure(self, reason: str) -> EmbeddedServerFailed:
        return EmbeddedServerFailed(self.data_dir, reason)


def is_initialised(data_dir: Path) -> bool:
    return (data_dir.expanduser().absolute() / "postgres" / "PG_VERSION").exists()
