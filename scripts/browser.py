"""Installs Debian's Chromium for the tests in a browser, where it is missing and that is possible. Never fails."""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
APT = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120"]
PATIENCE_S = 600


def main() -> int:
    """Say loudly what is left out where there is no browser."""
    if not found() and not install():
        loud = "SKIPPED: the tests in a real browser. Install it with: apt install chromium"
        print(f"\033[1m{loud}\033[0m" if sys.stderr.isatty() else loud, file=sys.stderr)
    return 0


def found() -> str | None:
    """Where a browser is."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> bool:
    """Whether there is a browser now."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    print("Installing chromium, for the tests in a browser …", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        try:
            subprocess.run([*APT, *step], env=environment, capture_output=True, timeout=PATIENCE_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
    return found() is not None


if __name__ == "__main__":
    sys.exit(main())
