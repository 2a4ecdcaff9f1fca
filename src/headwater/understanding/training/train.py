"""Examples → a model, and how good it is on examples that it has not seen."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headwater.labels.vocabulary import CLASSES
from headwater.understanding.embedding import embed
from headwater.understanding.features import topic_text
from headwater.understanding.softmax import DenseRows, Floats, SparseRows, fit
from headwater.understanding.topic_model import TopicModel
from headwater.understanding.training.types import Example
from headwater.understanding.words import BUCKETS, word_counts

FOLDS: Final = 5
_SHARPNESSES: Final = tuple(np.linspace(0.5, 6, 23).tolist())


def read_material() -> list[tuple[str, str]]:
    """The texts that ship, each with its class. All were written for this project."""
    raw = (files("headwater.understanding") / "material" / "topics.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in raw.splitlines()]
    return [(row["class"], topic_text(row["title"], row["text"])) for row in rows]


def material_version() -> str:
    """Changes with the material: the model that ships is of this version."""
    digest = sha256("\n".join(f"{name}\t{text}" for name, text in read_material()).encode())
    return f"base-{digest.hexdigest()[:12]}"


def material_examples() -> list[Example]:
    material = read_material()
    vectors = embed([text for _, text in material])
    return [Example(vector, word_counts(text), (name,)) for vector, (name, text) in zip(vectors, material, strict=True)]


def train(
    examples: Sequence[Example],
    *,
    version: str,
    classes: Sequence[str] = tuple(CLASSES),
    unseen: Sequence[Mapping[str, float]] | None = None,
) -> TopicModel:
    """A model of these examples. Its sharpness is chosen by cross-validation: `unseen`, if it is known."""
    model = fit_model(examples, version, classes)
    found = predict_unseen(examples, classes=classes) if unseen is None else unseen
    return replace(model, sharpness=_sharpness(examples, found, classes))


def fit_model(examples: Sequence[Example], version: str, classes: Sequence[str]) -> TopicModel:
    """As `train`, but its probabilities are too cautious."""
    targets = _targets(examples, classes)
    weights, penalty = _row_weights(targets), _inverse_penalty(len(examples))
    embeddings = DenseRows(np.array([one.embedding for one in examples], np.float64))
    by_embedding = fit(embeddings, targets, row_weights=weights, inverse_penalty=penalty)
    buckets, rarity, rows = _tf_idf([one.word_counts for one in examples])
    by_words = fit(rows, targets, row_weights=weights, inverse_penalty=penalty)
    return TopicModel(
        version, tuple(classes), _single(by_embedding.weights), _single(by_embedding.bias), buckets, _single(rarity),
        _single(by_words.weights.T), _single(by_words.bias), embedding_share(len(examples)), 1.0,
    )  # fmt: skip


def embedding_share(examples: int) -> float:
    """The weight of the embedding: 0.7 up to 100 examples, 0.5 from 1,000 on. Words need more examples.

    This and the penalty were chosen by cross-validation of the material and of the news items of the benchmark.
    """
    return 0.7 - 0.2 * _plenty(examples)


def _inverse_penalty(examples: int) -> float:
    """3 up to 100 examples, 1 from 1,000 on, of 1, 3, 10 and 30."""
    return 3 - 2 * _plenty(examples)


def _plenty(examples: int) -> float:
    """0 up to 100 examples, 1 from 1,000 on."""
    return min(max(math.log10(max(examples, 1)) - 2, 0.0), 1.0)


def _targets(examples: Sequence[Example], classes: Sequence[str]) -> Floats:
    place = {name: at for at, name in enumerate(classes)}
    targets = np.zeros((len(examples), len(classes)))
    for row, example in enumerate(examples):
        targets[row, [place[name] for name in example.classes]] = 1 / len(example.classes)
    return targets


def _row_weights(targets: Floats) -> Floats:
    """Each class counts the same, however many examples it has: people correct some topics often and others never.

    Without this, 600 labels of sport made 98 % of the articles about other topics sport."""
    totals = targets.sum(axis=0)
    weights = targets @ np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    return weights / weights.mean()


def _tf_idf(counts: Sequence[Mapping[int, int]]) -> tuple[NDArray[np.int64], Floats, SparseRows]:
    """The buckets that occur, how rare each is, and the examples as rows of length 1 over them."""
    lengths = [len(one) for one in counts]
    rows = np.repeat(np.arange(len(counts)), lengths)
    places = np.fromiter((bucket for one in counts for bucket in one), np.int64, sum(lengths))
    values = 1 + np.log(np.fromiter((count for one in counts for count in one.values()), np.float64, sum(lengths)))
    frequency = np.bincount(places, minlength=BUCKETS)
    buckets = np.flatnonzero(frequency)
    rarity = 1 + np.log((1 + len(counts)) / (1 + frequency[buckets]))
    columns = np.searchsorted(buckets, places)
    values = values * rarity[columns]
    lengths_of_rows = np.sqrt(np.bincount(rows, values * values, len(counts)))
    return buckets, rarity, SparseRows(rows, columns, values / lengths_of_rows[rows], (len(counts), len(buckets)))


def _single(values: Floats) -> NDArray[np.float32]:
    return values.astype(np.float32)


def folds_of(examples: Sequence[Example], *, count: int = FOLDS, seed: int = 0) -> NDArray[np.int64]:
    """The fold of each example; each class is spread over all folds."""
    shuffled: NDArray[np.int64] = np.random.default_rng(seed).permutation(len(examples))
    order: list[int] = sorted(shuffled.tolist(), key=lambda at: tuple(examples[at].classes))
    folds = np.zeros(len(examples), np.int64)
    folds[order] = np.arange(len(examples)) % count
    return folds


def predict_unseen(examples: Sequence[Example], *, classes: Sequence[str] = tuple(CLASSES)) -> list[dict[str, float]]:
    """The probabilities of each example by a model trained on the other folds."""
    folds = folds_of(examples)
    found: dict[int, dict[str, float]] = {}
    for fold in sorted(set(folds.tolist())):
        others = [one for one, of in zip(examples, folds, strict=True) if of != fold]
        model = fit_model(others, "cross-validation", classes)
        for at in np.flatnonzero(folds == fold).tolist():
            found[at] = model.scores(examples[at].embedding, examples[at].word_counts)
    return [found[at] for at in range(len(examples))]


def _sharpness(examples: Sequence[Example], found: Sequence[Mapping[str, float]], classes: Sequence[str]) -> float:
    """The power of the probabilities that makes them as right as they are sure: the least cross-entropy."""
    scores = np.log(np.array([[one[name] for name in classes] for one in found]))
    targets = _targets(examples, classes)

    def entropy(power: float) -> float:
        powers = scores * power
        return float((targets * (np.logaddexp.reduce(powers, axis=1, keepdims=True) - powers)).sum())

    return min(_SHARPNESSES, key=entropy)


def accuracy(examples: Sequence[Example], found: Sequence[Mapping[str, float]]) -> float:
    """How often the most probable topic is one of the example's. Classes of one topic are not told apart."""
    right = sum(is_right(one, scores) for one, scores in zip(examples, found, strict=True))
    return right / max(len(examples), 1)


def is_right(example: Example, scores: Mapping[str, float]) -> bool:
    return _topic(max(scores, key=scores.__getitem__)) in map(_topic, example.classes)


def _topic(name: str) -> str:
    return CLASSES[name].topic if name in CLASSES else name
