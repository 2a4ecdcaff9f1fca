"""The locks hold everywhere: versions and hashes of everything pyproject.toml names, and no address of this machine."""

import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = {"runtime": ROOT / "requirements.txt", "dev": ROOT / "requirements-dev.txt"}
PIN = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>[\w.+!-]+)(?P<marker> ; [\w .'<>=!()]+)?(?P<hashes>( --hash=\S+)*)"
)
HASH = re.compile(r" --hash=sha256:[0-9a-f]{64}")


def requirements(lock: Path) -> list[str]:
    """Give one line per requirement: continuations joined, comments dropped."""
    joined = re.sub(r" *\\\n *", " ", lock.read_text())
    return [line for line in joined.splitlines() if line and not line.startswith("#")]


def versions(lock: Path) -> dict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in requirements(lock):
        name, _, version = line.split(" ")[0].partition("==")
        found[name].add(version)
    return found


def names(dependencies: list[str]) -> set[str]:
    heads = (re.match(r"[\w.-]+", dependency) for dependency in dependencies)
    return {re.sub(r"[-_.]+", "-", head[0]).lower() for head in heads if head}


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_a_lock_holds_nothing_but_pinned_and_hashed_requirements(lock: Path):
    unpinned = [line for line in requirements(lock) if not PIN.fullmatch(line)]

    assert requirements(lock)
    assert unpinned == []


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
@pytest.mark.parametrize(
    "trace", ["://", "--index-url", "--extra-index-url", "--find-links", "file:", " @ ", "/", "-e "]
)
def test_a_lock_names_no_index_and_no_path(lock: Path, trace: str):
    assert trace not in lock.read_text()


def test_the_dev_lock_holds_the_runtime_lock_in_the_same_versions():
    runtime, dev = versions(LOCKS["runtime"]), versions(LOCKS["dev"])

    assert {name: dev.get(name) for name in runtime} == runtime


def test_the_runtime_lock_holds_every_dependency_and_the_build_backend():
    named = names(PYPROJECT["project"]["dependencies"] + PYPROJECT["build-system"]["requires"])

    assert named - versions(LOCKS["runtime"]).keys() == set()


def test_the_dev_lock_holds_the_dev_group():
    assert names(PYPROJECT["dependency-groups"]["dev"]) - versions(LOCKS["dev"]).keys() == set()
