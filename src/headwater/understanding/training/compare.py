"""The new model against the active one, on the same labels of people."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress

from headwater.understanding.topic_model import TopicModel
from headwater.understanding.training.decide import unseen_by
from headwater.understanding.training.train import accuracy, material_examples, predict_unseen, train
from headwater.understanding.training.types import PersonExample, TrainingReport


@dataclass(frozen=True, slots=True)
class Trained:
    model: TopicModel
    report: TrainingReport


def train_and_compare(
    given: Sequence[PersonExample], *, active: TopicModel, active_trained_at: datetime | None, version: str
) -> Trained:
    """A model of the material and of people's labels. Each model is tested only on labels that it was not trained on:
    the new one by cross-validation, the active one on those that were given after it."""
    examples, material = [one.example for one in given], material_examples()
    both = [*material, *examples]
    unseen = predict_unseen(both)
    is_compared = unseen_by(active_trained_at, given)
    compared = list(compress(examples, is_compared))
    found = list(compress(unseen[len(material) :], is_compared))
    before = [active.scores(one.embedding, one.word_counts) for one in compared]
    report = TrainingReport(
        version, active.version, labels=len(examples), compared=len(compared),
        accuracy=accuracy(compared, found), accuracy_before=accuracy(compared, before),
        of_material=accuracy(material, unseen[: len(material)]),
        of_material_alone=accuracy(material, predict_unseen(material)),
    )  # fmt: skip
    return Trained(train(both, version=version, unseen=unseen), report)
