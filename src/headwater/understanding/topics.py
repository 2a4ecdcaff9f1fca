"""Topics and categories of an article, from the probabilities of a model; the model that ships."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from headwater.labels.types import NewLabel, Scheme
from headwater.labels.vocabulary import CLASSES
from headwater.understanding.model_file import decode
from headwater.understanding.topic_model import TopicModel

__all__ = ["TopicModel", "load_base_model", "topic_labels"]

LABELLED_FROM: Final = 0.15  # a class that is less probable is not stored
MAX_LABELS: Final = 3


@cache
def load_base_model() -> TopicModel:
    """The model that ships; scripts/train_topics.py makes it from material/topics.jsonl."""
    return decode((files("headwater.understanding") / "material" / "topics.model").read_bytes())


def topic_labels(scores: Mapping[str, float], version: str) -> list[NewLabel]:
    """The most probable topics and categories. One of several classes has the sum of their probabilities."""
    by_topic = {name: CLASSES[name].topic for name in scores}
    by_category = {name: CLASSES[name].category for name in scores}
    return [
        *_labels(Scheme.TOPIC, scores, by_topic, version),
        *_labels(Scheme.CATEGORY, scores, by_category, version),
    ]


def _labels(scheme: Scheme, scores: Mapping[str, float], label_of: Mapping[str, str], version: str) -> list[NewLabel]:
    totals: dict[str, float] = {}
    for name, score in scores.items():
        totals[label_of[name]] = totals.get(label_of[name], 0) + score
    # Many improbable classes together do not make a label.
    probable = {label_of[name] for name, score in scores.items() if score >= LABELLED_FROM}
    best = sorted(probable, key=lambda label: (-totals[label], label))[:MAX_LABELS]
    return [NewLabel(scheme, label, min(totals[label], 1.0), version) for label in best]
