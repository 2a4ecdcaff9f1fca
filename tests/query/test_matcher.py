"""The matcher finds what evaluating each query by itself finds."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings

from headwater.db import Connection, see_all_users
from headwater.query import store
from headwater.query.document import Document
from headwater.query.evaluate import evaluate
from headwater.query.grammar import parse
from headwater.query.matcher import Matcher
from headwater.query.matching import READ_AT_ONCE, match_all, prepare, read_documents
from headwater.query.types import Audience, Node, Query, Words
from headwater.types import ArticleId
from tests.clock import START
from tests.query.generated import StoredArticle, articles, queries_of_everyone, store_all

pytestmark = pytest.mark.database


def saved(trees: list[Node]) -> dict[int, Query]:
    return {number: Query("", tree) for number, tree in enumerate(trees)}


@settings(max_examples=10)
@given(articles, queries_of_everyone, queries_of_everyone)
async def test_it_finds_what_each_query_finds(
    shared_conn: Connection, given: list[StoredArticle], first: list[Node], then: list[Node]
) -> None:
    async with shared_conn.transaction(force_rollback=True):
        await see_all_users(shared_conn)
        ids = await store_all(shared_conn, given, {})
        documents = await store.read_documents(shared_conn, article_ids=ids)
        assert documents.keys() == set(ids)
        matcher = Matcher.of(saved(first))
        for trees in (first, [*first[1:], *then], then):  # some queries stay, and some are replaced
            matcher.update(saved(trees))
            matched = await match_all(shared_conn, matcher, documents, START)
            for article_id, document in documents.items():
                found = {n for n, tree in enumerate(trees) if evaluate(tree, document, matcher.lexemes, START)}
                assert len(matched[article_id]) == len(set(matched[article_id]))
                assert set(matched[article_id]) == found
                assert set(matcher.candidates(document, START)) >= found


async def test_other_tasks_run_while_many_articles_become_documents(
    shared_conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty pages of 100,000 characters stopped all requests for 2 s."""
    read, sizes = store.read_documents, list[int]()

    async def counted(conn: Connection, *, article_ids: Sequence[ArticleId]) -> dict[ArticleId, Document]:
        sizes.append(len(article_ids))
        return await read(conn, article_ids=article_ids)

    monkeypatch.setattr(store, "read_documents", counted)
    wanted = [ArticleId(UUID(int=number)) for number in range(2 * READ_AT_ONCE + 1)]

    assert await read_documents(shared_conn, wanted) == {}
    assert sizes == [READ_AT_ONCE, READ_AT_ONCE, 1]


DOCUMENT = Document(ArticleId(UUID(int=1)), START - timedelta(hours=1))


def query(text: str) -> Query:
    return parse(text, Audience.EVERYONE)


async def matches(conn: Connection, texts: list[str], document: Document = DOCUMENT) -> set[str]:
    matcher = Matcher.of({text: query(text) for text in texts})
    await prepare(conn, matcher, [document])
    return set(matcher.match(document, START))


async def test_a_stop_word_is_in_every_text_of_its_language(conn: Connection) -> None:
    texts = ["the", "the harbour", "der", "-the", '"the the"']
    english = replace(DOCUMENT, config="english", text={"harbour": "2"})
    german = replace(DOCUMENT, config="german", text={"harbour": "2"})
    assert await matches(conn, texts, english) == {"the", "the harbour", '"the the"'}
    assert await matches(conn, texts, german) == {"der", "-the"}
    assert await matches(conn, texts) == {"-the"}  # without text
    assert await matches(conn, texts, replace(DOCUMENT, shown_titles=({"the": "1"},))) == {"the"}


async def test_a_word_without_lexeme_is_found_nowhere(conn: Connection) -> None:
    words = ["\0", "&amp;", "x" * 3000, "' | !", "\ud800"]
    matcher = Matcher.of({word: Query(word, Words(word)) for word in words})
    english = replace(DOCUMENT, config="english", text={"amp": "1"}, shown_titles=({"amp": "1"},))
    await prepare(conn, matcher, [english])
    assert matcher.match(english, START) == []


async def test_each_word_may_be_in_another_text(conn: Connection) -> None:
    document = replace(DOCUMENT, config="english", text={"harbour": "2"}, shown_titles=({"opens": "1"},))
    found = await matches(conn, ["opens harbours", '"opens harbour"', "title:opens", "opens -harbour"], document)
    assert found == {"opens harbours"}


async def test_queries_that_require_nothing_are_checked_for_every_document(conn: Connection) -> None:
    document = replace(DOCUMENT, labels=frozenset({("topic", "sport")}))
    texts = ["*", "-topic:sport", "-topic:health", "-a or topic:sport", "newer:2h", "older:2h", "-*", "quality:<9"]
    assert await matches(conn, texts, document) == {"*", "-topic:health", "-a or topic:sport", "newer:2h"}


async def test_only_the_words_of_changed_queries_are_loaded(conn: Connection) -> None:
    english, french = replace(DOCUMENT, config="english"), replace(DOCUMENT, config="french")
    matcher = Matcher.of({1: query("harbour"), 2: query("category:News quay")})
    assert matcher.missing([english]).words == {"simple": {"harbour", "quay"}, "english": {"harbour", "quay"}}
    assert matcher.missing([english]).lower == {"News"}
    await prepare(conn, matcher, [english])
    assert matcher.match(english, START) == []
    assert not matcher.missing([english])
    matcher.update({1: query("harbour"), 2: query("category:News pier")})
    assert matcher.missing([english]).words == {"simple": {"pier"}, "english": {"pier"}}
    assert not matcher.missing([english]).lower
    await prepare(conn, matcher, [english])
    assert matcher.match(english, START) == []
    assert set(matcher.missing([english, french]).words) == {"french"}


async def test_words_of_removed_queries_are_forgotten(conn: Connection) -> None:
    english = replace(DOCUMENT, config="english", text={"word9": "1", "word8": "1"})
    matcher = Matcher[int]()
    for number in range(10):
        matcher.update({0: query(f"word{number}")})
        await prepare(conn, matcher, [english])
        assert matcher.match(english, START) == ([0] if number >= 8 else [])
    assert len(matcher.lexemes) <= 4  # in two configurations, and those of the query before


def test_a_matcher_without_queries_finds_nothing() -> None:
    assert Matcher[int]().match(DOCUMENT, START) == []
