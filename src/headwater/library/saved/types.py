"""A page that is saved for later, and the state of its text. Pure data."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from headwater.types import ArticleId

UNDONE_WITHIN = timedelta(days=1)  # a page that was removed can be restored


class TextState(StrEnum):
    """Why a saved page has no text yet, or at all."""

    WAITING = "waiting"  # it will be fetched, or is being read
    FAILED = "failed"  # it is tried again
    REFUSED = "refused"  # it is not
    EMPTY = "empty"  # it was fetched, and has no text


@dataclass(frozen=True, slots=True)
class MissingText:
    state: TextState
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SavedPage:
    article_id: ArticleId
    url: str
    is_new: bool  # it was not in the list before
