"""Every fault is as its caption says, for a plain HTTP client that follows no redirect."""

import asyncio
import socket
import zlib
from urllib.parse import urljoin

import aiohttp
import pytest
from aiohttp.client_exceptions import ClientConnectorDNSError

from headwater_lab.zoo import EXHIBITS, SIGHTS, Exhibit, Sight, Zoo
from headwater_lab.zoo.compression import BOMB, brotli_bomb, gzip_bomb, stacked_bomb, zstd_bomb

from .conftest import MovedClock, loopback_socket, until

FAULTS = {exhibit.name: exhibit for exhibit in EXHIBITS if exhibit.fails}
STATUSES = {
    "bad_request": {400, 418, 451},
    "unauthorized": {401},
    "forbidden": {403},
    "not_found": {404},
    "gone": {410},
    "rate_limited": {429},
    "upstream_failure": {500, 502, 503, 504},
    "bot_challenge": {403, 503},
    "redirect_loop": {301, 302},
    "ssrf_blocked": {302},
    "unexpected": {302},
    "not_a_feed": {200},
    "parse_error": {200},
    "too_large": {200},
}
PATIENCE = aiohttp.ClientTimeout(total=0.3)


def expecting(*classes: str) -> list[Exhibit]:
    return [exhibit for exhibit in FAULTS.values() if exhibit.expects in classes]


def names(exhibit: Exhibit) -> str:
    return exhibit.name


@pytest.mark.parametrize("exhibit", [one for one in FAULTS.values() if one.expects in STATUSES], ids=names)
async def test_a_cage_answers_with_a_status_of_its_class(exhibit: Exhibit, zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url_of(exhibit), allow_redirects=False, auto_decompress=False) as response:
        assert response.status in STATUSES[exhibit.expects]


def test_every_status_of_the_policy_table_has_a_cage_of_its_own():
    assert {"400", "401", "403", "404", "410", "418", "429", "500", "502", "503", "504"} <= {
        exhibit.caption[:3] for exhibit in FAULTS.values()
    }


@pytest.mark.parametrize("exhibit", expecting("network"), ids=names)
async def test_a_broken_connection_is_an_error_of_the_client(exhibit: Exhibit, zoo: Zoo, client: aiohttp.ClientSession):
    with pytest.raises((aiohttp.ClientError, TimeoutError)):
        async with client.get(zoo.url_of(exhibit), timeout=PATIENCE) as response:
            await response.read()


async def test_the_host_that_does_not_exist_is_outside_what_resolves(zoo: Zoo, client: aiohttp.ClientSession):
    with pytest.raises(ClientConnectorDNSError):
        await client.get(zoo.url_of(FAULTS["nowhere"]))


async def test_a_drip_goes_on_after_its_headers(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url_of(FAULTS["drip"])) as response:
        assert response.status == 200
        assert await response.content.read(1) == b"<"


async def test_retry_after_comes_in_seconds_as_a_date_and_not_at_all(
    zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock
):
    clock.now = 784111777.0 - 120
    seen: list[str | None] = []
    for name in ("busy-seconds", "busy-until", "busy"):
        async with client.get(zoo.url_of(FAULTS[name])) as response:
            seen.append(response.headers.get("Retry-After"))

    assert seen == ["120", "Sun, 06 Nov 1994 08:49:37 GMT", None]


@pytest.mark.parametrize("exhibit", expecting("bot_challenge"), ids=names)
async def test_a_challenge_can_be_told_from_a_refusal(exhibit: Exhibit, zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url_of(exhibit)) as response:
        assert response.headers["cf-mitigated"] == "challenge"
        assert "Just a moment" in await response.text()


@pytest.mark.parametrize("exhibit", expecting("redirect_loop"), ids=names)
async def test_five_redirects_do_not_lead_out_of_a_loop(exhibit: Exhibit, zoo: Zoo, client: aiohttp.ClientSession):
    url = zoo.url_of(exhibit)
    for _ in range(6):
        async with client.get(url, allow_redirects=False) as response:
            assert response.status in {301, 302}
            url = urljoin(url, response.headers["Location"])


@pytest.mark.parametrize("exhibit", expecting("ssrf_blocked"), ids=names)
async def test_a_tunnel_leads_out_of_the_zoo(exhibit: Exhibit, zoo: Zoo, client: aiohttp.ClientSession):
    """Only the Location is looked at: it must never be followed."""
    async with client.get(zoo.url_of(exhibit), allow_redirects=False) as response:
        location = response.headers["Location"]

    assert location.startswith(("http://169.254.", "http://10.", "http://[::1]", "file:", "ftp:"))


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "::1", "127.0.0.2"])
def test_the_client_of_these_tests_has_no_socket_for_the_far_end_of_a_tunnel(address: str):
    with pytest.raises(PermissionError, match="tried to leave the zoo"):
        loopback_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 80)))


async def test_a_signpost_has_no_location(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url_of(FAULTS["signpost"]), allow_redirects=False) as response:
        assert "Location" not in response.headers


async def test_the_elephant_announces_its_size_and_the_whale_does_not(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url_of(FAULTS["elephant"])) as response:
        assert response.content_length == 50 * 2**20
    async with client.get(zoo.url_of(FAULTS["whale"])) as response:
        assert response.content_length is None
        size = 0
        async for chunk in response.content.iter_any():
            size += len(chunk)

    assert size == 50 * 2**20


def test_a_gzip_bomb_is_whole_and_a_thousand_times_its_size():
    unpacker, size, compressed = zlib.decompressobj(31), 0, gzip_bomb()
    while compressed:
        size += len(unpacker.decompress(compressed, 2**22))
        compressed = unpacker.unconsumed_tail

    assert unpacker.eof  # the checksum and the length at its end are right
    assert size == BOMB > 900 * len(gzip_bomb())


def test_no_bomb_is_larger_than_a_few_hundred_kilobytes():
    assert max(map(len, (gzip_bomb(), brotli_bomb(), zstd_bomb(), stacked_bomb()))) < 300_000


@pytest.mark.parametrize("name", ["bomb-gzip", "bomb-brotli", "bomb-zstd"])
async def test_a_bomb_goes_off_in_a_reader_without_limits(name: str, zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url_of(FAULTS[name])) as response:
        size = 0
        while size < 20 * 2**20 and (chunk := await response.content.readany()):
            size += len(chunk)

    assert size >= 20 * 2**20


async def test_the_stacked_bomb_is_labelled_twice(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url_of(FAULTS["bomb-stacked"]), auto_decompress=False) as response:
        assert response.headers["Content-Encoding"] == "gzip, gzip"


@pytest.mark.parametrize("sight", [one for one in SIGHTS if one.host.startswith("den.")], ids=lambda one: one.name)
async def test_a_hostile_page_calls_itself_html(sight: Sight, zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url_of(sight), auto_decompress=False) as response:
        assert response.status == 200
        assert response.content_type in {"text/html", "application/rss+xml"}
        assert await response.content.read(1)


@pytest.mark.parametrize(
    ("name", "moments"),
    [
        ("flicker", {0: 200, 19: 200, 21: 503, 29: 503, 31: 200, 51: 503}),
        ("forgetful", {0: 200, 29: 200, 31: 404, 59: 404, 61: 200}),
        ("farewell", {0: 200, 44: 200, 46: 410, 100_000: 410}),
        ("mover", {0: 200, 44: 200, 46: 301, 100_000: 301}),
    ],
)
@pytest.mark.parametrize("tempo", [1.0, 10.0])
async def test_a_moody_feed_dies_and_recovers_on_schedule(
    name: str, moments: dict[int, int], tempo: float, client: aiohttp.ClientSession
):
    clock = MovedClock()
    opened_at = clock.now
    exhibit = next(exhibit for exhibit in EXHIBITS if exhibit.name == name)
    async with Zoo(clock=clock, tempo=tempo) as zoo:
        for seconds, status in moments.items():
            clock.now = opened_at + seconds / tempo
            async with client.get(zoo.url_of(exhibit), allow_redirects=False) as response:
                assert response.status == status, seconds


async def test_the_mover_moves_to_a_feed(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url("mover", "/new-address.xml")) as response:
        assert b"<rss" in await response.read()


async def test_the_lobby_shows_the_way_to_its_feed(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url_of(FAULTS["lobby"])) as response:
        page = await response.text()

    assert response.content_type == "text/html"
    assert 'rel="alternate"' in page
    assert 'href="/upstairs.xml"' in page


async def test_a_zoo_with_visitors_in_every_endless_cage_closes_at_once(client: aiohttp.ClientSession):
    loop = asyncio.get_running_loop()
    async with Zoo() as zoo:
        urls = [zoo.url("silent", "/feed.xml"), zoo.url("drip", "/feed.xml"), zoo.url("den", "/drip.html")] * 10
        waiting = [asyncio.create_task(read_all(client, url)) for url in urls]
        await until(lambda: len(zoo.visits) == len(urls))
        started = loop.time()

    assert loop.time() - started < 0.5
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(outcome, aiohttp.ClientError) for outcome in outcomes)


async def read_all(client: aiohttp.ClientSession, url: str) -> bytes:
    async with client.get(url) as response:
        return await response.read()
