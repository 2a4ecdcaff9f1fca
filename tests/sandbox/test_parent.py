"""Parent and child: only a socket is inherited, the parent handles Ctrl-C, no process is left running."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.sandbox import Sandbox, SandboxError
from tests.sandbox import work
from tests.sandbox.conftest import new_sandbox
from tests.sandbox.processes import ends

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def program(what: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.sandbox.parent", what]
    return subprocess.Popen(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def next_line(parent: subprocess.Popen[str]) -> str:
    assert parent.stdout
    return parent.stdout.readline().strip()


async def test_children_die_with_a_parent_that_is_killed_whatever_they_do() -> None:
    with program("busy") as parent:
        children = [int(pid) for pid in next_line(parent).split()]
        parent.kill()

    assert len(set(children)) == 2
    for pid in children:
        assert await ends(pid)


def test_ctrl_c_and_a_service_stop_leave_children_to_the_parent_that_drains() -> None:
    with program("stopped") as parent:
        for moment in ("starting", "working"):
            assert next_line(parent) == moment
            for number in (signal.SIGINT, signal.SIGTERM):
                os.killpg(parent.pid, number)
            assert next_line(parent) == str(parent.pid)

    assert parent.returncode == 0


async def test_a_child_inherits_no_socket_but_its_own() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.set_inheritable(True)
        async with new_sandbox() as sandbox:
            assert len(await sandbox.run(work.open_sockets)) == 1


async def test_a_child_sees_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://someone:secret@example.com/")
    async with new_sandbox() as sandbox:
        assert await sandbox.run(os.getenv, "DATABASE_URL") is None


async def test_a_child_imports_nothing_heavy_that_was_not_asked_for(single: Sandbox) -> None:
    for module in ("asyncio", "headwater.sandbox.pool", "pytest", "lxml"):
        assert not await single.run(work.has_imported, module)


async def test_a_preload_that_cannot_be_imported_is_raised_to_the_caller() -> None:
    async with new_sandbox(preload=["headwater.nowhere"]) as sandbox:
        with pytest.raises(SandboxError, match=r"did not start.*headwater\.nowhere"):
            await sandbox.run(abs, -1)


def test_the_program_around_it_is_not_run_again_and_its_own_functions_are_refused(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio, datetime\n"
        "from headwater.sandbox import Sandbox\n"
        "print('side effect')\n"
        "def own(): pass\n"
        "async def main():\n"
        "    limit = datetime.timedelta(seconds=9)\n"
        "    async with Sandbox(processes=1, time_limit=limit, memory_limit=10**9) as sandbox:\n"
        "        print(await sandbox.run(abs, -1))\n"
        "        await sandbox.run(own)\n"
        "asyncio.run(main())\n"
    )

    ran = subprocess.run([sys.executable, script], env=ENVIRONMENT, capture_output=True, text=True, check=False)

    assert ran.stdout == "side effect\n1\n"
    assert "move it into a module" in ran.stderr
