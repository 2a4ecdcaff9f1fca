"""What an email digest has in it. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from headwater.accounts.preferences.decide import next_digest_at
from headwater.accounts.preferences.types import EmailDigest, Preferences
from headwater.ids import time_of
from headwater.library.types import StoryLine
from headwater.text import one_line

ARTICLES_MOST: Final = 30  # in one email
TITLE_MAX: Final = 300
NAME_MAX: Final = 100
PERIODS: Final = {EmailDigest.DAILY: timedelta(days=1), EmailDigest.WEEKLY: timedelta(days=7)}
LATE: Final = timedelta(days=2)  # from the date of an article until it is found: a date without a time, a poll a day
_SINCE: Final = {EmailDigest.DAILY: "the last day", EmailDigest.WEEKLY: "the last week"}


def last_digest_at(chosen: Preferences, now: datetime) -> datetime:
    """When the digest before the one that is due now was due: between the two, nothing is left out."""
    period = PERIODS[chosen.email_digest]
    return next_digest_at(chosen, now - 2 * period) or now - period


def found_since(lines: Sequence[StoryLine], since: datetime) -> list[StoryLine]:
    """Lists are sorted by the date of an article, which may be before the last digest while it was found after it. What
    is much older is left out: a feed that was just added may list years."""
    recent = [one for one in lines if one.line.listed_at > since - LATE]
    return [one for one in recent if max(time_of(one.line.id), one.line.listed_at) > since]


def digest_text(lines: Sequence[StoryLine], often: EmailDigest, *, has_more: bool, site: str) -> str:
    """The email's text, to which the link that ends these emails is added."""
    written = [f"Unread articles of {_SINCE[often]}:", ""]
    for one in lines:
        written += [one_line(one.line.title)[:TITLE_MAX], _origin(one), f"{site}/articles/{one.line.id}", ""]
    if has_more:
        written += [f"There are more: {site}/read", ""]
    return "\n".join((*written, ""))


def _origin(one: StoryLine) -> str:
    name = one_line(one.line.feed_name)[:NAME_MAX]
    return f"{name} · {len(one.others)} more about this" if one.others else name
