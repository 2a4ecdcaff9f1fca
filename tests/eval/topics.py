"""How often the topic of a text is found, from few and from many labels, beside plain scikit-learn.

The news items lie beside the project (AG News, four labels, for research only); our own material has 18 classes.
"""

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from headwater.understanding.embedding import embed
from headwater.understanding.training.train import FOLDS, fit_model, folds_of, read_material
from headwater.understanding.training.types import Example
from headwater.understanding.words import word_counts

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline, make_pipeline

NEWS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "topics" / "agnews-dev.jsonl"


@dataclass(frozen=True)
class LabelledTexts:
    name: str
    texts: Sequence[str]
    labels: Sequence[str]

    def __len__(self) -> int:
        return len(self.texts)


Classify = Callable[[Sequence[str]], Sequence[str]]
Learn = Callable[[Sequence[str], Sequence[str]], Classify]  # from texts and labels


@cache
def news() -> LabelledTexts:
    rows = [json.loads(line) for line in NEWS.read_text("utf-8").splitlines()]
    return LabelledTexts(
        "news items", [f"{row['title']}\n{row['text']}" for row in rows], [row["label"] for row in rows]
    )


@cache
def own_material() -> LabelledTexts:
    rows = read_material()
    return LabelledTexts("our own material", [text for _, text in rows], [name for name, _ in rows])


def learn_ours(texts: Sequence[str], labels: Sequence[str]) -> Classify:
    classes = sorted(set(labels))
    model = fit_model(_examples(texts, labels), "1", classes)

    def classify(unseen: Sequence[str]) -> Sequence[str]:
        examples = _examples(unseen, [""] * len(unseen))
        found = [model.scores(one.embedding, one.word_counts) for one in examples]
        return [max(scores, key=scores.__getitem__) for scores in found]

    return classify


def _examples(texts: Sequence[str], labels: Sequence[str]) -> list[Example]:
    vectors = embed(texts)
    return [
        Example(vector, word_counts(text), (label,)) for vector, text, label in zip(vectors, texts, labels, strict=True)
    ]


def plain_pipeline(texts: Sequence[str], labels: Sequence[str]) -> Pipeline:
    """TF-IDF and logistic regression with the defaults of scikit-learn."""
    return make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000)).fit(texts, labels)


def learn_plain(texts: Sequence[str], labels: Sequence[str]) -> Classify:
    return plain_pipeline(texts, labels).predict


def learn_tuned(texts: Sequence[str], labels: Sequence[str]) -> Classify:
    """What it reaches with better options."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    return make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=1000)).fit(texts, labels).predict


def cross_validated(learn: Learn, given: LabelledTexts, labels: int | None = None) -> float:
    """The share of right answers over five folds; each time `labels` texts of the other folds are trained on."""
    folds = folds_of([Example(np.zeros(0), {}, (label,)) for label in given.labels])
    order: list[int] = np.random.default_rng(1).permutation(np.arange(len(given))).tolist()
    right = 0
    for fold in range(FOLDS):
        known = [at for at in order if folds[at] != fold][:labels]
        unseen = [at for at in order if folds[at] == fold]
        classify = learn([given.texts[at] for at in known], [given.labels[at] for at in known])
        found = classify([given.texts[at] for at in unseen])
        right += sum(given.labels[at] == label for at, label in zip(unseen, found, strict=True))
    return right / len(given)
