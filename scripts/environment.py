"""Installs the locked packages and this project into .venv, and records what is installed in a stamp file.

Standard library only: it runs before anything is installed. `make up` and `make test` may call it at the same moment,
so it takes a lock. Packages that a running Headwater uses are replaced only when the requirements have changed.
"""

import csv
import errno
import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRINT_PYTHON = "import os, sys; print(sys.implementation.cache_tag, sys.platform, os.uname().machine)"


class PreparationError(Exception):
    """Why .venv cannot be prepared; the message is printed for the user of make."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What is installed in .venv. An empty digest means missing or incomplete."""

    home: str
    python: str
    runtime: str = ""
    dev: str = ""
    project: str = ""


def main() -> int:
    try:
        prepare(ROOT, dev="--dev" in sys.argv[1:], this_python="PYTHON" in os.environ)
    except PreparationError as failure:
        print(failure, file=sys.stderr)
        return 1
    except PermissionError as failure:
        print(f"{failure.strerror}: {failure.filename}. Was it made by another user?", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def prepare(root: Path, *, dev: bool, this_python: bool) -> None:
    """Bring .venv up to date; `this_python` rebuilds one that was made by another Python. Raises PreparationError."""
    venv = root / ".venv"
    with exclusive(root / ".cache" / "venv.lock") as lock:
        stamp = read_stamp(venv)
        if stamp is None or not still_fits(stamp, venv, only=current_python() if this_python else None):
            stamp = create(venv, lock)
        wanted = wanted_stamp(root, stamp, dev=dev)
        if (stamp.runtime, stamp.dev) != (wanted.runtime, wanted.dev):
            stamp = install_packages(root, stamp, wanted, lock)
        if stamp.project != wanted.project:
            install_project(root, stamp, wanted, lock)


@contextmanager
def exclusive(path: Path) -> Generator[int]:
    """Hold the lock on .venv; other processes wait for it."""
    path.parent.mkdir(exist_ok=True)
    lock = open_lock(path)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("Another make is preparing .venv: waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def open_lock(path: Path) -> int:
    """Open the lock file; read-only if it belongs to another user, which is enough when .venv is complete."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except PermissionError:
        return os.open(path, os.O_RDONLY)


def read_stamp(venv: Path) -> Stamp | None:
    """Read the stamp of the last run; None if it is missing or invalid."""
    try:
        return Stamp(**json.loads(stamp_path(venv).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write_stamp(venv: Path, stamp: Stamp) -> Stamp:
    """Replace the stamp atomically."""
    fresh = stamp_path(venv).with_suffix(".new")
    fresh.write_text(json.dumps(asdict(stamp), indent=2) + "\n")
    fresh.replace(stamp_path(venv))
    return stamp


def stamp_path(venv: Path) -> Path:
    return venv / "headwater-stamp.json"


def still_fits(stamp: Stamp, venv: Path, *, only: str | None) -> bool:
    """Whether .venv has not moved, and runs the Python that it was made with and, if given, `only`."""
    return stamp.home == str(venv) and stamp.python == venv_python(venv) and only in {None, stamp.python}


def venv_python(venv: Path) -> str | None:
    """The Python that .venv runs; None if it does not run."""
    try:
        done = subprocess.run([interpreter(venv), "-ISc", PRINT_PYTHON], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def current_python() -> str:
    return f"{sys.implementation.cache_tag} {sys.platform} {os.uname().machine}"


def wanted_stamp(root: Path, stamp: Stamp, *, dev: bool) -> Stamp:
    """The stamp of a complete .venv. The dev requirements include the runtime ones (tests/scripts/test_locks.py)."""
    return replace(
        stamp,
        runtime=digest((root / "requirements.txt").read_text()),
        dev=digest((root / "requirements-dev.txt").read_text()) if dev else stamp.dev,
        project=digest(project_metadata(root)),
    )


def project_metadata(root: Path) -> str:
    """The parts of pyproject.toml that an editable install depends on."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text())
    version = re.search(r"^__version__ = .*$", (root / "src/headwater/__init__.py").read_text(), re.MULTILINE)
    parts = [pyproject["build-system"], pyproject["project"], pyproject["tool"]["hatch"], version and version[0]]
    return json.dumps(parts, sort_keys=True)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def create(venv: Path, lock: int) -> Stamp:
    """Create an empty .venv; an existing one is deleted."""
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            raise PreparationError(missing_module(module))
    remove(venv)
    report(f"Making .venv with Python {sys.version.split()[0]} …")
    run([sys.executable, "-I", "-m", "venv", "--prompt", "headwater", str(venv)], lock)
    return write_stamp(venv, Stamp(home=str(venv), python=current_python()))


def remove(venv: Path) -> None:
    """Delete .venv; repeated for 20 s, since a child of a killed run may still write into it."""
    if venv.is_symlink():
        venv.unlink()
    give_up_at = time.monotonic() + 20
    while venv.exists():
        try:
            shutil.rmtree(venv)
        except OSError as failure:
            if failure.errno != errno.ENOTEMPTY or time.monotonic() > give_up_at:
                raise
            time.sleep(0.1)


def missing_module(module: str) -> str:
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    return (
        f"This Python ({sys.executable}) comes without the module {module}, which makes virtual environments.\n"
        f"On Debian and Ubuntu: apt-get install {package} (or python3-venv). Or name another: make up PYTHON=python3.12"
    )


def install_packages(root: Path, stamp: Stamp, wanted: Stamp, lock: int) -> Stamp:
    """Install the locked packages; those already installed in the locked version are not replaced."""
    venv = root / ".venv"
    name = "requirements.txt" if wanted.dev == stamp.dev else "requirements-dev.txt"
    write_stamp(venv, without_difference(stamp, wanted))
    site_packages = next(venv.glob("lib/python*/site-packages"))
    delete_incomplete(site_packages)
    report(f"Installing {len(missing(locked(root / name), installed(site_packages)))} packages into .venv …")
    pip(venv, lock, "--only-binary", ":all:", "--require-hashes", "--no-deps", "-r", str(root / name))
    return write_stamp(venv, replace(wanted, project=stamp.project))


def without_difference(stamp: Stamp, wanted: Stamp) -> Stamp:
    """Clear the digests of the parts that will be installed, so that an interrupted install is repeated."""
    return replace(
        stamp,
        runtime=stamp.runtime if stamp.runtime == wanted.runtime else "",
        dev=stamp.dev if stamp.dev == wanted.dev else "",
    )


def install_project(root: Path, stamp: Stamp, wanted: Stamp, lock: int) -> None:
    """Install src/ and lab/ in editable mode. The build backend is a locked package, so no index is needed."""
    venv = root / ".venv"
    write_stamp(venv, replace(stamp, project=""))
    pip(venv, lock, "--no-index", "--no-deps", "--no-build-isolation", "-e", str(root))
    write_stamp(venv, wanted)


def locked(lock: Path) -> set[tuple[str, str]]:
    """Name and version of each locked package, without those for Windows only."""
    lines = (line for line in lock.read_text().splitlines() if "sys_platform == 'win32'" not in line)
    pins = (re.match(r"([a-z0-9._-]+)==([^ ;]+)", line) for line in lines)
    return {(pin[1], pin[2]) for pin in pins if pin}


def installed(site_packages: Path) -> set[tuple[str, str]]:
    """Name and version of each installed package, with normalised names."""
    stems = (info.name.removesuffix(".dist-info").partition("-") for info in site_packages.glob("*.dist-info"))
    return {(re.sub(r"[-_.]+", "-", name).lower(), version) for name, _, version in stems}


def missing(pins: set[tuple[str, str]], present: set[tuple[str, str]]) -> set[str]:
    """Packages to install. Two versions of a package may be locked, for different Pythons."""
    return {name for name, _ in pins} - {name for name, _ in pins & present}


def delete_incomplete(site_packages: Path) -> None:
    """Delete leftovers of a killed pip: it treats a package with metadata as installed even if files are missing."""
    for leftover in site_packages.glob("~*"):
        shutil.rmtree(leftover, ignore_errors=True)
    for info in site_packages.glob("*.dist-info"):
        if not is_complete(info):
            shutil.rmtree(info)


def is_complete(info: Path) -> bool:
    """Whether pip finished this package (it writes INSTALLER near the end) and every file has its recorded size."""
    try:
        with (info / "RECORD").open(newline="") as record:
            sizes = [(info.parent / path, int(size)) for path, _, size in csv.reader(record) if size]
        return (info / "INSTALLER").exists() and all(path.stat().st_size == size for path, size in sizes)
    except (OSError, ValueError):
        return False


def pip(venv: Path, lock: int, *arguments: str) -> None:
    run([str(interpreter(venv)), "-I", "-m", "pip", "install", "--quiet", "--no-input", *arguments], lock)


def interpreter(venv: Path) -> Path:
    return venv / "bin" / "python"


def run(command: list[str], lock: int) -> None:
    """Run a command; its output is shown on failure. The child inherits the lock, in case it outlives this process."""
    environ = os.environ | {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environ, pass_fds=[lock]
    )
    if done.returncode:
        raise PreparationError(
            f"{done.stdout}\nPreparing .venv failed; the lines above say why. The next make repairs it."
        )


def report(line: str) -> None:
    print(line, flush=True)
