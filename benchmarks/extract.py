"""How well and how fast articles are extracted, beside trafilatura's own: F1 over pages that people marked by hand.

Both get the same bytes. Trafilatura runs with its defaults, and again with each of its leanings: what it reaches at its
best stands beside ours too. Our time holds all that a record needs: text, clean HTML, all fields and fingerprints.
Rounds are interleaved and the best of each is taken, in CPU time. The last line is one JSON object; `ratio` is our F1
over trafilatura's.

Pages come from ../shared/corpora beside the project. Where that is absent, pages are made up: then the numbers only
show that the benchmark runs.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import trafilatura  # noqa: E402

from headwater.extraction.extract import extract  # noqa: E402
from tests.eval.articles import ARTICLES, MarkedPage, Score, marked_pages, score_of  # noqa: E402

ROUNDS = 3


def main() -> None:
    """Measure, print a table, and end with the numbers as JSON."""
    pages, origin = load()
    size = sum(len(page.html) for page in pages)
    print(f"{len(pages)} pages ({origin}), {size / 1e6:.1f} MB; best of {ROUNDS} rounds, CPU time")
    candidates: dict[str, Callable[[MarkedPage], str]] = {
        "headwater": ours,
        "trafilatura": partial(theirs),
        "  favouring recall": partial(theirs, favor_recall=True),
        "  favouring precision": partial(theirs, favor_precision=True),
        "  its best, by hand": partial(theirs, favor_precision=True, include_comments=False),
    }
    scores = {name: score_of(candidate, pages) for name, candidate in candidates.items()}
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(ROUNDS):
        for name, candidate in candidates.items():
            best[name] = min(best[name], seconds(candidate, pages))
    print(f"{'':24}{'F1':>8}{'precision':>11}{'recall':>9}{'pages/s':>9}{'MB/s':>7}")
    for name, score in scores.items():
        speed = f"{len(pages) / best[name]:9.1f}{size / 1e6 / best[name]:7.1f}"
        print(f"{name:24}{score.f1:8.4f}{score.precision:11.4f}{score.recall:9.4f}{speed}")
    tell(pages, origin, scores, best)


def tell(pages: list[MarkedPage], origin: str, scores: dict[str, Score], best: dict[str, float]) -> None:
    """The numbers for a script."""
    ours, theirs = scores["headwater"].f1, scores["trafilatura"].f1
    their_best = max(score.f1 for name, score in scores.items() if name != "headwater")
    print(
        json.dumps(
            {
                "bench": "extract",
                "ratio": round(ours / theirs, 4),
                "ratio_to_its_best": round(ours / their_best, 4),
                "f1": round(ours, 4),
                "precision": round(scores["headwater"].precision, 4),
                "recall": round(scores["headwater"].recall, 4),
                "trafilatura_f1": round(theirs, 4),
                "trafilatura_best_f1": round(their_best, 4),
                "pages_per_second": round(len(pages) / best["headwater"], 1),
                "trafilatura_pages_per_second": round(len(pages) / best["trafilatura"], 1),
                "pages": len(pages),
                "corpus": origin,
            }
        )
    )


def ours(page: MarkedPage) -> str:
    """Headwater: the whole record."""
    return extract(page.html, url=page.url, content_type="text/html").text


def theirs(page: MarkedPage, **leaning: bool) -> str:
    """Trafilatura: the text alone."""
    return trafilatura.extract(page.html, **leaning) or ""  # pyright: ignore[reportArgumentType]


def seconds(candidate: Callable[[MarkedPage], str], pages: list[MarkedPage]) -> float:
    """CPU time to extract every page once."""
    start = time.process_time()
    for page in pages:
        candidate(page)
    return time.process_time() - start


def load() -> tuple[list[MarkedPage], str]:
    """The marked pages, or some that look like them."""
    if ARTICLES.is_dir():
        return list(marked_pages()), "marked by hand"
    return [synthetic(number) for number in range(40)], "made up"


def synthetic(number: int) -> MarkedPage:
    """A page as a common newspaper writes it."""
    paragraphs = [
        f"Paragraph {n} of story {number} tells at length what happened to boat {number * n}, and to whom it belongs."
        for n in range(4 + number % 9)
    ]
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    html = (
        f"<!doctype html><html lang=en><head><title>Story {number} - The Post</title></head><body>"
        f"<nav><a href=/>Home</a></nav><article><h1>Story {number}</h1><p>By Ann Author</p>{body}"
        "<p>Related: <a href=/x>Another</a></p></article><aside class=related-stories><a href=/y>One more story to read"
        "</a></aside><footer>Copyright</footer></body></html>"
    )
    return MarkedPage(str(number), f"https://example.com/{number}", html.encode(), "\n".join(paragraphs))


if __name__ == "__main__":
    main()
