"""Stage loops: fill the slots of a stage, wait while there is no work or no database, drain on stop."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol, runtime_checkable

from headwater.errors import DatabaseUnavailable, HostBusy, Unavailable
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.pipeline import STAGES, Stage, Tools

log = get_logger()

IDLE_S = 1.0  # unless the stage has a check_interval
BUSY_S = 0.1  # while work is in progress: more is due when it ends, such as the next feed of its host
SOON_S = 0.02  # after a claim that filled some of the free slots
LAG_EVERY_S = 1.0
GATHER_S = 0.01  # wait for more free slots: a claim of many costs as little as a claim of one
STARTED_AT_ONCE = 5  # then these run: 500 tasks in lockstep would all wait, then all be busy
BACKOFF_MAX_S = 15.0


async def run_stages(tools: Tools, names: Sequence[str], stop: asyncio.Event, drain: timedelta) -> None:
    """Run these stages until `stop` is set and their work in progress is done, or `drain` has passed."""
    async with asyncio.TaskGroup() as loops:
        for name in names:
            loops.create_task(_StageLoop(STAGES[name](tools), stop, drain).run(), name=name)


@runtime_checkable
class Drains(Protocol):
    """A stage whose work takes long, and can end early."""

    def drain(self) -> None:
        """No more is claimed: end early what can be."""
        ...


@runtime_checkable
class ChecksAtIntervals(Protocol):
    """A stage with a longest wait between two claims while there is no work."""

    @property
    def check_interval(self) -> timedelta: ...


@runtime_checkable
class Closes(Protocol):
    """A stage that keeps connections."""

    async def close(self) -> None: ...


class _StageLoop:
    """One stage: claims as much work as it has free slots, and runs each item in its own task."""

    def __init__(self, stage: Stage[Any], stop: asyncio.Event, drain: timedelta) -> None:
        self._stage, self._stop, self._drain = stage, stop, drain
        self._running: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._wait = SOON_S
        self._idle_s = stage.check_interval.total_seconds() if isinstance(stage, ChecksAtIntervals) else IDLE_S
        self._failures = 0
        self._measured_at = 0.0
        self._count_running = metrics.STAGE_RUNNING.labels(stage=stage.name)

    async def run(self) -> None:
        log.info("stage started", stage=self._stage.name, concurrency=self._stage.concurrency)
        stopping = asyncio.create_task(self._stop.wait())
        stopping.add_done_callback(lambda _: self._wake.set())
        try:
            while not self._stop.is_set():
                await self._pause(await self._turn())
            await self._finish()
        finally:
            for task in (stopping, *self._running):
                task.cancel()
            if isinstance(self._stage, Closes):
                await self._stage.close()
        log.info("stage stopped", stage=self._stage.name)

    async def _turn(self) -> float:
        """Claim and start what there is. Returns how long to wait before the next turn."""
        free = self._stage.concurrency - len(self._running)
        items: Sequence[object] = ()
        try:
            if free:
                items = await self._stage.claim(free)
                await self._start(items)
            await self._measure_lag()
        except Unavailable as error:
            return self._back_off(error)
        except Exception:  # a bug in one stage must not end the others
            metrics.STAGE_FAILURES.labels(stage=self._stage.name, cause="bug").inc()
            log.exception("stage claim failed", stage=self._stage.name)
            return BACKOFF_MAX_S
        if free == 0:
            return LAG_EVERY_S
        if len(items) == free:
            return 0
        self._wait = SOON_S if items else min(2 * self._wait, BUSY_S if self._running else self._idle_s)
        return self._wait

    async def _start(self, items: Sequence[object]) -> None:
        for started, item in enumerate(items, 1):
            task = asyncio.create_task(self._work(item))
            self._running.add(task)
            task.add_done_callback(self._ended)
            if started % STARTED_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if len(self._running) == self._stage.concurrency:
            self._wake.set()
        self._running.discard(task)

    async def _work(self, item: object) -> None:
        self._count_running.inc()
        try:
            await self._stage.work(item)
        except HostBusy as busy:
            log.debug("work postponed", stage=self._stage.name, host=busy.host, until=str(busy.until))
        except Unavailable as error:
            # The outcome could not be written: the lease expires, and the work is done again. One outage fails hundreds
            # of these within a second, so only the outage itself is logged as an error.
            metrics.STAGE_FAILURES.labels(stage=self._stage.name, cause="database").inc()
            log.debug("outcome not written", stage=self._stage.name, error=str(error))
        except Exception:  # a bug in one item must not stop the stage
            metrics.STAGE_FAILURES.labels(stage=self._stage.name, cause="bug").inc()
            log.exception("stage work failed", stage=self._stage.name)
        finally:
            self._count_running.dec()

    async def _measure_lag(self) -> None:
        """Once a second, also while all slots are busy: then work waits longest."""
        if not self._failures and time.monotonic() - self._measured_at < LAG_EVERY_S:
            return
        lag = await self._stage.lag()
        if self._failures:
            log.debug("stage continues", stage=self._stage.name, failures=self._failures)
        self._failures, self._measured_at = 0, time.monotonic()
        metrics.STAGE_LAG.labels(stage=self._stage.name).set(lag.total_seconds())
        metrics.STAGE_LAST_SUCCESS.labels(stage=self._stage.name).set(time.time())

    def _back_off(self, error: Unavailable) -> float:
        self._failures += 1
        metrics.STAGE_FAILURES.labels(stage=self._stage.name, cause="database").inc()
        wait = min(BACKOFF_MAX_S, 0.25 * 2**self._failures) * random.uniform(0.5, 1)  # noqa: S311  jitter, no secret
        if self._failures == 1 and not isinstance(error, DatabaseUnavailable):  # that is logged once for all stages
            log.error("stage waits", stage=self._stage.name, error=str(error), next_try_s=round(wait, 1))
        return wait

    async def _pause(self, seconds: float) -> None:
        """Wait, at most until a stop or a free slot."""
        full = len(self._running) == self._stage.concurrency
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()
        if full:
            await asyncio.sleep(GATHER_S)

    async def _finish(self) -> None:
        if isinstance(self._stage, Drains):
            self._stage.drain()
        if not self._running:
            return
        log.info("stage draining", stage=self._stage.name, running=len(self._running))
        with suppress(TimeoutError):
            async with asyncio.timeout(self._drain.total_seconds()):
                await asyncio.wait(self._running)
        if self._running:
            log.warning("stage stopped with work in progress", stage=self._stage.name, running=len(self._running))
