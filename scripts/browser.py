"""Installs Debian's Chromium for the browser tests if it is missing and can be installed. Never fails."""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
APT = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120"]
TIMEOUT_S = 600


def main() -> int:
    if not find() and not install():
        skipped = "SKIPPED: the tests in a real browser. Install it with: apt install chromium"
        print(f"\033[1m{skipped}\033[0m" if sys.stderr.isatty() else skipped, file=sys.stderr)
    return 0


def find() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> bool:
    """Return whether a browser is present afterwards."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    print("Installing chromium, for the tests in a browser …", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        try:
            subprocess.run([*APT, *step], env=environment, capture_output=True, timeout=TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
    return find() is not None


if __name__ == "__main__":
    sys.exit(main())
