"""What the models on this machine are sure of is not asked of a language model."""

import pytest

from headwater.labels.types import NewLabel, Scheme
from headwater.understanding.decide import needs_language_model
from headwater.understanding.types import ArticleFeatures, Guess


def features(words: int = 100) -> ArticleFeatures:
    return ArticleFeatures(
        language=Guess("en", 0.99), type=Guess("article", 0.9), quality={}, sentiment=None, keywords=(), embedding=None,
        word_counts={}, matches=(), words=words,
    )  # fmt: skip


def label(scheme: Scheme, name: str, score: float) -> NewLabel:
    return NewLabel(scheme, name, score, "1")


CATEGORY = label(Scheme.CATEGORY, "Sports", 0.95)
SENTIMENT = label(Scheme.SENTIMENT, "neutral", 0.9)


@pytest.mark.parametrize(
    ("by_model", "by_rules", "is_asked"),
    [
        ([CATEGORY, SENTIMENT], [], False),
        ([CATEGORY], [SENTIMENT], False),
        ([], [CATEGORY, SENTIMENT], False),
        ([CATEGORY], [], True),
        ([SENTIMENT], [], True),
        ([], [], True),
        ([label(Scheme.CATEGORY, "Sports", 0.89), SENTIMENT], [], True),
        ([CATEGORY, label(Scheme.SENTIMENT, "neutral", 0.79)], [], True),
        ([label(Scheme.TOPIC, "sport", 1), label(Scheme.KEYWORD, "cup", 1)], [], True),
        ([label(Scheme.TYPE, "spam", 0.9)], [], False),
        ([label(Scheme.TYPE, "listing", 0.85)], [], False),
        ([label(Scheme.TYPE, "spam", 0.6)], [], True),
        ([label(Scheme.TYPE, "article", 0.9)], [], True),
    ],
    ids=["sure", "partly by a rule", "by rules", "no sentiment", "no category", "nothing", "unsure category",
         "unsure sentiment", "topic only", "spam", "listing", "perhaps spam", "article"],
)  # fmt: skip
def test_what_is_sure_is_not_asked(by_model: list[NewLabel], by_rules: list[NewLabel], is_asked: bool) -> None:
    assert needs_language_model(features(), by_model, by_rules) is is_asked


@pytest.mark.parametrize(("words", "is_asked"), [(0, False), (5, False), (6, True)])
def test_a_text_of_few_words_is_not_asked(words: int, is_asked: bool) -> None:
    assert needs_language_model(features(words), [], []) is is_asked
