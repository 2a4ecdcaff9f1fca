"""The stages in order: the one page that shows the flow.

    sources ─▶ polling ─▶ articles
       ▲          │
       ├─ moving ◀┤    a feed that moved for good
       └ searching ◀┘  a feed that is none any more

Each stage claims rows that are due for it, works outside any transaction, and writes its outcome in one short
transaction. The database is the only hand-off, so any stage runs in any number of processes on any number of machines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from headwater.db import Database
from headwater.net import Client
from headwater.polling.types import PollingOptions
from headwater.polling.worker import Poller
from headwater.sandbox import Sandbox
from headwater.sources.mover import Mover
from headwater.sources.searcher import Searcher
from headwater.types import Clock

Item = TypeVar("Item")


class Stage(Protocol[Item]):
    """What every stage can do; `workers.py` runs the loop around it."""

    name: str
    concurrency: int

    async def claim(self, limit: int, /) -> Sequence[Item]:
        """Up to `limit` pieces of due work, held until their lease ends."""
        ...

    async def work(self, item: Item, /) -> object:
        """Do one piece and write its outcome, whatever happens."""
        ...

    async def lag(self) -> timedelta:
        """How long the oldest due piece has been waiting."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """What the stages work with; made by the composition root."""

    database: Database
    client: Client
    sandbox: Sandbox
    clock: Clock
    polling: PollingOptions


def make_poller(tools: Tools) -> Poller:
    """The polling stage."""
    return Poller(tools.database, tools.client, tools.sandbox, tools.clock, tools.polling)


def make_mover(tools: Tools) -> Mover:
    """The moving stage."""
    return Mover(tools.database)


def make_searcher(tools: Tools) -> Searcher:
    """The searching stage."""
    return Searcher(tools.database, tools.client, tools.sandbox, tools.clock, max_bytes=tools.polling.max_bytes)


STAGES: Mapping[str, Callable[[Tools], Stage[Any]]] = {
    "polling": make_poller,
    "moving": make_mover,
    "searching": make_searcher,
}
