"""The stages, in the order that docs/architecture.md draws.

Each stage claims rows that are due for it, works outside any transaction, and writes its outcome in one short
transaction. Only the database connects them: any stage runs in any number of processes on any number of machines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from headwater.accounts.mail.worker import MailSender
from headwater.accounts.quotas import Quotas
from headwater.accounts.types import AccountOptions
from headwater.ai.client import AiClient
from headwater.ai.types import AiOptions
from headwater.alerts.types import AlertOptions
from headwater.alerts.worker import Alerter
from headwater.db import Database
from headwater.extraction.types import ExtractionOptions
from headwater.extraction.worker import Extractor
from headwater.fetching.types import FetchingOptions
from headwater.fetching.worker import Fetcher
from headwater.frontier.types import FrontierOptions
from headwater.hosts.outage import OutageDetector
from headwater.hosts.robots_cache import PageRequests
from headwater.hosts.turns import Turns
from headwater.images.types import ImageOptions
from headwater.images.worker import ImageFetcher
from headwater.library.digests.worker import DigestWriter
from headwater.library.notifications.worker import Notifier
from headwater.library.rules.worker import RuleApplier
from headwater.net import Client
from headwater.net.mail import Mailer
from headwater.polling.types import PollingOptions
from headwater.polling.worker import Poller
from headwater.publishing.delivery.types import DeliveringOptions
from headwater.publishing.delivery.worker import Deliverer
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
from headwater.sources.mover import Mover
from headwater.sources.opml_import import ImportWorker
from headwater.sources.rediscovery import RediscoveryWorker
from headwater.sources.trial import Trials
from headwater.spider.types import SpiderOptions
from headwater.spider.worker import Spider
from headwater.stories.worker import StoryGrouper
from headwater.types import Clock
from headwater.understanding.tagging.types import TaggingOptions
from headwater.understanding.tagging.worker import Tagger
from headwater.understanding.types import ClassifyingOptions
from headwater.understanding.worker import Classifier

Item = TypeVar("Item")


class Stage(Protocol[Item]):
    """`workers.py` runs the loop around it."""

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
    polling: PollingOptions
    frontier: FrontierOptions
    fetching: FetchingOptions
    extraction: ExtractionOptions
    sitemaps: SitemapOptions
    spider: SpiderOptions
    classifying: ClassifyingOptions
    retention: RetentionOptions
    index: IndexOptions
    delivering: DeliveringOptions = field(default_factory=DeliveringOptions)
    alerts: AlertOptions = field(default_factory=AlertOptions)
    quotas: Quotas = field(default_factory=Quotas)
    ai: AiOptions = field(default_factory=AiOptions)
    tagging: TaggingOptions = field(default_factory=TaggingOptions)
    images: ImageOptions = field(default_factory=ImageOptions)


@dataclass(frozen=True, slots=True)
class Tools:
    """What the stages need; made by the composition root."""

    database: Database
    client: Client
    sandbox: Sandbox  # reads feeds
    page_sandbox: Sandbox  # reads pages and sitemaps, which takes longer
    text_sandbox: Sandbox  # reads texts of articles, with models in memory
    image_sandbox: Sandbox  # resizes images: no page waits for a hostile one
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
    options = tools.options
    return Poller(
        tools.database, tools.client, tools.sandbox, tools.clock, options.polling, options.frontier,
        outage=tools.outage,
    )  # fmt: skip


def _make_rediscovery_worker(tools: Tools) -> RediscoveryWorker:
    turns, options = make_turns(tools), tools.options
    limits = options.fetching
    pages = PageRequests(tools.client, turns, tools.clock, limits.robot, limits.crawl_delay_max)
    max_bytes = options.polling.max_bytes
    return RediscoveryWorker(tools.database, pages, tools.sandbox, tools.clock, turns, max_bytes=max_bytes)


def _make_fetcher(tools: Tools) -> Fetcher:
    options = tools.options
    return Fetcher(tools.database, tools.client, tools.clock, options.fetching, options.frontier, outage=tools.outage)


def _make_image_fetcher(tools: Tools) -> ImageFetcher:
    turns, options, limits = make_turns(tools), tools.options.images, tools.options.fetching
    pages = PageRequests(tools.client, turns, tools.clock, limits.robot, limits.crawl_delay_max)
    return ImageFetcher(tools.database, pages, turns, tools.image_sandbox, tools.clock, options, outage=tools.outage)


def make_remover(tools: Tools) -> Remover:
    return Remover(tools.database, tools.clock)


def make_retainer(tools: Tools) -> Retainer:
    return Retainer(tools.database, tools.clock, tools.options.retention)


def _make_deliverer(tools: Tools) -> Deliverer:
    options = tools.options
    indexer = Indexer(tools.database, tools.index, tools.clock, options.index) if tools.index is not None else None
    return Deliverer(tools.database, tools.client, tools.clock, options.delivering, indexer)


def _make_tagger(tools: Tools) -> Tagger:
    ai = AiClient(tools.database, tools.clock, tools.options.ai)
    return Tagger(tools.database, tools.clock, ai, tools.options.tagging)


def make_trials(tools: Tools) -> Trials:
    """Requests for an operator who tests a source; nothing is stored."""
    options = tools.options
    return Trials(
        tools.database, tools.client, tools.sandbox, tools.page_sandbox, tools.clock, options.polling,
        options.fetching, make_turns(tools),
    )  # fmt: skip


def make_inspector(tools: Tools) -> Inspector:
    limits = tools.options.fetching
    return Inspector(
        tools.client, tools.sandbox, make_turns(tools), max_bytes=tools.options.polling.max_bytes,
        robot=limits.robot, crawl_delay_max=limits.crawl_delay_max,
    )  # fmt: skip


STAGES: Mapping[str, Callable[[Tools], Stage[Any]]] = {
    "polling": make_poller,
    "moving": lambda t: Mover(t.database, t.clock),
    "rediscovery": _make_rediscovery_worker,
    "fetching": _make_fetcher,
    "extracting": lambda t: Extractor(t.database, t.page_sandbox, t.clock, t.options.extraction, t.options.frontier),
    "sitemaps": lambda t: SitemapReader(t.database, t.page_sandbox, t.clock, t.options.sitemaps, t.options.frontier),
    "spider": lambda t: Spider(t.database, t.page_sandbox, t.clock, t.options.spider, t.options.frontier),
    "classifying": lambda t: Classifier(t.database, t.text_sandbox, t.clock, t.options.classifying),
    "images": _make_image_fetcher,
    "tagging": _make_tagger,
    "stories": lambda t: StoryGrouper(t.database, t.clock),
    "rules": lambda t: RuleApplier(t.database, t.clock, t.options.quotas),
    "notifying": lambda t: Notifier(t.database, t.client, t.clock, site=t.options.alerts.site),
    "digests": lambda t: DigestWriter(
        t.database, t.clock, site=t.options.alerts.site, has_mail_server=t.mailer.has_server
    ),
    "counting": lambda t: Counter(t.database, t.clock, t.options.retention.clock),
    "removing": make_remover,
    "retaining": make_retainer,
    "delivering": _make_deliverer,
    "alerting": lambda t: Alerter(t.database, t.mailer, t.clock, t.options.alerts),
    "mailing": lambda t: MailSender(t.database, t.mailer, t.clock, link_lifetime=AccountOptions().mailed_lifetime),
    "importing": lambda t: ImportWorker(t.database, t.clock, t.options.quotas),
}


def every_stage(tools: Tools) -> list[str]:
    """The names of the stages that can run here: tagging needs a key, and some can be disabled."""
    options = tools.options
    can_run = {
        "polling": options.polling.is_enabled, "classifying": options.classifying.is_enabled,
        "tagging": options.tagging.is_enabled and options.ai.api_key is not None,
    }  # fmt: skip
    return [name for name in STAGES if can_run.get(name, True)]
