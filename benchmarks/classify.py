"""How often the topic of a text is found, and how fast articles are classified, beside plain scikit-learn.

Accuracy: five folds, of 100 and of 1,000 labels of the news items in ../shared/corpora beside the project, and of our
own material. scikit-learn is TF-IDF and logistic regression with its defaults, and again with better options.
Speed: CPU time of one process on one core. Ours holds all that an article needs: language, type, quality, sentiment,
keywords, embedding, topics and labels; theirs the topic alone, of all texts in one call. Memory is the most that our
process had, with all models loaded. The last line is one JSON object; `ratio` is our accuracy over theirs with 1,000
labels. Where the news items are absent, the numbers of our own material stand in for them.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

ROUNDS = 3
LONG = 10  # short texts that make a text of the length of an article
ONE_CORE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Measure, print a table, and end with the numbers as JSON."""
    from tests.eval.topics import NEWS, news, own_material  # noqa: PLC0415  our own process must not load scikit-learn

    has_news = NEWS.is_file()
    given = news() if has_news else own_material()
    numbers: dict[str, object] = {"bench": "classify"}
    print(f"{'accuracy':34}{'ours':>8}{'plain':>8}{'tuned':>8}{'ratio':>8}")
    numbers |= accuracies("own_", "our own material", None)
    for labels in (100, 1_000) if has_news else ():
        numbers |= accuracies(f"{labels}_", f"news items, {labels:,} labels", labels)
    numbers["ratio"] = numbers.get("1000_ratio", numbers["own_ratio"])
    numbers["ratio_100"] = numbers.get("100_ratio")
    if not has_news:
        print("The news items do not lie beside the project: `ratio` is that of our own material.")
    numbers |= speeds(list(given.texts), list(given.labels))
    print(json.dumps(numbers))


def accuracies(key: str, name: str, labels: int | None) -> dict[str, object]:
    """Ours and theirs on one set of texts."""
    from tests.eval.topics import (  # noqa: PLC0415
        cross_validated,
        learn_ours,
        learn_plain,
        learn_tuned,
        news,
        own_material,
    )

    given = own_material() if labels is None else news()
    ours, plain, tuned = (cross_validated(learn, given, labels) for learn in (learn_ours, learn_plain, learn_tuned))
    print(f"{name:34}{ours:8.4f}{plain:8.4f}{tuned:8.4f}{ours / plain:8.3f}")
    return {
        f"{key}accuracy": round(ours, 4), f"{key}sklearn_accuracy": round(plain, 4),
        f"{key}ratio": round(ours / plain, 4), f"{key}ratio_to_its_best": round(ours / max(plain, tuned), 4),
    }  # fmt: skip


def speeds(texts: list[str], labels: list[str]) -> dict[str, object]:
    """Articles a second on one core, of the texts as they are and of texts as long as articles."""
    long_texts = ["\n".join(texts[at : at + LONG]) for at in range(0, len(texts), LONG)]
    plain = plain_speed(texts, labels)
    short, long = our_speed(texts), our_speed(long_texts)
    words = sum(len(text.split()) for text in long_texts) // len(long_texts)
    print(f"{'articles/s a core':34}{short['speed']:8.0f}{plain:8.0f}")
    print(f"{f'articles/s a core, {words} words':34}{long['speed']:8.0f}")
    memory = max(short["memory"], long["memory"])
    print(f"{'memory of our process, MB':34}{memory:8.0f}")
    return {
        "articles_per_second": round(short["speed"], 1), "long_articles_per_second": round(long["speed"], 1),
        "long_article_words": words, "sklearn_articles_per_second": round(plain, 1), "memory_mb": round(memory, 1),
        "articles": len(texts),
    }  # fmt: skip


def plain_speed(texts: list[str], labels: list[str]) -> float:
    """Of scikit-learn, all texts in one call; the best of some rounds."""
    from tests.eval.topics import plain_pipeline  # noqa: PLC0415

    pipeline: Any = plain_pipeline(texts[:1_000], labels[:1_000])
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        pipeline.predict_proba(texts)
        best = min(best, time.process_time() - start)
    return len(texts) / best


def our_speed(texts: list[str]) -> dict[str, float]:
    """In a process of its own, which has nothing else in memory."""
    done = subprocess.run(
        [sys.executable, __file__, "--ours"], input=json.dumps(texts), capture_output=True, text=True, check=True,
        env=os.environ | ONE_CORE,
    )  # fmt: skip
    return json.loads(done.stdout)


def classify_ours() -> None:
    """Classify the texts of standard input, and print how long it took."""
    from headwater.understanding.decide import labels_by_model  # noqa: PLC0415
    from headwater.understanding.embedding import unpack  # noqa: PLC0415
    from headwater.understanding.features import describe  # noqa: PLC0415
    from headwater.understanding.topics import load_base_model, topic_labels  # noqa: PLC0415
    from headwater.understanding.types import ArticleText  # noqa: PLC0415

    split = [text.partition("\n") for text in json.load(sys.stdin)]
    articles = [ArticleText(f"https://example.com/{at}", title, text) for at, (title, _, text) in enumerate(split)]
    model = load_base_model()
    describe(articles[:1], [])  # loads the models
    best, found = float("inf"), 0
    for _ in range(ROUNDS):
        start, found = time.process_time(), 0
        for features in describe(articles, []):
            vector = unpack(features.embedding) if features.embedding else None
            scores = model.scores(vector, features.word_counts)
            found += len(labels_by_model(features, topic_labels(scores, model.version)))
        best = min(best, time.process_time() - start)
    assert found >= len(articles), "every article gets labels"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"speed": len(articles) / best, "memory": memory}))


if __name__ == "__main__":
    classify_ours() if "--ours" in sys.argv else main()
