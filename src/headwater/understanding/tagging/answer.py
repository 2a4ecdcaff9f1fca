"""The answer of a model, validated strictly: it may have been written by an article that gives instructions."""

import unicodedata
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from headwater.labels.vocabulary import CATEGORIES, SENTIMENTS
from headwater.understanding.tagging.prompt import LEAST_TOPICS, MOST_CATEGORIES, MOST_TOPICS, is_invisible
from headwater.understanding.tagging.types import Tags, UnfitAnswer

ANSWER_MAX: Final = 4_000  # characters
TOPIC_MAX: Final = 60
_MARKUP: Final = frozenset("<>{}[]\\`|")
_REASONS: Final = 3


def _topic(text: str) -> str:
    """A keyword in lower case, as those of this machine. Raises ValueError."""
    if any(is_invisible(one) or unicodedata.category(one) in {"Zl", "Zp"} for one in text):
        raise ValueError("contains control characters")
    if _MARKUP.intersection(text) or "://" in text:
        raise ValueError("contains markup or a URL")
    tidy = " ".join(text.lower().split())
    if len(tidy) > TOPIC_MAX:  # some letters are longer in lower case
        raise ValueError("is too long")
    if not any(one.isalnum() for one in tidy):
        raise ValueError("contains no word")
    return tidy


def _sentiment(text: str) -> str:
    if text not in SENTIMENTS:
        raise ValueError("is unknown")
    return text


def _category(text: str) -> str:
    if text not in CATEGORIES:
        raise ValueError("is unknown")
    return text


def _different(values: list[str]) -> list[str]:
    if len(set(values)) < len(values):
        raise ValueError("are not all different")
    return values


class _TagAnswer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True)

    topics: Annotated[
        list[Annotated[str, AfterValidator(_topic)]],
        Field(min_length=LEAST_TOPICS, max_length=MOST_TOPICS),
        AfterValidator(_different),
    ]
    sentiment: Annotated[str, AfterValidator(_sentiment)]
    categories: Annotated[
        list[Annotated[str, AfterValidator(_category)]],
        Field(min_length=1, max_length=MOST_CATEGORIES),
        AfterValidator(_different),
    ]
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def read_tags(content: str) -> Tags | UnfitAnswer:
    if len(content) > ANSWER_MAX:
        return UnfitAnswer("the answer is too long")
    try:
        answer = _TagAnswer.model_validate_json(content)
    except ValidationError as error:
        return UnfitAnswer(_reason(error))
    return Tags(tuple(answer.topics), answer.sentiment, tuple(answer.categories), answer.confidence)


def _reason(error: ValidationError) -> str:
    """Where the answer does not fit. Names of unknown fields are text of the answer: they are left out."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{_place(one['loc'])}: {one['msg'] if one['type'] == 'value_error' else one['type']}"
        for one in found[:_REASONS]
    )


def _place(location: tuple[int | str, ...]) -> str:
    known = _TagAnswer.model_fields
    return ".".join(str(part) for part in location if isinstance(part, int) or part in known) or "answer"
