"""SQL over what is stored, one query against one article, and the matcher of many queries give the same answer."""

from uuid import UUID

import pytest
from hypothesis import Phase, given, settings

from headwater.db import Connection, see_all_users, set_user
from headwater.query import store
from headwater.query.evaluate import evaluate
from headwater.query.matcher import Matcher
from headwater.query.matching import match_all, match_readers, prepare
from headwater.query.sql import condition
from headwater.query.types import Audience, Node, Query
from headwater.types import ArticleId
from tests.clock import START
from tests.query.generated import (
    OTHER,
    READER,
    StoredArticle,
    Subscribed,
    articles,
    queries_of_everyone,
    queries_of_reader,
    store_all,
    subscriptions,
)  # fmt: skip

pytestmark = pytest.mark.database

PHASES = (Phase.explicit, Phase.generate, Phase.shrink)  # explaining a failure takes minutes
Found = dict[int, set[ArticleId]]  # by the number of the query


async def found_by_sql(conn: Connection, audience: Audience, trees: list[Node], article_ids: list[ArticleId]) -> Found:
    return {
        number: set(await store.find_among(conn, where=condition(tree, audience, now=START), article_ids=article_ids))
        for number, tree in enumerate(trees)
    }


@settings(max_examples=20, phases=PHASES)
@given(articles, subscriptions, queries_of_everyone)
async def test_about_all_articles(
    shared_conn: Connection, given: list[StoredArticle], subscribed: dict[UUID, Subscribed], trees: list[Node]
) -> None:
    await check_everyone(shared_conn, given, subscribed, trees)


@settings(max_examples=20, phases=PHASES)
@given(articles, subscriptions, queries_of_reader)
async def test_about_the_articles_of_a_reader(
    shared_conn: Connection, given: list[StoredArticle], subscribed: dict[UUID, Subscribed], trees: list[Node]
) -> None:
    await check_reader(shared_conn, given, subscribed, trees)


@pytest.mark.soak
@settings(max_examples=200, phases=PHASES)
@given(articles, subscriptions, queries_of_everyone, queries_of_reader)
async def test_in_many_cases(
    shared_conn: Connection,
    given: list[StoredArticle],
    subscribed: dict[UUID, Subscribed],
    of_everyone: list[Node],
    of_reader: list[Node],
) -> None:
    await check_everyone(shared_conn, given, subscribed, of_everyone)
    await check_reader(shared_conn, given, subscribed, of_reader)


async def check_everyone(
    shared_conn: Connection, given: list[StoredArticle], subscribed: dict[UUID, Subscribed], trees: list[Node]
) -> None:
    async with shared_conn.transaction(force_rollback=True):
        await see_all_users(shared_conn)
        ids = await store_all(shared_conn, given, subscribed)
        by_sql = await found_by_sql(shared_conn, Audience.EVERYONE, trees, ids)
        documents = await store.read_documents(shared_conn, article_ids=ids)
        matcher = Matcher.of({number: Query("", tree) for number, tree in enumerate(trees)})
        matched = await match_all(shared_conn, matcher, documents, START)
    assert documents.keys() == set(ids)
    assert by_sql == {
        number: {one for one in ids if evaluate(tree, documents[one], matcher.lexemes, START)}
        for number, tree in enumerate(trees)
    }
    assert by_sql == {number: {one for one in ids if number in matched[one]} for number in by_sql}


async def check_reader(
    shared_conn: Connection, given: list[StoredArticle], subscribed: dict[UUID, Subscribed], trees: list[Node]
) -> None:
    async with shared_conn.transaction(force_rollback=True):
        await see_all_users(shared_conn)
        ids = await store_all(shared_conn, given, subscribed)
        documents = await store.read_documents(shared_conn, article_ids=ids)
        contexts = await store.read_contexts(shared_conn, article_ids=ids, user_ids=[READER, OTHER])
        matcher = Matcher.of({(user, n): Query("", tree) for user in (READER, OTHER) for n, tree in enumerate(trees)})
        await prepare(shared_conn, matcher, documents.values())
        matched = {
            one: match_readers(
                matcher,
                documents[one],
                {user: context for (article_id, user), context in contexts.items() if article_id == one},
                lambda key: key[0],
                START,
            )
            for one in ids
        }
        for user in (READER, OTHER):
            await set_user(shared_conn, user)
            listed = [one for one in ids if (one, user) in contexts]
            by_sql = await found_by_sql(shared_conn, Audience.READER, trees, listed)
            views = {one: documents[one].for_reader(contexts[one, user]) for one in listed}
            assert by_sql == {
                number: {one for one in listed if evaluate(tree, views[one], matcher.lexemes, START)}
                for number, tree in enumerate(trees)
            }
            assert by_sql == {number: {one for one in ids if (user, number) in matched[one]} for number in by_sql}
