"""Fetches Debian's Prometheus and Alertmanager for the tests of the alert rules, if possible. Never fails.

The packages are unpacked into .cache/ instead of installed: installing needs root and would start servers.
Debian's Alertmanager reads templates from /usr/share, so it runs in a mount namespace with its own /usr/share.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "prometheus"
PACKAGES = ("prometheus", "prometheus-alertmanager")
# Debian's name first, then the upstream name.
NAMES = {
    "prometheus": ("prometheus",),
    "alertmanager": ("prometheus-alertmanager", "alertmanager"),
    "promtool": ("promtool",),
    "amtool": ("amtool",),
}
OLDEST = (2, 42)  # of Prometheus: rules that keep firing for a while
OWN_SHARE = 'mount -t tmpfs none /usr/share && cp -r "$1" /usr/share/prometheus && shift && exec "$@"'
APT = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120"]
TIMEOUT_S = 300


def main() -> int:
    if missing() and not fetch():
        skipped = "SKIPPED: the alert rules on real Prometheus and Alertmanager. Put both, promtool and amtool on PATH."
        print(f"\033[1m{skipped}\033[0m" if sys.stderr.isatty() else skipped, file=sys.stderr)
    return 0


def find(program: str) -> str | None:
    """The path of a program in .cache/ or on PATH."""
    path = os.pathsep.join([str(CACHE / "usr" / "bin"), os.environ.get("PATH", "")])
    return next((found for name in NAMES[program] if (found := shutil.which(name, path=path))), None)


def command(program: str) -> list[str]:
    """The command that starts a program."""
    found = find(program)
    assert found is not None, f"{program} was not found"
    if program != "alertmanager" or not found.startswith(str(CACHE)):
        return [found]
    namespace = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount"]
    return [*namespace, "sh", "-c", OWN_SHARE, "sh", str(CACHE / "usr/share/prometheus"), found]


def missing() -> list[str]:
    """Programs that are missing, too old, or do not start."""
    absent = [program for program in NAMES if find(program) is None]
    return absent or [program for program in ("prometheus", "alertmanager") if not starts(program)]


def starts(program: str) -> bool:
    """Whether `--version` works and, for Prometheus, is new enough for our rules."""
    done = run([*command(program), "--version"])
    return done is not None and done.returncode == 0 and (program != "prometheus" or is_new_enough(done))


def is_new_enough(done: "subprocess.CompletedProcess[str]") -> bool:
    words = (done.stdout + done.stderr).split()
    version = words[words.index("version") + 1] if "version" in words[:-1] else ""
    numbers = [int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit()]
    return tuple(numbers) >= OLDEST


def fetch() -> bool:
    """Return whether all programs are present afterwards."""
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
    """Run a command; None if it does not exist or exceeds the timeout."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


if __name__ == "__main__":
    sys.exit(main())
