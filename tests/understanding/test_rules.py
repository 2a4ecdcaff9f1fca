"""Which of the operators' rules an article matches."""

import time
from collections.abc import Sequence
from uuid import UUID

import pytest

from headwater.ids import new_id
from headwater.labels.types import Scheme
from headwater.types import SourceId
from headwater.understanding.rules import fits, match
from headwater.understanding.types import ArticleText, ClassificationRule

ID = UUID(int=1)


def a_rule(
    *keywords: str, patterns: Sequence[str] = (), source_ids: Sequence[SourceId] = (), min_score: float = 0.5
) -> ClassificationRule:
    return ClassificationRule(ID, "A rule", Scheme.TOPIC, "weather", keywords, patterns, source_ids, min_score)


def an_article(title: str = "", text: str = "", url: str = "https://example.com/a") -> ArticleText:
    return ArticleText(url, title, text)


def score(rule: ClassificationRule, title: str = "", text: str = "") -> float:
    return next((found.score for found in match([rule], an_article(title, text))), 0.0)


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("", "Nothing of it", 0.0),
        ("", "The storm came", 0.5),
        ("", "The storm and the flood", 0.75),
        ("Storm", "It came", 0.75),
        ("Storm", "storm and STORM", 1 - 2**-2.5),
    ],
)
def test_the_score_grows_with_distinct_keywords_the_title_and_repetition(title: str, text: str, expected: float):
    assert score(a_rule("storm", "flood", min_score=0), title, text) == pytest.approx(expected)


def test_more_keywords_in_a_rule_do_not_lower_its_score():
    others = [f"word{n}" for n in range(500)]

    assert score(a_rule("storm", *others), text="a storm") == score(a_rule("storm"), text="a storm")


def test_a_keyword_given_twice_counts_once():
    assert score(a_rule("storm", "Storm", " STORM!"), text="a storm") == 0.5


@pytest.mark.parametrize("text", ["a rainstorm", "stormy", "sto rm"])
def test_only_whole_words_count(text: str):
    assert score(a_rule("storm"), text=text) == 0


@pytest.mark.parametrize("text", ["A tropical storm came", "Tropical-storm warning", "TROPICAL\nSTORM"])
def test_a_phrase_is_found_whatever_case_and_punctuation(text: str):
    assert score(a_rule("Tropical Storm"), text=text) == 0.5


def test_the_words_of_a_phrase_apart_are_not_the_phrase():
    assert score(a_rule("tropical storm"), text="A storm in tropical waters") == 0


def test_a_keyword_in_a_script_without_spaces_is_found():
    assert score(a_rule("台風"), text="大型の台風が接近しています") == 0.5


@pytest.mark.parametrize("keyword", ["", "  ", "!?"])
def test_a_keyword_without_letters_matches_nothing(keyword: str):
    assert score(a_rule(keyword, min_score=0), text="a ! text") == 0


def test_a_rule_matches_from_its_minimum_score_on():
    assert score(a_rule("storm", min_score=0.6), text="a storm") == 0
    assert score(a_rule("storm", min_score=0.5), text="a storm") == 0.5


def test_an_article_of_a_source_of_the_rule_matches():
    here, elsewhere = SourceId(new_id()), SourceId(new_id())
    article = ArticleText("https://example.com/", "", source_ids=[elsewhere, here])

    assert match([a_rule(source_ids=[here])], article) == [(ID, 1.0)]
    assert match([a_rule(source_ids=[SourceId(new_id())])], article) == []


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("*/weather/*", "https://example.com/weather/today", True),
        ("*/weather/*", "https://example.com/WEATHER/today", True),
        ("*/weather/*", "https://example.com/weather", False),
        ("https://example.com/*", "https://example.com/", True),
        ("https://example.com/*", "see https://example.com/", False),
        ("*.pdf", "https://example.com/a.pdf", True),
        ("*.pdf", "https://example.com/a.pdf?b", False),
        ("Sponsored*", "Sponsored: buy", True),
        ("sponsored", "Sponsored", True),
        ("sponsored", "Sponsored: buy", False),
        ("a*b*c", "a-b-b-c", True),
        ("a*ab", "ab", False),
        ("ab*ab", "ab", False),
        ("**a**", "bab", True),
        ("*", "anything", False),
        ("", "", False),
        ("a.c", "abc", False),
        ("[ab]*", "abc", False),
    ],
)
def test_a_pattern_fits_the_whole_value(pattern: str, value: str, expected: bool):
    assert fits(pattern, value) is expected


def test_a_pattern_fits_url_or_title():
    rule = a_rule(patterns=["*storm*"])

    assert match([rule], an_article(title="The Storm")) == [(ID, 1.0)]
    assert match([rule], an_article(url="https://example.com/storm")) == [(ID, 1.0)]
    assert match([rule], an_article(text="storm")) == []


def test_no_rules_match_nothing():
    assert match([], an_article("Storm")) == []


def test_patterns_and_keywords_made_to_be_slow_are_not():
    started = time.process_time()
    hostile = an_article("a" * 1_000, "a " * 25_000, url="https://example.com/" + "a" * 2_000)
    rules = [a_rule("a a a b", *["a b"] * 100, patterns=["*a" * 50 + "*b"]) for _ in range(20)]

    assert match(rules, hostile) == []
    assert time.process_time() - started < 2
