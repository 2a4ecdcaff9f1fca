from collections.abc import AsyncIterator

import pytest

from headwater.db import Database
from tests.clock import MovableClock
from tests.sitemaps.world import World, a_world


@pytest.fixture
async def world(database: Database, clock: MovableClock) -> AsyncIterator[World]:
    async with a_world(database, clock) as world:
        yield world
