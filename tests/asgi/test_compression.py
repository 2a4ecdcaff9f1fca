"""Pages are sent compressed, to clients that can read it."""

import gzip
import re
from collections.abc import AsyncIterator, Callable

import brotli
import pytest
from httpx import AsyncClient

from headwater.asgi.compression import SMALLEST, accepted_encoding
from headwater.asgi.csrf import mask, unmask
from headwater.db import Database
from tests.app import create_app
from tests.browser import visit
from tests.clock import MovableClock


@pytest.fixture
async def visitor(database: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(database, clock), "https://headwater.test") as client:
        yield client


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        ("gzip, deflate, br", "br"),
        ("gzip;q=1.0, *;q=0.5", "gzip"),
        ("br;q=0, GZIP", "gzip"),
        ("br; q=0.0", ""),
        ("identity", ""),
        ("", ""),
    ],
)
def test_the_encoding_is_one_that_the_client_accepts(header: str, chosen: str) -> None:
    assert accepted_encoding(header, ("br", "gzip")) == chosen


@pytest.mark.database
@pytest.mark.parametrize(("encoding", "read"), [("br", brotli.decompress), ("gzip", gzip.decompress)])
async def test_a_page_is_compressed(visitor: AsyncClient, encoding: str, read: Callable[[bytes], bytes]) -> None:
    async with visitor.stream("GET", "/auth/register", headers={"Accept-Encoding": encoding}) as response:
        sent = b"".join([part async for part in response.aiter_raw()])

    assert response.headers["Content-Encoding"] == encoding
    assert int(response.headers["Content-Length"]) == len(sent)
    assert "Accept-Encoding" in response.headers["Vary"]
    assert read(sent).startswith(b"<!doctype html>")


@pytest.mark.database
async def test_a_page_is_sent_as_it_is_to_clients_that_cannot_decompress(visitor: AsyncClient) -> None:
    response = await visitor.get("/auth/register", headers={"Accept-Encoding": "identity"})

    assert "Content-Encoding" not in response.headers
    assert len(response.content) > SMALLEST


@pytest.mark.database
async def test_the_csrf_token_differs_in_every_page_and_stays_valid(visitor: AsyncClient) -> None:
    pages = [(await visitor.get("/auth/register")).text for _ in range(2)]
    first, second = (re.findall(r'name="_csrf_token" value="(\w+)"', page)[0] for page in pages)

    assert first != second
    assert unmask(first) == unmask(second)
    statuses = [
        (await visitor.post("/auth/forgot", data={"_csrf_token": token, "email": "ada@example.com"})).status_code
        for token in (first, second, mask(b"x" * 32))
    ]
    assert statuses == [200, 200, 403]


@pytest.mark.parametrize("text", ["", "x", "abc", "ab" * 64, "é"])
def test_what_is_not_a_masked_token_is_not_valid(text: str) -> None:
    token = b"t" * 32
    assert unmask(mask(token)) == token
    assert unmask(text) != token
