"""Where redirects lead: what a browser would follow is followed, and only what is forbidden is called so."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from headwater.net import Client, FetchError, FetchFailure, Response
from headwater.net.responses import redirect_of
from headwater.urls import MAX_LENGTH
from tests.net.raw_site import a_raw_site, answer
from tests.net.test_ssrf import UNREADABLE

HERE = "http://example.com/feed"


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Test/1", allow_loopback=True) as client:
        yield client


def redirect_to(location: str) -> Response:
    return Response(HERE, 301, {"Location": location}, b"")


async def test_bytes_that_are_no_text_are_followed_as_browsers_do(client: Client) -> None:
    answers = {
        "/feed": answer("301 Moved", b"Location: /caf\xe9/feed", "Connection: close"),
        "/caf%E9/feed": answer("302 Found", "Location: /café/feed", "Connection: close"),
        "/caf%C3%A9/feed": answer("200 OK", body=b"<rss/>"),
    }
    async with a_raw_site(answers) as site:
        response = await client.get(f"{site}/feed", within=timedelta(seconds=60), max_bytes=1_000)

    assert (response.status, response.url, response.body) == (200, f"{site}/caf%C3%A9/feed", b"<rss/>")


@pytest.mark.parametrize(
    "location",
    ["http://[::1", "http://xn--a/", "http://a%00b/", "http://caf\udce9.example/", "http://example.com:99999/",
     "/" + MAX_LENGTH * "a", "http://10.0.0.1.1/"],
)  # fmt: skip
def test_a_redirect_that_cannot_be_read_leads_nowhere_and_is_not_forbidden(location: str) -> None:
    with pytest.raises(FetchError) as failed:
        redirect_of(redirect_to(location))

    assert failed.value.kind is FetchFailure.REDIRECT_LOOP
    assert failed.value.detail.isprintable()


@pytest.mark.parametrize(
    "location", ["ftp://example.com/", "file:///etc/passwd", "//user@example.com/", "data:,\udcff"]
)
def test_a_redirect_to_another_scheme_or_with_a_password_is_forbidden(location: str) -> None:
    with pytest.raises(FetchError) as failed:
        redirect_of(redirect_to(location))

    assert failed.value.kind is FetchFailure.BLOCKED


@pytest.mark.parametrize("location", [url for url in UNREADABLE if url.startswith("http://") and len(url) > 8])
def test_nothing_that_looks_like_an_address_and_is_none_is_followed(location: str) -> None:
    with pytest.raises(FetchError):
        redirect_of(redirect_to(location))
