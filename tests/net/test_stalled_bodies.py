"""Answers whose bodies never come: the status and the headers are there, and they are what counts."""

import gzip
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from headwater.net import Client, FetchError, FetchFailure
from headwater.net.types import Hop
from tests.net.raw_site import a_raw_site, answer

WITHIN = timedelta(seconds=2)  # those who wait for the whole body wait so long
PATIENT = timedelta(minutes=1)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Test/1", allow_loopback=True) as client:
        yield client


def stalled(status: str, *headers: str, body: bytes = b"") -> bytes:
    """An answer that promises more of its body than it sends."""
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "Content-Length: 100000", "", ""]).encode() + body


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "308 Moved"])
async def test_a_redirect_is_followed_before_its_body_is_there(status: str, client: Client) -> None:
    answers = {"/old": stalled(status, "Location: /new", body=b"<html>"), "/new": answer("200 OK", body=b"<rss/>")}
    async with a_raw_site(answers, hangs_up=False) as site:
        response = await client.get(f"{site}/old", within=PATIENT, max_bytes=1_000)

    assert (response.body, response.hops) == (b"<rss/>", (Hop(int(status[:3]), f"{site}/old"),))


@pytest.mark.parametrize("status", ["410 Gone", "429 Too Many Requests", "403 Forbidden", "503 Unavailable"])
async def test_an_error_whose_page_stalls_keeps_its_status_its_headers_and_what_came(
    status: str, client: Client
) -> None:
    async with a_raw_site({"/": stalled(status, "Retry-After: 7200", body=b"<title>Just")}, hangs_up=False) as site:
        response = await client.get(site, within=WITHIN, max_bytes=1_000)

    assert response.status == int(status[:3])
    assert (response.headers["Retry-After"], response.body) == ("7200", b"<title>Just")


async def test_a_compressed_error_page_that_stalls_is_read_as_far_as_it_came(client: Client) -> None:
    page = gzip.compress(b"<title>Just a moment...</title>")[:-8]
    async with a_raw_site({"/": stalled("403 No", "Content-Encoding: gzip", body=page)}, hangs_up=False) as site:
        response = await client.get(site, within=WITHIN, max_bytes=1_000)

    assert response.body == b"<title>Just a moment...</title>"


async def test_peek_does_not_wait_for_the_body_of_an_error(client: Client) -> None:
    async with a_raw_site({"/": stalled("404 Not Found")}, hangs_up=False) as site:
        response = await client.peek(site, within=PATIENT, first_bytes=1_000)

    assert (response.status, response.body) == (404, b"")


async def test_a_page_that_stalls_though_nothing_is_wrong_is_still_a_timeout(client: Client) -> None:
    async with a_raw_site({"/": stalled("200 OK", body=b"<rss>")}, hangs_up=False) as site:
        with pytest.raises(FetchError) as failed:
            await client.get(site, within=WITHIN, max_bytes=1_000_000)

    assert failed.value.kind is FetchFailure.TIMEOUT
