"""Sandboxes for tests: real processes."""

from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial

import pytest

from headwater.sandbox import Sandbox

new_sandbox = partial(Sandbox, processes=2, time_limit=timedelta(seconds=60), memory_limit=512_000_000)


@pytest.fixture(scope="session")
async def sandbox() -> AsyncIterator[Sandbox]:
    """One for all tests that leave its processes as they found them, or dead."""
    async with new_sandbox() as sandbox:
        yield sandbox


@pytest.fixture
async def single() -> AsyncIterator[Sandbox]:
    """One process, of the test's own."""
    async with new_sandbox(processes=1) as sandbox:
        yield sandbox


@pytest.fixture
async def hasty() -> AsyncIterator[Sandbox]:
    """One process that is soon out of time."""
    async with new_sandbox(processes=1, time_limit=timedelta(seconds=2)) as sandbox:
        yield sandbox
