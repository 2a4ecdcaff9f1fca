import json
import re
import zlib
from html import unescape

import aiohttp
import pytest
from lxml import etree

from headwater_lab.zoo import SIGHTS, Sight, Zoo
from headwater_lab.zoo.articles import Article, Publisher
from headwater_lab.zoo.sites import SITES

from .conftest import MovedClock


async def text_of(client: aiohttp.ClientSession, url: str) -> str:
    async with client.get(url) as response:
        assert response.status == 200, url
        return await response.text()


def newest(zoo: Zoo, name: str, clock: MovedClock) -> Article:
    return Publisher(lambda host: f"http://{host}:{zoo.port}", 1.0).listed(SITES[f"{name}.zoo.test"], clock())[0]


@pytest.mark.parametrize("name", ["meadow", "wire", "gazette", "daily", "rivage", "minato"])
async def test_a_page_of_every_layout_holds_the_title_and_text_of_the_feed(
    name: str, zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock
):
    article = newest(zoo, name, clock)

    page = unescape(await text_of(client, article.url))

    assert article.title in page
    assert all(paragraph in page for paragraph in article.paragraphs)


async def test_a_paywall_shows_only_the_beginning(zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock):
    article = newest(zoo, "ledger", clock)

    page = unescape(await text_of(client, article.url))

    assert article.summary in page
    assert article.paragraphs[1] not in page


async def test_a_rich_page_carries_json_ld_and_open_graph(zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock):
    article = newest(zoo, "daily", clock)
    page = await text_of(client, article.url)

    found = re.search(r'<script type="application/ld\+json">(.*?)</script>', page)

    assert found
    assert json.loads(found[1])["headline"] == article.title
    assert '<meta property="og:title"' in page


async def test_an_article_is_not_there_before_it_is_published(
    zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock
):
    url = newest(zoo, "daily", clock).url
    clock.now -= 60

    async with client.get(url) as response:
        assert response.status == 404


async def test_an_article_answers_a_conditional_get(zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock):
    url = newest(zoo, "daily", clock).url
    async with client.get(url) as response:
        tag = response.headers["ETag"]

    async with client.get(url, headers={"If-None-Match": tag}) as response:
        assert response.status == 304


async def test_a_front_page_links_to_articles_sections_and_feeds(zoo: Zoo, client: aiohttp.ClientSession):
    page = await text_of(client, zoo.url("daily", "/"))

    assert 'rel="alternate" type="application/rss+xml"' in page
    assert page.count(".html") == 25
    assert 'href="/harbour/"' in page


async def test_older_stories_are_found_page_by_page(zoo: Zoo, client: aiohttp.ClientSession):
    first, second = [
        set(re.findall(r'href="([^"]+\.html)"', await text_of(client, zoo.url("village", f"/archive/{page}"))))
        for page in (1, 2)
    ]

    assert len(first) == len(second) == 25
    assert not first & second


async def test_every_picture_and_sound_a_feed_names_is_there(
    zoo: Zoo, client: aiohttp.ClientSession, clock: MovedClock
):
    article = newest(zoo, "campfire", clock)

    async with client.get(article.image_url) as response:
        assert (await response.read()).startswith(b"\x89PNG")
    async with client.get(article.audio_url) as response:
        assert response.content_type == "audio/mpeg"


@pytest.mark.parametrize(
    ("name", "path", "beginning"),
    [
        ("daily", "/icon.png", b"\x89PNG"),  # its front page declares it
        ("wire", "/favicon.ico", b"\0\0\1\0"),
        ("gazette", "/favicon.ico", None),
        ("gazette", "/icon.png", None),
    ],
)
async def test_a_site_has_an_icon_as_its_layout_says(
    zoo: Zoo, client: aiohttp.ClientSession, name: str, path: str, beginning: bytes | None
):
    async with client.get(zoo.url(name, path)) as response:
        found = await response.read()
    assert (response.status, found.startswith(beginning or b"")) == (200 if beginning else 404, True)


async def test_a_front_page_declares_the_icon_of_its_site(zoo: Zoo, client: aiohttp.ClientSession):
    assert 'href="/icon.png"' in await text_of(client, zoo.url("daily", "/"))


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("daily", 200, "Sitemap: http://daily.zoo.test:"),
        ("gazette", 200, "Crawl-delay: 2"),
        ("village", 200, "Disallow: /members/"),
        ("hermit", 200, "Disallow: /\n"),
        ("sparrow", 404, ""),
        ("missing", 404, ""),
        ("robots-broken", 500, ""),
        ("robots-garbage", 200, "<!doctype html>"),
    ],
)
async def test_robots_txt_comes_in_every_state(
    name: str, status: int, says: str, zoo: Zoo, client: aiohttp.ClientSession
):
    async with client.get(zoo.url(name, "/robots.txt")) as response:
        assert response.status == status
        assert says in await response.text()


@pytest.mark.parametrize("sight", [one for one in SIGHTS if one.group == "Sitemaps"], ids=lambda one: one.name)
async def test_every_sitemap_leads_to_articles(sight: Sight, zoo: Zoo, client: aiohttp.ClientSession):
    pages = await locations(client, zoo.url_of(sight))

    assert len(pages) >= 100
    await text_of(client, pages[-1])


async def locations(client: aiohttp.ClientSession, url: str) -> list[str]:
    """The pages a sitemap lists, through its indexes."""
    async with client.get(url) as response:
        if response.status == 404:
            return []
        body = await response.read()
    body = zlib.decompress(body, wbits=31) if url.endswith(".gz") else body
    if url.endswith(".txt"):
        return body.decode().splitlines()
    root = etree.fromstring(body)
    found = [str(node.text) for node in root.iter("{*}loc")]
    if not str(root.tag).endswith("sitemapindex"):
        return found
    return [page for part in found for page in await locations(client, part)]


async def test_a_labyrinth_never_ends(zoo: Zoo, client: aiohttp.ClientSession):
    page = await text_of(client, zoo.url("labyrinth", "/left/left/right"))

    assert 'href="/left/left/right/middle"' in page
