"""Which labels of an article are shown, which are disputed, and which a person may give. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from headwater.errors import Invalid
from headwater.labels.types import ArticleLabel, Method, Scheme
from headwater.labels.vocabulary import FIXED
from headwater.text import is_blank, one_line

# For schemes with one label per article; a person's label always wins.
_PRECEDENCE: Sequence[Method] = (Method.RULE, Method.AI, Method.MODEL)
# For schemes with several labels per article: the score from which a label is shown.
SHOWN_FROM: Mapping[Scheme, float] = {Scheme.TOPIC: 0.35, Scheme.CATEGORY: 0.35, Scheme.KEYWORD: 0.0}
_DISPUTED_FROM = 0.5  # a method that is less sure than this does not contradict another
_NEVER_DISPUTED = frozenset({Scheme.KEYWORD, Scheme.QUALITY})
# What a person or a rule may say. A quality is computed: its score is no certainty.
GIVEN_SCHEMES: Final = tuple(scheme for scheme in Scheme if scheme is not Scheme.QUALITY)
LABEL_MAX_CHARS: Final = 100
LABELS_MOST: Final = 20  # of one scheme, by a person
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")


def decide_shown(labels: Iterable[ArticleLabel]) -> list[ArticleLabel]:
    """All labels of one article, each marked as shown or not, and as disputed or not."""
    ordered = sorted(labels, key=lambda one: one.scheme)
    return [one for scheme, of in groupby(ordered, key=lambda one: one.scheme) for one in _decide(scheme, list(of))]


def _decide(scheme: Scheme, labels: Sequence[ArticleLabel]) -> list[ArticleLabel]:
    has_person = any(one.method is Method.PERSON for one in labels)
    if has_person:
        shown = {id(one) for one in labels if one.method is Method.PERSON}
    elif scheme in SHOWN_FROM:
        shown = {id(one) for one in labels if one.score >= SHOWN_FROM[scheme]}
    else:
        shown = {id(_best(labels))}
    is_disputed = not has_person and scheme not in _NEVER_DISPUTED and _is_disputed(labels)
    return [replace(one, is_shown=id(one) in shown, is_disputed=is_disputed) for one in labels]


def _best(labels: Sequence[ArticleLabel]) -> ArticleLabel:
    return min(labels, key=lambda one: (_PRECEDENCE.index(one.method), -one.score, one.label))


def _is_disputed(labels: Sequence[ArticleLabel]) -> bool:
    """Whether two methods that are sure have no label in common."""
    sure: dict[Method, set[str]] = {}
    for one in labels:
        if one.score >= _DISPUTED_FROM:
            sure.setdefault(one.method, set()).add(one.label)
    sets = list(sure.values())
    return any(a.isdisjoint(b) for at, a in enumerate(sets) for b in sets[at + 1 :])


def has_several(scheme: Scheme) -> bool:
    """Whether an article may have more than one label of the scheme."""
    return scheme in SHOWN_FROM


def is_language(text: str) -> bool:
    """Whether it is written as a language code is."""
    return bool(_LANGUAGE.fullmatch(text))


def check_label(scheme: Scheme, given: str) -> str:
    """A label as it is stored. Raises Invalid."""
    if scheme not in GIVEN_SCHEMES:
        raise Invalid("The quality is computed; it cannot be set.")
    label = one_line(given)
    if scheme is Scheme.LANGUAGE:
        label = label.lower()
        if not is_language(label):
            raise Invalid(f"{label[:20]!r} is not a language code. Use two or three letters, such as en or pt.")
    elif scheme in FIXED:
        if label not in FIXED[scheme]:
            raise Invalid(f"{label[:60]!r} is not a label of {scheme}. Use one of: {'; '.join(FIXED[scheme])}.")
    elif is_blank(label) or len(label) > LABEL_MAX_CHARS:
        raise Invalid(f"A label has 1 to {LABEL_MAX_CHARS} characters.")
    return label


def check_labels(scheme: Scheme, given: Sequence[str]) -> list[str]:
    """What a person says about an article in one scheme, without duplicates. Raises Invalid."""
    labels = list(dict.fromkeys(check_label(scheme, one) for one in given))
    most = LABELS_MOST if has_several(scheme) else 1
    if not 1 <= len(labels) <= most:
        raise Invalid(f"Choose 1 to {most} labels." if most > 1 else "Choose one label.")
    return labels
