"""Takes pyproject.toml; leaves behind requirements.txt and requirements-dev.txt: `make lock`, `make lock UPGRADE=1`.

They hold for Linux and macOS, x86 and arm, Python 3.11 and newer; versions and hashes, and no address of an index.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILE = [
    *("pip", "compile", "pyproject.toml", "-", "--quiet"),
    *("--universal", "--python-version", "3.11", "--only-binary", ":all:", "--generate-hashes"),
    *("--no-emit-index-url", "--no-emit-find-links", "--no-annotate", "--custom-compile-command", "make lock"),
]


def main() -> int:
    """Write both locks, the larger first: its versions then bind the smaller."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        print("make lock needs uv: `python3 -m pip install uv`, or name it: make lock UV=path/to/uv", file=sys.stderr)
        return 1
    upgrade = [argument for argument in sys.argv[1:] if argument == "--upgrade"]
    lock(uv, "requirements-dev.txt", "--group", "dev", *upgrade)
    lock(uv, "requirements.txt", "--constraint", "requirements-dev.txt", *upgrade)
    return 0


def lock(uv: str, output: str, *arguments: str) -> None:
    """Compile the dependencies, with the build backend among them, since the editable install needs it."""
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    command = [uv, *COMPILE, "--output-file", output, *arguments]
    subprocess.run(command, cwd=ROOT, input="\n".join(backend), text=True, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
