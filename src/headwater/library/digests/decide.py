"""What an email digest has in it. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from headwater.accounts.preferences.types import EmailDigest
from headwater.library.types import StoryLine
from headwater.text import one_line

ARTICLES_MOST: Final = 30  # in one email
TITLE_MAX: Final = 300
NAME_MAX: Final = 100
PERIODS: Final = {EmailDigest.DAILY: timedelta(days=1), EmailDigest.WEEKLY: timedelta(days=7)}
_SINCE: Final = {EmailDigest.DAILY: "the last day", EmailDigest.WEEKLY: "the last week"}


def listed_since(lines: Sequence[StoryLine], since: datetime) -> list[StoryLine]:
    return [one for one in lines if one.line.listed_at > since]


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
