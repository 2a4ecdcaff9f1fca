"""The words of an article by which stories are found and compared."""

import re
from typing import Final

MOST_WORDS: Final = 32
LEAD_MAX_CHARS: Final = 500
_TITLE_MAX_CHARS: Final = 500
_WORD_MAX_CHARS: Final = 40
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# Scripts without spaces between words: pairs of letters stand for words.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_LEAST_STEM: Final = 4
# Frequent words of headlines. Those of other languages are found by how many articles have them.
_FREQUENT: Final = """
    a about after all also an and are as at be been before but by can could did do does down for from get gets had has
    have he her him his how i if in into is it its just like make may more most new no not now of off on one or our out
    over said say says she should so some than that the their them then there these they this to top two up update us
    was we were what when where which while who why will with would you your
"""
_STOP_WORDS: Final = frozenset(_FREQUENT.split())


def words_of(title: str, lead: str = "") -> tuple[str, ...]:
    """The distinct words of the title, then of the beginning of the text, without the most frequent ones."""
    found: dict[str, None] = {}
    for part in (title[:_TITLE_MAX_CHARS], lead[:LEAD_MAX_CHARS]):
        for word in _split(part.casefold().replace("\u2019", "'")):
            if word not in _STOP_WORDS and (stem := _stem(word)):
                found[stem] = None
                if len(found) == MOST_WORDS:
                    return tuple(found)
    return tuple(found)


def _split(text: str) -> list[str]:
    words: list[str] = []
    for word in _WORD.findall(text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)):
        if _UNSPACED.match(word):
            words += [word[at : at + 2] for at in range(max(len(word) - 1, 1))]
        elif len(word) > 1:
            words.append(word[:_WORD_MAX_CHARS])
    return words


def _stem(word: str) -> str:
    """Without an English plural or possessive; the same for every word that differs in these only."""
    word = word.removesuffix("'s").replace("'", "")
    if len(word) > _LEAST_STEM and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > _LEAST_STEM and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word
