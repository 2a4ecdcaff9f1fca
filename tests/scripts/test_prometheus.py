"""Prometheus and Alertmanager for the tests: found where they are, fetched where that is possible, never a failure."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import prometheus

pytestmark = pytest.mark.soak  # as is what it tests

ROOT = Path(prometheus.__file__).parent.parent


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on its PATH and nothing fetched."""
    monkeypatch.setattr(prometheus, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def put(folder: Path, name: str, says: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)


def everything(folder: Path, version: str = "2.42.0+ds") -> None:
    put(folder, "prometheus", f"prometheus, version {version} (branch: x, revision: y)")
    for name in ("alertmanager", "promtool", "amtool"):
        put(folder, name, f"{name}, version 0.25.0")


def test_without_apt_it_says_what_is_left_out(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = prometheus.main()

    assert code == 0
    assert set(prometheus.missing()) == set(prometheus.NAMES)
    assert "SKIPPED: the alert rules on real Prometheus" in capsys.readouterr().err


def test_with_apt_that_has_none_it_says_what_is_left_out(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("apt-get", "dpkg"):
        put(elsewhere / "bin", name, "E: nothing here")

    assert prometheus.main() == 0
    assert "SKIPPED" in capsys.readouterr().err


def test_those_on_the_path_are_taken(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    everything(elsewhere / "bin")

    assert prometheus.missing() == []
    assert prometheus.command("alertmanager") == [str(elsewhere / "bin" / "alertmanager")]
    assert prometheus.main() == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("version", "is_enough"), [("2.42.0+ds", True), ("3.5.0", True), ("2.41.0", False), ("1.0", False), ("", False)]
)
def test_one_that_does_not_understand_the_rules_is_none(elsewhere: Path, version: str, is_enough: bool) -> None:
    everything(elsewhere / "bin", version)

    assert prometheus.missing() == ([] if is_enough else ["prometheus"])


def test_it_runs_as_make_runs_it() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/prometheus.py"], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )

    assert done.returncode == 0
    assert done.stderr == "" or "SKIPPED" in done.stderr or "Fetching" in done.stderr
