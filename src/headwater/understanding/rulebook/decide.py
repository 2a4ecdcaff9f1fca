"""Which rules are valid. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from headwater.articles.fingerprint import words_of
from headwater.errors import Invalid
from headwater.labels.decide import check_label
from headwater.text import is_blank, one_line
from headwater.understanding.rulebook.types import RuleFields

NAME_MAX: Final = 100
KEYWORDS_MOST: Final = 100
KEYWORD_MAX: Final = 100
PATTERNS_MOST: Final = 50
PATTERN_MAX: Final = 200
SOURCES_MOST: Final = 100
RULES_MOST: Final = 500


def check_rule(given: RuleFields) -> RuleFields:
    """The rule with clean values, without duplicates. Raises Invalid."""
    name = one_line(given.name)
    if is_blank(name) or len(name) > NAME_MAX:
        raise Invalid(f"A name has 1 to {NAME_MAX} characters.")
    label = check_label(given.scheme, given.label)
    keywords = _distinct(given.keywords, "keywords", KEYWORDS_MOST, KEYWORD_MAX)
    patterns = _distinct(given.patterns, "patterns", PATTERNS_MOST, PATTERN_MAX)
    source_ids = tuple(dict.fromkeys(given.source_ids))
    if len(source_ids) > SOURCES_MOST:
        raise Invalid(f"A rule has at most {SOURCES_MOST} sources.")
    if not (keywords or patterns or source_ids):
        raise Invalid("This rule matches nothing. Give it keywords, patterns or sources.")
    for keyword in keywords:
        if not words_of(keyword):
            raise Invalid(f"The keyword {keyword!r} has no word, so it matches nothing.")
    for pattern in patterns:
        if not any(map(str.isalnum, pattern)):
            raise Invalid(f"The pattern {pattern!r} matches everything. Write part of a URL or title, as in */sport/*.")
    if not 0 <= given.min_score <= 1:  # so NaN is refused, too
        raise Invalid("The minimum score is a number from 0 to 1.")
    return RuleFields(name, given.scheme, label, keywords, patterns, source_ids, round(given.min_score, 4))


def _distinct(given: Iterable[str], what: str, most: int, most_chars: int) -> Sequence[str]:
    """Texts on one line, without empty ones and without those that differ only in case."""
    texts = {text.casefold(): text for one in given if not is_blank(text := one_line(one))}
    if len(texts) > most:
        raise Invalid(f"A rule has at most {most} {what}.")
    if any(len(text) > most_chars for text in texts.values()):
        raise Invalid(f"Each of the {what} has at most {most_chars} characters.")
    return tuple(texts.values())
