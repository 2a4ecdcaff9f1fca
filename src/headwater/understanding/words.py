"""The words of a text as counts in hashed buckets: what a linear model over words takes."""

import re
from collections import Counter
from typing import Final
from zlib import crc32

BUCKETS: Final = 1 << 16
# The topic shows in the first paragraphs; the rest only costs time.
MAX_CHARACTERS: Final = 20_000
_MAX_WORD: Final = 40
_WORD: Final = re.compile(r"[^\W_]{2,}")


def split_words(text: str) -> list[str]:
    """The lower-cased words of two and more letters or digits, in order, of the part that is read."""
    return [word[:_MAX_WORD] for word in _WORD.findall(text[:MAX_CHARACTERS].lower())]


def bucket_of(word: str) -> int:
    """The same in every process and on every machine, unlike `hash`."""
    return crc32(word.encode("utf-8", "replace")) % BUCKETS


def word_counts(text: str) -> dict[int, int]:
    """How often the words of each bucket occur."""
    counts: dict[int, int] = {}
    for word, count in Counter(split_words(text)).items():
        bucket = bucket_of(word)
        counts[bucket] = counts.get(bucket, 0) + count
    return counts
