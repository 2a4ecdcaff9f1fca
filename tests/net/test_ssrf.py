"""Ways into places that no feed is in, tried on the real client. None may so much as open a socket there."""

import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest
from aiohttp import web
from aiohttp.resolver import ThreadedResolver
from aiohttp.test_utils import TestServer

from headwater.net import Client, FetchError, FetchFailure
from headwater.net.resolver import Resolver
from headwater_lab.zoo import DOMAIN, EXHIBITS, Zoo
from tests.net.test_guard import BLOCKED, METADATA

WITHIN = timedelta(seconds=5)
DIGITS = "0123456789"


def spellings(dotted: str) -> Iterator[str]:
    """One IPv4 address in every way that some reader of URLs understands."""
    number = int(IPv4Address(dotted))
    a, b, c, d = IPv4Address(dotted).packed
    yield from (str(number), hex(number), f"0X{number:X}", f"0x{number:012x}", f"0{number:o}", f"000{number:o}")
    yield from (f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{number & 0xFFFF}", f"{hex(a)}.{number & 0xFFFFFF}")
    yield from (f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"{hex(a)}.{hex(b)}.{hex(c)}.{hex(d)}", f"{a}.0x{b:x}.0{c:o}.{d}")
    yield from (f"{dotted}.", f"{number}.", "".join(f"%{ord(letter):02x}" for letter in dotted))
    yield from (dotted.replace(".", dot) for dot in ("。", "．", "｡", "%2e", "%E3%80%82"))
    yield from (
        dotted.translate(str.maketrans(DIGITS, other)) for other in ("０１２３４５６７８９", "⓪①②③④⑤⑥⑦⑧⑨", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗")
    )
    yield from (f"{dotted}\u200b", f"\u00ad{dotted}", f"{dotted[:2]}\t{dotted[2:]}", f"{dotted}:80", f"{dotted}:080")


LITERAL = [f"http://[{address}]/" if ":" in address else f"http://{address}/" for address in BLOCKED]
SPELLED = [
    f"http://{spelled}/"
    for dotted in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1")
    for spelled in spellings(dotted)
]
WRITTEN_OUT = [
    "http://0/", "http://0x/", "http://00/", "http://0.0.0.0:8000/", "http://127.127/", "http://[0::0]/",
    "http://[0:0:0:0:0:0:0:1]/", "http://[0000:0000:0000:0000:0000:0000:0000:0001]/", "http://[::0.0.0.1]/",
    "http://[::ffff:127.0.0.1]/", "http://[::FFFF:127.0.0.1]:8080/", "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::ffff:0:10.0.0.1]/", "http://[::10.0.0.1]/", "http://[64:ff9b::169.254.169.254]/", "https://[::1]/",
    "http://[64:ff9b:1:fffe:a:0:1::]/", "http://[2002:0A00:0001::]/", "http://[FE80::1]/", "HTTP://[::1]:443/",
]  # fmt: skip
TRICKS = [
    "http:127.0.0.1/", "http:/127.0.0.1/", "http:////127.0.0.1/", "http:\\\\127.0.0.1\\", "http:/\\10.0.0.1/",
    "http://127.0.0.1\\@example.com/", "http://10.0.0.1#@example.com/", "http://10.0.0.1?@example.com/",
    "http://10.0.0.1/@example.com/", "http://10.0.0.1:80\\.example.com/", "http://@127.0.0.1/", "http://:@127.0.0.1/",
    "\x01http://127.0.0.1/", "\thttp://127.0.0.1/\n", "ht\ntp://127.0.0.1/", "hTTp://127.0.0.1/", "http://127.0.0.1/../",
]  # fmt: skip
UNREADABLE = [
    "http://[::1", "http://::1/", "http://[[::1]]/", "http://[127.0.0.1]/", "http://[::1].example.com/",
    "http://[::1]example.com/", "http://[::1%25lo]/", "http://[::1%lo]/", "http://[fe80::1%25eth0]/", "http://[fe80::1%1]/",
    "http://[::ffff:127.0.0.1%25lo]/", "http://[::ffff:127.1]/", "http://[v1.::1]/", "http://[]/", "http://[::1]:99999/",
    "http://256.256.256.256/", "http://127.0.0.1.1/", "http://4294967297/", "http://0x17f000001/", "http://09.0.0.1/",
    "http://127.0.0.1%00.example.com/", "http://127.0.0.1%2f.example.com/", "http://127.0.0.1%20/",
    "http://127.0.0.1 /", "http://127.0.0.1%0d%0aHost:x/", "http://127.0.0.1:８０/", "http://127.0.0.1:-1/",
    "http://127.0.0.1:a/", "http://",
    "http:///", "http://?", "http\u2236//127.0.0.1/", "//127.0.0.1/", "127.0.0.1", "",
]  # fmt: skip
CREDENTIALS = [
    "http://user@example.com/", "http://user:password@example.com/", "http://:password@example.com/",
    "http://example.com@127.0.0.1/", "http://example.com:80@10.0.0.1/", "http://example.com%2f@10.0.0.1/",
    "http://example.com@10.0.0.1@10.0.0.2/", "http://127.0.0.1:80@example.com/", "http://a:b@[::1]/",
    "http://%65@example.com/", "http://example.com%5C@10.0.0.1/",
]  # fmt: skip
SCHEMES = [
    "file:///etc/passwd", "file://127.0.0.1/etc/passwd", "file:/etc/passwd", "ftp://127.0.0.1/", "ftps://127.0.0.1/",
    "gopher://127.0.0.1:70/_x", "data:text/xml,<rss/>", "javascript:alert(1)", "unix:/var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "ws://127.0.0.1/", "wss://127.0.0.1/", "feed://127.0.0.1/",
    "feed:http://127.0.0.1/", "dict://127.0.0.1:2628/", "ldap://127.0.0.1/", "tftp://127.0.0.1/", "sftp://127.0.0.1/",
    "jar:http://127.0.0.1!/", "netdoc:///etc/passwd", "mailto:ann@example.com", "about:blank", "blob:http://127.0.0.1/1",
    "view-source:http://127.0.0.1/", "httpx://127.0.0.1/",
]  # fmt: skip
PORTS = [
    f"http://example.com:{port}/"
    for port in (0, 1, 7, 21, 22, 23, 25, 53, 110, 111, 139, 143, 389, 465, 514, 587, 636, 993, 2049, 6000, 6667, 10080)
] + ["https://example.com:25/", "http://example.com:0025/", "http://93.184.215.14:22/", "http://[2606:4700::1111]:25/"]

VECTORS = LITERAL + SPELLED + WRITTEN_OUT + TRICKS + UNREADABLE + CREDENTIALS + SCHEMES + PORTS
LOOKED_UP = ["http://localhost/", "http://LOCALHOST:8000/", "http://ⓛocalhost/", "http://loc\u00adalhost/"]
TUNNELS = [
    *LITERAL[::7], *WRITTEN_OUT, *CREDENTIALS, *SCHEMES, *PORTS, "//10.0.0.1/", "\\\\10.0.0.1\\", "/\\10.0.0.1/",
    "http:\\\\10.0.0.1", "http://10.1/", "http://１０.０.０.１/", "http://0xa9fea9fe/latest/meta-data/",
    "http://127.0.0.2/", "http://127.1.1/",
]  # fmt: skip

_watching: list[list[tuple[str, Any]]] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event in {"socket.__new__", "socket.connect", "socket.getaddrinfo"}:
        _watching[-1].append((event, arguments[1] if event == "socket.connect" else arguments[0]))


sys.addaudithook(_note)  # an audit hook sees every connection of the interpreter; it cannot be removed


@contextmanager
def watched() -> Iterator[list[tuple[str, Any]]]:
    """Every socket that is made or connected meanwhile, and every name that is looked up."""
    _watching.append([])
    try:
        yield _watching[-1]
    finally:
        _watching.pop()


def connected(seen: list[tuple[str, Any]]) -> set[str]:
    return {address[0] for event, address in seen if event == "socket.connect"}


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Test/1") as client:
        yield client


@pytest.fixture
async def loopback_client() -> AsyncIterator[Client]:
    """A client for which 127.0.0.1 plays the public internet, so that nothing ever leaves this machine."""
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client:
        yield client


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[TestServer]:
    """A site that redirects to the given URL, and reports the requested host."""

    async def redirect(request: web.Request) -> web.Response:
        location = TUNNELS[int(request.match_info["number"])]
        return web.Response(status=int(request.match_info["status"]), headers={"Location": location})

    async def home(request: web.Request) -> web.Response:
        return web.Response(text=request.host, headers={"Connection": "close"})

    app = web.Application()
    app.add_routes([web.get("/", home), web.get("/{status}/{number}", redirect)])
    server = TestServer(app, host="127.0.0.1")
    async with server:
        yield server


async def failure_of(client: Client, url: str) -> FetchError:
    with pytest.raises(FetchError) as failed:
        await client.get(url, within=WITHIN, max_bytes=1_000)
    return failed.value


def answer_with(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """DNS as an attacker runs it: each lookup gets the next answer, the last for ever. Returns the looked-up names."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, *_: object, **__: object) -> list[tuple[Any, ...]]:
        asked.append(host)
        return [_info(address, port) for address in answers[min(len(asked), len(answers)) - 1]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def _info(address: str, port: int) -> tuple[Any, ...]:
    if ":" in address:
        return socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0)
    return socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port)


def test_there_are_vectors_enough() -> None:
    assert len(set(VECTORS)) == len(VECTORS)
    assert len(VECTORS) >= 150


@pytest.mark.parametrize("url", VECTORS)
async def test_no_spelling_of_a_url_opens_a_socket_or_asks_dns(url: str, client: Client) -> None:
    with watched() as seen:
        failed = await failure_of(client, url)

    assert failed.kind is FetchFailure.BLOCKED
    assert seen == []


@pytest.mark.parametrize("url", LOOKED_UP)
async def test_names_of_this_machine_open_no_socket(url: str, client: Client) -> None:
    with watched() as seen:
        failed = await failure_of(client, url)

    assert failed.kind is FetchFailure.BLOCKED
    assert {event for event, _ in seen} <= {"socket.getaddrinfo"}


async def test_a_dotted_number_that_is_no_address_opens_no_socket(client: Client) -> None:
    with watched() as seen:
        await failure_of(client, "http://127.0.0.1../")

    assert seen == []


@pytest.mark.parametrize("address", [*BLOCKED[::5], *METADATA])
async def test_a_name_given_by_a_setting_leads_no_further_than_others(address: str) -> None:
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={"inside.test": address}) as client:
        with watched() as seen:
            failed = await failure_of(client, "http://feeds.inside.test/")

    assert failed.kind is FetchFailure.BLOCKED
    assert seen == []


@pytest.mark.parametrize("number", range(len(TUNNELS)), ids=lambda number: TUNNELS[number])
async def test_a_redirect_leads_no_further_than_a_url(number: int, site: TestServer, loopback_client: Client) -> None:
    status = (301, 302, 303, 307, 308)[number % 5]
    with watched() as seen:
        failed = await failure_of(loopback_client, str(site.make_url(f"/{status}/{number}")))

    assert failed.kind is FetchFailure.BLOCKED
    assert connected(seen) == {"127.0.0.1"}


@pytest.mark.parametrize("name", [exhibit.name for exhibit in EXHIBITS if exhibit.name.startswith("tunnel-")])
async def test_the_zoos_tunnels_are_closed(name: str, loopback_client: Client) -> None:
    exhibit = next(exhibit for exhibit in EXHIBITS if exhibit.name == name)
    async with Zoo() as zoo:
        with watched() as seen:
            failed = await failure_of(loopback_client, zoo.url_of(exhibit))

    assert failed.kind is FetchFailure.BLOCKED
    assert connected(seen) == {"127.0.0.1"}


@pytest.mark.parametrize(
    "answer",
    [["10.0.0.1", "127.0.0.1"], ["127.0.0.1", "10.0.0.1"], ["::1", "127.0.0.1"], ["127.0.0.1", "fd00:ec2::254"],
     ["169.254.169.254", "::ffff:10.0.0.1", "127.0.0.1", "127.0.0.2"]],
    ids=" ".join,
)  # fmt: skip
async def test_of_a_mixed_answer_only_what_is_open_is_tried(
    answer: list[str], site: TestServer, loopback_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, answer)

    with watched() as seen:
        response = await loopback_client.get(f"http://mixed.test:{site.port}/", within=WITHIN, max_bytes=1_000)

    assert response.status == 200
    assert connected(seen) == {"127.0.0.1"}


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "127.0.0.2", "::1", "64:ff9b::a00:1", "fe80::1"])
async def test_a_name_that_moves_inside_after_its_first_answer_is_not_followed(
    address: str, site: TestServer, loopback_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answer_with(monkeypatch, ["127.0.0.1"], [address])
    url = f"http://moving.test:{site.port}/"

    first = await loopback_client.get(url, within=WITHIN, max_bytes=1_000)
    forget_names(loopback_client)
    with watched() as seen:
        failed = await failure_of(loopback_client, url)

    assert (first.status, len(asked)) == (200, 2)
    assert failed.kind is FetchFailure.BLOCKED
    assert seen == []


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "127.0.0.1", "::1", "::ffff:10.0.0.1", "fe80::1"])
async def test_the_address_is_checked_again_when_connecting(
    address: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, [address])
    monkeypatch.setattr(
        Resolver, "resolve", lambda _, host, port, family: ThreadedResolver().resolve(host, port, family)
    )  # looks at nothing

    with watched() as seen:
        failed = await failure_of(client, f"http://late-{address.replace(':', '-')}.test/")

    assert failed.kind is FetchFailure.BLOCKED
    assert seen == []


async def test_what_was_looked_at_is_what_is_connected_to(
    site: TestServer, loopback_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answer_with(monkeypatch, ["127.0.0.1"], ["10.0.0.1"])

    with watched() as seen:
        await loopback_client.get(f"http://once.test:{site.port}/", within=WITHIN, max_bytes=1_000)

    assert asked == ["once.test"]
    assert connected(seen) == {"127.0.0.1"}


def forget_names(client: Client) -> None:
    """Let the minutes pass after which a name is looked up again."""
    connector: Any = client._session.connector if client._session else None
    connector.clear_dns_cache()
