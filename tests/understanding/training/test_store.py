"""Models and people's labels in the database."""

from datetime import timedelta
from uuid import UUID

import pytest

from headwater.db import Connection, fetch_column
from headwater.ids import new_id
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.labels.vocabulary import HEALTH, SPORT
from headwater.types import ArticleId
from headwater.understanding.model_file import encode
from headwater.understanding.topics import load_base_model
from headwater.understanding.training import store
from headwater.understanding.training.active import ActiveModel
from headwater.understanding.training.types import TrainingReport
from tests.articles.builders import an_article_id
from tests.builders import a_source
from tests.clock import START

pytestmark = pytest.mark.database


async def give(
    conn: Connection, article_id: ArticleId, scheme: Scheme, *labels: str, method: Method = Method.PERSON
) -> None:
    given = {article_id: [NewLabel(scheme, label, 1.0, "1") for label in labels]}
    await replace_labels(conn, given=given, method=method, schemes=[scheme], now=START)


async def articles(conn: Connection, count: int) -> list[ArticleId]:
    source = await a_source(conn)
    return [
        await an_article_id(conn, source.id, f"https://example.com/{at}", now=START + timedelta(minutes=at))
        for at in range(count)
    ]


async def test_people_label_english_articles(conn: Connection) -> None:
    both, german, machine, only_category = await articles(conn, 4)
    await give(conn, both, Scheme.TOPIC, SPORT, HEALTH)
    await give(conn, both, Scheme.CATEGORY, "Sports")
    await give(conn, both, Scheme.LANGUAGE, "en", method=Method.MODEL)
    await give(conn, german, Scheme.TOPIC, SPORT)
    await give(conn, german, Scheme.LANGUAGE, "de", method=Method.MODEL)
    await give(conn, machine, Scheme.TOPIC, SPORT, method=Method.MODEL)
    await give(conn, only_category, Scheme.CATEGORY, "Sports")

    [one] = await store.list_labelled(conn, limit=10)
    assert (one.article_id, one.topics, one.categories, one.labelled_at) == (both, [HEALTH, SPORT], ["Sports"], START)


async def test_the_newest_labelled_articles_come_first(conn: Connection) -> None:
    ids = await articles(conn, 3)
    for article_id in ids:
        await give(conn, article_id, Scheme.TOPIC, SPORT)
    assert [one.article_id for one in await store.list_labelled(conn, limit=2)] == [ids[2], ids[1]]


def a_report(version: str) -> TrainingReport:
    return TrainingReport(version, "base", 40, 40, 0.9, 0.8, of_material=0.9, of_material_alone=0.9)


async def activate(conn: Connection, version: str, data: bytes, *, days: int = 0) -> UUID:
    model_id = new_id()
    await store.activate(conn, id=model_id, report=a_report(version), data=data, now=START + timedelta(days=days))
    return model_id


async def test_the_active_model_replaces_the_one_that_ships(conn: Connection) -> None:
    active = ActiveModel()
    assert await active.load(conn) is load_base_model()

    await activate(conn, "trained", encode(load_base_model()))
    first = await active.load(conn)
    assert first is not load_base_model()
    assert await active.load(conn) is first  # not read again


async def test_a_stored_model_that_cannot_be_read_is_not_used(conn: Connection) -> None:
    await activate(conn, "broken", b"\x80\x04not a model")
    assert await ActiveModel().load(conn) is load_base_model()


async def test_one_model_is_active_and_the_last_five_are_kept(conn: Connection) -> None:
    for at in range(7):
        await activate(conn, f"v{at}", b"x", days=at)
    assert await store.find_active_version(conn) == "v6"
    kept = await fetch_column(conn, "SELECT version FROM classifier_models ORDER BY trained_at")
    assert kept == ["v2", "v3", "v4", "v5", "v6"]


async def test_the_active_model_is_kept_even_if_the_clock_was_ahead_before(conn: Connection) -> None:
    for at in range(5):
        await activate(conn, f"v{at}", b"x", days=at + 1)

    await activate(conn, "now", b"x")

    assert await store.find_active_version(conn) == "now"
