"""/discover: public sources to browse, search and follow, and suggestions."""

import re
from collections.abc import AsyncIterator
from html import unescape
from uuid import UUID

import pytest
from litestar import Litestar

from headwater.audit.types import COMMAND_LINE
from headwater.db import Database
from headwater.sources.custom import moderate
from headwater.sources.custom.inspect import Inspector
from headwater.sources.follow import change, disable_source, follow
from headwater.sources.mover import Mover
from headwater.sources.store.sources import list_all
from headwater.sources.types import Changes, Source
from headwater.types import SourceId
from headwater.web import WebOptions
from tests.app import create_app
from tests.clock import MovableClock
from tests.site import MakeInspector, Site, a_site, inspectors, page, rss
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database


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
        one.answers["good.example/feed"] = rss("Good News", "First", "Second")
        yield one


@pytest.fixture
def app(database: Database, clock: MovableClock, inspector: Inspector) -> Litestar:
    return create_app(database, clock, web=WebOptions(inspector=inspector))


@pytest.fixture
async def ada(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        await person.open("/discover")
        yield person


async def a_system_source(database: Database, clock: MovableClock, name: str, category: str = "") -> Source:
    async with database.as_system() as conn:
        source = await follow(conn, url=f"https://{name.lower()}.example/feed", name=name, now=clock())
        await change(conn, source, Changes(category=category))
    return source


def names(text: str) -> list[str]:
    return [unescape(name) for name in re.findall(r'<a class="name"[^>]*>([^<]+)</a>', text)]


async def test_an_empty_catalogue_says_so(ada: Person) -> None:
    assert "Nothing to discover yet." in (await ada.open("/discover")).text
    assert "No sources match." in (await ada.open("/discover?q=zzz")).text


async def test_public_sources_are_browsed_by_category_and_searched(
    ada: Person, database: Database, clock: MovableClock
) -> None:
    await a_system_source(database, clock, "Alpha", "News")
    await a_system_source(database, clock, "Beta", "Science")
    off = await a_system_source(database, clock, "Gamma", "News")
    async with database.as_system() as conn:
        await disable_source(conn, off, clock())

    assert names((await ada.open("/discover")).text) == ["Alpha", "Beta"]
    assert names((await ada.part("/discover/list?category=Science")).text) == ["Beta"]
    assert names((await ada.part("/discover/list?q=ALPHA.example")).text) == ["Alpha"]
    assert names((await ada.part("/discover/list?q=scien")).text) == ["Beta"]


async def test_private_subscriptions_are_not_listed(ada: Person, app: Litestar) -> None:
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        await bob.send("POST", "/feeds", name="Secret", url="https://secret.example/feed")

    assert "secret.example" not in (await ada.open("/discover")).text


async def test_a_source_is_followed_with_one_click(
    ada: Person, app: Litestar, database: Database, clock: MovableClock
) -> None:
    await a_system_source(database, clock, "Alpha")
    beta = await a_system_source(database, clock, "Beta", "News")

    said = await ada.send("POST", f"/discover/{beta.id}/follow")
    again = await ada.send("POST", f"/discover/{beta.id}/follow")

    assert "Following" in said.text
    assert "1 reader" in said.text
    assert (again.status_code, again.headers["hx-retarget"]) == (409, f"#public-{beta.id}-errors")
    assert names((await ada.open("/discover")).text) == ["Beta", "Alpha"], "what is followed comes first"
    assert "Beta" in (await ada.part("/feeds")).text
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        assert "Following" not in (await bob.open("/discover")).text


async def test_a_source_whose_feed_moved_to_another_site_is_followed_itself(
    ada: Person, database: Database, clock: MovableClock
) -> None:
    source = await a_system_source(database, clock, "Alpha")
    async with database.as_system() as conn:
        await conn.execute("UPDATE feed_state SET adopt_url = 'https://elsewhere.example.org/feed'")
    mover = Mover(database, clock)
    for moved in await mover.claim(1):
        await mover.work(moved)

    said = await ada.send("POST", f"/discover/{source.id}/follow")

    assert "Following" in said.text
    assert "https://elsewhere.example.org/feed" in said.text
    async with database.as_system() as conn:
        assert [one.id for one in await list_all(conn)] == [source.id]


async def test_a_source_that_is_not_public_cannot_be_followed(
    ada: Person, database: Database, clock: MovableClock
) -> None:
    off = await a_system_source(database, clock, "Alpha")
    async with database.as_system() as conn:
        await disable_source(conn, off, clock())

    for source_id in (off.id, "00000000-0000-0000-0000-000000000007"):
        assert (await ada.send("POST", f"/discover/{source_id}/follow")).status_code == 404


async def test_many_sources_have_pages_of_twenty(ada: Person, database: Database, clock: MovableClock) -> None:
    for number in range(21):
        await a_system_source(database, clock, f"N{number:02}")

    first, second = (await ada.open("/discover")).text, (await ada.open("/discover?page=2")).text

    assert (len(names(first)), names(second)) == (20, ["N20"])
    assert "Page 1 of 2, 21 sources" in first


@pytest.mark.parametrize("query", ["page=0", "page=x", "q=" + "x" * 201, "q=%00", "source=odd"])
async def test_invalid_filters_are_refused(ada: Person, query: str) -> None:
    assert (await ada.open(f"/discover?{query}")).status_code == 400


async def suggest(person: Person, site: Site, place: str = "good.example/feed", **more: str) -> str:
    fields = {"name": "Good News", "url": site.url(place), "category": "News", "interval": "30", **more}
    return (await person.send("POST", "/discover/suggest", **fields)).text


async def test_a_suggestion_of_a_feed_that_the_user_follows_is_shown_as_in_review(ada: Person, site: Site) -> None:
    await ada.send("POST", "/feeds", name="Good", url=site.url("good.example/feed"), category="")

    said = await suggest(ada, site)

    assert "is in review" in said
    assert "listed for everyone" not in said


async def test_a_suggestion_is_shown_with_its_decision(
    ada: Person, site: Site, database: Database, clock: MovableClock
) -> None:
    said = await suggest(ada, site)
    feed_id = SourceId(UUID(re.findall(r"suggestions/([0-9a-f-]{36})/withdraw", said)[0]))

    assert "is in review" in said
    assert names((await ada.open("/discover")).text) == []
    async with database.as_system() as conn:
        await moderate.reject(conn, feed_id, reason="A farm of <links>.", actor=COMMAND_LINE, now=clock())
    after = (await ada.open("/discover")).text
    assert "Rejected" in after
    assert "A farm of &lt;links&gt;." in after
    assert (await ada.send("POST", f"/discover/suggestions/{feed_id}/withdraw")).status_code == 409


async def test_a_suggestion_is_withdrawn(ada: Person, app: Litestar, site: Site) -> None:
    said = await suggest(ada, site)
    path = re.findall(r"/discover/suggestions/[0-9a-f-]{36}/withdraw", said)[0]

    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        assert (await bob.send("POST", path)).status_code == 404
    taken_back = await ada.send("POST", path)

    assert taken_back.status_code == 200
    assert "Good News" not in taken_back.text


async def test_errors_are_shown_beside_the_form(ada: Person, site: Site) -> None:
    answers = [
        await ada.send("POST", "/discover/suggest", name="", url=site.url("good.example/feed")),
        await ada.send("POST", "/discover/suggest", name="x", url="ftp://x.example/"),
        await ada.send("POST", "/discover/suggest", name="x", url=site.url("good.example/feed"), interval="5"),
        await ada.send("POST", "/discover/suggest", name="x", url=site.url("good.example/feed"), interval="often"),
        await ada.send("POST", "/discover/suggest", name="x", url=site.url("good.example/none")),
    ]

    assert {answer.status_code for answer in answers} == {422}
    assert {answer.headers["hx-retarget"] for answer in answers} == {"#suggest-errors"}
    assert all('class="problem"' in answer.text for answer in answers)


async def test_feeds_of_a_page_are_offered_and_known_sources_are_linked(
    ada: Person, site: Site, database: Database, clock: MovableClock
) -> None:
    site.answers["good.example/"] = page(
        "<link rel=alternate type=application/rss+xml title=\"It's &lt;all&gt;\" href='/feed?a=1&amp;b=2'>"
    )
    alpha = await a_system_source(database, clock, "Alpha")

    offered = await suggest(ada, site, "good.example/")
    taken = await ada.send("POST", "/discover/suggest", name="x", url="https://alpha.example/feed")

    assert 'hx-vals=\'{"url": "http://good.example' in offered
    assert taken.status_code == 409
    assert f"/discover?source={alpha.id}" in taken.text
    assert names((await ada.open(f"/discover?source={alpha.id}")).text) == ["Alpha"]


async def test_forms_work_without_scripts(ada: Person, site: Site, database: Database, clock: MovableClock) -> None:
    alpha = await a_system_source(database, clock, "Alpha")

    went = await ada.submit("/discover/suggest", name="Good News", url=site.url("good.example/feed"))
    followed = await ada.submit(f"/discover/{alpha.id}/follow")

    assert (went.status_code, went.headers["location"]) == (303, "/discover#suggested")
    assert (followed.status_code, followed.headers["location"]) == (303, "/discover")


async def test_without_an_inspector_nothing_can_be_suggested(
    database: Database, clock: MovableClock, site: Site
) -> None:
    async with a_person(create_app(database, clock)) as person:
        await person.register()
        await person.open("/discover")

        answer = await person.send("POST", "/discover/suggest", name="x", url=site.url("good.example/feed"))

    assert answer.status_code == 500
    assert "Failed to suggest feed" in answer.text
