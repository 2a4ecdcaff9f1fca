"""The quality of an article, 0 to 100: four parts of 25. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from headwater.understanding.phrases import padded
from headwater.understanding.types import ArticleText

PART: Final = 25.0
_FULL_WORDS: Final = 400
_CUT_OFF: Final = re.compile(
    r"(?:…|\.\.\.|\[…\]|\[\.\.\.\]|\b(?:read|continue reading|show) (?:more|on))\W*$", re.IGNORECASE
)
# Only from the first of several marks on: a line of dots would take time that grows with the square of its length.
_SENTENCE_END: Final = re.compile(r"(?<![.!?…。！？])[.!?…。！？]++[\"'”’)]*+(?:\s|$)|[。！？]")
_SHOUTED: Final = re.compile(r"\b[A-Z]{4,}\b")
# Phrases between spaces, as in the line of an article's words.
_BOILERPLATE: Final = padded(
    "accept cookies", "accept all cookies", "we use cookies", "cookie policy", "privacy policy", "terms of use",
    "terms of service", "all rights reserved", "sign up for", "sign up to", "subscribe to", "subscribe now",
    "newsletter", "enable javascript", "log in to read", "log in to continue", "advertisement", "share this",
    "follow us", "click here",
)  # fmt: skip
_SPAM: Final = padded(
    "online casino", "casino bonus", "free spins", "no deposit bonus", "viagra", "cialis", "payday loan",
    "payday loans", "cheap essay", "cheap essays", "essay writing service", "make money fast", "make money online",
    "make money from home", "work from home and earn", "weight loss pill", "weight loss pills", "miracle cure",
    "risk free", "100 free", "100 guaranteed", "act now", "limited time offer", "buy now", "click here",
    "double your money", "double your bitcoin", "guaranteed profit", "guaranteed profits", "guaranteed returns",
    "hot singles", "escort service", "escort services", "replica watches", "buy followers", "buy backlinks",
    "betting tips",
)  # fmt: skip


def rate(article: ArticleText, text: str, words: Sequence[str], line: str) -> Mapping[str, float]:
    """The four parts. `text` is plain, `words` are its words, and `line` is these as `line_of` gives."""
    parts = {
        "length": _length(text, words), "metadata": _metadata(article), "structure": _structure(text, words),
        "cleanliness": _cleanliness(article, text, words, line),
    }  # fmt: skip
    return {name: round(max(0.0, min(PART, value)), 1) for name, value in parts.items()}


def spam_share(line: str, words: int) -> float:
    """How many phrases of spam there are for each hundred words."""
    return 100 * _count(_SPAM, line) / max(words, 50)


def _count(phrases: Sequence[str], line: str) -> int:
    return sum(line.count(phrase) for phrase in phrases if phrase in line)


def _length(text: str, words: Sequence[str]) -> float:
    """More words are better, up to 400; a text that ends in the middle loses a third."""
    value = PART * min(1.0, len(words) / _FULL_WORDS)
    return value * 2 / 3 if _CUT_OFF.search(text[-40:]) else value


def _metadata(article: ArticleText) -> float:
    return (
        7.0 * bool(article.author) + 7.0 * article.has_date + 5.0 * article.has_image
        + 4.0 * bool(article.description) + 2.0 * bool(article.title)
    )  # fmt: skip


def _structure(text: str, words: Sequence[str]) -> float:
    """Sentences of a usual length, paragraphs, and words that do not repeat too much."""
    if not words:
        return 0.0
    sentences = max(1, len(_SENTENCE_END.findall(text)))
    mean = len(words) / sentences
    sentence_part = 10.0 if 8 <= mean <= 30 else 10.0 * max(0.0, 1 - min(abs(mean - 8), abs(mean - 30)) / 30)
    paragraphs = sum(1 for line in text.splitlines() if len(line) > 40)
    wanted = max(1.0, len(words) / 150)
    paragraph_part = 8.0 * min(1.0, paragraphs / wanted)
    sample = words[:300]
    variety = len(set(sample)) / len(sample)
    variety_part = 7.0 * max(0.0, min(1.0, (variety - 0.2) / 0.25))
    few = min(1.0, len(words) / 40)  # a few words have no structure
    return (sentence_part + paragraph_part + variety_part) * few


def _cleanliness(article: ArticleText, text: str, words: Sequence[str], line: str) -> float:
    """25 without any of: capitals, exclamation marks, many links, phrases around articles, phrases of spam."""
    if not words:
        return 0.0
    hundreds = max(len(words), 50) / 100
    shouted = sum(len(word) for word in _SHOUTED.findall(article.title)) / max(len(article.title), 20)
    loss = (
        10 * min(1.0, 1.5 * shouted)
        + min(6.0, 3 * len(_SHOUTED.findall(text)) / hundreds / 3)
        + min(6.0, 2 * (text.count("!") + 2 * article.title.count("!")) / hundreds)
        + min(10.0, 2 * max(0.0, article.links / hundreds - 4))
        + min(10.0, 4 * _count(_BOILERPLATE, line) / hundreds)
        + min(25.0, 10 * spam_share(line, len(words)))
    )
    return PART - loss
