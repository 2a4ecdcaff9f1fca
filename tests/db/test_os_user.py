import os
import pwd
from pathlib import Path

import pytest

from headwater.db.os_user import account_for_root, first_closed_folder, program

NOBODY = pwd.getpwnam("nobody")


def test_a_new_cluster_is_run_by_an_account_without_other_rights(tmp_path: Path) -> None:
    account = account_for_root(tmp_path / "none yet")

    assert account is not None
    assert account.pw_name in {"postgres", "nobody"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_cluster_is_run_by_its_owner(tmp_path: Path) -> None:
    os.chown(tmp_path, NOBODY.pw_uid, -1)

    account = account_for_root(tmp_path)

    assert account is not None
    assert account.pw_name == "nobody"


def test_a_closed_folder_on_the_way_is_found(open_folder: Path) -> None:
    inner = open_folder / "a" / "b"
    inner.mkdir(parents=True)
    reachable = first_closed_folder(inner / "file", NOBODY)
    (open_folder / "a").chmod(0o700)

    assert reachable is None
    assert first_closed_folder(inner / "file", NOBODY) == open_folder / "a"


def test_programs_that_the_account_cannot_reach_are_copied_to_where_it_can(
    open_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "closed" / "pginstall18" / "bin"
    installed.mkdir(parents=True)
    (installed / "postgres").write_text("the program")
    (tmp_path / "closed").chmod(0o700)
    monkeypatch.setattr("headwater.db.os_user._installed_programs", lambda: installed)

    ours = program("postgres", None, open_folder)
    theirs = program("postgres", NOBODY, open_folder)

    assert ours == str(installed / "postgres")
    assert Path(theirs).read_text() == "the program"
    assert Path(theirs).is_relative_to(open_folder)
