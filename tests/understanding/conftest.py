"""Fixtures of the tests of tagging."""

from collections.abc import AsyncIterator

import pytest

from headwater.db import Database
from tests.ai.service import a_service
from tests.clock import MovableClock
from tests.understanding.tagging.desk import Desk, says


@pytest.fixture
async def desk(database: Database, clock: MovableClock) -> AsyncIterator[Desk]:
    async with a_service() as service:
        service.replies = [says()]
        yield Desk(database, clock, service)
