"""The words every folder shares: ids and the clock. Pure; imports nothing of ours."""

from collections.abc import Callable
from datetime import datetime
from typing import NewType
from uuid import UUID

SourceId = NewType("SourceId", UUID)
ArticleId = NewType("ArticleId", UUID)
UserId = NewType("UserId", UUID)

Clock = Callable[[], datetime]
"""Tells the time, aware and in UTC. Passed in, so that a test can move it."""
