from collections.abc import AsyncIterator, Iterator

import pytest

from tests.alerts.receiver import Receiver, open_receiver
from tests.net.post_box import PostBox, open_post_box


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with open_receiver() as receiver:
        yield receiver


@pytest.fixture
async def box() -> AsyncIterator[PostBox]:
    async with open_post_box() as box:
        yield box
