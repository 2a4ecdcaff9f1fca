"""A .venv is made once, found again, rebuilt when it cannot be used, and repaired after an interruption."""

import fcntl
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import environment
from scripts.environment import Stamp

SCRIPTS = Path(environment.__file__).parent
LOCK = """\
# made by a test
alpha==1.0 \\
    --hash=sha256:00
beta-two==2.0 ; python_full_version < '3.14' \\
    --hash=sha256:00
colorama==0.4 ; sys_platform == 'win32' \\
    --hash=sha256:00
"""
ENTER = """\
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from environment import exclusive
with exclusive(Path(sys.argv[2])):
    print("in", flush=True)
"""
PLAY_OLD_PYTHON = """\
import runpy, sys
sys.version_info = (3, 9, 2)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0])
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Lay out what the preparation reads, in a path with a space."""
    root = tmp_path / "a checkout"
    (root / "src/headwater").mkdir(parents=True)
    (root / "src/headwater/__init__.py").write_text('__version__ = "1.0"\n')
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\n[project]\nname = "x"\n[tool.hatch]\nz = 1\n[tool.x]\ny = 1\n'
    )
    (root / "requirements.txt").write_text(LOCK)
    (root / "requirements-dev.txt").write_text(LOCK + "gamma==3.0 \\\n    --hash=sha256:00\n")
    return root


@pytest.fixture
def venv(checkout: Path) -> Path:
    """Make a virtual environment without pip, stamped as complete."""
    path = checkout / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", path], check=True)
    empty = Stamp(home=str(path), python=environment.current_python())
    environment.write_stamp(path, environment.wanted_stamp(checkout, empty, dev=True))
    return path


def install(site_packages: Path, name: str, version: str) -> Path:
    """Lay down a package as pip does."""
    info = site_packages / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (site_packages / f"{name}.py").write_text("x = 1\n")
    (info / "INSTALLER").write_text("pip\n")
    (info / "RECORD").write_text(
        f"{name}.py,sha256=abc,6\n{name}.pyc,,\n{info.name}/INSTALLER,,4\n{info.name}/RECORD,,\n"
    )
    return info


def test_a_complete_environment_is_left_alone(checkout: Path, venv: Path):
    before = environment.read_stamp(venv)

    environment.prepare(checkout, dev=True, this_python=True)

    assert environment.read_stamp(venv) == before


def test_a_moved_environment_no_longer_fits(checkout: Path, venv: Path):
    stamp = environment.read_stamp(venv)
    moved = checkout.rename(checkout.with_name("elsewhere")) / ".venv"

    assert stamp is not None
    assert not environment.still_fits(stamp, moved, only=None)


def test_an_environment_whose_python_is_gone_no_longer_fits(venv: Path):
    stamp = environment.read_stamp(venv)
    (venv / "bin/python").unlink()

    assert stamp is not None
    assert not environment.still_fits(stamp, venv, only=None)


def test_an_environment_of_another_python_is_kept_unless_one_is_asked_for(venv: Path):
    stamp = environment.read_stamp(venv)

    assert stamp is not None
    assert environment.still_fits(stamp, venv, only=None)
    assert environment.still_fits(stamp, venv, only=stamp.python)
    assert not environment.still_fits(stamp, venv, only="cpython-399 linux x86_64")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"home": "x"}', '{"home": "x", "python": "y", "other": "z"}'])
def test_a_stamp_that_cannot_be_read_counts_as_none(tmp_path: Path, content: str):
    environment.stamp_path(tmp_path).write_text(content)

    assert environment.read_stamp(tmp_path) is None


def test_the_project_is_installed_again_only_when_its_metadata_changes(checkout: Path):
    before = environment.project_metadata(checkout)
    pyproject = checkout / "pyproject.toml"

    pyproject.write_text(pyproject.read_text().replace("y = 1", "y = 2"))
    after_tool = environment.project_metadata(checkout)
    pyproject.write_text(pyproject.read_text().replace("z = 1", "z = 2"))
    after_layout = environment.project_metadata(checkout)
    (checkout / "src/headwater/__init__.py").write_text('__version__ = "1.1"\n')
    after_version = environment.project_metadata(checkout)

    assert after_tool == before
    assert len({before, after_layout, after_version}) == 3


def test_an_interrupted_dev_install_leaves_the_runtime_usable():
    stamp = Stamp(home="h", python="p", runtime="r1", dev="d1", project="x")

    assert environment.without_difference(stamp, replace(stamp, dev="d2")) == replace(stamp, dev="")
    assert environment.without_difference(stamp, replace(stamp, runtime="r2")) == replace(stamp, runtime="")


def test_packages_are_counted_that_are_locked_and_not_installed(checkout: Path, tmp_path: Path):
    install(tmp_path / "site", "alpha", "1.0")
    install(tmp_path / "site", "Beta_Two", "1.9")

    pins = environment.locked(checkout / "requirements-dev.txt")
    missing = environment.missing(pins, environment.installed(tmp_path / "site"))

    assert missing == {"beta-two", "gamma"}


def test_two_pins_of_one_package_count_once():
    pins = {("soup", "2.0"), ("soup", "4.0")}

    assert environment.missing(pins, {("soup", "2.0")}) == set()
    assert environment.missing(pins, set()) == {"soup"}


@pytest.mark.parametrize("lost", ["half.py", "half-1.0.dist-info/INSTALLER", "half-1.0.dist-info/RECORD"])
def test_incomplete_packages_are_deleted_and_complete_ones_kept(tmp_path: Path, lost: str):
    whole = install(tmp_path, "whole", "1.0")
    half = install(tmp_path, "half", "1.0")
    (tmp_path / "~lf").mkdir()
    (tmp_path / lost).unlink()

    environment.delete_incomplete(tmp_path)

    assert whole.exists()
    assert not half.exists()
    assert not (tmp_path / "~lf").exists()


def test_a_truncated_file_makes_its_package_half_installed(tmp_path: Path):
    info = install(tmp_path, "half", "1.0")
    (tmp_path / "half.py").write_text("x")

    assert not environment.is_complete(info)


def test_a_second_process_waits_for_the_first(tmp_path: Path):
    path = tmp_path / "cache" / "venv.lock"

    with environment.exclusive(path):
        other = subprocess.Popen([sys.executable, "-c", ENTER, SCRIPTS, path], stdout=subprocess.PIPE, text=True)
        assert other.stdout is not None
        waiting = other.stdout.readline()
        time.sleep(0.1)
        assert other.poll() is None
    entered, _ = other.communicate(timeout=300)

    assert "waiting" in waiting
    assert entered == "in\n"


def test_a_child_that_outlives_us_keeps_the_lock(tmp_path: Path):
    path = tmp_path / "cache" / "venv.lock"
    with environment.exclusive(path) as lock:
        child = subprocess.Popen(["sleep", "60"], pass_fds=[lock])

    try:
        again = os.open(path, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(again)
    finally:
        child.kill()
        child.wait()


def test_a_failed_command_shows_its_whole_output(tmp_path: Path):
    with (
        environment.exclusive(tmp_path / "cache" / "venv.lock") as lock,
        pytest.raises(environment.PreparationError, match="out\nerr\n"),
    ):
        environment.run(["sh", "-c", "echo out; echo err >&2; exit 3"], lock)


def test_a_python_without_ensurepip_is_told_the_package_to_install():
    message = environment.missing_module("ensurepip")

    assert f"apt-get install python3.{sys.version_info.minor}-venv" in message
    assert "PYTHON=" in message


def run_venv_with_old_python(path: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run venv.py under another version number, with nothing on PATH but what the test put there."""
    command = [sys.executable, "-c", PLAY_OLD_PYTHON, SCRIPTS / "venv.py", "--dev"]
    return subprocess.run(command, env=environ | {"PATH": str(path)}, capture_output=True, text=True, check=False)


def test_a_python_that_is_too_old_says_so_and_how_to_name_another(tmp_path: Path):
    done = run_venv_with_old_python(tmp_path)

    assert done.returncode == 1
    assert "needs Python 3.11 or newer; this is Python 3.9" in done.stderr
    assert "make up PYTHON=python3.12" in done.stderr


def test_a_python_that_is_too_old_looks_for_another_unless_it_was_named(tmp_path: Path):
    broken, good = tmp_path / "python3.13", tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\necho no such version; exit 127\n")
    good.write_text('#!/bin/sh\ncase "$1" in -c) exit 0;; *) echo "chosen for $2";; esac\n')
    for program in (broken, good):
        program.chmod(0o755)

    unnamed = run_venv_with_old_python(tmp_path)
    named = run_venv_with_old_python(tmp_path, PYTHON="python3.9")

    assert (unnamed.returncode, unnamed.stdout) == (0, "chosen for --dev\n")
    assert (named.returncode, named.stdout) == (1, "")
