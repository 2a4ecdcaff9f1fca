"""What the texts of articles show. Runs in the sandbox, several articles in one call."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from headwater.reading.text import storable
from headwater.understanding import embedding, rules
from headwater.understanding.content_type import find_type
from headwater.understanding.keywords import find_keywords
from headwater.understanding.language import find_language
from headwater.understanding.phrases import line_of
from headwater.understanding.plain_text import TEXT_MAX_CHARS, plain_text
from headwater.understanding.quality import rate
from headwater.understanding.sentiment import find_sentiment
from headwater.understanding.types import ENGLISH, ArticleFeatures, ArticleText, ClassificationRule
from headwater.understanding.words import word_counts

_TITLE_MAX_CHARS: Final = 1_000
_LINE_MAX_WORDS: Final = 3_000
_LEAST_WORDS: Final = 3  # an embedding of fewer is of a name or a brand
_LEAST_SENTIMENT_WORDS: Final = 8
_WORD: Final = re.compile(r"\w+")
_LINK: Final = re.compile(r"<a\s", re.IGNORECASE)
# Scripts without spaces between words: two letters count as a word.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{1,2}")


def describe(articles: Sequence[ArticleText], of_operators: Sequence[ClassificationRule]) -> list[ArticleFeatures]:
    """The features of each article, in their order."""
    return [_describe(article, of_operators) for article in articles]


def topic_text(title: str, text: str) -> str:
    """What embeddings and counts of words are made of, here and in training."""
    return f"{title}\n{text}"


def _describe(article: ArticleText, of_operators: Sequence[ClassificationRule]) -> ArticleFeatures:
    text = storable(plain_text(article))
    links = article.links if article.text else len(_LINK.findall(article.html[: 2 * TEXT_MAX_CHARS]))
    article = replace(article, title=article.title[:_TITLE_MAX_CHARS], links=links)
    lead, words, title_words = text or article.description, _words(text), _words(article.title)
    about, count = topic_text(article.title, lead), len(words or _words(lead)) + len(title_words)
    line = line_of([*title_words, *words[:_LINE_MAX_WORDS]])
    language = find_language(about, article.language)
    code = language.label if language else None
    is_english = code == ENGLISH
    return ArticleFeatures(
        language=language,
        type=find_type(article, len(words), line, is_english=is_english or code is None),
        quality=rate(article, text, words, line),
        sentiment=find_sentiment(article.title, lead) if is_english and count >= _LEAST_SENTIMENT_WORDS else None,
        keywords=find_keywords(article.title, text, article.keywords, code),
        embedding=embedding.pack(embedding.embed([about])[0]) if count >= _LEAST_WORDS else None,
        word_counts=word_counts(about) if is_english else {},
        matches=rules.match(of_operators, article, text),
        words=count,
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text))
