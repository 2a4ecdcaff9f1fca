"""The newest entries of a feed, chosen before the costly part of reading them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

MAX_ITEMS = 20_000
"""Entries of one feed; those after are not read."""

_NEVER = datetime.min.replace(tzinfo=UTC)


class Dated(Protocol):
    """Anything with the times at which it was published and last changed."""

    @property
    def published_at(self) -> datetime | None: ...
    @property
    def updated_at(self) -> datetime | None: ...


D = TypeVar("D", bound=Dated)


def newest(drafts: Sequence[D], wanted: int | None) -> Sequence[D]:
    """At most `wanted`, the newest first, those without a date last and in their own order. All of them in feed order
    when there are no more than that."""
    if wanted is None or len(drafts) <= wanted:
        return drafts
    return sorted(drafts, key=lambda draft: draft.published_at or draft.updated_at or _NEVER, reverse=True)[
        : max(wanted, 0)
    ]
