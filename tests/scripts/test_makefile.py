"""make without a target says what there is."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed here")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_make_lists_every_target():
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    listed = re.findall(r"^  make (\S+)", make().stdout, re.MULTILINE)

    assert phony
    assert set(listed) == {*phony[1].split(), "bench-%"}


def test_a_python_that_is_not_there_is_named():
    done = make("up", "PYTHON=python9.9")

    assert done.returncode != 0
    assert "python9.9 was not found; name another: make up PYTHON=python3.12" in done.stderr


def test_a_benchmark_is_run_by_its_name():
    assert "exec .venv/bin/python benchmarks/frontier-claim.py" in make("-n", "bench-frontier-claim").stdout
