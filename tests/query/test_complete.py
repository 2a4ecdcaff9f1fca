"""A query is completed where it is being written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import QueryInvalid
from headwater.query.complete import Completion, complete
from headwater.query.grammar import parse
from headwater.query.types import Audience

KNOWN = {
    "source": [Completion("Daily News"), Completion('The "Post"')],
    "lang": [Completion("de", "German"), Completion("en", "English")],
}


def completed(text: str, audience: Audience = Audience.READER) -> list[str]:
    """The whole query after each completion. `|` is the cursor."""
    cursor = text.index("|")
    text = text.replace("|", "", 1)
    found = complete(text, cursor, audience, KNOWN)
    return [text[: found.start] + one.text + text[found.end :] for one in found.items]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("to|", ["topic:"]),
        ("storm -TO|", ["storm -topic:"]),
        ("(ti|", ["(title:"]),
        ("to| storm", ["topic: storm"]),
        ("topic:sp|", ["topic:sport ", "topic:Sports "]),
        ("topic:spo|rt storm", ["topic:sport storm", "topic:Sports storm"]),
        ("-topic:human|", ['-topic:"human interest" ']),
        ("topic:finance|", ['topic:"Business & Finance" ']),
        ("type:press-r|", ['type:"press release" ']),
        ("is:un|", ["is:unread "]),
        ("quality:>6|", ["quality:>60 "]),
        ("lang:ger|", ["lang:de "]),
        ("lang:e|", ["lang:en "]),
        ("source:news|", ['source:"Daily News" ']),
        ('source:"daily n|" storm', ['source:"Daily News" storm']),
        ('source:"daily n| storm', ['source:"Daily News" ']),
        ("source:post|", ['source:"The \\"Post\\"" ']),
        ("nosuch:x|", []),
        ('"to|', []),
        ('"a b" storm|', []),
        ("topic:sport |x", []),
    ],
)
def test_fields_and_values_are_completed(text: str, wanted: list[str]) -> None:
    assert completed(text) == wanted


def test_all_fields_are_offered_in_an_empty_box() -> None:
    assert completed("|")[:3] == ["source:", "category:", "topic:"]
    assert completed("storm |")[0] == "storm source:"


def test_fields_of_a_reader_are_not_offered_for_all_articles() -> None:
    assert completed("is|", Audience.EVERYONE) == []
    assert completed("is:un|", Audience.EVERYONE) == []
    assert completed("ta|", Audience.READER) == ["tag:"]


@given(st.text(st.sampled_from('ato:" -()“”\\>é'), max_size=12), st.integers(-3, 15))
def test_any_text_is_completed_within_it(text: str, cursor: int) -> None:
    found = complete(text, cursor, Audience.READER, KNOWN)

    assert not found.items or 0 <= found.start <= found.end <= len(text)


@given(st.sampled_from(["topic:", "type:", "sentiment:", "is:", "has:", "newer:", "older:", "quality:", "lang:"]))
def test_every_value_that_is_offered_can_be_read(field: str) -> None:
    items = complete(field, len(field), Audience.READER, KNOWN).items

    assert items
    for item in items:
        try:
            parse(item.text, Audience.READER)
        except QueryInvalid as error:
            pytest.fail(f"{item.text}: {error}")
