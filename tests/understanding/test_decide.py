"""From features to labels, and whether a language model should be asked."""

from dataclasses import replace
from uuid import UUID

import pytest

from headwater.labels.types import NewLabel, Scheme
from headwater.understanding.decide import has_topics, labels_by_model, labels_by_rules
from headwater.understanding.types import ArticleFeatures, ClassificationRule, Guess, RuleMatch

FEATURES = ArticleFeatures(
    language=Guess("en", 0.9), type=Guess("article", 0.8),
    quality={"length": 20.0, "metadata": 15.0, "structure": 20.0, "cleanliness": 25.0}, sentiment=None, keywords=[],
    embedding=None, word_counts={}, matches=[], words=100,
)  # fmt: skip
FIRST, SECOND = UUID(int=1), UUID(int=2)


def a_rule(id: UUID, label: str = "sport", scheme: Scheme = Scheme.TOPIC, version: int = 1) -> ClassificationRule:  # noqa: A002
    return ClassificationRule(id, f"Rule {id}", scheme, label, version=version)


def a_category(score: float) -> NewLabel:
    return NewLabel(Scheme.CATEGORY, "Sports", score, "1")


def test_the_score_of_quality_is_the_sum_of_its_parts_of_100():
    [quality] = [one for one in labels_by_model(FEATURES, []) if one.scheme is Scheme.QUALITY]

    assert (quality.score, quality.detail) == (pytest.approx(0.8), FEATURES.quality)


def test_an_article_without_words_has_no_labels_of_a_model():
    assert labels_by_model(replace(FEATURES, words=0), []) == []


def test_what_is_not_known_has_no_label():
    schemes = {one.scheme for one in labels_by_model(replace(FEATURES, language=None), [])}

    assert schemes == {Scheme.TYPE, Scheme.QUALITY}


def test_of_rules_with_the_same_label_the_surest_counts():
    matches = [RuleMatch(FIRST, 0.6), RuleMatch(SECOND, 0.9)]
    rules = {FIRST: a_rule(FIRST), SECOND: a_rule(SECOND, version=3)}

    [label] = labels_by_rules(replace(FEATURES, matches=matches), rules)

    assert (label.label, label.score, label.version) == ("sport", 0.9, f"{SECOND} 3")


def test_rules_with_other_labels_all_count():
    matches = [RuleMatch(FIRST, 0.6), RuleMatch(SECOND, 0.9)]
    rules = {FIRST: a_rule(FIRST, "health"), SECOND: a_rule(SECOND)}

    assert {one.label for one in labels_by_rules(replace(FEATURES, matches=matches), rules)} == {"health", "sport"}


@pytest.mark.parametrize(
    ("language", "words", "expected"), [("en", 100, True), ("de", 100, False), (None, 100, False), ("en", 2, False)]
)
def test_only_english_has_topics(language: str | None, words: int, expected: bool):
    features = replace(FEATURES, language=Guess(language, 0.9) if language else None, words=words)

    assert has_topics(features) is expected
