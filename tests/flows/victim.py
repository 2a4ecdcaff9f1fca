"""One piece of work in a process of its own, to be killed: OPERATION CONNINFO [ARGUMENT]…"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from headwater.accounts.quotas import Quotas
from headwater.ai.types import AiOptions
from headwater.db import Database
from headwater.ids import new_id
from headwater.library.digests.worker import DigestWriter
from headwater.library.notifications.worker import Notifier
from headwater.library.rules.worker import RuleApplier
from headwater.library.summaries.types import SummaryOptions
from headwater.library.summaries.writer import SummaryWriter
from headwater.net import Client
from headwater.retention.types import RetentionTurn
from headwater.retention.worker import Retainer
from headwater.sandbox import Sandbox
from headwater.sources.opml_import import Importer
from headwater.types import UserId
from headwater.understanding.types import ClassifyingOptions
from headwater.understanding.worker import Classifier
from tests.clock import MovableClock
from tests.retention.world import OPTIONS

WAIT = timedelta(seconds=30)
CLASSIFYING = ClassifyingOptions(concurrency=1, lease=timedelta(minutes=5), batch=10)
PRELOAD = ("headwater.understanding.loaded",)


async def retain(database: Database, now: str) -> None:
    """One run of retention, which tries for as long as it takes."""
    clock = MovableClock(datetime.fromisoformat(now))
    retainer = Retainer(database, clock, replace(OPTIONS, tries=100_000))
    await retainer.run(RetentionTurn(new_id(), clock() + timedelta(minutes=10)))


async def summarise(database: Database, user_id: str, url: str = "") -> None:
    """A summary, by the model at this address or on this machine."""
    options = SummaryOptions(AiOptions(api_key="key", base_url=url)) if url else SummaryOptions()
    await SummaryWriter(database, MovableClock(), options).make(UserId(UUID(user_id)))


async def begin_import(database: Database, user_id: str, file: str) -> None:
    """An OPML file that was uploaded."""
    await Importer(database, MovableClock()).begin(UserId(UUID(user_id)), "feeds.opml", file.encode())


async def work_on_import(database: Database, user_id: str, import_id: str) -> None:
    """The lines of an OPML file, one after another."""
    await Importer(database, MovableClock()).work(UserId(UUID(user_id)), UUID(import_id))


async def classify(database: Database, now: str) -> None:
    """All articles that are due, in one batch."""
    async with Sandbox(processes=1, time_limit=WAIT, memory_limit=1_000_000_000, preload=PRELOAD) as sandbox:
        classifier = Classifier(database, sandbox, MovableClock(datetime.fromisoformat(now)), CLASSIFYING)
        for batch in await classifier.claim(1):
            await classifier.work(batch)


async def apply_rules(database: Database) -> None:
    """One batch of revisions."""
    applier = RuleApplier(database, MovableClock(), Quotas())
    for turn in await applier.claim(1):
        await applier.work(turn)


async def notify(database: Database, now: str) -> None:
    """What waits at each target."""
    async with Client(user_agent="Headwater", allow_loopback=True) as client:
        clock = MovableClock(datetime.fromisoformat(now))
        notifier = Notifier(database, client, clock, site="https://reader.example")
        for target in await notifier.claim(10):
            await notifier.work(target)


async def write_digests(database: Database, now: str) -> None:
    """Emails with unread articles that are due."""
    clock = MovableClock(datetime.fromisoformat(now))
    writer = DigestWriter(database, clock, site="https://reader.example", has_mail_server=True)
    for due in await writer.claim(10):
        await writer.work(due)


OPERATIONS: dict[str, Callable[..., Awaitable[None]]] = {
    one.__name__: one
    for one in (retain, summarise, begin_import, work_on_import, classify, apply_rules, notify, write_digests)
}


async def main(operation: str, conninfo: str, *arguments: str) -> None:
    async with Database(conninfo, pool_size=2, wait=WAIT) as database:
        await OPERATIONS[operation](database, *arguments)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
