"""Runs the tests marked `database` on a separate PostgreSQL server; arguments are passed on to pytest.

Their role is not a superuser, as on a managed PostgreSQL. Debian's server is installed if it is missing and can be
installed. The cluster is in a temporary directory, which is deleted at the end in any case.
"""

import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from urllib.parse import quote

OLDEST = PREFERRED = 15
NO_TESTS_RAN = 5
LOGIN = "headwater_tests"
APT = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120"]
# The data is thrown away.
THROWAWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}


class ServerError(Exception):
    """A program of the server failed; the message has its output."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The directory and version of a PostgreSQL server's programs."""

    bindir: Path
    version: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """A temporary cluster; `owner` is the user it runs as if we are root, since PostgreSQL refuses root."""

    programs: Programs
    home: Path
    port: int
    owner: pwd.struct_passwd | None
    password: str  # of the superuser


def main() -> int:
    """Return pytest's exit code, or 0 with a warning if there is no server to test on."""
    for stop in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, leave)
    programs = find_programs() or install_programs()
    if programs is None:
        print(in_bold(f"SKIPPED: the database tests on a PostgreSQL server. {how_to_get_it()}"), file=sys.stderr)
        return 0
    try:
        with cluster(programs) as server:
            return run_pytest(create_login(server), sys.argv[1:])
    except ServerError as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def leave(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


# Finding a server


def find_programs(installed: Path = Path("/usr/lib/postgresql")) -> Programs | None:
    """15, the oldest supported version, if installed; else the newest."""
    bindirs = [*installed.glob("*/bin"), *bindir_on_path()]
    found = [programs for programs in map(inspect_programs, bindirs) if programs is not None]
    return max(found, key=lambda programs: (programs.version == PREFERRED, programs.version), default=None)


def bindir_on_path() -> Iterator[Path]:
    if pg_config := shutil.which("pg_config"):
        yield Path(subprocess.check_output([pg_config, "--bindir"], text=True).strip())


def inspect_programs(bindir: Path) -> Programs | None:
    """None if a program is missing or the version is too old."""
    if not all((bindir / name).exists() for name in ("initdb", "postgres", "psql", "pg_isready")):
        return None
    version = re.search(r"\d+", subprocess.check_output([bindir / "postgres", "--version"], text=True))
    if version is None or int(version[0]) < OLDEST:
        return None
    return Programs(bindir, int(version[0]))


def how_to_get_it() -> str:
    if shutil.which("apt-get"):
        return "To run them: sudo apt-get install postgresql, then make test."
    return "To run them: install a PostgreSQL server (15 or newer) with pg_config on PATH, then make test."


def install_programs() -> Programs | None:
    """Install Debian's server if we are root, and drop the cluster that its package creates."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    report("No PostgreSQL server was found: installing Debian's (apt-get install postgresql) …")
    before = debian_clusters()
    if not any(Path("/var/lib/apt/lists").glob("*_Packages*")):
        apt("update")
    done = apt_install()
    if done.returncode:  # the package lists may be out of date
        apt("update")
        done = apt_install()
    if done.returncode:
        print(done.stdout, file=sys.stderr)
    for version, name in debian_clusters() - before:
        subprocess.run(["pg_dropcluster", "--stop", version, name], check=False)
    return find_programs()


def apt_install() -> subprocess.CompletedProcess[str]:
    return apt("install", "-y", "--no-install-recommends", "postgresql")


def apt(*arguments: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = [*APT, *arguments]
    return subprocess.run(
        command, env=environ, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def debian_clusters() -> set[tuple[str, str]]:
    return {(path.parent.name, path.name) for path in Path("/etc/postgresql").glob("*/*")}


# Running it


@contextmanager
def cluster(programs: Programs) -> Generator[Cluster]:
    """Initialise and start a cluster; delete it at the end. Raises ServerError."""
    # Not TMPDIR: a socket's path must be short, and another user must be able to reach it.
    home = Path(tempfile.mkdtemp(prefix="headwater-", dir="/tmp"))
    try:
        server = Cluster(programs, home, free_port(), unprivileged_user(), secrets.token_urlsafe())
        initialise(server)
        with started(server):
            yield server
    finally:
        with ignoring_interrupts():
            shutil.rmtree(home, ignore_errors=True)


def free_port() -> int:
    """A port below the range from which systems give one to each connection: it stays free until the server listens."""
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def unprivileged_user() -> pwd.struct_passwd | None:
    """The user that runs the server if we are root."""
    if os.geteuid() != 0:
        return None
    users = {user.pw_name: user for user in pwd.getpwall()}
    return users.get("postgres") or users["nobody"]


def initialise(server: Cluster) -> None:
    password = server.home / "password"
    password.write_text(server.password)
    if server.owner:
        for path in (server.home, password):
            os.chown(path, server.owner.pw_uid, server.owner.pw_gid)
    locale = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"
    options = ["--username=postgres", "--auth=scram-sha-256", f"--pwfile={password}", "--no-sync"]
    run(server, "initdb", f"--pgdata={server.home}/data", "--encoding=UTF8", f"--locale={locale}", *options)


@contextmanager
def started(server: Cluster) -> Generator[None]:
    """Run the server in a new session, so that Ctrl-C stops the tests first and the server after them."""
    log = server.home / "server.log"
    settings = THROWAWAY | {
        "listen_addresses": "127.0.0.1",
        "port": str(server.port),
        "unix_socket_directories": str(server.home),
    }
    command = [server.programs.bindir / "postgres", "-D", server.home / "data"]
    command += [f"--{name}={value}" for name, value in settings.items()]
    with log.open("w") as output:
        process = popen(server, command, output.fileno())
    try:
        wait_until_ready(server, process, log)
        yield
    finally:
        with ignoring_interrupts():
            stop(process)


@contextmanager
def ignoring_interrupts() -> Generator[None]:
    """During cleanup: a second Ctrl-C must not leave a server running."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def popen(server: Cluster, command: Sequence[str | Path], output: int) -> subprocess.Popen[bytes]:
    user = server.owner
    return subprocess.Popen(
        command,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=server.home,
        env=clean_environ(),
        start_new_session=True,
        user=user and user.pw_uid,
        group=user and user.pw_gid,
        extra_groups=[] if user else None,
    )


def wait_until_ready(server: Cluster, process: subprocess.Popen[bytes], log: Path) -> None:
    ready = [server.programs.bindir / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(server.port)]
    give_up_at = time.monotonic() + 60
    while subprocess.run(ready, check=False, env=clean_environ()).returncode:
        if process.poll() is not None or time.monotonic() > give_up_at:
            raise ServerError(f"PostgreSQL did not start:\n{log.read_text()}")
        time.sleep(0.05)


def stop(process: subprocess.Popen[bytes]) -> None:
    """SIGINT is a fast shutdown: PostgreSQL disconnects all clients."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGQUIT)
        process.wait()


def create_login(server: Cluster) -> str:
    """Create a role with the rights that a managed PostgreSQL grants, and its database; return the URL."""
    password = f"{secrets.token_urlsafe()}@/%:?"  # what a URL must quote
    for statement in (
        f"CREATE ROLE {LOGIN} LOGIN CREATEDB CREATEROLE NOSUPERUSER PASSWORD '{password}'",
        f"CREATE DATABASE {LOGIN} OWNER {LOGIN}",
    ):
        superuser = ["--host", "127.0.0.1", "--port", str(server.port), "--username", "postgres"]
        run(server, "psql", "--no-psqlrc", "--quiet", *superuser, "--command", statement)
    return f"postgresql://{LOGIN}:{quote(password, safe='')}@127.0.0.1:{server.port}/{LOGIN}"


def run(server: Cluster, program: str, *arguments: str) -> None:
    """Run one of the server's programs as its owner. Raises ServerError."""
    user = server.owner
    done = subprocess.run(
        [server.programs.bindir / program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=server.home,
        env=clean_environ() | {"PGPASSWORD": server.password},
        user=user and user.pw_uid,
        group=user and user.pw_gid,
        extra_groups=[] if user else None,
    )
    if done.returncode:
        raise ServerError(f"{program} failed:\n{done.stdout}")


def clean_environ() -> dict[str, str]:
    """Without PGHOST, PGSSLMODE and the like, which would select another server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def run_pytest(url: str, arguments: Sequence[str]) -> int:
    """Run the marked tests under coverage; when interrupted, pytest gets 20 s to clean up."""
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-m", "database and not soak", "-n", "3"]
    command += arguments
    pytest = subprocess.Popen(command, env=clean_environ() | {"DATABASE_URL": url})
    try:
        code = pytest.wait()
    except BaseException as reason:
        if not isinstance(reason, KeyboardInterrupt):  # the terminal sends Ctrl-C to pytest as well
            pytest.send_signal(signal.SIGINT)
        wait_or_kill(pytest)
        raise
    if code == NO_TESTS_RAN:
        print("No test is marked `database`: nothing was tested on the server.", file=sys.stderr)
    return code


def wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()


def report(line: str) -> None:
    print(line, flush=True)


def in_bold(line: str) -> str:
    return f"\033[1;33m{line}\033[0m" if sys.stderr.isatty() else line


if __name__ == "__main__":
    sys.exit(main())
