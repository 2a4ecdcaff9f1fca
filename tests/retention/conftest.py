import pytest

from headwater.db import Database
from tests.clock import MovableClock
from tests.retention.world import World


@pytest.fixture
async def world(database: Database, clock: MovableClock) -> World:
    world = World(database, clock)
    await world.begin()
    return world
