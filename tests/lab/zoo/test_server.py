import asyncio
import json
from itertools import pairwise

import aiohttp
import pytest

from headwater_lab.zoo import EXHIBITS, SIGHTS, Zoo
from headwater_lab.zoo.server import canonical_host
from headwater_lab.zoo.visits import Visit, impolite

from .conftest import MovedClock, until


async def test_a_zoo_binds_loopback_only_and_knows_its_port(zoo: Zoo):
    assert zoo.port > 0
    assert zoo._runner
    assert zoo._runner.addresses == [("127.0.0.1", zoo.port)]


async def test_two_zoos_stand_side_by_side(zoo: Zoo, client: aiohttp.ClientSession):
    async with Zoo() as other, client.get(other.url("daily", "/feed.xml")) as response:
        assert response.status == 200
        assert other.port != zoo.port
        assert not zoo.visits


def test_a_name_is_completed_with_the_domain():
    zoo = Zoo(port=8900)

    assert zoo.url("daily", "/x") == "http://daily.zoo.test:8900/x"
    assert zoo.url("daily.zoo.test", "/x") == "http://daily.zoo.test:8900/x"
    assert zoo.url("h1.crowd", "/x") == "http://h1.crowd.zoo.test:8900/x"
    assert zoo.url("zoo.test", "/") == "http://zoo.test:8900/"
    assert zoo.url("nowhere.invalid", "/") == "http://nowhere.invalid:8900/"


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("daily.zoo.test:8900", "daily.zoo.test"),
        ("DAILY.zoo.test.", "daily.zoo.test"),
        ("127.0.0.1:8900", "zoo.test"),
        ("localhost", "zoo.test"),
        ("zoo.localhost:1", "zoo.test"),
        ("daily.zoo.localhost:1", "daily.zoo.test"),
        ("example.org", "example.org"),
    ],
)
def test_the_host_header_tells_the_hosts_apart(header: str, host: str):
    assert canonical_host(header) == host


async def test_a_visit_is_written_down_with_all_that_proves_politeness(
    zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock
):
    headers = {
        "User-Agent": "Headwater/0 (+http://example.org)",
        "If-None-Match": '"x"',
        "If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT",
        "Accept-Encoding": "br",
    }
    async with client.get(zoo.url("daily", "/feed.xml?a=1"), headers=headers):
        pass

    [visit] = zoo.visits
    assert (visit.host, visit.path, visit.method, visit.status) == ("daily.zoo.test", "/feed.xml?a=1", "GET", 200)
    assert (visit.user_agent, visit.if_none_match, visit.if_modified_since, visit.accept_encoding) == tuple(
        headers.values()
    )
    assert visit.ended_at is not None
    assert visit.at <= visit.ended_at
    assert visit.clock_at == clock.now


async def test_the_book_shows_how_far_apart_two_visits_were(zoo: Zoo, client: aiohttp.ClientSession):
    for _ in range(3):
        async with client.get(zoo.url("daily", "/feed.xml")):
            await asyncio.sleep(0.05)
        async with client.get(zoo.url("gazette", "/index.rdf")):
            pass

    gaps = [later.at - earlier.at for earlier, later in pairwise(zoo.visits_to("daily"))]
    assert len(gaps) == 2
    assert all(gap > 0.045 for gap in gaps)
    assert [visit.at for visit in zoo.visits] == sorted(visit.at for visit in zoo.visits)


async def test_a_visit_under_way_has_no_end_and_one_that_was_cut_no_status(zoo: Zoo, client: aiohttp.ClientSession):
    waiting = asyncio.create_task(client.get(zoo.url("silent", "/feed.xml")).__aenter__())
    await until(lambda: len(zoo.visits) == 1)
    [visit] = zoo.visits
    assert (visit.status, visit.ended_at) == (None, None)

    waiting.cancel()
    await asyncio.wait([waiting])
    await until(lambda: zoo.visits[0].ended_at is not None)

    assert zoo.visits[0].status is None


async def test_another_process_reads_and_clears_the_book_without_visiting(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url("missing", "/feed.xml")):
        pass

    async with client.get(zoo.url("zoo.test", "/__zoo__/visits")) as response:
        lines = [json.loads(line) for line in (await response.text()).splitlines()]
    async with client.delete(zoo.url("daily", "/__zoo__/visits")) as response:
        assert response.status == 204

    assert [(line["host"], line["status"]) for line in lines] == [("missing.zoo.test", 404)]
    assert not zoo.visits


async def test_another_process_can_have_the_crowd_print_a_new_edition(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.post(zoo.url("zoo.test", "/__zoo__/edition")) as response:
        assert await response.json() == {"edition": 1}

    assert zoo.crowd.edition == 1
    assert not zoo.visits


async def test_forgotten_visits_are_gone(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url("daily", "/feed.xml")):
        pass

    zoo.forget_visits()

    assert list(zoo.visits) == []


async def test_the_entrance_lists_every_exhibit_and_sight(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url("zoo.test", "/")) as response:
        page = await response.text()

    for one in (*EXHIBITS, *SIGHTS):
        assert zoo.url_of(one) in page
        assert page.count(f">{one.name}</a>") == 1


async def test_a_browser_walks_the_zoo_under_names_that_it_can_resolve(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(f"http://daily.zoo.localhost:{zoo.port}/") as response:
        page = await response.text()

    assert f"http://daily.zoo.localhost:{zoo.port}/" in page
    assert "zoo.test:" not in page


@pytest.mark.parametrize(("host", "path"), [("daily", "/nothing"), ("nobody", "/"), ("zoo.test", "/feed.xml")])
async def test_what_is_not_there_is_404(host: str, path: str, zoo: Zoo, client: aiohttp.ClientSession):
    async with client.get(zoo.url(host, path)) as response:
        assert response.status == 404
        assert "Nothing here" in await response.text()


async def test_the_zoo_is_read_only(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.post(zoo.url("daily", "/feed.xml"), data=b"x") as response:
        assert response.status == 405


async def test_head_sends_the_headers_alone(zoo: Zoo, client: aiohttp.ClientSession):
    async with client.head(zoo.url("daily", "/feed.xml")) as response:
        assert int(response.headers["Content-Length"]) > 1000
        assert await response.read() == b""


def a_visit(host: str, at: float, ended_at: float) -> Visit:
    return Visit(at, ended_at, at, host, "/", "GET", 200, None, None, None, None)


def test_requests_to_one_host_that_overlap_or_begin_within_its_delay_are_impolite() -> None:
    first, close, overlapping, fine = (a_visit("a", *times) for times in ((0, 0.1), (0.9, 3), (2.5, 2.6), (4, 5)))
    elsewhere = a_visit("b", 0.5, 9)

    assert impolite([first, elsewhere, close, overlapping, fine], 1) == [(first, close), (close, overlapping)]
