"""A zoo in a thread of its own, so that commands can be waited for."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headwater_lab.zoo import Zoo


@contextmanager
def open_zoo() -> Iterator[Zoo]:
    opened, close = threading.Event(), threading.Event()
    zoos: list[Zoo] = []

    async def keep_open() -> None:
        async with Zoo() as zoo:
            zoos.append(zoo)
            opened.set()
            await asyncio.to_thread(close.wait)

    thread = threading.Thread(target=lambda: asyncio.run(keep_open()))
    thread.start()
    opened.wait()
    try:
        yield zoos[0]
    finally:
        close.set()
        thread.join()
