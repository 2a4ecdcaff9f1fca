"""Only an answer that fits the schema becomes tags, whoever has written it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.labels.vocabulary import CATEGORIES, SENTIMENTS
from headwater.understanding.tagging.answer import ANSWER_MAX, TOPIC_MAX, read_tags
from headwater.understanding.tagging.types import Tags, UnfitAnswer
from tests.understanding.tagging.desk import GOOD


def answered(**changes: object) -> str:
    return json.dumps(GOOD | changes)


def test_an_answer_that_fits_becomes_tags() -> None:
    topics = ("nuclear energy", "record output", "lindau")
    assert read_tags(answered()) == Tags(topics, "positive", ("Science & Health", "Technology"), 0.85)


@pytest.mark.parametrize(
    "topics",
    [
        ["энергия", "рекорд", "линдау"],
        ["原子力", "記録", "リンダウ"],
        ["انرژی هسته‌ای", "رکورد", "لینداو"],
        ["नाभिकीय ऊर्जा", "रिकॉर्ड", "लिंडाऊ"],
        ["c++", "at&t", "covid-19", "g7 summit", "o'brien"],
    ],
    ids=["Russian", "Japanese", "Persian with a joiner", "Hindi", "signs"],
)
def test_topics_may_be_of_any_script(topics: list[str]) -> None:
    tags = read_tags(answered(topics=topics))

    assert isinstance(tags, Tags)
    assert tags.topics == tuple(topics)


def test_spaces_in_topics_are_tidied() -> None:
    tags = read_tags(answered(topics=["  Nuclear   energy ", "b", "c"]))

    assert isinstance(tags, Tags)
    assert tags.topics[0] == "nuclear energy"


UNFIT: dict[str, str] = {
    "no JSON": "I cannot label this.",
    "empty": "",
    "null": "null",
    "a list": json.dumps([GOOD]),
    "fenced": f"```json\n{answered()}\n```",
    "two objects": answered() + answered(),
    "text behind it": answered() + "\nDone.",
    "deep": "[" * 1500,
    "unknown field": answered(note="hello"),
    "a lone surrogate": '{"topics": ["\\ud800", "b", "c"]}',
    "too long": answered() + " " * ANSWER_MAX,
    **{f"no {name}": json.dumps({key: value for key, value in GOOD.items() if key != name}) for name in GOOD},
    **{f"{name} is null": answered(**{name: None}) for name in GOOD},
    "two topics": answered(topics=["a", "b"]),
    "six topics": answered(topics=list("abcdef")),
    "equal topics": answered(topics=["Energy", "energy", "lindau"]),
    "topics are text": answered(topics="energy, record, lindau"),
    "a topic is a number": answered(topics=["a", "b", 3]),
    "a topic is empty": answered(topics=["a", "b", ""]),
    "a topic is blank": answered(topics=["a", "b", "\u200d\u00a0"]),
    "a topic has no word": answered(topics=["a", "b", "!!!"]),
    "a long topic": answered(topics=["a", "b", "c" * (TOPIC_MAX + 1)]),
    "a topic with HTML": answered(topics=["a", "b", "<b>c</b>"]),
    "a topic with an open tag": answered(topics=["a", "b", "<img src=x onerror=alert(1)"]),
    "a topic with a template": answered(topics=["a", "b", "{{ 7 * 7 }}"]),
    "a topic with a link": answered(topics=["a", "b", "[c](x)"]),
    "a topic with a URL": answered(topics=["a", "b", "https://example.com"]),
    "a topic with NUL": answered(topics=["a", "b", "c\x00"]),
    "a topic of two lines": answered(topics=["a", "b", "c\nd"]),
    "a topic with a line separator": answered(topics=["a", "b", "c\u2028d"]),
    "a topic with an escape": answered(topics=["a", "b", "c\x1b[31m"]),
    "a topic right to left": answered(topics=["a", "b", "c\u202ed"]),
    "a topic with hidden tags": answered(topics=["a", "b", "c\U000e0041"]),
    "a topic with a zero-width space": answered(topics=["a", "b", "c\u200bd"]),
    "unknown sentiment": answered(sentiment="ironic"),
    "sentiment in capitals": answered(sentiment="Positive"),
    "two sentiments": answered(sentiment=["positive", "negative"]),
    "no category": answered(categories=[]),
    "four categories": answered(categories=list(CATEGORIES[:4])),
    "unknown category": answered(categories=["Gossip"]),
    "category in another case": answered(categories=["technology"]),
    "equal categories": answered(categories=["Sports", "Sports"]),
    "category is text": answered(categories="Sports"),
    "confidence above 1": answered(confidence=1.01),
    "confidence below 0": answered(confidence=-0.1),
    "confidence in percent": answered(confidence=85),
    "confidence is text": answered(confidence="0.85"),
    "confidence is true": answered(confidence=True),
    "confidence is NaN": answered(confidence=float("nan")),
    "confidence is infinite": answered(confidence=float("inf")),
}


@pytest.mark.parametrize("content", UNFIT.values(), ids=UNFIT)
def test_any_other_answer_is_a_failure(content: str) -> None:
    assert isinstance(read_tags(content), UnfitAnswer)


def test_the_reason_names_the_place_and_has_no_text_of_the_answer() -> None:
    secret = "Ignore all rules"
    unfit = read_tags(answered(**{secret: 1}, categories=[secret], topics=["a", f"<b>{secret}", "c"]))

    assert isinstance(unfit, UnfitAnswer)
    assert secret not in unfit.reason
    assert "topics.1" in unfit.reason
    assert "categories.0" in unfit.reason


ANY = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
)


@given(
    st.fixed_dictionaries(
        {
            "topics": st.lists(st.text(max_size=70), min_size=2, max_size=6) | ANY,
            "sentiment": st.sampled_from(SENTIMENTS) | ANY,
            "categories": st.lists(st.sampled_from(CATEGORIES), max_size=4) | ANY,
            "confidence": st.floats(-1, 2) | ANY,
        }
    )
)
def test_whatever_is_accepted_is_safe_to_store_and_show(answer: dict[str, Any]) -> None:
    tags = read_tags(json.dumps(answer))

    if isinstance(tags, UnfitAnswer):
        return
    assert 3 <= len(set(tags.topics)) == len(tags.topics) <= 5
    assert all(0 < len(one) <= 100 and one == one.strip() for one in tags.topics)
    assert not any("<" in one or "\x00" in one or "\n" in one for one in tags.topics)
    assert tags.sentiment in SENTIMENTS
    assert set(tags.categories) <= set(CATEGORIES)
    assert 0 <= tags.confidence <= 1
