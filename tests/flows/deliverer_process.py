"""The delivering stage in a process of its own, forked from one that has all imported: several start at once."""

import multiprocessing
from datetime import timedelta
from multiprocessing.process import BaseProcess
from typing import Any, cast

import uvloop

from headwater import workers
from headwater.cli.running import stop_on_signals
from headwater.db import Database
from headwater.net import Client
from headwater.observability.log import configure_log
from headwater.pipeline import Tools
from headwater.publishing.delivery.types import DeliveringOptions
from headwater.publishing.delivery.worker import Deliverer
from headwater.runtime import utc_now

DRAIN = timedelta(seconds=10)


def start_deliverer(conninfo: str, options: DeliveringOptions) -> BaseProcess:
    """A worker on this database; SIGTERM drains it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_run, args=(conninfo, options), daemon=True)
    process.start()
    return process


def _run(conninfo: str, options: DeliveringOptions) -> None:
    configure_log("error", "json")
    uvloop.run(_deliver(conninfo, options))


async def _deliver(conninfo: str, options: DeliveringOptions) -> None:
    with stop_on_signals() as stop:
        async with (
            Database(conninfo, pool_size=4, wait=timedelta(seconds=1)) as database,
            Client(user_agent="headwater", allow_loopback=True) as client,
        ):
            deliverer = Deliverer(database, client, utc_now, options)
            cast("Any", workers).STAGES = {deliverer.name: lambda _tools: deliverer}
            await workers.run_stages(cast("Tools", None), [deliverer.name], stop, DRAIN)
