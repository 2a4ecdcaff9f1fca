"""Grouping, outcomes and waits: tables, no index."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from headwater.documents.types import Action, ClaimedEntry, DocumentCounts
from headwater.publishing.decide import asked_wait, faults, groups, must_split, outcome_of, outcomes_of, requests, wait
from headwater.publishing.types import (
    BulkAnswered,
    Done,
    IndexLook,
    ItemResult,
    Lost,
    Operation,
    Refused,
    Reject,
    Retry,
)
from headwater.types import ArticleId
from tests.publishing.conftest import OPTIONS

SECOND = timedelta(seconds=1)


def an_entry(number: int, *, attempts: int = 0) -> ClaimedEntry:
    return ClaimedEntry(ArticleId(UUID(int=number)), bytes([number]), 1, Action.INDEX, 1, UUID(int=0), attempts, number)


def lengths(packs: list[list[ClaimedEntry]]) -> list[int]:
    return [len(pack) for pack in packs]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (ItemResult(200), Done()),
        (ItemResult(201), Done()),
        (ItemResult(299), Done()),
        (ItemResult(300), Retry("status 300")),
        (ItemResult(409, "version_conflict_engine_exception", "newer"), Done()),
        (ItemResult(404), Done()),
        (ItemResult(404, "index_not_found_exception", "gone"), Retry("index_not_found_exception: gone")),
        (ItemResult(400, "mapper_parsing_exception", "odd"), Reject("mapper_parsing_exception: odd")),
        (ItemResult(413, "too_long", ""), Reject("too_long")),
        (ItemResult(400, "index_closed_exception", "closed"), Retry("index_closed_exception: closed")),
        (ItemResult(400, "index_not_found_exception", ""), Retry("index_not_found_exception")),
        (ItemResult(400, "cluster_block_exception", ""), Retry("cluster_block_exception")),
        (ItemResult(403, "cluster_block_exception", "read-only"), Retry("cluster_block_exception: read-only")),
        (ItemResult(403, "security_exception", "no"), Retry("security_exception: no")),
        (ItemResult(429, "es_rejected_execution_exception", ""), Retry("es_rejected_execution_exception")),
        (ItemResult(500), Retry("status 500")),
        (ItemResult(503, "unavailable_shards_exception", "away"), Retry("unavailable_shards_exception: away")),
    ],
    ids=lambda value: f"{value.status}-{value.error}" if isinstance(value, ItemResult) else "",
)
def test_what_a_result_means(item: ItemResult, expected: object) -> None:
    assert outcome_of(item) == expected


def test_a_reason_is_cut_to_a_length_that_can_be_read() -> None:
    outcome = outcome_of(ItemResult(400, "odd", "x" * 10_000))

    assert isinstance(outcome, Reject)
    assert len(outcome.reason) == 500


@pytest.mark.parametrize("said", ["a\0b", "a\ud800b"])
def test_a_reason_that_postgresql_cannot_store_is_cleaned(said: str) -> None:
    told = outcome_of(ItemResult(400, "mapper_parsing_exception", said))

    assert isinstance(told, Reject)
    assert told.reason in {"mapper_parsing_exception: ab", "mapper_parsing_exception: a?b"}


def test_a_refusal_of_everything_is_the_documents_fault_only_when_it_says_so() -> None:
    assert outcomes_of(Refused(413, ""), 1) == [Reject("refused with 413")]
    assert outcomes_of(Refused(400, "bad"), 1) == [Reject("refused with 400: bad")]
    assert outcomes_of(Refused(503, "away"), 2) == [Retry("refused with 503: away")] * 2
    assert outcomes_of(Lost("reset"), 2) == [Retry("no answer: reset")] * 2
    assert outcomes_of(BulkAnswered([ItemResult(200), ItemResult(500)]), 2) == [Done(), Retry("status 500")]


def test_a_request_is_halved_only_where_something_in_it_may_be_the_reason() -> None:
    outcomes = [Refused(413, ""), Refused(400, ""), Refused(429, ""), Lost(""), BulkAnswered([])]

    assert [must_split(outcome, 2) for outcome in outcomes] == [True, True, False, False, False]
    assert not must_split(Refused(413, ""), 1)


def test_entries_are_grouped_by_size_and_those_that_failed_often_are_sent_alone() -> None:
    entries = [an_entry(1), an_entry(2, attempts=3), an_entry(3, attempts=2), an_entry(4), an_entry(5, attempts=9)]
    sizes = {ArticleId(UUID(int=number)): 40 for number in range(1, 6)}

    grouped = groups(entries, sizes, replace(OPTIONS, batch_bytes=100))

    assert [[entry.url_key[0] for entry in group] for group in grouped] == [[1, 3], [4], [2], [5]]


def test_entries_without_content_weigh_nothing() -> None:
    assert lengths(groups([an_entry(1), an_entry(2)], {}, replace(OPTIONS, batch_bytes=1))) == [2]


def test_no_request_is_larger_than_allowed_but_for_one_document() -> None:
    operations = [Operation(an_entry(number), b"x" * size) for number, size in enumerate([60, 40, 60, 500, 40, 60, 1])]

    packs = requests(operations, replace(OPTIONS, batch_bytes=100))

    assert [[len(one.lines) for one in pack] for pack in packs] == [[60, 40], [60], [500], [40, 60], [1]]


def test_no_request_has_more_documents_than_allowed() -> None:
    packs = requests([Operation(an_entry(number), b"x") for number in range(7)], replace(OPTIONS, batch_documents=3))

    assert [len(pack) for pack in packs] == [3, 3, 1]


def test_nothing_to_send_is_no_request() -> None:
    assert requests([], OPTIONS) == []


@pytest.mark.parametrize(
    ("failures", "chance", "seconds"),
    [(1, 1, 1), (1, 0, 0.5), (2, 1, 2), (5, 1, 16), (9, 1, 256), (10, 1, 300), (10_000, 0, 150), (0, 1, 1)],
)
def test_waits_grow_to_a_bound_and_are_spread(failures: int, chance: float, seconds: float) -> None:
    assert wait(failures, OPTIONS, chance=chance) == seconds * SECOND


def test_what_the_index_asks_for_is_kept_within_the_bound() -> None:
    assert wait(1, OPTIONS, chance=1, asked=90 * SECOND) == 90 * SECOND
    assert wait(1, OPTIONS, chance=1, asked=9_999 * SECOND) == OPTIONS.wait_max
    assert wait(9, OPTIONS, chance=1, asked=SECOND) == 256 * SECOND


def test_only_an_index_that_refuses_asks_for_a_wait() -> None:
    outcomes = [Refused(429, "", 9 * SECOND), Refused(429, ""), Lost(""), BulkAnswered([])]

    assert [asked_wait(outcome) for outcome in outcomes] == [9 * SECOND, None, None, None]


WELL = IndexLook("opensearch 2", "raw_content-v2", ["raw_content-v2"], documents=10, health="green", differences=[])
QUIET = DocumentCounts(waiting=0, dead=0, oldest_at=None, is_listening=True, is_filling=False)


@pytest.mark.parametrize(
    ("look", "counts", "told"),
    [
        (WELL, QUIET, ""),
        (replace(WELL, documents=3), replace(QUIET, waiting=7), ""),
        (replace(WELL, documents=3), replace(QUIET, is_filling=True), ""),
        (replace(WELL, documents=9), replace(QUIET, dead=1), "1 document was refused"),
        (replace(WELL, documents=8), replace(QUIET, dead=2), "2 documents were refused"),
        (replace(WELL, documents=9), QUIET, "9 documents where 10 are stored"),
        (replace(WELL, documents=None), QUIET, "0 documents where 10 are stored"),
        (replace(WELL, aliases_of=[]), QUIET, "does not lead to raw_content-v2"),
        (replace(WELL, differences=["title is odd"]), QUIET, "title is odd"),
        (replace(WELL, health="red"), QUIET, "red"),
        (WELL, replace(QUIET, is_listening=False), "never run"),
    ],
    ids=[
        "well",
        "waiting",
        "filling",
        "refused",
        "two refused",
        "missing",
        "empty",
        "no alias",
        "mapping",
        "red",
        "deaf",
    ],
)
def test_faults_of_the_index_are_listed(look: IndexLook, counts: DocumentCounts, told: str) -> None:
    found = faults(look, counts, stored=10)

    assert len(found) == bool(told)
    assert told in "".join(found)
