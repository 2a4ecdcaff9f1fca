"""Which of the operators' rules an article matches. Pure, and linear in the text: no regular expressions of operators.

The score of keywords is 1 - 2 ** -n. Each keyword that occurs adds 1 to n, another 1 in the title, and ½ if it occurs
three times or more. One keyword once is 0.5, two are 0.75. How many keywords the rule has does not matter. A pattern
that fits, or a source, scores 1.
"""

from collections import Counter
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from headwater.articles.fingerprint import words_of
from headwater.types import SourceId
from headwater.understanding.types import ArticleText, ClassificationRule, RuleMatch

_READ_CHARS: Final = 50_000
_OFTEN: Final = 3


class _MatchedText(NamedTuple):
    """The words, each between two spaces, and how often each occurs."""

    line: str
    counts: Counter[str]

    def count(self, keyword: tuple[str, ...]) -> int:
        if len(keyword) == 1:
            return self.counts[keyword[0]]
        if not all(word in self.counts for word in keyword):
            return 0
        return self.line.count(f" {' '.join(keyword)} ")


def match(rules: Sequence[ClassificationRule], article: ArticleText, text: str | None = None) -> list[RuleMatch]:
    """The rules whose score is at least their minimum, enabled or not. `text`: the plain text, if it is known."""
    if not rules:
        return []
    title = _matched_text(article.title)
    whole = _matched_text(f"{article.title}\n{article.description}\n{article.text if text is None else text}")
    sources = set(article.source_ids)
    scored = [(rule, score(rule, article, title, whole, sources)) for rule in rules]
    return [RuleMatch(rule.id, found) for rule, found in scored if found > 0 and found >= rule.min_score]


def score(
    rule: ClassificationRule,
    article: ArticleText,
    title: _MatchedText,
    whole: _MatchedText,
    sources: Container[SourceId],
) -> float:
    if any(source_id in sources for source_id in rule.source_ids):
        return 1.0
    if any(fits(pattern, article.url) or fits(pattern, article.title) for pattern in rule.patterns):
        return 1.0
    evidence = sum(_evidence(words, title, whole) for words in {_words(keyword) for keyword in rule.keywords} if words)
    return 1 - 2.0**-evidence


def fits(pattern: str, value: str) -> bool:
    """Whether the pattern fits the whole value; * stands for any text, case does not matter."""
    pattern, value = pattern.casefold().strip(), value.casefold()
    if not pattern.strip("*"):
        return False  # it would fit everything
    first, *rest = pattern.split("*")
    if not rest:
        return value == first
    *between, last = rest
    if not value.startswith(first):
        return False
    at = len(first)
    for part in between:
        at = value.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return len(value) - len(last) >= at and value.endswith(last)


def _evidence(keyword: tuple[str, ...], title: _MatchedText, whole: _MatchedText) -> float:
    count = whole.count(keyword)
    if count == 0:
        return 0.0
    return 1.0 + (title.count(keyword) > 0) + 0.5 * (count >= _OFTEN)


@lru_cache(maxsize=50_000)  # as many as the rules may have: with fewer, each batch would split all again
def _words(keyword: str) -> tuple[str, ...]:
    return tuple(words_of(keyword))


def _matched_text(text: str) -> _MatchedText:
    words = words_of(text[:_READ_CHARS])
    return _MatchedText(f" {' '.join(words)} ", Counter(words))
