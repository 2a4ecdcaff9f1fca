"""Generated requests from the OpenAPI document: each response matches it."""

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any, Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from pydantic import SecretStr

from headwater.asgi.streams import StreamOptions
from headwater.db import Database
from headwater.runtime import utc_now
from headwater.server import address_of, create_app, listen, serve
from tests.api.conftest import BEARER, TOKEN

schemathesis: Any = pytest.importorskip("schemathesis")
pytestmark = [pytest.mark.soak, pytest.mark.database, pytest.mark.timeout(1800)]

ATTEMPTS = 20  # at each operation
HEALTH: Any = list(HealthCheck)


class Served:
    """The app on a port of its own, in a thread with its own event loop."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._listener = listen("127.0.0.1", 0)
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run)

    @property
    def url(self) -> str:
        return address_of(self._listener)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        async with Database(self._conninfo, pool_size=5, wait=timedelta(minutes=1)) as database:
            ending = StreamOptions(longest=timedelta(0))  # a stream ends when it has sent what there is
            app = create_app(database, utc_now, SecretStr(TOKEN), streams=ending)
            await serve(app, self._listener, self._stop, timedelta(seconds=5))


@pytest.fixture
def described(conninfo: str) -> Iterator[Any]:
    with Served(conninfo) as served:
        with urllib.request.urlopen(f"{served.url}/api/openapi.json") as response:
            document = json.load(response)
        del document["security"]  # tests of their own see to that; here every request brings the token
        loaded = schemathesis.openapi.from_dict(document)
        loaded.config.update(base_url=served.url)
        yield loaded, a_source(served.url)


def a_source(url: str) -> str:
    """The id of an existing row."""
    request = urllib.request.Request(
        f"{url}/api/v1/sources",
        data=b'{"feed_url": "https://news.example/feed"}',
        headers={**BEARER, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["id"]


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_every_response_matches_the_openapi_document(mode: str, described: Any) -> None:
    # What a schema allows can still be refused: not every text is a URL, not every id a source.
    unwanted = [schemathesis.specs.openapi.checks.positive_data_acceptance]
    loaded, source_id = described

    for found in loaded.get_all_operations():

        @settings(max_examples=ATTEMPTS, deadline=None, derandomize=True, database=None, suppress_health_check=HEALTH)
        @given(case=found.ok().as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
        def attempt(case: Any) -> None:
            if mode == "positive" and case.method != "DELETE" and "source_id" in case.path_parameters:
                case.path_parameters["source_id"] = source_id  # or else nothing would ever be found
            case.call_and_validate(headers=BEARER, excluded_checks=unwanted)

        with suppress(Unsatisfiable):  # what takes nothing cannot be given anything wrong
            attempt()
