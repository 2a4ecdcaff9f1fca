"""Each import contract bites: break it once on purpose, in a copy, and see it named."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.soak  # `make check` keeps the contracts; this is whether it would see a breach

ROOT = Path(__file__).parent.parent

BREACHES = [
    ("net/client.py", "import headwater.sources.store", "Imports point down the tree"),
    ("polling/worker.py", "import headwater.sources.store", "Imports point down the tree"),
    ("utilities.py", "", "Imports point down the tree"),
    ("workers.py", "import headwater_lab.zoo", "Only commands use the lab"),
    ("web/routes/auth.py", "import psycopg", "Only stores and db/ speak SQL"),
    ("polling/worker.py", "import psycopg", "Only stores and db/ speak SQL"),
    ("polling/decide.py", "import time", "decide.py and types.py are pure"),
    ("polling/decide.py", "import random", "decide.py and types.py are pure"),
    ("polling/decide.py", "import headwater.net.client", "decide.py and types.py are pure"),
    ("articles/types.py", "import os", "decide.py and types.py are pure"),
    ("types.py", "import asyncio", "decide.py and types.py are pure"),
    ("net/client.py", "import headwater.settings", "Only the composition root reads settings"),
    ("web/routes/auth.py", "import headwater.settings", "Only the composition root reads settings"),
]


def broken_contracts(folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run(['--no-cache'])"],
        cwd=folder, env={**os.environ, "PYTHONPATH": f"{folder}/src:{folder}/lab"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert "Contracts" in done.stdout, done.stdout + done.stderr
    return re.findall(r"^(.+?) BROKEN", done.stdout, re.MULTILINE)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in ("src", "lab"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_no_contract_is_broken(copy: Path) -> None:
    assert broken_contracts(copy) == []


@pytest.mark.parametrize(("file", "line", "contract"), BREACHES, ids=lambda value: value if " " not in value else "")
def test_a_breach_is_caught(file: str, line: str, contract: str, copy: Path) -> None:
    with (copy / "src" / "headwater" / file).open("a") as module:
        module.write(f"\n{line}\n")

    assert any(name.startswith(contract) for name in broken_contracts(copy))


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("import os\nhome = os.environ['HOME']\n", "TID251"),
        ("from datetime import UTC, datetime\nnow = datetime.now(UTC)\n", "TID251"),
    ],
)
def test_the_environment_and_the_clock_are_read_in_one_place_only(line: str, rule: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--stdin-filename", "src/headwater/net/breach.py", "-"],
        cwd=ROOT, input=line, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert rule in done.stdout


def test_every_package_but_the_composition_root_is_kept_from_the_settings() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (kept_away,) = (set(found["source_modules"]) for found in contracts if "reads settings" in found["name"])
    paths = [path for path in (ROOT / "src/headwater").iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))]
    modules = {f"headwater.{path.stem}" for path in paths if not path.name.startswith("_")}

    assert modules - kept_away == {"headwater.runtime", "headwater.cli", "headwater.settings"}
