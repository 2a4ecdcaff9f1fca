"""The protocol of the search index, on the stub and on a real OpenSearch: both answer alike."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from headwater.documents.types import Action, ClaimedEntry
from headwater.errors import IndexMismatch, IndexUnavailable
from headwater.publishing.decide import operation, outcomes_of
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.mapping import MAPPING, index_name
from headwater.publishing.types import BulkAnswered, Done, IndexDocument, Lost, Operation, Refused, Reject
from headwater.types import ArticleId
from tests.clock import START

ID = UUID("01980000-0000-7000-8000-000000000000")
SECONDS = timedelta(seconds=30)

FULL: IndexDocument = {
    "id": str(ID),
    "url": "https://example.com/1",
    "classification_status": "pending",
    "source_id": str(ID),
    "source_name": "The Source",
    "title": "Ünïcödé 漢字 🏞 \u2028 \x85 \x7f",
    "raw_text": 'Line one\nLine "two"\r\n\tand \\ a backslash, שלום, \U0010ffff',
    "raw_html": "<p>" + "long " * 20_000 + "</p>",
    "meta_description": "Told in short",
    "meta_keywords": ["one", "two " * 10_000],
    "author": ["Ada", "Grace"],
    "published_date": datetime(2026, 2, 28, 23, 59, 59, 999_999, tzinfo=UTC),
    "canonical_url": "https://example.com/1?" + "x" * 40_000,
    "article_section": "News",
    "language": "pt-BR",
    "lead_image": "https://example.com/1.jpg",
    "og_type": "article",
    "og_title": "One",
    "og_description": "Of it",
    "og_image": "https://example.com/" + "y" * 40_000,
    "og_url": "https://example.com/1",
    "og_site_name": "Example",
    "json_ld_data": json.dumps([{"@type": "NewsArticle", "deep": [[{"a": None}]], "author": "x"}, "text", 5]),
    "word_count": 9,
    "content_hash": "01" * 32,
    "version": 3,
    "crawled_at": START,
    "content_type": "article",
    "quality_score": 73,
    "topics": ["sport", "health"],
    "categories": ["Sports"],
    "sentiment": "mixed",
    "keywords": ["cup final"],
    "story_id": str(ID),
}


def changed(**values: object) -> IndexDocument:
    return {**FULL, **values}


def an_entry(key: bytes = b"a", *, version: int = 1_750_000_000_000_000, action: Action = Action.INDEX) -> ClaimedEntry:
    return ClaimedEntry(ArticleId(ID), key.ljust(32), 1, action, version, ID, 0, 1)


def indexing(key: bytes = b"a", *, version: int = 1_750_000_000_000_000, content: IndexDocument = FULL) -> Operation:
    return operation(an_entry(key, version=version), content, most_bytes=10_000_000)


def deleting(key: bytes = b"a", *, version: int) -> Operation:
    return operation(an_entry(key, version=version, action=Action.DELETE), None, most_bytes=10_000_000)


@pytest.fixture
async def index(server_url: str, alias: str) -> AsyncIterator[SearchIndex]:
    async with SearchIndex(server_url, alias=alias, timeout=SECONDS) as index:
        yield index
        async with aiohttp.ClientSession() as session:
            for name in (index_name(alias), alias, f"{alias}-v0"):
                await session.delete(f"{server_url}/{name}")


async def make(url: str, method: str, path: str, body: Any = None) -> None:
    async with aiohttp.ClientSession() as session, session.request(method, f"{url}/{path}", json=body) as response:
        assert response.status == 200, await response.text()


async def statuses(index: SearchIndex, *operations: Operation) -> list[int]:
    outcome = await index.bulk(operations)
    assert isinstance(outcome, BulkAnswered), outcome
    return [item.status for item in outcome.items]


async def test_the_index_is_made_with_its_alias_and_found_the_next_time(index: SearchIndex) -> None:
    first = await index.ensure()
    second = await index.ensure()
    look = await index.look()

    assert first == second != ""
    assert list(look.aliases_of) == [index.index]
    assert (look.documents, list(look.differences)) == (0, [])


async def test_every_field_fits_the_mapping_however_long_or_odd(index: SearchIndex) -> None:
    await index.ensure()
    early = datetime(1, 1, 1, tzinfo=UTC)
    bare = changed(published_date=early, meta_keywords=None, author=None, json_ld_data=None, raw_text=None)
    odd = changed(json_ld_data='{"one": {"object": 1}}', word_count=2**31 - 1, raw_html=None)

    told = await statuses(
        index,
        indexing(b"a"),
        indexing(b"b", content=bare),
        indexing(b"c", content=odd),
    )

    assert told == [201, 201, 201]


async def test_the_newest_version_stays_in_whatever_order_they_come(index: SearchIndex) -> None:
    await index.ensure()

    told = await statuses(
        index,
        indexing(version=5),
        indexing(version=5),
        indexing(version=4),
        indexing(version=6),
        deleting(version=3),
        deleting(version=7),
        deleting(version=7),
        indexing(version=6),
        indexing(version=8),
        deleting(b"never there", version=1),
    )
    outcome = await index.bulk([indexing(version=7), deleting(b"nor this", version=1)])

    assert told == [201, 409, 409, 200, 409, 200, 409, 409, 201, 404]
    assert outcomes_of(outcome, 2) == [Done(), Done()]


async def test_a_document_that_does_not_fit_is_refused_alone_with_a_reason(index: SearchIndex) -> None:
    await index.ensure()
    unknown = Operation(an_entry(b"b"), indexing(b"b").lines.replace(b'"raw_text"', b'"body_text"'))
    wrong = Operation(an_entry(b"c"), indexing(b"c").lines.replace(b'"word_count":9', b'"word_count":"many"'))
    too_many = indexing(b"d", content=changed(word_count=2**31))

    outcome = await index.bulk([indexing(b"a"), unknown, wrong, too_many, indexing(b"e")])
    told = outcomes_of(outcome, 5)

    assert [type(one) for one in told] == [Done, Reject, Reject, Reject, Done]
    assert isinstance(told[1], Reject)
    assert told[1].reason.startswith("strict_dynamic_mapping_exception: ")
    assert "body_text" in told[1].reason
    assert isinstance(told[2], Reject)
    assert "word_count" in told[2].reason


async def test_without_the_alias_nothing_is_written_and_no_index_is_made(index: SearchIndex) -> None:
    outcome = await index.bulk([indexing()])

    assert isinstance(outcome, BulkAnswered)
    assert [(item.status, item.error) for item in outcome.items] == [(404, "index_not_found_exception")]
    assert list((await index.look()).aliases_of) == []


async def test_an_index_that_is_there_without_its_alias_is_taken(index: SearchIndex, server_url: str) -> None:
    await make(server_url, "PUT", index.index, {"mappings": dict(MAPPING)})

    await index.ensure()

    assert await statuses(index, indexing()) == [201]


async def test_an_index_with_another_mapping_is_refused_and_not_changed(index: SearchIndex, server_url: str) -> None:
    await make(server_url, "PUT", index.index, {"mappings": {"properties": {"title": {"type": "keyword"}}}})

    with pytest.raises(IndexMismatch) as refusal:
        await index.ensure()

    assert "dynamic is not set" in str(refusal.value)
    assert "raw_text is missing" in str(refusal.value)
    assert "title is {'type': 'keyword'}" in str(refusal.value)
    assert list((await index.look()).aliases_of) == []


async def test_an_index_in_the_place_of_the_alias_is_refused(index: SearchIndex, server_url: str) -> None:
    await make(server_url, "PUT", index.alias)

    with pytest.raises(IndexMismatch, match="an alias is needed"):
        await index.ensure()


async def test_an_alias_that_takes_no_writes_is_refused(index: SearchIndex, server_url: str) -> None:
    await index.ensure()
    add = {"index": index.index, "alias": index.alias, "is_write_index": False}
    await make(server_url, "POST", "_aliases", {"actions": [{"add": add}]})

    outcome = await index.bulk([indexing()])
    with pytest.raises(IndexMismatch, match="written to"):
        await index.ensure()

    assert isinstance(outcome, BulkAnswered)
    assert [(item.status, item.error) for item in outcome.items] == [(400, "illegal_argument_exception")]


async def test_the_alias_moves_from_an_older_index_in_one_step(index: SearchIndex, server_url: str) -> None:
    old = f"{index.alias}-v0"
    await make(server_url, "PUT", old, {"aliases": {index.alias: {}}})
    with pytest.raises(IndexMismatch, match="headwater index rebuild"):
        await index.ensure()

    left = await index.move_alias()

    assert left == [old]
    assert list((await index.look()).aliases_of) == [index.index]
    assert await index.ensure()
    assert await index.move_alias() == []


async def test_an_index_that_is_made_anew_has_another_id(index: SearchIndex, server_url: str) -> None:
    first = await index.ensure()
    await make(server_url, "DELETE", index.index)

    assert await index.ensure() != first


async def test_an_unreachable_server_is_an_outcome() -> None:
    async with SearchIndex("http://127.0.0.1:9", alias="raw_content", timeout=SECONDS) as index:
        outcome = await index.bulk([indexing()])
        with pytest.raises(IndexUnavailable) as refusal:
            await index.ensure()

    assert isinstance(outcome, Lost)
    assert not refusal.value.is_refusal


async def test_a_request_that_is_too_long_is_refused_as_a_whole(index: SearchIndex) -> None:
    await index.ensure()
    huge = indexing(content=changed(raw_text="word " * 24_000_000))

    outcome = await index.bulk([huge])

    assert isinstance(outcome, Refused)
    assert outcome.status == 413
