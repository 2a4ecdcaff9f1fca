"""Adding by address: a feed is subscribed to at once, the feeds of a site are shown first, and both are confirmed."""

import re
from collections.abc import AsyncIterator

import pytest
from litestar import Litestar

from headwater.accounts.quotas import Quotas
from headwater.db import Database
from headwater.sources.custom.inspect import Inspector
from headwater.web import WebOptions
from tests.app import create_app
from tests.clock import MovableClock
from tests.site import MakeInspector, Site, a_site, inspectors, page, rss
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

INVALID = "Invalid URL format. Must start with http:// or https://"


@pytest.fixture(scope="module")
async def make_inspector() -> AsyncIterator[MakeInspector]:
    async with inspectors() as make:
        yield make


@pytest.fixture
def inspector(make_inspector: MakeInspector, database: Database, clock: MovableClock) -> Inspector:
    return make_inspector(database, clock)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as one:
        one.answers["good.example/feed"] = rss("Good <News>", "First", "Second")
        one.answers["good.example/notes.xml"] = rss("Good Notes", "A note")
        yield one


@pytest.fixture
async def ada(database: Database, clock: MovableClock, inspector: Inspector) -> AsyncIterator[Person]:
    async with a_person(create_app(database, clock, web=WebOptions(inspector=inspector))) as person:
        await person.register()
        yield person


async def names(database: Database) -> list[str]:
    async with database.as_system() as conn:
        return [
            name for (name,) in await (await conn.execute("SELECT name FROM subscriptions ORDER BY name")).fetchall()
        ]


def front_page(*links: str) -> str:
    return "".join(f"<link rel=alternate type=application/rss+xml href={link}>" for link in links)


async def test_a_feed_is_subscribed_to_at_once_under_its_own_title(ada: Person, site: Site, database: Database) -> None:
    response = await ada.send("POST", "/feeds/find", url=site.url("good.example/feed"))

    assert response.status_code == 204
    assert response.headers["hx-trigger"] == "refreshFeedList"
    assert await names(database) == ["Good <News>"]


@pytest.mark.parametrize("scheme", ["", "feed://", "feed:http://"])
async def test_a_scheme_is_not_needed(ada: Person, site: Site, database: Database, scheme: str) -> None:
    address = site.url("good.example/feed").removeprefix("http://")

    response = await ada.send("POST", "/feeds/find", url=scheme + address)

    assert response.status_code == 204, response.text
    assert await names(database) == ["Good <News>"]


async def test_a_given_name_and_category_are_used(ada: Person, site: Site, database: Database) -> None:
    await ada.send("POST", "/feeds/find", url=site.url("good.example/feed"), name=" Mine ", category="News")

    assert await names(database) == ["Mine"]
    assert '<span class="category">News</span>' in (await ada.part("/feeds")).text


async def test_feeds_of_a_site_are_shown_and_nothing_is_saved(ada: Person, site: Site, database: Database) -> None:
    site.answers["good.example/"] = page(front_page("/feed", "/notes.xml"))

    response = await ada.send("POST", "/feeds/find", url=site.url("good.example/"))

    assert response.status_code == 200
    assert response.headers["hx-retarget"] == "#feed-found"
    assert "2 feeds found" in response.text
    assert "Good &lt;News&gt;" in response.text
    assert 'aria-label="Subscribe to Good Notes"' in response.text
    assert '<li dir="auto">Second</li>' in response.text
    assert "GET good.example/robots.txt" in site.asked
    assert await names(database) == []


async def test_a_found_feed_is_subscribed_to_and_then_marked(ada: Person, site: Site, database: Database) -> None:
    site.answers["good.example/"] = page(front_page("/feed"))
    first = await ada.send("POST", "/feeds/find", url=site.url("good.example/"), name="Mine")
    fields = dict(re.findall(r'name="(url|name|category)" value="([^"]*)"', first.text))

    assert (await ada.send("POST", "/feeds", **fields)).status_code == 204
    again = await ada.send("POST", "/feeds/find", url=site.url("good.example/"))

    assert "1 feed found:" in first.text
    assert await names(database) == ["Mine"]
    assert '<span class="badge followed">Subscribed</span>' in again.text
    assert "<button" not in again.text


async def test_where_nothing_is_found_the_page_says_why_and_what_to_do(
    ada: Person, site: Site, database: Database
) -> None:
    site.answers["bare.example/"] = page("<p>Nothing here.</p>")

    response = await ada.send("POST", "/feeds/find", url=site.url("bare.example/"))

    assert response.status_code == 200
    assert f"No feed found at {site.url('bare.example/')}" in response.text
    assert "It is a web page" in response.text
    assert "look on the site for a link called RSS" in response.text
    assert ">Add anyway</button>" in response.text
    assert await names(database) == []


async def test_a_page_that_robots_txt_disallows_is_not_requested(ada: Person, site: Site) -> None:
    site.answers["good.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nDisallow: /private")

    await ada.send("POST", "/feeds/find", url=site.url("good.example/private"))

    assert "GET good.example/private" not in site.asked


async def test_an_address_inside_the_network_is_not_requested(ada: Person, database: Database) -> None:
    response = await ada.send("POST", "/feeds/find", url="http://10.0.0.1/feed")

    assert response.status_code == 200
    assert "No feed found at http://10.0.0.1/feed" in response.text
    assert await names(database) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"url": ""}, "Feed URL is required"),
        ({"url": "ftp://a.example/"}, INVALID),
        ({"url": "/feed.xml"}, INVALID),
        ({"url": "a.example", "name": "x" * 256}, "Feed name must be less than 255 characters"),
        ({"url": "a.example", "category": "x" * 101}, "A category has at most 100 characters"),
    ],
    ids=["no-url", "scheme", "path", "name", "category"],
)
async def test_errors_are_shown_in_the_form(ada: Person, site: Site, fields: dict[str, str], message: str) -> None:
    response = await ada.send("POST", "/feeds/find", **fields)

    assert response.status_code == 400
    assert response.headers["hx-retarget"] == "#feed-add-form-errors"
    assert message in response.text
    assert site.asked == []


async def test_a_feed_that_is_followed_already_is_409(ada: Person, site: Site) -> None:
    await ada.send("POST", "/feeds/find", url=site.url("good.example/feed"))

    again = await ada.send("POST", "/feeds/find", url=site.url("good.example/feed"))

    assert again.status_code == 409
    assert "You have already added this feed" in again.text


async def test_lookups_have_a_quota(database: Database, clock: MovableClock, inspector: Inspector, site: Site) -> None:
    web = WebOptions(inspector=inspector, quotas=Quotas(additions_per_hour=1))
    async with a_person(create_app(database, clock, web=web)) as ada:
        await ada.register()
        first = await ada.send("POST", "/feeds/find", url=site.url("bare.example/feed"))
        asked = len(site.asked)
        second = await ada.send("POST", "/feeds/find", url=site.url("bare.example/feed"))

    assert (first.status_code, second.status_code) == (200, 429)
    assert len(site.asked) == asked


async def test_a_server_that_makes_no_requests_saves_the_address(database: Database, clock: MovableClock) -> None:
    async with a_person(create_app(database, clock)) as ada:
        await ada.register()
        response = await ada.send("POST", "/feeds/find", url="example.com/feed.xml")

        assert response.status_code == 204
        assert "https://example.com/feed.xml" in (await ada.part("/feeds")).text
    assert await names(database) == ["example.com"]


# Of the confirmation.


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


async def test_the_list_confirms_what_was_added_on_the_page_that_has_it(app: Litestar) -> None:
    async with a_person(app) as ada:
        await ada.register()
        for number in range(21):
            await ada.send("POST", "/feeds", name=f"Feed {number:02}", url=f"https://{number}.example/feed")
        response = await ada.send("POST", "/feeds", name="Zoo", url="https://zoo.example/feed")
        added = response.headers["headwater-added"]

        shown = (await ada.part("/feeds", params={"added": added})).text
        later = (await ada.part("/feeds")).text
        omitted = (await ada.part("/feeds", params={"added": added, "search": "Feed 03"})).text

    assert f'Subscribed to <a href="/read?feed={added}">Zoo</a>.' in shown
    assert re.search(rf'id="feed-item-{added}" class="feed pending added"', shown)
    assert "Page 2 of 2, 22 feeds" in shown
    assert "Subscribed to" not in later
    assert "Zoo</a>. The filter above omits it." in omitted


@pytest.mark.parametrize("added", ["odd", "0190a000-0000-7000-8000-000000000000"])
async def test_an_unknown_id_confirms_nothing(app: Litestar, added: str) -> None:
    async with a_person(app) as ada:
        await ada.register()
        part = await ada.part("/feeds", params={"added": added})

    assert part.status_code == 200
    assert "Subscribed to" not in part.text
