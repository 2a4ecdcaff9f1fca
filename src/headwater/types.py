"""The words every folder shares: ids and the clock. Pure; imports nothing of ours."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import NewType
from uuid import UUID

SourceId = NewType("SourceId", UUID)
ArticleId = NewType("ArticleId", UUID)
UserId = NewType("UserId", UUID)


class PageKind(StrEnum):
    """What a URL is fetched for."""

    ARTICLE = "article"
    SITEMAP = "sitemap"
    LIST = "list"  # a page that links to articles, such as a front page


Clock = Callable[[], datetime]
"""Tells the time, aware and in UTC. Passed in, so that a test can move it."""
