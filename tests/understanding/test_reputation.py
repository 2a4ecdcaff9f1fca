"""The reputation of a source: from the quality and the spam share of what it brings."""

from datetime import timedelta
from uuid import UUID

import pytest

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection, Database, fetch_row
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.labels.vocabulary import QUALITY
from headwater.sandbox import Sandbox
from headwater.types import SourceId
from headwater.understanding import store
from headwater.understanding.decide import reputation_of
from headwater.understanding.overview.store import find_reputation
from headwater.understanding.types import ClassifyingOptions, SourceQuality
from headwater.understanding.worker import Classifier, DueReputations
from tests.builders import a_source, an_article
from tests.clock import START, MovableClock

ID = SourceId(UUID(int=1))


@pytest.mark.parametrize(
    ("articles", "quality", "spam_share", "expected"),
    [
        (0, 0, 0, 50),
        (1, 80, 0, 80),
        (10, 80, 0, 88),
        (10, 80, 0.04, 80 * 0.96 * 1.1),
        (10, 80, 0.05, 76),
        (10, 69, 0, 69),
        (50, 60, 1, 0),
        (99, 99, 0, 100),
    ],
)
def test_the_reputation_is_the_mean_quality_less_spam(
    articles: int, quality: float, spam_share: float, expected: float
):
    found = reputation_of(SourceQuality(ID, articles, quality, spam_share))

    assert found.reputation == pytest.approx(expected)


async def brings(conn: Connection, source_id: SourceId, number: int, quality: float, kind: str = "article") -> None:
    """An article of the source, with its labels."""
    url = f"https://example.com/{source_id}/{number}"
    at = START + timedelta(minutes=number)
    await records.keep(conn, seen_at=at, listed=[ListedEntry(source_id, an_article(url, published_at=at), "x.example")])
    row = await fetch_row(conn, "SELECT id FROM articles WHERE url = %(url)s", {"url": url})
    assert row is not None
    labels = [NewLabel(Scheme.QUALITY, QUALITY, quality, "1"), NewLabel(Scheme.TYPE, kind, 0.9, "1")]
    schemes = [Scheme.QUALITY, Scheme.TYPE]
    await replace_labels(conn, given={row[0]: labels}, method=Method.MODEL, schemes=schemes, now=at)


@pytest.mark.database
async def test_the_newest_articles_of_a_source_count(conn: Connection) -> None:
    source_id = (await a_source(conn)).id
    await brings(conn, source_id, 1, 0.1, "spam")
    await brings(conn, source_id, 2, 0.5)
    await brings(conn, source_id, 3, 0.7, "spam")
    await records.keep(
        conn, seen_at=START, listed=[ListedEntry(source_id, an_article("https://example.com/unlabelled"), "x.example")]
    )

    [found] = await store.measure_sources(conn, source_ids=[source_id], newest=2)

    assert (found.articles, found.quality, found.spam_share) == (2, pytest.approx(60), pytest.approx(0.5))


@pytest.mark.database
async def test_a_source_without_labels_has_no_articles_that_count(conn: Connection) -> None:
    source_id = (await a_source(conn)).id

    [found] = await store.measure_sources(conn, source_ids=[source_id], newest=100)

    assert (found.articles, found.quality, found.spam_share) == (0, 0, 0)


@pytest.mark.database
async def test_reputations_are_computed_once_an_hour_after_new_labels(database: Database, clock: MovableClock) -> None:
    sandbox = Sandbox(processes=1, time_limit=timedelta(seconds=1), memory_limit=100_000_000)
    classifier = Classifier(database, sandbox, clock, ClassifyingOptions(1, timedelta(minutes=1)))
    async with database.transaction() as conn:
        source_id = (await a_source(conn)).id
        await brings(conn, source_id, 1, 0.8)
        await conn.execute("UPDATE article_state SET classify_at = NULL")
        for minutes in (999_999, 60, 90):  # the first by a clock that was ahead
            await store.queue_reputations(conn, source_ids=[source_id], at=START + timedelta(minutes=minutes))
        assert await find_reputation(conn, source_id=source_id) is None
    assert await classifier.claim(1) == []

    clock.move(hours=1)
    [due] = await classifier.claim(1)
    assert due == DueReputations()
    await classifier.work(due)

    async with database.transaction() as conn:
        found = await find_reputation(conn, source_id=source_id)
    assert found is not None
    assert (found.reputation, found.articles, found.computed_at) == (pytest.approx(80), 1, clock())
    clock.move(days=1)
    assert await classifier.claim(1) == []


@pytest.mark.database
async def test_a_deleted_source_gets_no_reputation(conn: Connection) -> None:
    gone = (await a_source(conn)).id
    await conn.execute("DELETE FROM source_ids WHERE id = %(id)s", {"id": gone})

    await store.queue_reputations(conn, source_ids=[gone], at=START)

    assert not await store.has_due_sources(conn, now=START)
