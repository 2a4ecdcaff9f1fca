"""Words and sentences of a text in any language. Pure."""

import re
import unicodedata
from collections.abc import Iterator
from importlib.resources import files

SENTENCES_READ = 14  # news says first what matters
SENTENCE_MIN = 30
SENTENCE_MAX = 420

# Scripts without spaces between words: pairs of characters are used as words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+(?:['’][^\\W\\d_{_UNSPACED}]+)?")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_END = re.compile(r"""(?:(?<![.!?…؟۔।])[.!?…؟۔।]+["'”’»)\]]*(?=\s)|[。！？]+[」』”’）]*|\n+)""")
# After these a full stop ends no sentence: a title, an initial, an abbreviation of months, places and numbers.
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\"'“„])(?:[^\W\d_]|Mr|Mrs|Ms|Dr|Prof|Sen|Rep|Gov|Gen|Col|Lt|St|No|Nr|vs|etc|Inc|Ltd|Co|Corp|Jr|Sr|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|ca|bzw|z\.\s?B|d\.\s?h|u\.\s?a|usw|M|Mme|Mlle|Sra|Dra|Ing|"
    r"approx|p\.\s?ex|e\.g|i\.e|a\.m|p\.m|U\.S|U\.K|г|ул|т\.\s?е)\.$"
)
# Stop words of the languages that most feeds are written in.
_COMMON = frozenset(
    word
    for line in (files("headwater.library.summaries") / "common_words.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
    for word in line.split()
)


def words_in(text: str) -> Iterator[str]:
    """The words of a text without stop words, as they are compared."""
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold()):
        word = match[0].replace("’", "'")
        if _IS_UNSPACED.match(word):
            yield from (word[start : start + 2] for start in range(max(1, len(word) - 1)))
        elif word not in _COMMON and len(word) > 1:
            yield word.removesuffix("'s")


def sentences_in(text: str) -> list[str]:
    """The first sentences that can stand alone: neither a fragment nor a wall."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(f"{text}\n"):
        if match[0].strip() == "." and _ABBREVIATED.search(text[max(start, match.end() - 12) : match.end()]):
            continue
        sentence = " ".join(text[start : match.end()].split())
        start = match.end()
        if _can_stand(sentence):
            found.append(sentence)
        if len(found) == SENTENCES_READ:
            break
    return found


def _can_stand(sentence: str) -> bool:
    dense = bool(_IS_UNSPACED.search(sentence))
    if not (SENTENCE_MIN // (3 if dense else 1) <= len(sentence) <= SENTENCE_MAX):
        return False
    return sentence.rstrip("\"'”’»)]」』）")[-1:] in tuple(".!?…؟۔।。！？")
