"""The wheel as a new user installs it: `pip install`, no lock file, the newest of everything."""

import ast
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from hatchling import build

from tests.headwater_process import Headwater, Running, wait_for

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# What a package is called in the index, where it differs from the name that is imported.
NAMES = {
    "PIL": "pillow",
    "nats": "nats-py",
    "argon2": "argon2-cffi",
    "backports": "backports.zstd",
    "can_ada": "can-ada",
    "markdown_it": "markdown-it-py",
    "prometheus_client": "prometheus-client",
    "psycopg_pool": "psycopg",
    "vaderSentiment": "vadersentiment",
}
A_MINUTE = 60.0


def install_newest(folder: Path) -> str:
    """Build the wheel and install it into an environment of its own. Returns that environment's Python."""
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        wheel = folder / build.build_wheel(str(folder))
    finally:
        os.chdir(before)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", wheel]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return str(python)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_wheel_with_the_newest_of_everything_runs_the_demo_for_a_minute(open_folder: Path):
    headwater = Headwater(open_folder, python=install_newest(open_folder))

    assert "Usage" in headwater.run("--help").stdout
    with headwater.start("demo") as demo:
        started = time.monotonic()
        for path in ("/healthz", "/readyz", "/auth/login", "/vendor/htmx.min.js"):
            assert demo.get(path)[0] == 200, path
        wait_for(lambda: total(demo, "headwater_new_articles_total") > 0, demo)
        wait_for(lambda: total(demo, "headwater_fetched_bytes_total") > 0, demo)
        wait_for(lambda: time.monotonic() - started > A_MINUTE, demo)
        assert demo.get("/readyz")[0] == 200
        assert re.findall(r"^headwater_stage_failures_total{.*$", demo.get("/metrics")[1], re.MULTILINE) == []
        assert "Traceback" not in demo.output
        assert demo.stop() == 0


def test_the_wheel_declares_every_package_that_the_source_imports():
    declared = {re.split(r"[ \[;>=<]", line)[0].lower() for line in PYPROJECT["project"]["dependencies"]}

    undeclared = {name: NAMES.get(name, name) for name in imported() if NAMES.get(name, name) not in declared}

    assert undeclared == {}


def imported() -> set[str]:
    """The top-level packages that src/ and lab/ import and Python itself does not bring."""
    names: set[str] = set()
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "lab").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    ours = {"headwater", "headwater_lab"}
    return names - set(sys.stdlib_module_names) - ours - {"compression"}  # `compression` is of Python 3.14


def total(demo: Running, metric: str) -> float:
    """The sum of a metric over its labels, as the server reports it."""
    return sum(map(float, re.findall(rf"^{metric}(?:{{.*}})? (\S+)$", demo.get("/metrics")[1], re.MULTILINE)))
