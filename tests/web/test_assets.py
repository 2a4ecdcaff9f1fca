"""Static files are small on the wire, and a browser asks for each version once."""

import gzip
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import brotli
import pytest
from httpx import AsyncClient

from headwater import web
from headwater.db import Database
from headwater.web.assets import ASK_AGAIN, FOR_EVER, asset_url
from tests.app import create_app
from tests.browser import visit
from tests.clock import MovableClock

STYLES = "/static/headwater.css"
STATIC = Path(web.__file__).parent / "static"
FILE = (STATIC / "headwater.css").read_bytes()


@pytest.fixture
async def client(clock: MovableClock) -> AsyncIterator[AsyncClient]:
    """Static files need no database."""
    nowhere = "host=127.0.0.1 port=1 dbname=x user=x"
    async with (
        Database(nowhere, pool_size=2, wait=timedelta(milliseconds=1)) as database,
        visit(create_app(database, clock)) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("accepted", "encoding"), [("gzip, deflate, br", "br"), ("gzip;q=0.5", "gzip"), ("identity", None)]
)
async def test_a_file_is_sent_in_the_smallest_encoding_that_is_accepted(
    client: AsyncClient, accepted: str, encoding: str | None
) -> None:
    async with client.stream("GET", STYLES, headers={"Accept-Encoding": accepted}) as response:
        sent = b"".join([part async for part in response.aiter_raw()])

    decoded = {"br": brotli.decompress, "gzip": gzip.decompress}.get(encoding or "", bytes)(sent)
    assert response.headers.get("content-encoding") == encoding
    assert response.headers["vary"] == "Accept-Encoding"
    assert response.headers["content-type"].startswith("text/css")
    assert decoded == FILE
    assert encoding is None or len(sent) < len(FILE) / 3


async def test_a_file_under_its_version_is_cached_for_ever_and_no_other(client: AsyncClient) -> None:
    versioned, plain = await client.get(asset_url(STYLES)), await client.get(STYLES)
    outdated = await client.get(f"{STYLES}?v=0123456789abcdef")

    assert versioned.content == plain.content == outdated.content == FILE
    assert versioned.headers["cache-control"] == FOR_EVER
    assert plain.headers["cache-control"] == outdated.headers["cache-control"] == ASK_AGAIN


async def test_an_unchanged_file_is_not_sent_again(client: AsyncClient) -> None:
    first = await client.get(STYLES)
    again = await client.get(STYLES, headers={"If-None-Match": first.headers["etag"]})
    other = await client.get(STYLES, headers={"If-None-Match": '"another"'})

    assert (again.status_code, again.content) == (304, b"")
    assert other.status_code == 200


@pytest.mark.database
async def test_pages_link_to_files_by_their_version(database: Database, clock: MovableClock) -> None:
    async with visit(create_app(database, clock)) as client:
        page = (await client.get("/privacy")).text

    assert f'href="{asset_url(STYLES)}"' in page
    assert f'src="{asset_url("/vendor/htmx.min.js")}"' in page


def test_our_own_scripts_are_at_most_30_kilobytes() -> None:
    assert sum(len(path.read_bytes()) for path in STATIC.glob("*.js")) <= 30_000
