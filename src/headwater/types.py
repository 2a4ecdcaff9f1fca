"""The words every folder shares: ids, records and the clock. Pure; imports nothing of ours."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType, TypeVar, dataclass_transform
from uuid import UUID

T = TypeVar("T")

SourceId = NewType("SourceId", UUID)
ArticleId = NewType("ArticleId", UUID)
UserId = NewType("UserId", UUID)


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """A dataclass that is frozen for the type checker alone: to freeze it at run time takes longer than to fill it.

    For values of which a poll makes many; all others are frozen dataclasses.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


class PageKind(StrEnum):
    """What a URL is fetched for."""

    ARTICLE = "article"
    SITEMAP = "sitemap"
    LIST = "list"  # a page that links to articles, such as a front page


Clock = Callable[[], datetime]
"""Tells the time, aware and in UTC. Passed in, so that a test can move it."""
