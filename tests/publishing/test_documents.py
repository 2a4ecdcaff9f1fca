"""From content to bulk lines, and the mapping they must fit."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.documents.types import Action
from headwater.publishing.decide import operation
from headwater.publishing.mapping import MAPPING, differences, index_name
from headwater.publishing.types import IndexDocument
from tests.publishing.test_protocol import FULL, an_entry, changed

ROOMY = 10_000_000


def lines_of(content: IndexDocument | None, *, action: Action = Action.INDEX, most_bytes: int = ROOMY) -> list[Any]:
    text = operation(an_entry(action=action), content, most_bytes=most_bytes).lines
    assert text.endswith(b"\n")
    return [json.loads(line) for line in text.decode().split("\n")[:-1]]


def test_a_document_has_the_names_of_a_raw_content_document() -> None:
    action, document = lines_of(FULL)

    target = {"_id": b"a".ljust(32).hex(), "version": 1_750_000_000_000_000, "version_type": "external"}
    assert action == {"index": target}
    assert set(document) == set(MAPPING["properties"])
    assert document["published_date"] == "2026-02-28T23:59:59.999999Z"
    assert document["author"] == ["Ada", "Grace"]
    assert document["content_hash"] == "01" * 32
    assert document["json_ld_data"][0]["@type"] == "NewsArticle"


def test_missing_values_are_left_out() -> None:
    bare = changed(
        title=None, meta_keywords=None, author=None, published_date=None, json_ld_data=None, content_hash=None
    )

    _, document = lines_of(bare)

    left_out = {"title", "meta_keywords", "author", "published_date", "json_ld_data", "content_hash"}
    assert set(MAPPING["properties"]) - set(document) == left_out


@pytest.mark.parametrize("content", [FULL, None], ids=["content", "none"])
def test_a_deletion_has_no_document(content: IndexDocument | None) -> None:
    (action,) = lines_of(content, action=Action.DELETE)

    assert list(action) == ["delete"]


def test_content_that_is_gone_by_now_is_deleted() -> None:
    (action,) = lines_of(None)

    assert list(action) == ["delete"]


def test_a_document_that_is_too_large_loses_its_html() -> None:
    _, document = lines_of(FULL, most_bytes=100_000)

    assert "raw_html" not in document
    assert document["raw_text"] == FULL["raw_text"]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_is_one_line_and_comes_back_as_it_was(text: str) -> None:
    _, document = lines_of(changed(raw_text=text, title=text, meta_keywords=[text]))

    assert (document["raw_text"], document["title"], document["meta_keywords"]) == (text, text, [text])


def test_linked_data_is_passed_on_however_deep_it_is() -> None:
    deep = "[" * 50_000 + "]" * 50_000

    lines = operation(an_entry(), changed(json_ld_data=deep), most_bytes=ROOMY).lines

    assert lines.count(b"\n") == 2
    assert deep.encode() in lines


def test_our_own_mapping_has_no_differences() -> None:
    assert differences(json.loads(json.dumps(dict(MAPPING)))) == []


@pytest.mark.parametrize("found", [None, {}, [], "odd", {"properties": None}], ids=str)
def test_a_missing_mapping_differs_in_every_field(found: object) -> None:
    assert len(differences(found)) == len(MAPPING["properties"]) + 1


def test_a_field_that_is_not_ours_is_a_difference() -> None:
    found = {**MAPPING, "properties": {**MAPPING["properties"], "other": {"type": "text"}}}

    assert differences(found) == ["other is not ours"]


def test_the_index_has_its_mappings_version_in_its_name() -> None:
    assert index_name("raw_content") == "raw_content-v2"
