"""Which articles are tagged, what follows from an answer, and how long to wait for the service. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from headwater.ai.types import BudgetLevel
from headwater.labels.types import NewLabel, Scheme
from headwater.understanding.tagging.types import MOST_ATTEMPTS, TaggingPause, Tags

# What a language model labels; all of it is replaced together.
AI_SCHEMES: Final = (Scheme.KEYWORD, Scheme.SENTIMENT, Scheme.CATEGORY)
# An older article is not tagged: without a key, articles would wait for years, and be paid for at once with the first.
OLDEST: Final = timedelta(days=3)
# One of so many is the article that has waited longest, if it has waited so long. All of them, and a queue that is too
# long would be worked off from its end, whoever reads the articles.
WAITED_LONG: Final = timedelta(days=1)
ONE_OF: Final = 4
# Between the attempts: an answer at temperature 0 is much the same a minute later, a service is changed within hours.
RETRY_AFTER: Sequence[timedelta] = (timedelta(minutes=15), timedelta(hours=2))
# While the service is unavailable: twice as long each time.
PAUSE_FIRST: Final = timedelta(seconds=30)
PAUSE_MOST: Final = timedelta(minutes=15)
PAUSE_BY_REQUEST: Final = timedelta(hours=1)  # the longest Retry-After of the service that is kept
PAUSE_FOR_BUDGET: Final = timedelta(seconds=10)  # calls in progress may cost less than they reserved
_VERSION_MAX: Final = 100
_PROMPT: Final = " prompt "


def labels_of(tags: Tags, *, model: str, prompt_version: str) -> list[NewLabel]:
    """Topics are keywords, since they are of any text; the model's confidence is the score of each label."""
    version = f"{model[: _VERSION_MAX - len(_PROMPT) - len(prompt_version)]}{_PROMPT}{prompt_version}"
    labels = [
        *((Scheme.KEYWORD, topic) for topic in tags.topics),
        (Scheme.SENTIMENT, tags.sentiment),
        *((Scheme.CATEGORY, category) for category in tags.categories),
    ]
    return [NewLabel(scheme, label, tags.confidence, version) for scheme, label in labels]


def retry_at(attempts: int, now: datetime) -> datetime | None:
    """When an article is tried again after so many unusable answers; None: never."""
    return now + RETRY_AFTER[attempts - 1] if attempts < MOST_ATTEMPTS else None


def paused_after(pause: TaggingPause, now: datetime, retry_after: timedelta | None = None) -> TaggingPause:
    """The pause after a call to which the service was unavailable; longer if it asks for that."""
    wait = min(PAUSE_MOST, PAUSE_FIRST * 2 ** min(pause.failures, 10))
    return TaggingPause(pause.failures + 1, now + max(wait, min(retry_after or wait, PAUSE_BY_REQUEST)))


def how_many(limit: int, pause: TaggingPause, in_progress: int, now: datetime) -> int:
    """How many articles to claim: none during a pause, and after it one at a time until the service has answered."""
    if pause.until is not None and now < pause.until <= now + PAUSE_BY_REQUEST:  # a later end was set by a wrong clock
        return 0
    return min(limit, 1 - min(in_progress, 1)) if pause.failures else limit


def share_of_waiting(claimed: int, limit: int, level: BudgetLevel) -> int:
    """How many of the next `limit` articles are those that have waited longest, after `claimed` others."""
    return (claimed + limit) // ONE_OF - claimed // ONE_OF if level is BudgetLevel.NORMAL else 0
