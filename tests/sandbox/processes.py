"""Looking at other processes, as `ps` does."""

import asyncio
import subprocess

from tests.headwater_process import PATIENCE_S


def is_running(pid: int) -> bool:
    """Whether a process lives; one that is only waiting to be collected does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] not in {"", "Z"}


async def ends(pid: int) -> bool:
    """Whether it is gone; a busy machine takes a while to end a process."""
    async with asyncio.timeout(PATIENCE_S):
        while is_running(pid):
            await asyncio.sleep(0.02)
    return True
