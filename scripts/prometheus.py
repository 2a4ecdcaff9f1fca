"""Fetches Debian's Prometheus and Alertmanager for the tests of the alert rules, where that is possible. Never fails.

Not installed: the packages would start servers on this machine. They are unpacked into .cache/, and need no root.
Debian's Alertmanager looks for its templates in /usr/share: it gets one of its own, in a mount namespace.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "prometheus"
PACKAGES = ("prometheus", "prometheus-alertmanager")
# As Debian calls them, and as everybody else does.
NAMES = {
    "prometheus": ("prometheus",),
    "alertmanager": ("prometheus-alertmanager", "alertmanager"),
    "promtool": ("promtool",),
    "amtool": ("amtool",),
}
OLDEST = (2, 42)  # of Prometheus: rules that keep firing for a while
OWN_SHARE = 'mount -t tmpfs none /usr/share && cp -r "$1" /usr/share/prometheus && shift && exec "$@"'
APT = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120"]
PATIENCE_S = 300


def main() -> int:
    """Say loudly what is left out where they cannot be had."""
    if missing() and not fetch():
        loud = "SKIPPED: the alert rules on real Prometheus and Alertmanager. Put both, promtool and amtool on PATH."
        print(f"\033[1m{loud}\033[0m" if sys.stderr.isatty() else loud, file=sys.stderr)
    return 0


def find(program: str) -> str | None:
    """Where a program is: among those that were fetched, or on PATH."""
    path = os.pathsep.join([str(CACHE / "usr" / "bin"), os.environ.get("PATH", "")])
    return next((found for name in NAMES[program] if (found := shutil.which(name, path=path))), None)


def command(program: str) -> list[str]:
    """How to start a program that is here."""
    found = find(program)
    assert found is not None, f"{program} is not here"
    if program != "alertmanager" or not found.startswith(str(CACHE)):
        return [found]
    namespace = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount"]
    return [*namespace, "sh", "-c", OWN_SHARE, "sh", str(CACHE / "usr/share/prometheus"), found]


def missing() -> list[str]:
    """The programs that are not here, are too old, or cannot be started."""
    absent = [program for program in NAMES if find(program) is None]
    return absent or [program for program in ("prometheus", "alertmanager") if not starts(program)]


def starts(program: str) -> bool:
    """Whether it tells its version, and Prometheus one that understands our rules."""
    done = run([*command(program), "--version"])
    return done is not None and done.returncode == 0 and (program != "prometheus" or is_new_enough(done))


def is_new_enough(done: "subprocess.CompletedProcess[str]") -> bool:
    """By what it says with --version."""
    words = (done.stdout + done.stderr).split()
    version = words[words.index("version") + 1] if "version" in words[:-1] else ""
    numbers = [int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit()]
    return tuple(numbers) >= OLDEST


def fetch() -> bool:
    """Whether all of them are here now."""
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        return False
    print("Fetching prometheus and prometheus-alertmanager, for the tests of the alert rules …", file=sys.stderr)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not download(folder) and os.geteuid() == 0:  # the lists may be missing, or name versions that are gone
            run([*APT, "update"])
            download(folder)
        for package in folder.glob("*.deb"):
            run(["dpkg", "-x", str(package), str(folder / "unpacked")])
        if (folder / "unpacked").is_dir():
            CACHE.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(CACHE, ignore_errors=True)
            shutil.copytree(folder / "unpacked", CACHE, symlinks=True)
    return not missing()


def download(folder: Path) -> bool:
    done = run([*APT, "-o", "APT::Sandbox::User=root", "download", *PACKAGES], folder)
    return done is not None and done.returncode == 0 and len(list(folder.glob("*.deb"))) == len(PACKAGES)


def run(command: list[str], folder: Path | None = None) -> "subprocess.CompletedProcess[str] | None":
    """A command to its end; None where there is no such command, or it takes too long."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


if __name__ == "__main__":
    sys.exit(main())
