"""Every feed that expects articles, read over HTTP by feedparser (the yardstick) or by json."""

import json
from dataclasses import dataclass
from urllib.parse import urljoin

import aiohttp
import pytest

from headwater_lab.zoo import EXHIBITS, Exhibit, Zoo
from headwater_lab.zoo.articles import Publisher
from headwater_lab.zoo.sites import SITES

from .conftest import MovedClock
from .yardstick import Parsed, parsed

HEALTHY = [exhibit for exhibit in EXHIBITS if not exhibit.fails]
XML = [exhibit for exhibit in HEALTHY if not exhibit.path.endswith(".json")]
JSON = [exhibit for exhibit in HEALTHY if exhibit.path.endswith(".json")]
# the cut feed has lost its second half
FEWER = {"cut": 9}


def by_name(name: str) -> Exhibit:
    return next(exhibit for exhibit in EXHIBITS if exhibit.name == name)


def names(exhibit: Exhibit) -> str:
    return exhibit.name


@dataclass(frozen=True, slots=True)
class Read:
    url: str
    headers: dict[str, str]
    body: bytes
    hops: int


async def read(client: aiohttp.ClientSession, url: str) -> Read:
    """Follows redirects by hand, as Headwater does."""
    for hops in range(6):
        async with client.get(url, allow_redirects=False) as response:
            if response.status not in {301, 302, 307, 308}:
                assert response.status == 200
                return Read(url, {k.lower(): v for k, v in response.headers.items()}, await response.read(), hops)
            url = urljoin(url, response.headers["Location"])
    raise AssertionError(f"more than five redirects, the last to {url}")


def understood(answer: Read) -> Parsed:
    return parsed(answer.body, answer.url, answer.headers.get("content-type", ""))


def listed(exhibit: Exhibit) -> int:
    site = SITES.get(exhibit.host, SITES["daily.zoo.test"])  # `merged` has no site of its own: it leads to the Daily
    author = next((feed.articles_of for feed in site.feeds if feed.articles_of), site.host)
    return FEWER.get(exhibit.name, SITES[author].listed)


@pytest.mark.parametrize("exhibit", XML, ids=names)
async def test_an_xml_feed_gives_all_its_entries(exhibit: Exhibit, zoo: Zoo, client: aiohttp.ClientSession):
    feed = understood(await read(client, zoo.url_of(exhibit)))

    assert len(feed.entries) >= listed(exhibit)
    assert all(entry.title or exhibit.name == "sparrow" for entry in feed.entries)
    assert all(entry.link.startswith("http://") for entry in feed.entries[:-1])


@pytest.mark.parametrize("exhibit", JSON, ids=names)
async def test_a_json_feed_gives_all_its_items(exhibit: Exhibit, zoo: Zoo, client: aiohttp.ClientSession):
    feed = json.loads((await read(client, zoo.url_of(exhibit))).body)

    assert feed["version"].startswith("https://jsonfeed.org/version/1")
    assert len(feed["items"]) == listed(exhibit)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("daily", "rss20"),
        ("gazette", "rss10"),
        ("courier", "rss092"),
        ("almanac", "rss091n"),
        ("museum", "rss090"),
        ("observatory", "atom10"),
        ("lantern", "atom03"),
    ],
)
async def test_each_dialect_is_what_it_says(name: str, version: str, zoo: Zoo, client: aiohttp.ClientSession):
    assert understood(await read(client, zoo.url_of(by_name(name)))).version == version


@pytest.mark.parametrize("name", ["rivage", "moewe", "plaza", "akti", "chaoshi", "minato"])
async def test_no_letter_is_lost_in_any_language(name: str, zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock):
    site = SITES[f"{name}.zoo.test"]
    newest = Publisher(lambda host: host, 1.0).listed(site, clock())[0]

    feed = understood(await read(client, zoo.url_of(by_name(name))))

    assert feed.title == site.title
    assert feed.entries[0].title == newest.title


async def test_the_three_echoes_list_the_same_articles(zoo: Zoo, client: aiohttp.ClientSession):
    morning = understood(await read(client, zoo.url_of(by_name("morning-echo"))))
    evening = understood(await read(client, zoo.url_of(by_name("evening-echo"))))
    night = json.loads((await read(client, zoo.url_of(by_name("night-echo")))).body)

    links = [entry.link for entry in morning.entries]
    assert [entry.link for entry in evening.entries] == links
    assert [item["url"].partition("?utm_")[0] for item in night["items"]] == links


async def test_the_loose_calendar_has_future_and_missing_dates(
    zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock
):
    feed = understood(await read(client, zoo.url_of(by_name("calendar"))))

    assert sum(not entry.published for entry in feed.entries) == 3
    assert sum("2099" in entry.published for entry in feed.entries) == 3


@pytest.mark.parametrize(
    ("name", "compression"),
    [
        ("gzipped", "gzip"),
        ("deflated", "deflate"),
        ("raw-deflated", "deflate"),
        ("brotli", "br"),
        ("zstandard", "zstd"),
    ],
)
async def test_a_compressed_feed_says_how(name: str, compression: str, zoo: Zoo, client: aiohttp.ClientSession):
    assert (await read(client, zoo.url_of(by_name(name)))).headers["content-encoding"] == compression


@pytest.mark.parametrize(
    ("name", "hops"), [("moved", 1), ("moved-308", 1), ("merged", 1), ("visiting", 1), ("hops", 4)]
)
async def test_a_redirected_feed_takes_so_many_hops(name: str, hops: int, zoo: Zoo, client: aiohttp.ClientSession):
    assert (await read(client, zoo.url_of(by_name(name)))).hops == hops


async def test_a_feed_changes_its_validators_exactly_when_it_grows(
    zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock
):
    url = zoo.url_of(by_name("daily"))
    before = await read(client, url)
    clock.now += 5
    soon = await read(client, url)
    clock.now += 20
    later = await read(client, url)

    assert (soon.body == before.body) == (soon.headers["etag"] == before.headers["etag"])
    assert later.headers["etag"] != before.headers["etag"]
    assert later.headers["last-modified"] != before.headers["last-modified"]
    assert understood(later).entries[1].id in {entry.id for entry in understood(soon).entries[:2]}


@pytest.mark.parametrize("validators", [{"If-None-Match": "etag"}, {"If-Modified-Since": "last-modified"}])
async def test_a_conditional_get_costs_nothing_until_something_is_new(
    validators: dict[str, str], zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock
):
    url = zoo.url_of(by_name("daily"))
    first = await read(client, url)
    headers = {name: first.headers[value] for name, value in validators.items()}

    async with client.get(url, headers=headers) as unchanged:
        assert (unchanged.status, await unchanged.read()) == (304, b"")
        assert unchanged.headers["ETag"] == first.headers["etag"]
    clock.now += 20
    async with client.get(url, headers=headers) as changed:
        assert changed.status == 200


async def test_the_stuck_feed_says_304_although_it_has_grown(
    zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock
):
    url = zoo.url_of(by_name("stuck"))
    first = await read(client, url)
    clock.now += 3600

    async with client.get(url, headers={"If-None-Match": first.headers["etag"]}) as lie:
        assert lie.status == 304
    assert (await read(client, url)).body != first.body


@pytest.mark.parametrize(
    ("name", "present"),
    [
        ("daily", {"etag", "last-modified"}),
        ("weak-tag", {"etag", "last-modified"}),
        ("tag-only", {"etag"}),
        ("date-only", {"last-modified"}),
        ("no-validators", set[str]()),
    ],
)
async def test_a_feed_sends_the_validators_of_its_caption(
    name: str, present: set[str], zoo: Zoo, client: aiohttp.ClientSession
):
    headers = (await read(client, zoo.url_of(by_name(name)))).headers

    assert headers.keys() & {"etag", "last-modified"} == present
    assert headers.get("etag", "").startswith("W/") == (name == "weak-tag")
