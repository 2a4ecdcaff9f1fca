"""The steps of training: people's labels → examples → a model that is compared, and stored if it is not worse."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from headwater.articles.store.state import queue_again
from headwater.audit import store as audit
from headwater.audit.types import Actor, AuditAction
from headwater.db import Database
from headwater.ids import first_id_at, new_id
from headwater.observability.log import get_logger
from headwater.sandbox import Sandbox, SandboxClosed
from headwater.types import ArticleId, Clock
from headwater.understanding.embedding import unpack
from headwater.understanding.features import TEXT_MAX_CHARS, describe
from headwater.understanding.model_file import encode
from headwater.understanding.store import read_articles
from headwater.understanding.topic_model import TopicModel
from headwater.understanding.topics import load_base_model
from headwater.understanding.training import decide, store
from headwater.understanding.training.active import readable
from headwater.understanding.training.compare import Trained, train_and_compare
from headwater.understanding.training.types import Example, LabelledArticle, NotTrained, PersonExample
from headwater.understanding.types import ArticleFeatures, ArticleText

log = get_logger()

MAX_LABELS: Final = 5_000  # the newest; their counts of words take about 150 MB
_AT_ONCE: Final = 20  # articles in one call of the sandbox


class Trainer:
    def __init__(self, database: Database, sandbox: Sandbox, clock: Clock) -> None:
        self._database, self._sandbox, self._clock = database, sandbox, clock

    async def train(self) -> Trained | NotTrained:
        """A model of the material and of people's labels, beside the active one. Stores nothing."""
        async with self._database.transaction() as conn:
            labelled = await store.list_labelled(conn, limit=MAX_LABELS)
            stored = await store.find_active(conn)
        active = readable(stored)
        trained_at = stored.trained_at if stored and active else None
        given = await self._examples(labelled, active or load_base_model())
        compared = sum(decide.unseen_by(trained_at, given))
        if reason := decide.too_few(len(given), compared):
            return NotTrained(reason, len(given), compared)
        version = f"trained-{self._clock():%Y%m%dT%H%M%S}"
        return await asyncio.to_thread(
            train_and_compare, given, active=active or load_base_model(), active_trained_at=trained_at, version=version
        )

    async def activate(self, trained: Trained, actor: Actor, *, relabel: timedelta) -> int:
        """Label with this model from now on; the articles of the time before now again. Returns how many those are."""
        now, report = self._clock(), trained.report
        async with self._database.transaction() as conn:
            await store.activate(conn, id=new_id(), report=report, data=encode(trained.model), now=now)
            queued = await queue_again(conn, first=first_id_at(now - relabel), at=now) if relabel else 0
            detail = {"labels": report.labels, "accuracy": report.accuracy, "accuracy_before": report.accuracy_before}
            await audit.record(conn, actor, AuditAction.MODEL_TRAINED, now, subject=report.version, detail=detail)
        return queued

    async def _examples(self, labelled: Sequence[LabelledArticle], active: TopicModel) -> list[PersonExample]:
        """Without articles that have no text, or whose text exceeds a limit."""
        examples: list[PersonExample] = []
        for at in range(0, len(labelled), _AT_ONCE):
            part = labelled[at : at + _AT_ONCE]
            async with self._database.transaction() as conn:
                texts = await read_articles(conn, ids=[one.article_id for one in part], max_chars=TEXT_MAX_CHARS)
            features = await self._describe(texts)
            found = [_example(one, features.get(one.article_id), active) for one in part]
            examples += [one for one in found if one is not None]
        return examples

    async def _describe(self, texts: Mapping[ArticleId, ArticleText]) -> dict[ArticleId, ArticleFeatures]:
        """In the sandbox, as in the stage. Articles are described alone where one of several exceeds a limit."""
        if not texts:
            return {}
        try:
            return dict(zip(texts, await self._sandbox.run(describe, list(texts.values()), []), strict=True))
        except SandboxClosed:
            raise
        except Exception as error:  # noqa: BLE001  one text must not end the training
            if len(texts) == 1:
                log.warning("article not used", article=str(*texts), reason=str(error))
                return {}
        alone: dict[ArticleId, ArticleFeatures] = {}
        for article_id, text in texts.items():
            alone |= await self._describe({article_id: text})
        return alone


def _example(one: LabelledArticle, features: ArticleFeatures | None, active: TopicModel) -> PersonExample | None:
    if features is None or features.embedding is None:
        return None
    embedding = unpack(features.embedding)
    classes = decide.classes_of(one.topics, one.categories, active.scores(embedding, features.word_counts))
    if not classes:
        return None
    return PersonExample(Example(embedding, features.word_counts, classes), one.labelled_at)
