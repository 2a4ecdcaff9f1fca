"""Looking at other processes, as `ps` does."""

import asyncio
import subprocess


def is_running(pid: int) -> bool:
    """Whether a process lives; one that is only waiting to be collected does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] not in {"", "Z"}


async def ends(pid: int, within: float = 3) -> bool:
    """Whether it is gone before long."""
    for _ in range(int(within * 50)):
        if not is_running(pid):
            return True
        await asyncio.sleep(0.02)
    return False
