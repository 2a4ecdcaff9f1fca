import socket
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import repeat

import pytest
from structlog.testing import capture_logs

from headwater.net import Client, FetchError, FetchFailure
from headwater.net.responses import redirect_of
from headwater.net.types import Hop
from headwater_lab.zoo import DOMAIN, EXHIBITS, Zoo
from tests.net.raw_site import a_raw_site, answer

SECOND = timedelta(seconds=1)
BY_NAME = {exhibit.name: exhibit for exhibit in EXHIBITS}


@pytest.fixture(scope="module")
async def zoo() -> AsyncIterator[Zoo]:
    async with Zoo() as zoo:
        yield zoo


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client:
        yield client


async def failure_of(
    client: Client, url: str, *, within: timedelta = 60 * SECOND, max_bytes: int = 10_000_000
) -> FetchError:
    with pytest.raises(FetchError) as failed:
        await client.get(url, within=within, max_bytes=max_bytes)
    return failed.value


async def test_a_page_comes_whole_with_its_headers(zoo: Zoo, client: Client) -> None:
    response = await client.get(zoo.url_of(BY_NAME["daily"]), within=60 * SECOND, max_bytes=1_000_000)

    assert (response.status, response.hops) == (200, ())
    assert response.headers["content-type"].startswith("application/rss+xml")
    assert response.body.startswith(b"<?xml")


@pytest.mark.parametrize("name", ["gzipped", "deflated", "raw-deflated", "brotli", "zstandard"])
async def test_every_compression_we_offer_is_undone(name: str, zoo: Zoo, client: Client) -> None:
    response = await client.get(zoo.url_of(BY_NAME[name]), within=60 * SECOND, max_bytes=1_000_000)

    assert response.headers["Content-Encoding"]
    assert response.body.lstrip().startswith(b"<")


async def test_redirects_are_followed_and_recorded(zoo: Zoo, client: Client) -> None:
    moved = BY_NAME["moved"]

    response = await client.get(zoo.url_of(moved), within=60 * SECOND, max_bytes=1_000_000)

    assert response.status == 200
    assert response.hops == (Hop(301, zoo.url_of(moved)),)
    assert response.url != zoo.url_of(moved)


CAGES = {
    FetchFailure.TIMEOUT: ("silent", "drip"),
    FetchFailure.NETWORK: ("slammed", "dropped", "short", "mailman", "shouting", "plaintext"),
    FetchFailure.TOO_LARGE: ("elephant", "whale", "bomb-gzip", "bomb-brotli", "bomb-zstd", "bomb-stacked"),
    FetchFailure.REDIRECT_LOOP: ("mirror", "carousel", "too-many-hops"),
    FetchFailure.BLOCKED: ("tunnel-metadata", "tunnel-private", "tunnel-loopback", "tunnel-file", "tunnel-ftp"),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in CAGES.items() for name in names])
async def test_a_cage_ends_in_its_kind_of_failure(kind: FetchFailure, name: str, zoo: Zoo, client: Client) -> None:
    within = SECOND if kind is FetchFailure.TIMEOUT else 60 * SECOND
    assert (await failure_of(client, zoo.url_of(BY_NAME[name]), within=within)).kind is kind


async def test_a_name_that_does_not_exist_is_a_dns_failure(client: Client) -> None:
    failed = await failure_of(client, "http://nowhere.invalid/", within=60 * SECOND)

    assert (failed.kind, failed.detail) == (FetchFailure.DNS, "the host name cannot be resolved")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://[::1]/", "http://localhost/",
     "http://[::ffff:127.0.0.1]/", "http://daily.zoo.test/"],
)  # fmt: skip
async def test_this_machine_is_out_of_reach_unless_a_setting_says_otherwise(url: str) -> None:
    async with Client(user_agent="Test/1", resolve={DOMAIN: "127.0.0.1"}) as client:
        failed = await failure_of(client, url)

    assert failed.kind is FetchFailure.BLOCKED
    assert "Headwater does not connect there" in failed.detail


async def test_a_refused_address_is_logged_and_not_part_of_the_error() -> None:
    async with Client(user_agent="Test/1", resolve={"inside.test": "10.1.2.3"}) as client:
        with capture_logs() as logs:
            failed = await failure_of(client, "http://inside.test/feed")

    assert "10.1.2.3" not in failed.detail
    assert "an address that is not public" in failed.detail
    assert [line["address"] for line in logs if line["event"] == "address refused"] == ["10.1.2.3"]


async def test_a_failed_connection_does_not_reveal_the_address(client: Client) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        failed = await failure_of(client, f"http://daily.{DOMAIN}:{nobody.getsockname()[1]}/")

    assert failed.kind is FetchFailure.NETWORK
    assert "127.0.0.1" not in failed.detail


async def test_a_body_may_be_exactly_as_large_as_allowed_and_no_larger(zoo: Zoo, client: Client) -> None:
    url = zoo.url_of(BY_NAME["museum"])
    size = len((await client.get(url, within=60 * SECOND, max_bytes=1_000_000)).body)

    whole = await client.get(url, within=60 * SECOND, max_bytes=size)
    cut = await failure_of(client, url, max_bytes=size - 1)

    assert len(whole.body) == size
    assert cut.kind is FetchFailure.TOO_LARGE


async def test_no_cookie_is_kept_between_requests(zoo: Zoo, client: Client) -> None:
    await client.get(zoo.url_of(BY_NAME["daily"]), within=60 * SECOND, max_bytes=1_000_000, headers={"X-Test": "1"})

    assert zoo.visits_to("daily")[-1].accept_encoding == "gzip, deflate, br, zstd"


async def test_ask_returns_a_redirect_without_following_it(zoo: Zoo, client: Client) -> None:
    url = zoo.url_of(BY_NAME["moved"])

    response = await client.ask(url, within=60 * SECOND, max_bytes=1_000_000)

    assert (response.status, response.url, response.hops) == (301, url, ())
    assert redirect_of(response) == url.replace("/feed.xml", "/current.xml")


@pytest.mark.parametrize("name", ["elephant", "whale", "bomb-gzip"])
async def test_peek_returns_the_beginning_of_a_body_that_is_too_large(name: str, zoo: Zoo, client: Client) -> None:
    response = await client.peek(zoo.url_of(BY_NAME[name]), within=60 * SECOND, first_bytes=500_000)

    assert (response.status, len(response.body)) == (200, 500_000)


@pytest.mark.parametrize("name", ["drip", "silent"])
async def test_ask_and_peek_respect_their_timeout(name: str, zoo: Zoo, client: Client) -> None:
    url, within = zoo.url_of(BY_NAME[name]), SECOND / 5

    for asking in (client.ask(url, within=within, max_bytes=1), client.peek(url, within=within, first_bytes=100)):
        with pytest.raises(FetchError) as failed:
            await asking
        assert failed.value.kind is FetchFailure.TIMEOUT


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://[::1]/", "http://2130706433:22/", "ftp://a.example/"])
def test_an_address_that_is_never_asked_is_known_before_it_is_queued(url: str, client: Client) -> None:
    with pytest.raises(FetchError) as refused:
        client.check(url)

    assert refused.value.kind is FetchFailure.BLOCKED


async def test_the_headers_alone_are_one_request_without_a_body(zoo: Zoo, client: Client) -> None:
    answers = [
        await client.head(zoo.url_of(BY_NAME[name]), within=60 * SECOND) for name in ("daily", "moved", "missing")
    ]

    assert [(answer.status, answer.body, answer.hops) for answer in answers] == [
        (200, b"", ()),
        (301, b"", ()),
        (404, b"", ()),
    ]


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/", "file:///etc/passwd"])
async def test_the_headers_alone_are_guarded_too(url: str) -> None:
    async with Client(user_agent="Test/1") as guarded:
        with pytest.raises(FetchError) as failed:
            await guarded.head(url, within=SECOND)

    assert failed.value.kind is FetchFailure.BLOCKED


async def test_a_connection_that_is_reset_is_not_asked_again_behind_our_back(zoo: Zoo, client: Client) -> None:
    before = len(zoo.visits_to("slammed"))

    with pytest.raises(FetchError):
        await client.get(zoo.url_of(BY_NAME["slammed"]), within=60 * SECOND, max_bytes=1_000)

    assert len(zoo.visits_to("slammed")) == before + 1


async def test_informational_responses_are_skipped(client: Client) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" * 5
    async with a_raw_site({"/": hints + answer("200 OK", body=b"<rss/>")}) as site:
        response = await client.get(site, within=60 * SECOND, max_bytes=1_000)

    assert (response.status, response.body) == (200, b"<rss/>")


async def test_endless_informational_responses_are_refused_before_the_timeout(client: Client) -> None:
    async with a_raw_site({"/": repeat(b"HTTP/1.1 103 A\r\n\r\n" * 1_000)}) as site:
        error = await failure_of(client, site, within=60 * SECOND)

    assert (error.kind, error.detail) == (FetchFailure.NETWORK, "its answer is not proper HTTP")


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_a_large_body_in_chunks_of_one_byte_is_refused(client: Client) -> None:
    async with a_raw_site({"/": [CHUNKED, *[b"1\r\nA\r\n" * 10_000] * 100, b"0\r\n\r\n"]}) as site:
        error = await failure_of(client, site, within=600 * SECOND)

    assert (error.kind, error.detail) == (FetchFailure.TOO_LARGE, "its body is sent in too many chunks")


@pytest.mark.parametrize(("chunk", "count"), [(b"1\r\nA\r\n", 10_000), (b"8\r\nABCDEFGH\r\n", 500_000)])
async def test_a_body_in_small_chunks_is_read(chunk: bytes, count: int, client: Client) -> None:
    async with a_raw_site({"/": [CHUNKED, *[chunk * 10_000] * (count // 10_000), b"0\r\n\r\n"]}) as site:
        response = await client.get(site, within=600 * SECOND, max_bytes=10_000_000)

    assert len(response.body) == count * int(chunk[:1])
