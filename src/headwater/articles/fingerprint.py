"""When two texts are the same, and when they are nearly so. Pure.

The hash is of the words alone, so that markup, spaces, case and punctuation make no difference. The simhash is 64 bits
of three-word shingles: texts that share most of their shingles differ in few bits.
"""

import re
import unicodedata
from hashlib import blake2b, sha256
from itertools import islice

NEAR_BITS = 3  # at most this many bits apart: nearly the same text
SHORTEST_LIKE = 40  # words: below, a few of them decide too many bits
MAX_SHINGLES = 20_000
_SHINGLE = 3

# Scripts that put no space between words: each letter counts as one.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"\w+")

# Sixty-four counters side by side in one integer, each _LANE bits wide: a shingle is counted in eight additions.
_LANE = 20
_COUNTS = [
    [sum(1 << _LANE * (8 * place + bit) for bit in range(8) if value >> bit & 1) for value in range(256)]
    for place in range(8)
]


def words_of(text: str) -> list[str]:
    """The words of a text in the form in which they are compared."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(_UNSPACED.sub(r" \g<0> ", plain))


def hash_of(words: list[str]) -> bytes | None:
    """SHA-256 of the words; None where there are none."""
    return sha256(" ".join(words).encode("utf-8", "surrogatepass")).digest() if words else None


def simhash_of(words: list[str]) -> int | None:
    """The simhash as PostgreSQL's bigint has it, signed; None for a text too short to be like another."""
    if len(words) < SHORTEST_LIKE:
        return None
    total = count = 0
    shingles = zip(*(words[start:] for start in range(_SHINGLE)), strict=False)
    for shingle in islice(shingles, MAX_SHINGLES):
        digest = blake2b(" ".join(shingle).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for counts, byte in zip(_COUNTS, digest, strict=True):
            total += counts[byte]
        count += 1
    mask = (1 << _LANE) - 1
    bits = sum(1 << place for place in range(64) if (total >> _LANE * place & mask) * 2 > count)
    return bits - (1 << 64) if bits >> 63 else bits


def distance(one: int, other: int) -> int:
    return ((one ^ other) & (1 << 64) - 1).bit_count()
