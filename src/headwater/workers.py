"""Stage loops: keep every slot of a stage busy, wait when there is nothing to do or no database, drain on stop."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from headwater.errors import Unavailable
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.pipeline import STAGES, Stage, Tools

log = get_logger()

IDLE_S = 1.0
BUSY_S = 0.1  # while some work is in hand: more comes due when it is done, as a host's next feed does
GATHER_S = 0.01  # a claim for many costs as little as a claim for one: wait a moment for more free slots
BACKOFF_MAX_S = 15.0


async def run_stages(tools: Tools, names: Sequence[str], stop: asyncio.Event, drain: timedelta) -> None:
    """Run these stages until `stop` is set and what they have in hand is done, or `drain` has passed."""
    async with asyncio.TaskGroup() as loops:
        for name in names:
            loops.create_task(_StageLoop(STAGES[name](tools), stop, drain).run(), name=name)


class _StageLoop:
    """One stage: claims as much as it has free slots, and works on each piece in a task of its own."""

    def __init__(self, stage: Stage[Any], stop: asyncio.Event, drain: timedelta) -> None:
        self._stage = stage
        self._stop = stop
        self._drain = drain
        self._running: set[asyncio.Task[None]] = set()
        self._failures = 0

    async def run(self) -> None:
        log.info("stage started", stage=self._stage.name, concurrency=self._stage.concurrency)
        try:
            while not self._stop.is_set():
                await self._pause(await self._turn())
            await self._finish()
        finally:
            for task in self._running:
                task.cancel()
        log.info("stage stopped", stage=self._stage.name)

    async def _turn(self) -> float:
        """Claim and start what there is. Returns how long to wait before the next turn."""
        free = self._stage.concurrency - len(self._running)
        if free == 0:
            return IDLE_S
        try:
            items = await self._stage.claim(free)
            lag = await self._stage.lag()
        except Unavailable as error:
            return self._back_off(error)
        self._succeed(lag)
        for item in items:
            task = asyncio.create_task(self._work(item))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        if len(items) == free:
            return 0
        return BUSY_S if self._running else IDLE_S

    async def _work(self, item: object) -> None:
        metrics.STAGE_RUNNING.labels(stage=self._stage.name).inc()
        try:
            await self._stage.work(item)
        except Unavailable as error:
            # The outcome could not be written: the lease ends by itself and the work is done again.
            metrics.STAGE_FAILURES.labels(stage=self._stage.name, cause="database").inc()
            log.warning("outcome not written", stage=self._stage.name, error=str(error))
        except Exception:  # a bug in one piece of work must not stop the stage
            metrics.STAGE_FAILURES.labels(stage=self._stage.name, cause="bug").inc()
            log.exception("stage work broke", stage=self._stage.name)
        finally:
            metrics.STAGE_RUNNING.labels(stage=self._stage.name).dec()

    def _succeed(self, lag: timedelta) -> None:
        if self._failures:
            log.info("database is back", stage=self._stage.name, failures=self._failures)
        self._failures = 0
        metrics.STAGE_LAG.labels(stage=self._stage.name).set(lag.total_seconds())
        metrics.STAGE_LAST_SUCCESS.labels(stage=self._stage.name).set(time.time())

    def _back_off(self, error: Unavailable) -> float:
        self._failures += 1
        metrics.STAGE_FAILURES.labels(stage=self._stage.name, cause="database").inc()
        wait = min(BACKOFF_MAX_S, 0.25 * 2**self._failures) * random.uniform(0.5, 1)  # noqa: S311  jitter, no secret
        if self._failures == 1:
            log.warning("stage waits for the database", stage=self._stage.name, error=str(error))
        return wait

    async def _pause(self, seconds: float) -> None:
        """Wait, but not beyond a stop or the end of a piece of work that frees a slot."""
        stopping = asyncio.create_task(self._stop.wait())
        full = len(self._running) == self._stage.concurrency
        try:
            await asyncio.wait(
                {stopping, *(self._running if full else ())}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            stopping.cancel()
        if full:
            await asyncio.sleep(GATHER_S)

    async def _finish(self) -> None:
        if not self._running:
            return
        log.info("stage drains", stage=self._stage.name, running=len(self._running))
        with suppress(TimeoutError):
            async with asyncio.timeout(self._drain.total_seconds()):
                await asyncio.wait(self._running)
        if self._running:
            log.warning("stage gives up work in hand", stage=self._stage.name, running=len(self._running))
