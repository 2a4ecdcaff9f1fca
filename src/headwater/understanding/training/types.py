"""An example to train from, and the outcome of a training. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from headwater.types import ArticleId
from headwater.understanding.softmax import Floats

MOST_FORGOTTEN: Final = 0.1  # of the accuracy on the material; five-fold, chance changes it by 0.02


@dataclass(frozen=True, slots=True)
class Example:
    """A text as features, and its classes: of several, each counts equally."""

    embedding: Floats  # (256,)
    word_counts: Mapping[int, int]
    classes: Sequence[str]


@dataclass(frozen=True, slots=True)
class LabelledArticle:
    """An article with the topics and categories that people gave it."""

    article_id: ArticleId
    topics: Sequence[str]
    categories: Sequence[str]
    labelled_at: datetime


@dataclass(frozen=True, slots=True)
class PersonExample:
    example: Example
    labelled_at: datetime


@dataclass(frozen=True, slots=True)
class StoredModel:
    version: str
    data: bytes
    trained_at: datetime


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """How often the topic of the new model and of the active one is right, on the same labels of people; and how often
    it is right on the material, cross-validated, with people's labels and without them."""

    version: str
    active_version: str
    labels: int  # articles with people's topics
    compared: int  # those that the active model was not trained on
    accuracy: float
    accuracy_before: float
    of_material: float
    of_material_alone: float

    @property
    def is_worse(self) -> bool:
        return self.accuracy < self.accuracy_before or self.is_narrow

    @property
    def is_narrow(self) -> bool:
        """People's labels, of a few topics or wrong ones, made it worse at the others."""
        return self.of_material < self.of_material_alone - MOST_FORGOTTEN


@dataclass(frozen=True, slots=True)
class NotTrained:
    """There are too few labels."""

    reason: str
    labels: int
    compared: int
