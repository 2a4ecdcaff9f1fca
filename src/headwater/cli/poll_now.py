"""Polling by hand: the same steps as the stage, at once, with a progress bar."""

import asyncio
from collections.abc import Sequence

from headwater.cli.terminal import complain, progress
from headwater.polling.types import PollReport
from headwater.polling.worker import Poller
from headwater.runtime import Runtime
from headwater.sources.types import Source


async def poll_now(runtime: Runtime, sources: Sequence[Source]) -> list[PollReport]:
    """Poll these sources, as many at a time as the stage would; those that another worker holds are left to it."""
    tools = runtime.tools
    poller = Poller(tools.database, tools.client, tools.clock, tools.polling)
    slots = asyncio.Semaphore(poller.concurrency)
    with progress() as bar:
        task = bar.add_task("Polling", total=len(sources))

        async def one(source: Source) -> PollReport | None:
            async with slots:
                claimed = await poller.claim_one(source.id)
                report = await poller.work(claimed) if claimed else None
            bar.advance(task)
            return report

        async with asyncio.TaskGroup() as polls:
            running = [polls.create_task(one(source)) for source in sources]
    for source, poll in zip(sources, running, strict=True):
        if poll.result() is None:
            complain(f"{source.feed_url} is being polled by another Headwater at this moment.")
    return [report for poll in running if (report := poll.result()) is not None]
