"""Classifying: claims articles whose text is new, describes them in the sandbox, applies models, writes labels.

Every exit path writes an outcome. An article whose text ends the process of the sandbox is classified without labels.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import timedelta
from uuid import UUID

from headwater.articles.store import state
from headwater.channels.route import router_of
from headwater.db import Database
from headwater.errors import HeadwaterError
from headwater.ids import new_id
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.sandbox import Overrun, Sandbox, SandboxClosed
from headwater.types import ArticleId, Clock
from headwater.understanding import decide, store
from headwater.understanding.embedding import unpack
from headwater.understanding.features import describe
from headwater.understanding.plain_text import TEXT_MAX_CHARS
from headwater.understanding.store import ClassifiedArticle
from headwater.understanding.topics import TopicModel, topic_labels
from headwater.understanding.training.active import ActiveModel
from headwater.understanding.types import (
    ArticleFeatures,
    ArticleText,
    ClassificationRule,
    ClassifyingOptions,
    DueArticle,
)

log = get_logger()

# Of one article: then it is not read again. Most are lost for another reason, such as a database that restarts.
MOST_LOST_PROCESSES = 5
REPUTATION_EVERY = timedelta(hours=1)  # of a source with new articles
REPUTATION_ARTICLES = 100  # the newest of a source
SOURCES_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class DueBatch:
    articles: Sequence[DueArticle]
    lease: UUID


@dataclass(frozen=True, slots=True)
class DueReputations:
    """Some sources have new labels."""


@dataclass(frozen=True, slots=True)
class ClassifyingReport:
    """How many articles got labels, how many could not be read, and how many are no longer ours."""

    labelled: int = 0
    failed: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class _Decided:
    """What is written about an article; nothing if it has no features."""

    by_rules: Sequence[NewLabel] = ()
    by_model: Sequence[NewLabel] = ()
    embedding: bytes | None = None
    is_unsure: bool = False
    has_features: bool = False


class Classifier:
    name = "classifying"

    def __init__(self, database: Database, sandbox: Sandbox, clock: Clock, options: ClassifyingOptions) -> None:
        self._database, self._sandbox, self._clock = database, sandbox, clock
        self._options = options
        self._model = ActiveModel()
        self.concurrency = options.concurrency

    async def claim(self, limit: int) -> Sequence[DueBatch | DueReputations]:
        """Up to `limit` batches of due articles, leased, and due reputations. Raises DatabaseUnavailable."""
        now, lease, size = self._clock(), new_id(), self._options.batch
        async with self._database.transaction() as conn:
            due = await store.claim(
                conn, lease=lease, now=now, leased_until=now + self._options.lease, limit=limit * size
            )
            has_reputations = len(due) < limit * size and await store.has_due_sources(conn, now=now)
        batches = [DueBatch(due[at : at + size], lease) for at in range(0, len(due), size)]
        return [*batches, DueReputations()][:limit] if has_reputations else batches

    async def lag(self) -> timedelta:
        """How long the longest-waiting article has been waiting. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            oldest = await store.oldest_due_at(conn, now=now)
        return max(now - oldest, timedelta(0)) if oldest else timedelta(0)

    async def work(self, item: DueBatch | DueReputations) -> ClassifyingReport:
        """Classify a batch, or compute reputations. Raises DatabaseUnavailable: the lease then frees its articles."""
        if isinstance(item, DueReputations):
            await self._compute_reputations()
            return ClassifyingReport()
        return await self._classify(item)

    async def _classify(self, batch: DueBatch) -> ClassifyingReport:
        readable = [one.article_id for one in batch.articles if one.lost_leases < MOST_LOST_PROCESSES]
        async with self._database.transaction() as conn:
            rules = await store.list_rules(conn, only_enabled=True)
            model = await self._model.load(conn)
            texts = await store.read_articles(conn, ids=readable, max_chars=TEXT_MAX_CHARS)
        for one in batch.articles:
            if one.lost_leases >= MOST_LOST_PROCESSES:
                log.warning("article not classified", article=str(one.article_id), lost_processes=one.lost_leases)
        features, by_id = await self._describe(texts, rules), {rule.id: rule for rule in rules}
        report = await self._write_all(batch, lambda one: _decide(features.get(one), by_id, model))
        async with self._database.transaction() as conn:
            sources = {source_id for text in texts.values() for source_id in text.source_ids}
            await store.queue_reputations(conn, source_ids=sorted(sources), at=self._clock() + REPUTATION_EVERY)
        metrics.CLASSIFIED.labels(outcome="labelled").inc(report.labelled)
        metrics.CLASSIFIED.labels(outcome="failed").inc(report.failed)
        log.debug("articles classified", labelled=report.labelled, failed=report.failed, lost=report.lost)
        return report

    async def _compute_reputations(self) -> None:
        now = self._clock()
        async with self._database.transaction() as conn:
            source_ids = await store.take_due_sources(conn, now=now, limit=SOURCES_AT_ONCE)
            brought = await store.measure_sources(conn, source_ids=source_ids, newest=REPUTATION_ARTICLES)
            found = [decide.reputation_of(one) for one in brought]
            await store.save_reputations(conn, reputations=found, now=now)

    async def _describe(
        self, texts: Mapping[ArticleId, ArticleText], rules: Sequence[ClassificationRule]
    ) -> dict[ArticleId, ArticleFeatures | None]:
        """The features of each article; None for one that exceeded a limit."""
        if not texts:
            return {}
        try:
            found = await self._sandbox.run(describe, list(texts.values()), rules)
            return dict(zip(texts, found, strict=True))
        except SandboxClosed:
            raise
        except Exception as error:  # noqa: BLE001  a bug in Headwater must not leave articles without an outcome
            if len(texts) == 1:
                [article_id] = texts
                write = log.warning if isinstance(error, Overrun) else log.error
                write("article not classified", article=str(article_id), reason=str(error))
                return {article_id: None}
        alone: dict[ArticleId, ArticleFeatures | None] = {}
        for article_id, text in texts.items():  # one of them ends the process: the others get their labels
            alone |= await self._describe({article_id: text}, rules)
        return alone

    async def _write_all(self, batch: DueBatch, decide_on: Callable[[ArticleId], _Decided]) -> ClassifyingReport:
        """Write all at once, or each alone if one of them cannot be written: that one gets no labels."""
        ids = [one.article_id for one in batch.articles]
        try:
            return await self._write(batch, {article_id: decide_on(article_id) for article_id in ids})
        except HeadwaterError:
            raise
        except Exception as error:  # a bug in Headwater, or a forged answer of the sandbox
            if len(ids) == 1:
                log.exception("article not classified", article=str(ids[0]), reason=str(error))
                return await self._write(batch, {ids[0]: _Decided()})
        reports = [await self._write_all(replace(batch, articles=[one]), decide_on) for one in batch.articles]
        return ClassifyingReport(*(sum(counts) for counts in zip(*map(astuple, reports), strict=True)))

    async def _write(self, batch: DueBatch, decided: Mapping[ArticleId, _Decided]) -> ClassifyingReport:
        now = self._clock()
        async with self._database.transaction() as conn:
            held = await state.hold(conn, ids=list(decided))
            ours = await store.find_ours(conn, ids=held, lease=batch.lease)
            by_rules = {article_id: decided[article_id].by_rules for article_id in ours}
            by_model = {article_id: decided[article_id].by_model for article_id in ours}
            await replace_labels(conn, given=by_rules, method=Method.RULE, schemes=decide.RULE_SCHEMES, now=now)
            await replace_labels(conn, given=by_model, method=Method.MODEL, schemes=decide.MODEL_SCHEMES, now=now)
            classified = [
                ClassifiedArticle(article_id, one.embedding, one.is_unsure)
                for article_id, one in decided.items()
                if article_id in ours
            ]
            await store.finish(conn, classified=classified, now=now)
            await router_of(self._database).route(conn, article_ids=ours, now=now)
        labelled = sum(decided[article_id].has_features for article_id in ours)
        return ClassifyingReport(labelled, len(ours) - labelled, len(decided) - len(ours))


def _decide(features: ArticleFeatures | None, rules: Mapping[UUID, ClassificationRule], model: TopicModel) -> _Decided:
    if features is None:
        return _Decided()
    by_rules = decide.labels_by_rules(features, rules)
    by_model = decide.labels_by_model(features, topics_of(features, model))
    is_unsure = decide.needs_language_model(features, by_model, by_rules)
    return _Decided(by_rules, by_model, features.embedding, is_unsure, has_features=True)


def topics_of(features: ArticleFeatures, model: TopicModel) -> list[NewLabel]:
    """Topics and categories, where the text says enough."""
    if not decide.has_topics(features):
        return []
    vector = unpack(features.embedding) if features.embedding else None
    return topic_labels(model.scores(vector, features.word_counts), model.version)
