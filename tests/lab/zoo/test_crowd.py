import re

import aiohttp

from headwater_lab.zoo import Zoo

from .yardstick import parsed


async def get(client: aiohttp.ClientSession, url: str, **headers: str) -> tuple[int, str, str | None]:
    async with client.get(url, headers=headers) as response:
        return response.status, await response.text(), response.headers.get("ETag")


async def test_any_host_of_the_crowd_serves_feeds_of_25_entries(zoo: Zoo, client: aiohttp.ClientSession):
    links: set[str] = set()
    for host in (1, 2, 499):
        for feed in (0, 1, 40):
            status, body, _ = await get(client, zoo.url(f"h{host}.crowd", f"/feed/{feed}.xml"))
            entries = parsed(body.encode()).entries
            links |= {entry.link for entry in entries}

            assert (status, len(entries)) == (200, 25)

    assert len(links) == 9 * 25


async def test_a_crowd_feed_is_304_until_the_next_edition(zoo: Zoo, client: aiohttp.ClientSession):
    url = zoo.url("h7.crowd", "/feed/3.xml")
    _, before, tag = await get(client, url)
    assert tag

    assert (await get(client, url, **{"If-None-Match": tag}))[0] == 304
    zoo.crowd.edition += 1
    status, after, _ = await get(client, url, **{"If-None-Match": tag})

    assert status == 200
    assert not set(links_of(before)) & set(links_of(after))


async def test_a_fresh_feed_is_new_at_every_request(zoo: Zoo, client: aiohttp.ClientSession):
    url = zoo.url("h7.crowd", "/feed/3.xml?fresh=1")

    _, first, tag = await get(client, url)
    _, second, _ = await get(client, url)

    assert tag is None
    assert not set(links_of(first)) & set(links_of(second))


async def test_the_page_of_a_crowd_entry_has_its_title_and_summary(zoo: Zoo, client: aiohttp.ClientSession):
    _, feed, _ = await get(client, zoo.url("h3.crowd", "/feed/2.xml"))
    entry = parsed(feed.encode()).entries[4]

    status, page, tag = await get(client, entry.link)

    assert status == 200
    assert tag
    assert re.sub(r"\s+", " ", entry.title) in page.replace("&amp;", "&")
    assert "from bureau 3." in page


async def test_the_crowd_has_no_robots_txt(zoo: Zoo, client: aiohttp.ClientSession):
    assert (await get(client, zoo.url("h3.crowd", "/robots.txt")))[0] == 404


def links_of(feed: str) -> list[str]:
    return re.findall(r"<guid>([^<]+)</guid>", feed)
