"""How well and how fast articles are grouped into stories, beside single-link title Jaccard.

Quality is B³ on two sets. The headlines of ../shared/corpora/stories (or the file given as argument): the threshold is
chosen on one half of the stories and measured on the other, for several random halves; beside it the threshold that
ships. That of titles is the best for the half that is measured. The articles written for this project: whole, with
their texts and feeds.

The corpus names publishers, not feeds, so each headline counts as one of a feed of its own; with a feed for each
publisher, only the first headline of a publisher may join a story, and the recall is lower by that rule.

Cost is the CPU time of placing one article after 10,000, 100,000 and 1,000,000 articles of synthetic words within 72
hours, which are read as after a restart; memory is that of the whole process. The last line is one JSON object;
`ratio` is our F1 over that of titles.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from statistics import fmean
from uuid import UUID

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import numpy as np  # noqa: E402

from headwater.stories.cluster import StoryClusters  # noqa: E402
from headwater.stories.types import ClusterOptions, StoryArticle  # noqa: E402
from headwater.types import ArticleId, SourceId  # noqa: E402
from tests.eval import stories  # noqa: E402
from tests.eval.stories import B3, TrueArticle  # noqa: E402

SEEDS = (14, 15, 16, 17, 18)
JOINS = (0.18, 0.2, 0.22, 0.24, 0.26)
LEAST_PRECISION = 0.87  # on the half that chooses, for 0.85 on the other
SIZES = (10_000, 100_000, 1_000_000)
WARMED = 3_000  # articles that are placed after each size, until what is cached of stories is
MEASURED = 2_000  # articles after those
PER_EVENT = 8
VOCABULARY = 400_000
WORDS = 24


def main() -> None:
    """Measure, print a table, and end with the numbers as JSON."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else stories.HEADLINES
    numbers: dict[str, object] = {"corpus": path.is_file()}
    print(f"{'':44}{'F1':>8}{'precision':>11}{'recall':>9}")
    own = stories.own()
    numbers |= measure_own(own)
    if path.is_file():
        numbers |= measure_corpus(path)
    else:
        numbers |= {"ratio": numbers["own_ratio"], "f1": numbers["own_f1"], "precision": numbers["own_precision"]}
        print(f"{path} is absent: the numbers are those of our own articles")
    numbers |= measure_cost()
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in numbers.items()}))


def measure_own(articles: Sequence[TrueArticle]) -> dict[str, float]:
    """Our own articles, at the threshold that ships, and by titles at the best threshold for them."""
    ours = stories.group(articles)
    titles = stories.group_by_titles(articles, stories.best_by_titles(articles))
    show(f"own articles ({len(articles)})", ours)
    show("  by titles, at its best", titles)
    return {
        "own_articles": len(articles), "own_f1": ours.f1, "own_precision": ours.precision, "own_recall": ours.recall,
        "own_ratio": ours.f1 / titles.f1,
    }  # fmt: skip


def measure_corpus(path: Path) -> dict[str, float]:
    """The headlines: means over random halves."""
    articles = stories.headlines(path)
    ours, shipped, titles, times = list[B3](), list[B3](), list[B3](), list[float]()
    for seed in SEEDS:
        chosen, rest = stories.halves(articles, seed)
        join = stories.choose_join(chosen, JOINS, precision=LEAST_PRECISION)
        ours.append(stories.group(rest, ClusterOptions(join=join), measured=timed(times)))
        shipped.append(stories.group(rest))
        titles.append(stories.group_by_titles(rest, stories.best_by_titles(rest)))
        show(f"headlines, half {seed} ({len(rest)}), threshold {join}", ours[-1])
    show("headlines, mean of halves", mean(ours))
    show("  at the threshold that ships", mean(shipped))
    show("  by titles, at its best on each half", mean(titles))
    whole, by_publisher = stories.group(articles), stories.group(stories.headlines(path, by_publisher=True))
    show(f"headlines, all ({len(articles)}), as it ships", whole)
    show("  with a feed for each publisher", by_publisher)
    p50, p95 = np.percentile(times, [50, 95])
    print(f"p50 {p50:.2f} ms, p95 {p95:.2f} ms an article")
    return {
        "ratio": fmean(one.f1 for one in ours) / fmean(one.f1 for one in titles),
        "f1": fmean(one.f1 for one in ours), "precision": mean(ours).precision, "recall": mean(ours).recall,
        "least_f1": min(one.f1 for one in ours), "shipped_f1": fmean(one.f1 for one in shipped),
        "shipped_precision": mean(shipped).precision, "titles_f1": fmean(one.f1 for one in titles),
        "all_f1": whole.f1, "all_precision": whole.precision, "by_publisher_f1": by_publisher.f1,
        "by_publisher_precision": by_publisher.precision, "p50_ms": float(p50), "p95_ms": float(p95),
    }  # fmt: skip


def measure_cost() -> dict[str, float]:
    """The cost of an article after each size; `growth` is that of the largest over that of the smallest."""
    numbers = count()
    clusters = StoryClusters(lambda: UUID(int=next(numbers)))
    articles, placed = synthetic(SIZES[-1] + WARMED + MEASURED), 0
    found: dict[str, float] = {}
    costs: list[float] = []
    for size in SIZES:
        for article, event in islice(articles, size - placed):
            clusters.restore(article, event, None)
        for article, _ in islice(articles, WARMED):
            clusters.place(article)
        times: list[float] = []
        step = timed(times)
        for article, _ in islice(articles, MEASURED):
            step(lambda article=article: clusters.place(article))
        placed = size + WARMED + MEASURED
        p50, p95 = np.percentile(times, [50, 95])
        costs.append(float(np.mean(np.sort(times)[: int(0.99 * MEASURED)])))
        cost = f"mean {costs[-1]:.3f} ms, p50 {p50:.3f} ms, p95 {p95:.3f} ms"
        print(f"{size:>9,} articles: {cost}; {len(clusters):,} remembered, {resident_mb():.0f} MB", flush=True)
        found |= {f"ms_{size}": costs[-1], f"p95_ms_{size}": float(p95)}
    return found | {"growth": costs[-1] / costs[0], "remembered": len(clusters), "memory_mb": resident_mb()}


def synthetic(total: int) -> Iterator[tuple[StoryArticle, UUID]]:
    """Articles with their events, which follow each other: words by Zipf's law, four of each event's own, embeddings
    around its centre. Deterministic."""
    chance, draw = np.random.default_rng(14), random.Random(14)
    ranks = np.arange(1, VOCABULARY + 1)
    shares = np.cumsum(1 / ranks) / np.sum(1 / ranks)
    block = 10_000
    open_events: list[tuple[UUID, np.ndarray, tuple[str, ...]]] = []
    for begin in range(0, total, block):
        words = np.searchsorted(shares, chance.random((block, WORDS)))
        noise = chance.standard_normal((block, 256)).astype(np.float32)
        for at in range(min(block, total - begin)):
            number = begin + at
            if number % PER_EVENT == 0 or not open_events:
                rare = tuple(f"w{rank}" for rank in chance.integers(1_000, VOCABULARY, 4))
                event = (UUID(int=2**100 + number), chance.standard_normal(256).astype(np.float32), rare)
                open_events = [*open_events[-999:], event]
            event_id, centre, rare = open_events[draw.randrange(len(open_events))]
            vector = centre + noise[at]
            seconds = number * 72 * 3600 / total
            article = StoryArticle(
                id=ArticleId(UUID(int=number)), seen_at=seconds, at=seconds,
                words=tuple(dict.fromkeys((*rare, *(f"w{word}" for word in words[at])))),
                vector=(vector / np.linalg.norm(vector)).astype(np.float16),
                sources=frozenset([SourceId(UUID(int=draw.randrange(20_000)))]),
            )  # fmt: skip
            yield article, event_id


def timed(times: list[float]) -> Callable[[Callable[[], object]], object]:
    """Run a step, and note the milliseconds of CPU time that it took."""

    def run(step: Callable[[], object]) -> None:
        start = time.process_time_ns()
        step()
        times.append((time.process_time_ns() - start) / 1e6)

    return run


def mean(scores: Sequence[B3]) -> B3:
    """The mean of each."""
    return B3(fmean(one.precision for one in scores), fmean(one.recall for one in scores))


def show(name: str, score: B3) -> None:
    """One line of the table."""
    print(f"{name:44}{score.f1:8.3f}{score.precision:11.3f}{score.recall:9.3f}", flush=True)


def resident_mb() -> float:
    """What this process occupies."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    main()
