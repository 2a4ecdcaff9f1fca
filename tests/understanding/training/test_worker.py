"""The stage uses the active model, articles are labelled again by a new one, and one text never ends a training."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from headwater.articles.store.state import queue_again
from headwater.db import Connection, Database, fetch_rows
from headwater.ids import first_id_at, new_id
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.labels.vocabulary import CLASSES, SPORT
from headwater.sandbox import Sandbox
from headwater.understanding.model_file import encode
from headwater.understanding.topics import load_base_model
from headwater.understanding.training import store
from headwater.understanding.training.types import NotTrained, TrainingReport
from headwater.understanding.training.worker import Trainer
from headwater.understanding.worker import Classifier
from tests.articles.builders import an_article_id
from tests.builders import a_source
from tests.clock import START, MovableClock
from tests.understanding.test_worker import OPTIONS, POISON, a_page, classify, labels_of

pytestmark = pytest.mark.database


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(
        processes=1,
        time_limit=timedelta(seconds=8),
        memory_limit=400_000_000,
        preload=("tests.understanding.poison",),
    ) as sandbox:
        yield sandbox


async def test_the_stage_uses_the_model_that_was_activated_meanwhile(
    database: Database, sandbox: Sandbox, clock: MovableClock
) -> None:
    """The new model takes everything for sport."""
    classifier = Classifier(database, sandbox, clock, OPTIONS)
    first = await a_page(database)
    await classify(classifier)
    bias = np.array([10.0 if name == "sport" else 0.0 for name in CLASSES])
    model = replace(load_base_model(), version="sports", embedding_bias=bias, embedding_share=1.0)
    report = TrainingReport("sports", "base", 40, 40, 0.9, 0.8, of_material=0.9, of_material_alone=0.9)
    async with database.transaction() as conn:
        await store.activate(conn, id=new_id(), report=report, data=encode(model), now=START)
        assert await queue_again(conn, first=first_id_at(START), at=START) == 1

    await classify(classifier)

    [topic] = (await labels_of(database, first))[Scheme.TOPIC]
    assert (topic.label, topic.version) == (SPORT, "sports")


async def test_articles_are_queued_again_the_newest_first_and_those_that_wait_keep_their_turn(conn: Connection) -> None:
    source = await a_source(conn)
    old, one, two, waiting = [
        await an_article_id(conn, source.id, f"https://example.com/{day}", now=START + timedelta(days=day))
        for day in range(4)
    ]
    given = {"waiting": waiting, "at": START}
    await conn.execute("UPDATE article_state SET classify_at = NULL WHERE article_id <> %(waiting)s", given)
    await conn.execute("UPDATE article_state SET classify_at = %(at)s WHERE article_id = %(waiting)s", given)
    later = START + timedelta(days=9)

    assert await queue_again(conn, first=first_id_at(START + timedelta(days=1)), at=later) == 2

    rows = await fetch_rows(conn, "SELECT article_id, classify_at FROM article_state")
    due = {row["article_id"]: row["classify_at"] for row in rows}
    assert due == {old: None, one: later + timedelta(milliseconds=10), two: later, waiting: START}


async def test_a_text_that_ends_the_process_is_not_an_example(
    database: Database, sandbox: Sandbox, clock: MovableClock
) -> None:
    good = await a_page(database)
    bad = await a_page(database, text=f"{POISON} and more words", url="https://example.com/bad")
    given = {one: [NewLabel(Scheme.TOPIC, SPORT, 1.0, "1")] for one in (good, bad)}
    async with database.transaction() as conn:
        await replace_labels(conn, given=given, method=Method.PERSON, schemes=[Scheme.TOPIC], now=START)

    trained = await Trainer(database, sandbox, clock).train()

    assert isinstance(trained, NotTrained)
    assert (trained.labels, trained.compared) == (1, 1)
