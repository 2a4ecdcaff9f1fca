"""The articles that lie beside the project, as people marked them, and how an extraction is scored against them.

The score is that of the benchmark the pages come from: of each page, the four-word shingles that are in both texts, in
the extracted one only, and in the marked one only; precision and recall as their means over the pages; F1 of the two.
"""

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ARTICLES = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "articles"
SHINGLE = 4

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A page as it was served, and its article as a person marked it."""

    name: str
    url: str
    html: bytes
    body: str


@dataclass(frozen=True, slots=True)
class Score:
    """How well texts were extracted: of each page, and of all."""

    pages: dict[str, tuple[float, float]]

    @property
    def precision(self) -> float:
        """How much of what was extracted is the article."""
        return _mean([precision for precision, _ in self.pages.values()])

    @property
    def recall(self) -> float:
        """How much of the article was extracted."""
        return _mean([recall for _, recall in self.pages.values()])

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.precision * self.recall / (self.precision + self.recall)


@cache
def marked_pages() -> tuple[MarkedPage, ...]:
    """Every page of the corpus."""
    truth = json.loads((ARTICLES / "ground-truth.json").read_text(encoding="utf-8"))
    return tuple(
        MarkedPage(name, page["url"], _read(ARTICLES / "html" / f"{name}.html.gz"), page["articleBody"])
        for name, page in sorted(truth.items())
    )


def _read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def score_of(extract: Callable[[MarkedPage], str], pages: Sequence[MarkedPage]) -> Score:
    """Extract every page, and compare."""
    return Score({page.name: _compare(page.body, extract(page)) for page in pages})


def _compare(marked: str, extracted: str) -> tuple[float, float]:
    ours, theirs = _shingles(extracted), _shingles(marked)
    both = (ours & theirs).total()
    return (both / ours.total() if ours else 1.0, both / theirs.total() if theirs else 1.0)


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    if len(words) < SHINGLE:
        return Counter([tuple(words)] if words else [])
    return Counter(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
