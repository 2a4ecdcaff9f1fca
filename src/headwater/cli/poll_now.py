"""Polling by hand: the same steps as the stage, at once, with a progress bar."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from headwater.cli.terminal import complain, progress
from headwater.errors import HostBusy
from headwater.pipeline import make_poller
from headwater.polling.types import ClaimedFeed, PollReport
from headwater.polling.worker import Poller
from headwater.runtime import Runtime
from headwater.sources.types import Source

BUSY_AT_MOST_S = 120


async def poll_now(runtime: Runtime, sources: Sequence[Source]) -> list[PollReport]:
    """Poll these sources, as many at a time as the stage would; those that another worker holds are left to it."""
    poller = make_poller(runtime.tools)
    slots = asyncio.Semaphore(poller.concurrency)
    with progress() as bar:
        task = bar.add_task("Polling", total=len(sources))

        async def one(source: Source) -> PollReport | None:
            async with slots:
                claimed = await _claim_when_free(poller, source)
                report = await _polled(poller, claimed) if claimed else None
            bar.advance(task)
            return report

        async with asyncio.TaskGroup() as polls:
            running = [polls.create_task(one(source)) for source in sources]
    for source, poll in zip(sources, running, strict=True):
        if poll.result() is None:
            complain(f"{source.address} was not polled: its host has been busy all the time.")
    return [report for poll in running if (report := poll.result()) is not None]


async def _polled(poller: Poller, claimed: ClaimedFeed) -> PollReport | None:
    with suppress(HostBusy):  # where it leads: it is polled when that host has time for it
        return await poller.work(claimed)


async def _claim_when_free(poller: Poller, source: Source) -> ClaimedFeed | None:
    """Wait while the host is polled by somebody else, or inside its delay."""
    with suppress(TimeoutError):
        async with asyncio.timeout(BUSY_AT_MOST_S):
            while (claimed := await poller.claim_one(source.id)) is None:  # noqa: ASYNC110  another process frees it
                await asyncio.sleep(0.25)
            return claimed
    return None
