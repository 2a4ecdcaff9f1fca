"""From features to labels, and whether a language model should be asked. Pure."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Final
from uuid import UUID

from headwater.labels.types import NewLabel, Scheme
from headwater.labels.vocabulary import QUALITY
from headwater.understanding.types import (
    ENGLISH,
    ArticleFeatures,
    ClassificationRule,
    ComputedReputation,
    SourceQuality,
)

# What a model on this machine labels; all of it is replaced together.
MODEL_SCHEMES: Final = (
    Scheme.LANGUAGE, Scheme.TYPE, Scheme.QUALITY, Scheme.TOPIC, Scheme.CATEGORY, Scheme.SENTIMENT, Scheme.KEYWORD,
)  # fmt: skip
RULE_SCHEMES: Final = tuple(scheme for scheme in Scheme if scheme is not Scheme.QUALITY)  # its score is no certainty
_LANGUAGE_VERSION: Final = f"py3langid {version('py3langid')}"
_SENTIMENT_VERSION: Final = f"vader {version('vaderSentiment')}"
# Of our own rules; raised whenever they change.
_TYPE_VERSION: Final = "type 1"
_QUALITY_VERSION: Final = "quality 1"
_KEYWORD_VERSION: Final = "keyword 1"
_LABEL_MAX_CHARS: Final = 100
# What is surer than this is not asked of a language model. Of 3,000 short news items (AG News), the model that ships
# is right about 77 % of all categories, and 86 % of those with 0.9, which are 62 % of them. The sentiment of half of
# these is sure, so a third of the items is not asked.
_SURE_FROM: Mapping[Scheme, float] = {Scheme.CATEGORY: 0.9, Scheme.SENTIMENT: 0.8, Scheme.TYPE: 0.7}
_NOT_ASKED: Final = frozenset({(Scheme.TYPE, "spam"), (Scheme.TYPE, "listing")})
_LEAST_WORDS: Final = 6  # nothing can be said about fewer
_UNKNOWN_REPUTATION: Final = 50.0
_GOOD_QUALITY: Final = 70.0
_GOOD_ARTICLES: Final = 10
_LITTLE_SPAM: Final = 0.05


def has_topics(features: ArticleFeatures) -> bool:
    """Whether a model of topics can say something: it knows English only."""
    return features.language is not None and features.language.label == ENGLISH and features.words >= _LEAST_WORDS


def labels_by_model(features: ArticleFeatures, topics: Sequence[NewLabel]) -> list[NewLabel]:
    """The labels of the models on this machine: what the features show, and the topics."""
    if not features.words:
        return []
    labels = [NewLabel(Scheme.TYPE, features.type.label, features.type.score, _TYPE_VERSION)]
    if features.language is not None:
        labels.append(NewLabel(Scheme.LANGUAGE, features.language.label, features.language.score, _LANGUAGE_VERSION))
    total = min(1.0, sum(features.quality.values()) / 100)
    labels.append(NewLabel(Scheme.QUALITY, QUALITY, total, _QUALITY_VERSION, features.quality))
    if features.sentiment is not None:
        one = features.sentiment
        labels.append(NewLabel(Scheme.SENTIMENT, one.label, one.score, _SENTIMENT_VERSION))
    labels += [
        NewLabel(Scheme.KEYWORD, one.label[:_LABEL_MAX_CHARS], one.score, _KEYWORD_VERSION) for one in features.keywords
    ]
    return [*labels, *topics]


def labels_by_rules(features: ArticleFeatures, rules: Mapping[UUID, ClassificationRule]) -> list[NewLabel]:
    """The labels of the matching rules; of several rules with one label, that of the surest."""
    labels: dict[tuple[Scheme, str], NewLabel] = {}
    for match in sorted(features.matches, key=lambda match: (match.score, str(match.rule_id))):
        rule = rules[match.rule_id]
        if rule.scheme in RULE_SCHEMES:
            labels[rule.scheme, rule.label] = NewLabel(rule.scheme, rule.label, match.score, rule_version(rule))
    return list(labels.values())


def rule_version(rule: ClassificationRule) -> str:
    return f"{rule.id} {rule.version}"


def needs_language_model(features: ArticleFeatures, by_model: Sequence[NewLabel], by_rules: Sequence[NewLabel]) -> bool:
    """Whether a language model should be asked: the text says something, and no category or no sentiment is sure.

    In other languages than English, neither is sure unless a rule says so. Spam and listings are not worth the cost.
    """
    sure = {(one.scheme, one.label) for one in (*by_model, *by_rules) if one.score >= _SURE_FROM.get(one.scheme, 1)}
    if features.words < _LEAST_WORDS or not sure.isdisjoint(_NOT_ASKED):
        return False
    return not {Scheme.CATEGORY, Scheme.SENTIMENT} <= {scheme for scheme, _ in sure}


def reputation_of(source: SourceQuality) -> ComputedReputation:
    """The mean quality less the share of spam; a tenth more for ten good articles and hardly any spam."""
    if not source.articles:
        return ComputedReputation(source, _UNKNOWN_REPUTATION)
    reputation = source.quality * (1 - source.spam_share)
    is_good = source.articles >= _GOOD_ARTICLES and source.quality >= _GOOD_QUALITY and source.spam_share < _LITTLE_SPAM
    return ComputedReputation(source, min(100.0, reputation * 1.1 if is_good else reputation))
