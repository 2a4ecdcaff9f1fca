"""Classifying: from due articles to labels; every article gets an outcome, and nothing of a person is overwritten."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from headwater.articles.fingerprint import hash_of, words_of
from headwater.articles.store import content, records, state
from headwater.articles.types import Extracted, ListedEntry, NewContent
from headwater.db import Connection, Database, fetch_row, fetch_value
from headwater.ids import new_id
from headwater.labels.store import find_labels, replace_labels
from headwater.labels.types import ArticleLabel, Method, NewLabel, Scheme
from headwater.labels.vocabulary import DISASTER
from headwater.sandbox import Sandbox
from headwater.types import ArticleId
from headwater.understanding import store
from headwater.understanding.model_file import encode
from headwater.understanding.tagging.types import TaggingOutcome
from headwater.understanding.topics import load_base_model
from headwater.understanding.types import ClassifyingOptions
from headwater.understanding.worker import MOST_LOST_PROCESSES, Classifier, ClassifyingReport, DueBatch
from headwater.urls import url_key
from tests.builders import a_source, an_article
from tests.clock import START, MovableClock
from tests.understanding.tagging.desk import Desk

pytestmark = pytest.mark.database

OPTIONS = ClassifyingOptions(concurrency=2, lease=timedelta(minutes=5), batch=4)
URL = "https://example.com/news/flood"
POISON, FORGERY = "Xyzzyx", "Plughplugh"  # as in poison.py
FLOOD = (
    "The river rose by two metres during the night, and the council closed three bridges on Tuesday morning. "
    "Hundreds of people left their homes. The mayor thanked the volunteers who had filled sandbags. "
    "Forecasters expect more rain on Thursday, when the water could reach the old town.\n"
) * 3
GERMAN = (
    "Der Fluss stieg in der Nacht um zwei Meter, und die Stadt sperrte am Dienstagmorgen drei Brücken. "
    "Hunderte Menschen verließen ihre Häuser. Der Bürgermeister dankte den Helfern, die Sandsäcke gefüllt hatten.\n"
) * 8


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(
        processes=1,
        time_limit=timedelta(seconds=8),
        memory_limit=400_000_000,
        preload=("tests.understanding.poison",),
    ) as sandbox:
        yield sandbox


@pytest.fixture
def classifier(database: Database, sandbox: Sandbox, clock: MovableClock) -> Classifier:
    return Classifier(database, sandbox, clock, OPTIONS)


async def a_page(
    database: Database, text: str = FLOOD, url: str = URL, *, title: str = "River floods the town", language: str = "en"
) -> ArticleId:
    """An article whose page was read, due now."""
    async with database.transaction() as conn:
        return await _a_page(conn, text, url, title, language)


async def _a_page(conn: Connection, text: str, url: str, title: str, language: str) -> ArticleId:
    known = await fetch_value(conn, "SELECT id FROM sources")
    listed = [ListedEntry(known or (await a_source(conn)).id, an_article(url, title=title), "example.com")]
    await records.keep(conn, seen_at=START, listed=listed)
    article_id = ArticleId(await fetch_value(conn, "SELECT id FROM articles WHERE url = %(url)s", {"url": url}))
    words = words_of(text)
    extracted = Extracted(
        title=title, text=text, html=f"<p>{text}</p>", language=language, word_count=len(words),
        content_hash=hash_of(words), published_at=START,
    )  # fmt: skip
    await content.save(conn, records=[NewContent(article_id, url, url_key(url), extracted)], now=START)
    await state.queue_classifying(conn, ids=[article_id], at=START)
    return article_id


async def claim(classifier: Classifier) -> list[DueBatch]:
    """Batches only, no reputations."""
    return [one for one in await classifier.claim(10) if isinstance(one, DueBatch)]


async def classify(classifier: Classifier) -> list[ClassifyingReport]:
    return [await classifier.work(batch) for batch in await claim(classifier)]


async def labels_of(database: Database, article_id: ArticleId) -> dict[Scheme, list[ArticleLabel]]:
    async with database.transaction() as conn:
        found = (await find_labels(conn, article_ids=[article_id])).get(article_id, [])
    return {scheme: [one for one in found if one.scheme is scheme] for scheme in {one.scheme for one in found}}


async def state_of(database: Database, article_id: ArticleId) -> tuple[object, ...] | None:
    async with database.transaction() as conn:
        return await fetch_row(
            conn,
            "SELECT classify_at, classified_at, length(embedding), story_due, ai_due_at, lost_leases "
            "FROM article_state WHERE article_id = %(id)s",
            {"id": article_id},
        )


def names(labels: Sequence[ArticleLabel]) -> list[str]:
    return [one.label for one in labels]


async def test_an_article_with_text_gets_labels_and_an_embedding(database: Database, classifier: Classifier) -> None:
    article_id = await a_page(database)

    assert await classify(classifier) == [ClassifyingReport(labelled=1, failed=0, lost=0)]

    labels = await labels_of(database, article_id)
    assert names(labels[Scheme.LANGUAGE]) == ["en"]
    assert names(labels[Scheme.TYPE]) == ["article"]
    assert names(labels[Scheme.TOPIC])[0] == DISASTER
    assert names(labels[Scheme.CATEGORY])[0] == "World News"
    assert Scheme.SENTIMENT in labels
    assert "river" in names(labels[Scheme.KEYWORD])
    [quality] = labels[Scheme.QUALITY]
    assert quality.detail is not None
    assert quality.score == pytest.approx(sum(quality.detail.values()) / 100, abs=0.001)
    assert {one.method for of in labels.values() for one in of} == {Method.MODEL}
    # Its sentiment is not sure: to be tagged.
    assert await state_of(database, article_id) == (None, START, 512, True, START, 0)


async def test_nothing_is_due_afterwards_until_the_text_changes(
    database: Database, classifier: Classifier, clock: MovableClock
) -> None:
    article_id = await a_page(database)
    await classify(classifier)
    assert await claim(classifier) == []

    clock.move(hours=1)
    async with database.transaction() as conn:
        await conn.execute("UPDATE article_state SET story_due = false")
    await a_page(database, GERMAN, language="de", title="Hochwasser")
    await classify(classifier)

    labels = await labels_of(database, article_id)
    assert names(labels[Scheme.LANGUAGE]) == ["de"]
    assert await state_of(database, article_id) == (None, clock(), 512, True, START, 0)


async def test_an_article_in_another_language_has_no_sentiment_and_no_topic(
    database: Database, classifier: Classifier
) -> None:
    article_id = await a_page(database, GERMAN, title="Hochwasser in der Altstadt", language="de")
    await classify(classifier)

    labels = await labels_of(database, article_id)
    assert names(labels[Scheme.LANGUAGE]) == ["de"]
    assert not {Scheme.SENTIMENT, Scheme.TOPIC, Scheme.CATEGORY} & labels.keys()


async def test_a_duplicate_is_classified_by_the_text_of_its_original(
    database: Database, classifier: Classifier
) -> None:
    original = await a_page(database)
    copy = await a_page(database, url="https://example.com/news/flood-again")
    async with database.transaction() as conn:
        has_own_text = await fetch_value(
            conn, "SELECT text IS NOT NULL FROM content WHERE article_id = %(id)s", {"id": copy}
        )
    await classify(classifier)

    assert has_own_text is False
    details = [(await labels_of(database, one))[Scheme.QUALITY][0].detail for one in (original, copy)]
    assert details[0] == details[1]


async def test_what_only_a_feed_of_another_site_says_is_not_used(database: Database, classifier: Classifier) -> None:
    async with database.transaction() as conn:
        source = await a_source(conn)
        said = an_article("https://elsewhere.example/1", title="Secret", content=f"<p>{FLOOD}</p>", is_own=False)
        await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, said, "example.com")])
        article_id = ArticleId(await fetch_value(conn, "SELECT id FROM articles"))
        await state.queue_classifying(conn, ids=[article_id], at=START)
    await classify(classifier)

    assert await labels_of(database, article_id) == {}
    assert await state_of(database, article_id) == (None, START, None, False, None, 0)


async def test_what_its_own_feed_says_is_classified_when_the_page_was_not_read(
    database: Database, classifier: Classifier, clock: MovableClock
) -> None:
    async with database.transaction() as conn:
        source = await a_source(conn)
        said = an_article(URL, title="River floods the town", content=f"<p>{FLOOD}</p>")
        await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, said, "example.com")])
        article_id = ArticleId(await fetch_value(conn, "SELECT id FROM articles"))
    assert await claim(classifier) == []

    clock.now += records.AFTER_LISTING
    await classify(classifier)

    assert names((await labels_of(database, article_id))[Scheme.LANGUAGE]) == ["en"]


async def test_a_persons_label_stays(database: Database, classifier: Classifier) -> None:
    article_id = await a_page(database)
    async with database.transaction() as conn:
        given = {article_id: [NewLabel(Scheme.TYPE, "recipe", 1.0, "ada")]}
        await replace_labels(conn, given=given, method=Method.PERSON, schemes=[Scheme.TYPE], now=START)
    await classify(classifier)

    types = (await labels_of(database, article_id))[Scheme.TYPE]
    assert {(one.method, one.label, one.is_shown) for one in types} == {
        (Method.PERSON, "recipe", True), (Method.MODEL, "article", False),
    }  # fmt: skip


async def test_an_enabled_rule_gives_its_label(database: Database, classifier: Classifier) -> None:
    async with database.transaction() as conn:
        statement = """
            INSERT INTO classification_rules (id, name, scheme, label, keywords, is_enabled)
            VALUES (%(first)s, 'Floods', 'topic', 'weather', '{sandbags,levee}', true),
                (%(second)s, 'Off', 'topic', 'sport', '{river}', false)
        """
        await conn.execute(statement, {"first": new_id(), "second": new_id()})
        [floods, _] = await store.list_rules(conn)
    article_id = await a_page(database)
    await classify(classifier)

    by_rules = [one for one in (await labels_of(database, article_id))[Scheme.TOPIC] if one.method is Method.RULE]
    assert [(one.label, one.version) for one in by_rules] == [("weather", f"{floods.id} 1")]


async def test_an_article_deleted_meanwhile_gets_nothing(database: Database, classifier: Classifier) -> None:
    await a_page(database)
    [batch] = await claim(classifier)
    async with database.transaction() as conn:
        await conn.execute("DELETE FROM articles")

    assert await classifier.work(batch) == ClassifyingReport(labelled=0, failed=0, lost=1)
    async with database.transaction() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM labels") == 0
        assert await fetch_value(conn, "SELECT count(*) FROM article_state") == 0


async def test_an_article_whose_text_changed_meanwhile_stays_due(database: Database, classifier: Classifier) -> None:
    article_id = await a_page(database)
    [batch] = await claim(classifier)
    await a_page(database, GERMAN, language="de")

    assert await classifier.work(batch) == ClassifyingReport(labelled=0, failed=0, lost=1)
    assert await state_of(database, article_id) == (START, None, None, False, None, 0)
    await classify(classifier)
    assert names((await labels_of(database, article_id))[Scheme.LANGUAGE]) == ["de"]


async def test_two_workers_never_take_the_same_article(
    database: Database, sandbox: Sandbox, clock: MovableClock
) -> None:
    made = {await a_page(database, url=f"https://example.com/news/{n}") for n in range(6)}
    first, second = (Classifier(database, sandbox, clock, OPTIONS) for _ in range(2))

    taken = [
        [one.article_id for one in batch.articles]
        for one in (first, second)
        for batch in await one.claim(1)
        if isinstance(batch, DueBatch)
    ]

    assert [len(ids) for ids in taken] == [4, 2]
    assert {article_id for ids in taken for article_id in ids} == made


async def test_an_expired_lease_frees_an_article_and_the_late_worker_writes_nothing(
    database: Database, classifier: Classifier, clock: MovableClock
) -> None:
    article_id = await a_page(database)
    [late] = await claim(classifier)
    clock.now += OPTIONS.lease
    [batch] = await claim(classifier)

    assert [one.lost_leases for one in batch.articles] == [1]
    assert (await classifier.work(late)).lost == 1
    assert await labels_of(database, article_id) == {}
    assert (await classifier.work(batch)).labelled == 1


async def test_an_article_whose_process_was_lost_too_often_is_classified_without_labels(
    database: Database, classifier: Classifier, clock: MovableClock
) -> None:
    article_id = await a_page(database)
    for _ in range(MOST_LOST_PROCESSES):
        await claim(classifier)
        clock.now += OPTIONS.lease

    with capture_logs() as logs:
        assert await classify(classifier) == [ClassifyingReport(labelled=0, failed=1, lost=0)]
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == ["article not classified"]
    assert await labels_of(database, article_id) == {}
    assert await claim(classifier) == []


async def test_a_text_that_ends_the_process_costs_only_its_own_labels(
    database: Database, classifier: Classifier
) -> None:
    poison = await a_page(database, f"{FLOOD} {POISON}", url="https://example.com/news/poison")
    fine = [await a_page(database, url=f"https://example.com/news/{n}") for n in range(2)]

    with capture_logs() as logs:
        assert await classify(classifier) == [ClassifyingReport(labelled=2, failed=1, lost=0)]

    assert [line["article"] for line in logs if line["event"] == "article not classified"] == [str(poison)]
    assert await labels_of(database, poison) == {}
    assert all([await labels_of(database, article_id) for article_id in fine])
    assert await claim(classifier) == []


async def test_an_answer_that_cannot_be_stored_costs_only_its_own_labels(
    database: Database, classifier: Classifier
) -> None:
    forged = await a_page(database, f"{FORGERY} {FLOOD}", url="https://example.com/news/forged")
    fine = await a_page(database)

    with capture_logs() as logs:
        assert await classify(classifier) == [ClassifyingReport(labelled=1, failed=1, lost=0)]

    assert [line["article"] for line in logs if line["event"] == "article not classified"] == [str(forged)]
    assert await labels_of(database, forged) == {}
    assert await labels_of(database, fine)
    assert await claim(classifier) == []


async def test_an_article_deleted_while_its_labels_are_written_leaves_none(
    database: Database, classifier: Classifier
) -> None:
    """The deletion has begun and is not yet committed when the labels are to be written."""
    await a_page(database)
    [batch] = await claim(classifier)
    async with database.transaction() as conn:
        await conn.execute("DELETE FROM articles")
        working = asyncio.create_task(classifier.work(batch))
        while not await fetch_value(conn, "SELECT count(*) FROM pg_locks WHERE NOT granted"):
            await asyncio.sleep(0.05)

    assert await working == ClassifyingReport(labelled=0, failed=0, lost=1)
    async with database.transaction() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM labels") == 0
        assert await fetch_value(conn, "SELECT count(*) FROM article_state") == 0


async def test_a_deletion_during_the_transaction_that_writes_labels_deletes_them_too(database: Database) -> None:
    article_id = await a_page(database)

    async def delete() -> None:
        async with database.transaction() as conn:
            await conn.execute("DELETE FROM articles")

    async with database.transaction() as conn:
        await state.hold(conn, ids=[article_id])
        deleting = asyncio.create_task(delete())
        while not await fetch_value(conn, "SELECT count(*) FROM pg_locks WHERE NOT granted"):
            await asyncio.sleep(0.05)
        given = {article_id: [NewLabel(Scheme.TYPE, "job", 1.0, "1")]}
        await replace_labels(conn, given=given, method=Method.MODEL, schemes=[Scheme.TYPE], now=START)
    await deleting

    async with database.transaction() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM labels") == 0


async def test_a_trained_model_replaces_the_one_that_ships(database: Database, classifier: Classifier) -> None:
    article_id = await a_page(database)
    trained = replace(load_base_model(), version="trained here")
    async with database.transaction() as conn:
        await conn.execute(
            "INSERT INTO classifier_models VALUES (%(id)s, 'topic', 'trained here', 1, 1, 1, %(data)s, %(now)s, true)",
            {"id": new_id(), "data": encode(trained), "now": START},
        )
    await classify(classifier)

    assert {one.version for one in (await labels_of(database, article_id))[Scheme.TOPIC]} == {"trained here"}


async def test_lag_is_the_age_of_the_longest_waiting_article(
    database: Database, classifier: Classifier, clock: MovableClock
) -> None:
    assert await classifier.lag() == timedelta(0)
    await a_page(database)
    clock.move(minutes=7)

    assert await classifier.lag() == timedelta(minutes=7)


async def test_an_article_that_is_not_sure_is_tagged_next(
    database: Database, classifier: Classifier, desk: Desk
) -> None:
    """From classifying to the labels of a language model: a German article has a category by that model only."""
    german = await a_page(database, GERMAN, title="Hochwasser in der Altstadt", language="de")
    tagger = desk.tagger()
    assert await tagger.claim(10) == []
    await classify(classifier)
    desk.clock.move(seconds=5)

    assert await desk.run(tagger, 10) == [TaggingOutcome.TAGGED]

    labels = await labels_of(database, german)
    assert {one.method for one in labels[Scheme.CATEGORY]} == {Method.AI}
    assert names(labels[Scheme.SENTIMENT]) == ["positive"]
    assert {one.method for one in labels[Scheme.LANGUAGE]} == {Method.MODEL}


async def test_a_classified_article_gets_a_revision_in_the_same_transaction(
    database: Database, classifier: Classifier
) -> None:
    await a_page(database)
    await classify(classifier)
    async with database.transaction() as conn:
        assert await fetch_value(conn, "SELECT revision FROM article_state") is not None
