from collections.abc import AsyncIterator

import pytest

from headwater.db import Database
from tests.clock import MovableClock
from tests.images.world import ImageWorld, an_image_world


@pytest.fixture
async def world(database: Database, clock: MovableClock) -> AsyncIterator[ImageWorld]:
    async with an_image_world(database, clock) as world:
        yield world
