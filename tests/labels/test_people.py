"""What people say about an article: it wins, is checked, and is in the audit log."""

import pytest

from headwater.audit.types import Actor
from headwater.db import Connection, fetch_value
from headwater.errors import ArticleNotFound, Invalid, NotFound
from headwater.ids import new_id
from headwater.labels.decide import check_labels
from headwater.labels.people import set_by_person, withdraw_by_person
from headwater.labels.store import count_disputed, find_articles, find_labels, list_disputed
from headwater.labels.types import Method, Scheme
from headwater.types import ArticleId
from tests.clock import START
from tests.labels.given import an_article_of, disagree, say

MO = Actor(None, "mo@example.com")


async def choose(conn: Connection, article_id: ArticleId, scheme: Scheme, *labels: str) -> list[str]:
    said = await set_by_person(conn, article_id=article_id, scheme=scheme, labels=labels, actor=MO, now=START)
    return list(said.before)


async def shown(conn: Connection, article_id: ArticleId) -> list[str]:
    found = await find_labels(conn, article_ids=[article_id], only_shown=True)
    return [one.label for one in found.get(article_id, [])]


async def actions(conn: Connection) -> list[tuple[str, str, object]]:
    await conn.execute("SET LOCAL ROLE headwater_system")
    cur = await conn.execute("SELECT action, subject_name, detail FROM audit_log ORDER BY id")
    return [(action, subject, detail) for action, subject, detail in await cur.fetchall()]


async def test_a_persons_label_is_shown_and_ends_the_dispute(conn: Connection) -> None:
    article_id = await an_article_of(conn)
    await disagree(conn, article_id)
    assert await list_disputed(conn, limit=5) == [article_id]

    await choose(conn, article_id, Scheme.TYPE, "recipe")

    assert await shown(conn, article_id) == ["recipe"]
    assert await list_disputed(conn, limit=5) == []
    assert await actions(conn) == [
        ("labels.set", "The harbour opens", {"scheme": "type", "labels": ["recipe"], "before": []})
    ]


async def test_a_withdrawn_label_leaves_what_the_methods_say(conn: Connection) -> None:
    article_id = await an_article_of(conn)
    await disagree(conn, article_id)
    await choose(conn, article_id, Scheme.TYPE, "recipe")

    await withdraw_by_person(conn, article_id=article_id, scheme=Scheme.TYPE, actor=MO, now=START)

    assert await shown(conn, article_id) == ["job"]
    assert await count_disputed(conn, most=10) == 1
    with pytest.raises(NotFound, match="No person has set the type"):
        await withdraw_by_person(conn, article_id=article_id, scheme=Scheme.TYPE, actor=MO, now=START)
    assert [action for action, _, _ in await actions(conn)] == ["labels.set", "labels.withdrawn"]


async def test_the_same_label_again_is_not_recorded_again(conn: Connection) -> None:
    article_id = await an_article_of(conn)

    assert await choose(conn, article_id, Scheme.TOPIC, "sport", "health") == []
    assert sorted(await choose(conn, article_id, Scheme.TOPIC, "health", "sport")) == ["health", "sport"]

    assert len(await actions(conn)) == 1


async def test_other_schemes_and_methods_keep_their_labels(conn: Connection) -> None:
    article_id = await an_article_of(conn)
    await say(conn, article_id, Method.MODEL, "positive", scheme=Scheme.SENTIMENT)
    await choose(conn, article_id, Scheme.TYPE, "job")

    await choose(conn, article_id, Scheme.LANGUAGE, "EN")

    assert sorted(await shown(conn, article_id)) == ["en", "job", "positive"]


async def test_an_unknown_article_gets_no_label_and_no_state(conn: Connection) -> None:
    with pytest.raises(ArticleNotFound):
        await choose(conn, ArticleId(new_id()), Scheme.TYPE, "job")

    assert await fetch_value(conn, "SELECT count(*) FROM article_state") == 0


@pytest.mark.parametrize(
    ("scheme", "given", "message"),
    [
        (Scheme.TYPE, ["poem"], "is not a label of type"),
        (Scheme.TYPE, ["job", "event"], "Choose one label"),
        (Scheme.TYPE, [], "Choose one label"),
        (Scheme.TOPIC, [], "Choose 1 to 20 labels"),
        (Scheme.TOPIC, ["sport", "Sports"], "is not a label of topic"),
        (Scheme.KEYWORD, ["x" * 101], "1 to 100 characters"),
        (Scheme.KEYWORD, ["\u200b"], "1 to 100 characters"),
        (Scheme.KEYWORD, [str(n) for n in range(21)], "Choose 1 to 20 labels"),
        (Scheme.LANGUAGE, ["English"], "is not a language code"),
        (Scheme.LANGUAGE, ["e1"], "is not a language code"),
        (Scheme.QUALITY, ["quality"], "computed"),
    ],
)
def test_a_label_that_the_vocabulary_does_not_have_is_refused(scheme: Scheme, given: list[str], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        check_labels(scheme, given)


def test_labels_are_stored_on_one_line_and_once() -> None:
    assert check_labels(Scheme.KEYWORD, [" two\n words ", "two words", "\x00one"]) == ["two words", "one"]


async def test_disputed_articles_are_listed_newest_first_and_in_pages(conn: Connection) -> None:
    ids = [await an_article_of(conn, url=f"https://example.com/{n}") for n in range(3)]
    for article_id in ids:
        await disagree(conn, article_id)
    newest_first = sorted(ids, reverse=True)

    assert await list_disputed(conn, limit=2) == newest_first[:2]
    assert await list_disputed(conn, before=newest_first[1], limit=2) == newest_first[2:]
    assert (await count_disputed(conn, most=10), await count_disputed(conn, most=2)) == (3, 2)


async def test_an_article_without_a_title_is_shown_by_its_url(conn: Connection) -> None:
    article_id = await an_article_of(conn, "")

    found = await find_articles(conn, article_ids=[article_id, ArticleId(new_id())])

    assert [one.title for one in found.values()] == ["https://example.com/1"]
