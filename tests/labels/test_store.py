"""Labels in the database."""

from datetime import timedelta

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection, fetch_value
from headwater.labels.store import find_labels, replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.types import ArticleId
from tests.builders import a_source, an_article
from tests.clock import START


async def an_id(conn: Connection) -> ArticleId:
    source = await a_source(conn)
    await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, an_article(), "example.com")])
    return ArticleId(await fetch_value(conn, "SELECT id FROM articles"))


async def says(
    conn: Connection, article_id: ArticleId, method: Method, *labels: str, later: timedelta = timedelta()
) -> set[ArticleId]:
    new = [NewLabel(Scheme.TYPE, label, 0.8, "1") for label in labels]
    given = {article_id: new}
    return await replace_labels(conn, given=given, method=method, schemes=[Scheme.TYPE], now=START + later)


async def test_a_persons_label_stays_when_a_method_labels_again(conn: Connection) -> None:
    article_id = await an_id(conn)
    await says(conn, article_id, Method.MODEL, "job")
    await says(conn, article_id, Method.PERSON, "recipe")
    await says(conn, article_id, Method.MODEL, "event")

    labels = (await find_labels(conn, article_ids=[article_id]))[article_id]
    assert {(one.method, one.label, one.is_shown) for one in labels} == {
        (Method.PERSON, "recipe", True), (Method.MODEL, "event", False),
    }  # fmt: skip
    shown = await find_labels(conn, article_ids=[article_id], only_shown=True)
    assert [one.label for one in shown[article_id]] == ["recipe"]


async def test_labels_that_stay_the_same_are_not_written_again(conn: Connection) -> None:
    article_id = await an_id(conn)

    first = await says(conn, article_id, Method.MODEL, "job")
    again = await says(conn, article_id, Method.MODEL, "job", later=timedelta(hours=1))

    assert (first, again) == ({article_id}, set())
    [label] = (await find_labels(conn, article_ids=[article_id]))[article_id]
    assert label.made_at == START


async def test_a_method_replaces_only_its_own_labels_of_the_schemes_it_names(conn: Connection) -> None:
    article_id = await an_id(conn)
    mood = {article_id: [NewLabel(Scheme.SENTIMENT, "mixed", 0.7, "1")]}
    await replace_labels(conn, given=mood, method=Method.MODEL, schemes=[Scheme.SENTIMENT], now=START)
    await says(conn, article_id, Method.MODEL, "job")
    await says(conn, article_id, Method.MODEL)

    [left] = (await find_labels(conn, article_ids=[article_id]))[article_id]
    assert left.label == "mixed"


async def test_an_article_that_was_deleted_gets_no_labels(conn: Connection) -> None:
    article_id = await an_id(conn)
    await says(conn, article_id, Method.MODEL, "job")
    await conn.execute("DELETE FROM articles")

    assert await fetch_value(conn, "SELECT count(*) FROM labels") == 0
    assert await fetch_value(conn, "SELECT count(*) FROM article_state") == 0
    assert await says(conn, article_id, Method.MODEL, "job") == set()
    assert await fetch_value(conn, "SELECT count(*) FROM labels") == 0


async def test_what_a_feed_says_is_classified_a_while_later(conn: Connection) -> None:
    await an_id(conn)

    due = await fetch_value(conn, "SELECT classify_at FROM article_state")
    assert due == START + records.AFTER_LISTING
