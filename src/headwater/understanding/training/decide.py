"""Which classes people's labels stand for, which of them test a model, and whether they are enough. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from headwater.labels.vocabulary import CLASSES
from headwater.understanding.training.types import PersonExample

MIN_LABELS: Final = 30  # fewer say nothing about a model
MIN_COMPARED: Final = 20


def classes_of(topics: Sequence[str], categories: Sequence[str], scores: Mapping[str, float]) -> tuple[str, ...]:
    """The classes of people's topics. Of a topic with several classes, those of people's categories; where these do
    not decide, the most probable by `scores`."""
    found: list[str] = []
    for topic in topics:
        names = [name for name, of in CLASSES.items() if of.topic == topic]
        chosen = [name for name in names if CLASSES[name].category in categories]
        if len(names) > 1 and len(chosen) != 1:
            chosen = [max(names, key=lambda name: scores.get(name, 0.0))]
        found += chosen or names
    return tuple(dict.fromkeys(found))


def unseen_by(trained_at: datetime | None, given: Sequence[PersonExample]) -> list[bool]:
    """Which examples the active model was not trained on: all, for the model that ships."""
    return [trained_at is None or one.labelled_at > trained_at for one in given]


def too_few(labels: int, compared: int) -> str:
    """Why there are too few labels to train from, as a sentence; empty if there are enough."""
    if labels < MIN_LABELS:
        return f"People have given topics to {labels} English articles; a model needs {MIN_LABELS}."
    if compared < MIN_COMPARED:
        return f"Since the active model was trained, people labelled {compared} articles; {MIN_COMPARED} are needed."
    return ""
