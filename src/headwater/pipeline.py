"""The stages in order: the one page that shows the flow.

    sources ─▶ polling ─────────▶ frontier ─▶ fetching ─▶ bodies ─▶ extracting ─▶ content, articles ─▶ indexing
       ▲          │                   ▲                     ├────▶ sitemaps ─┐   sitemaps list URLs
       ├─ moving ◀┤                   │                     └────▶ spider ───┤   pages link to them
       └ rediscovery ◀┘               └──────────────────────────────────────┘

Beside the flow: counting, removing (rows of deleted sources and users), retaining, alerting, mailing, importing (OPML).

Each stage claims rows that are due for it, works outside any transaction, and writes its outcome in one short
transaction. The database is the only hand-off, so any stage runs in any number of processes on any number of machines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from headwater.accounts.mail.worker import MailSender
from headwater.accounts.quotas import Quotas
from headwater.accounts.types import AccountOptions
from headwater.alerts.types import AlertOptions
from headwater.alerts.worker import Alerter
from headwater.db import Database
from headwater.extraction.types import ExtractionOptions
from headwater.extraction.worker import Extractor
from headwater.fetching.types import FetchingOptions
from headwater.fetching.worker import Fetcher
from headwater.frontier.types import FrontierOptions
from headwater.hosts.outage import OutageDetector
from headwater.hosts.turns import Turns
from headwater.net import Client
from headwater.net.mail import Mailer
from headwater.polling.types import PollingOptions
from headwater.polling.worker import Poller
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.types import IndexOptions
from headwater.publishing.worker import Indexer
from headwater.removal.worker import Remover
from headwater.retention.types import RetentionOptions
from headwater.retention.worker import Retainer
from headwater.sandbox import Sandbox
from headwater.sitemaps.types import SitemapOptions
from headwater.sitemaps.worker import SitemapReader
from headwater.sources.custom.inspect import Inspector
from headwater.sources.health.counter import Counter
from headwater.sources.import_worker import ImportWorker
from headwater.sources.mover import Mover
from headwater.sources.rediscovery import RediscoveryWorker
from headwater.sources.trial import Trials
from headwater.spider.types import SpiderOptions
from headwater.spider.worker import Spider
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
class StageOptions:
    """How each stage works; from settings."""

    polling: PollingOptions
    frontier: FrontierOptions
    fetching: FetchingOptions
    extraction: ExtractionOptions
    sitemaps: SitemapOptions
    spider: SpiderOptions
    retention: RetentionOptions
    index: IndexOptions
    alerts: AlertOptions = field(default_factory=AlertOptions)
    quotas: Quotas = field(default_factory=Quotas)


@dataclass(frozen=True, slots=True)
class Tools:
    """What the stages work with; made by the composition root."""

    database: Database
    client: Client
    sandbox: Sandbox  # reads feeds
    page_sandbox: Sandbox  # reads pages and sitemaps, which takes longer
    clock: Clock
    options: StageOptions
    index: SearchIndex | None = None
    outage: OutageDetector = field(default_factory=OutageDetector)  # one network, one detector
    mailer: Mailer = field(default_factory=lambda: Mailer(None, "headwater@localhost"))


def make_turns(tools: Tools) -> Turns:
    """Turns at hosts for single requests, as far apart as those for pages."""
    options = tools.options
    return Turns(tools.database, tools.clock, delay=options.frontier.min_delay, lease=options.fetching.lease)


def make_poller(tools: Tools) -> Poller:
    """The polling stage."""
    return Poller(
        tools.database,
        tools.client,
        tools.sandbox,
        tools.clock,
        tools.options.polling,
        tools.options.frontier,
        outage=tools.outage,
    )


def make_mover(tools: Tools) -> Mover:
    """The moving stage."""
    return Mover(tools.database, tools.clock)


def make_rediscovery_worker(tools: Tools) -> RediscoveryWorker:
    """The rediscovery stage."""
    max_bytes = tools.options.polling.max_bytes
    turns = make_turns(tools)
    return RediscoveryWorker(tools.database, tools.client, tools.sandbox, tools.clock, turns, max_bytes=max_bytes)


def make_fetcher(tools: Tools) -> Fetcher:
    """The fetching stage."""
    options = tools.options
    return Fetcher(tools.database, tools.client, tools.clock, options.fetching, options.frontier, outage=tools.outage)


def make_extractor(tools: Tools) -> Extractor:
    """The extracting stage."""
    options = tools.options
    return Extractor(tools.database, tools.page_sandbox, tools.clock, options.extraction, options.frontier)


def make_sitemap_reader(tools: Tools) -> SitemapReader:
    """The sitemaps stage."""
    options = tools.options
    return SitemapReader(tools.database, tools.page_sandbox, tools.clock, options.sitemaps, options.frontier)


def make_spider(tools: Tools) -> Spider:
    """The spider stage."""
    options = tools.options
    return Spider(tools.database, tools.page_sandbox, tools.clock, options.spider, options.frontier)


def make_remover(tools: Tools) -> Remover:
    """The removing stage: what belonged to deleted sources and users."""
    return Remover(tools.database, tools.clock)


def make_retainer(tools: Tools) -> Retainer:
    """The retaining stage: what is past its time goes, once a day."""
    return Retainer(tools.database, tools.clock, tools.options.retention)


def make_counter(tools: Tools) -> Counter:
    """The counting stage."""
    return Counter(tools.database, tools.clock)


def make_indexer(tools: Tools) -> Indexer:
    """The indexing stage; `every_stage` leaves it out where there is no index."""
    assert tools.index is not None, "there is an index to tell"
    return Indexer(tools.database, tools.index, tools.clock, tools.options.index)


def make_alerter(tools: Tools) -> Alerter:
    """The alerting stage: it works on no flow, and watches over all of them."""
    return Alerter(tools.database, tools.mailer, tools.clock, tools.options.alerts)


def make_mail_sender(tools: Tools) -> MailSender:
    """The mailing stage: mail about accounts, queued by the pages and the command line."""
    return MailSender(tools.database, tools.mailer, tools.clock, link_lifetime=AccountOptions().mailed_lifetime)


def make_import_worker(tools: Tools) -> ImportWorker:
    """The importing stage: OPML files of readers."""
    return ImportWorker(tools.database, tools.clock, tools.options.quotas)


def make_trials(tools: Tools) -> Trials:
    """Requests that leave no trace, for a person who looks into a source."""
    options = tools.options
    return Trials(
        tools.database,
        tools.client,
        tools.sandbox,
        tools.page_sandbox,
        tools.clock,
        options.polling,
        options.fetching,
        make_turns(tools),
    )


def make_inspector(tools: Tools) -> Inspector:
    """What looks at feeds that readers suggest."""
    return Inspector(tools.client, tools.sandbox, make_turns(tools), max_bytes=tools.options.polling.max_bytes)


STAGES: Mapping[str, Callable[[Tools], Stage[Any]]] = {
    "polling": make_poller,
    "moving": make_mover,
    "rediscovery": make_rediscovery_worker,
    "fetching": make_fetcher,
    "extracting": make_extractor,
    "sitemaps": make_sitemap_reader,
    "spider": make_spider,
    "counting": make_counter,
    "removing": make_remover,
    "retaining": make_retainer,
    "indexing": make_indexer,
    "alerting": make_alerter,
    "mailing": make_mail_sender,
    "importing": make_import_worker,
}


def every_stage(tools: Tools) -> list[str]:
    """The names of all stages that have something to work with."""
    left_out = {"indexing"} if tools.index is None else set[str]()
    if not tools.options.polling.is_enabled:
        left_out.add("polling")
    return [name for name in STAGES if name not in left_out]
