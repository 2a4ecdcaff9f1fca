"""How commands run: with the database open, until a signal, or as one run of a stage."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

from headwater.cli.output import err, print_error, progress
from headwater.cli.terminal import load_quietly, run
from headwater.errors import HostBusy
from headwater.pipeline import make_poller, make_remover
from headwater.polling.types import PollReport
from headwater.polling.worker import Poller
from headwater.runtime import Runtime, open_runtime
from headwater.sources.types import Source

BUSY_AT_MOST_S = 120

P = ParamSpec("P")
T = TypeVar("T")


def in_runtime(work: Callable[[Runtime], Awaitable[T]]) -> T:
    settings = load_quietly()

    async def main() -> T:
        async with open_runtime(settings) as runtime:
            return await work(runtime)

    return run(main())


def with_runtime(command: Callable[Concatenate[Runtime, P], Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Make an async function whose first argument is the runtime a command; its other arguments are the options."""

    @wraps(command)
    def run_command(*args: P.args, **kwargs: P.kwargs) -> None:
        in_runtime(lambda runtime: command(runtime, *args, **kwargs))

    whole = signature(command)
    options = [option for name, option in whole.parameters.items() if name != "runtime"]
    run_command.__signature__ = whole.replace(parameters=options)  # pyright: ignore[reportAttributeAccessIssue]
    return run_command


@contextmanager
def stop_on_signals() -> Iterator[asyncio.Event]:
    """An event that SIGINT or SIGTERM sets; a second signal cancels the task."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None

    def on_signal() -> None:
        if stop.is_set():
            task.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@asynccontextmanager
async def watched_tasks(runtime: Runtime):  # noqa: ANN201
    """A task group; meanwhile an embedded database that dies is started again."""
    watch = asyncio.create_task(runtime.watch_database())
    try:
        async with asyncio.TaskGroup() as tasks:
            yield tasks
    finally:
        watch.cancel()


async def poll_now(runtime: Runtime, sources: Sequence[Source]) -> list[PollReport]:
    """Poll these sources at once, with a progress bar; feeds that another worker has claimed are left to it."""
    poller = make_poller(runtime.tools)
    slots = asyncio.Semaphore(poller.concurrency)
    with progress() as bar:
        task = bar.add_task("Polling", total=len(sources))

        async def poll(source: Source) -> PollReport | None:
            async with slots:
                report = await _poll_when_free(poller, source)
            bar.advance(task)
            return report

        async with asyncio.TaskGroup() as polls:
            running = [polls.create_task(poll(source)) for source in sources]
    for source, done in zip(sources, running, strict=True):
        if done.result() is None:
            print_error(f"{source.address} was not polled: its host stayed busy.")
    return [report for done in running if (report := done.result()) is not None]


async def remove_rows(runtime: Runtime) -> None:
    """Remove the rows of all deleted sources and users, since no worker may be running."""
    with err.status("Removing …") as status:
        await make_remover(runtime.tools).remove_all(lambda rows: status.update(f"Removing: {rows:,} rows"))


async def _poll_when_free(poller: Poller, source: Source) -> PollReport | None:
    """Wait while another worker polls the host, or its delay lasts."""
    with suppress(TimeoutError, HostBusy):  # HostBusy: it redirects to another host, and is polled when that is free
        async with asyncio.timeout(BUSY_AT_MOST_S):
            while (claimed := await poller.claim_one(source.id)) is None:  # noqa: ASYNC110  another process frees it
                await asyncio.sleep(0.25)
        return await poller.work(claimed)
    return None
