"""The fetching stage in a process of its own, forked from one that has all imported: ten of them start at once."""

import multiprocessing
from datetime import timedelta
from multiprocessing.process import BaseProcess
from typing import Any, cast

import uvloop

from headwater import workers
from headwater.cli.running import stop_on_signals
from headwater.db import Database
from headwater.fetching.types import FetchingOptions
from headwater.fetching.worker import Fetcher
from headwater.frontier.types import FrontierOptions
from headwater.net import Client
from headwater.observability.log import configure_log
from headwater.pipeline import Tools
from headwater.runtime import utc_now
from headwater_lab.zoo import DOMAIN

DRAIN = timedelta(seconds=10)


def start_fetcher(name: str, conninfo: str, options: FetchingOptions, frontier: FrontierOptions) -> BaseProcess:
    """A fetcher on this database, with its name for a User-Agent; SIGTERM drains it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_run, args=(name, conninfo, options, frontier), name=name, daemon=True)
    process.start()
    return process


def _run(name: str, conninfo: str, options: FetchingOptions, frontier: FrontierOptions) -> None:
    configure_log("warning", "json")
    uvloop.run(_fetch(name, conninfo, options, frontier))


async def _fetch(name: str, conninfo: str, options: FetchingOptions, frontier: FrontierOptions) -> None:
    client = Client(user_agent=name, allow_loopback=True, resolve={DOMAIN: "127.0.0.1"})
    with stop_on_signals() as stop:
        async with Database(conninfo, pool_size=3, wait=timedelta(seconds=1)) as database, client:
            fetcher = Fetcher(database, client, utc_now, options, frontier)
            cast("Any", workers).STAGES = {fetcher.name: lambda _tools: fetcher}
            await workers.run_stages(cast("Tools", None), [fetcher.name], stop, DRAIN)
