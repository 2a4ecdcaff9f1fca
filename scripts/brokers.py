"""Fetches Debian's Redis and NATS for the tests and the benchmark of channels, if possible. Never fails.

The packages are unpacked into .cache/ instead of installed: installing needs root and would start servers.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "brokers"
PROGRAMS = ("redis-server", "nats-server")
# The program of redis-server is in redis-tools. The libraries are those that a small Debian lacks.
PACKAGES = ("redis-server", "redis-tools", "nats-server", "libjemalloc2", "liblzf1", "libatomic1")
APT = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120"]
TIMEOUT_S = 300


def main() -> int:
    if missing() and not fetch():
        skipped = f"SKIPPED: sending to a real {' and a real '.join(missing())}. Put the missing ones on PATH."
        print(f"\033[1m{skipped}\033[0m" if sys.stderr.isatty() else skipped, file=sys.stderr)
    return 0


def find(program: str) -> str | None:
    """The path of a program in .cache/ or on PATH."""
    folders = [str(CACHE / "usr" / "bin"), str(CACHE / "usr" / "sbin"), os.environ.get("PATH", "")]
    return shutil.which(program, path=os.pathsep.join(folders))


def environment() -> dict[str, str]:
    """The environment in which programs of .cache/ find their libraries."""
    folders = [str(folder) for folder in (CACHE / "usr" / "lib").glob("*-linux-*")]
    known = [os.environ["LD_LIBRARY_PATH"]] if os.environ.get("LD_LIBRARY_PATH") else []
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join([*folders, *known])}


def missing() -> list[str]:
    """Programs that are missing or do not start."""
    return [program for program in PROGRAMS if not starts(program)]


def starts(program: str) -> bool:
    found = find(program)
    done = run([found, "--version"], environment()) if found else None
    return done is not None and done.returncode == 0


def fetch() -> bool:
    """Return whether all programs are present afterwards."""
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        return False
    print("Fetching redis-server and nats-server, for the tests of channels …", file=sys.stderr)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not download(folder) and os.geteuid() == 0:  # the lists may be missing, or name versions that are gone
            run([*APT, "update"], os.environ)
            download(folder)
        for package in folder.glob("*.deb"):
            run(["dpkg", "-x", str(package), str(folder / "unpacked")], os.environ)
        if (folder / "unpacked").is_dir():
            CACHE.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(CACHE, ignore_errors=True)
            shutil.copytree(folder / "unpacked", CACHE, symlinks=True)
    return not missing()


def download(folder: Path) -> bool:
    done = run([*APT, "-o", "APT::Sandbox::User=root", "download", *PACKAGES], os.environ, folder)
    return done is not None and done.returncode == 0 and len(list(folder.glob("*.deb"))) == len(PACKAGES)


def run(
    command: list[str], settings: Mapping[str, str], folder: Path | None = None
) -> "subprocess.CompletedProcess[str] | None":
    """Run a command; None if it does not exist or exceeds the timeout."""
    settings = {**settings, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(
            command, cwd=folder, env=settings, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


if __name__ == "__main__":
    sys.exit(main())
