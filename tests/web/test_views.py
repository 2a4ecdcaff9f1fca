"""Views of a user: made from a search, in the side bar with unread numbers, changed, ordered, deleted and restored."""

import re
from collections.abc import AsyncIterator
from html import unescape

import pytest
from litestar import Litestar

from headwater.accounts.quotas import Quotas
from headwater.db import Database
from headwater.web import WebOptions
from headwater.web.assets import asset_url
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.newsroom import Newsroom, open_newsroom
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def room(app: Litestar, database: Database, clock: MovableClock) -> AsyncIterator[Newsroom]:
    async with open_newsroom(app, database, clock) as room:
        await room.ada.submit("/read/stories", grouped="no")
        yield room


def shown(page: str) -> list[str]:
    return [unescape(title) for title in re.findall(r'/articles/[^"]+" data-open>([^<]+)<', page)]


async def make(person: Person, name: str, query: str, icon: str = "star") -> str:
    came = await person.submit("/views", name=name, query=query, icon=icon)
    assert came.status_code == 303, came.text
    return came.headers["location"].rpartition("=")[2]


def names(page: str) -> list[str]:
    return re.findall(r'/read\?view=[^"]+" data-open>([^<]+)<', page)


async def test_a_search_is_saved_as_a_view_and_listed_in_the_side_bar(room: Newsroom) -> None:
    page = (await room.ada.open("/read?shelf=all&q=bremvik")).text
    (link,) = re.findall(r'href="(/views/new[^"]+)"', page)
    form = (await room.ada.open(unescape(link))).text
    assert 'name="query" value="bremvik"' in form

    view = await make(room.ada, "Bremvik <b>", "bremvik")
    listed = (await room.ada.open(f"/read?view={view}")).text

    assert shown(listed) == ["Harbour of Bremvik flooded", "Bremvik after the storm", "Storm hits Bremvik"]
    assert '<h1 id="stream-title">Bremvik &lt;b&gt;</h1>' in listed
    assert f'view={view}" aria-current="true"' in listed
    assert f"{asset_url('/static/icons.svg')}#star" in listed


async def test_a_view_of_a_feed_and_a_category_has_them_in_its_query(room: Newsroom) -> None:
    page = (await room.ada.open("/read?category=News&shelf=starred&q=storm")).text
    (link,) = re.findall(r'href="(/views/new[^"]+)"', page)

    form = (await room.ada.open(unescape(link))).text

    assert 'name="query" value="storm category:News is:starred"' in unescape(form)


async def test_the_side_bar_counts_unread_articles_of_views_and_tags(room: Newsroom) -> None:
    view = await make(room.ada, "Bremvik", "bremvik")
    other = await make(room.ada, "Nothing", "zzz")
    article = room.articles["Storm hits Bremvik"]
    await room.ada.send("POST", f"/articles/{article}/tags", tag="Later")
    await room.ada.send("POST", f"/articles/{room.articles['Harbour of Bremvik flooded']}/read")

    assert 'hx-get="/read/views?' in (await room.ada.open("/read")).text
    part = (await room.ada.part("/read/views?shelf=unread")).text

    assert re.search(rf'view={view}".*?</a><span class="unread"[^>]*>2</span>', part, re.DOTALL)
    assert re.search(rf'view={other}"[^>]*><svg.*?</svg> Nothing</a></li>', part, re.DOTALL)
    assert re.search(r"later</a><span class=\"unread\"[^>]*>1</span>", part)


async def test_without_views_and_tags_nothing_is_loaded(room: Newsroom) -> None:
    assert "/read/views" not in (await room.ada.open("/read")).text


async def test_a_view_keeps_to_unread_articles_or_shows_all(room: Newsroom) -> None:
    view = await make(room.ada, "Bremvik", "bremvik")
    await room.ada.send("POST", f"/articles/{room.articles['Harbour of Bremvik flooded']}/read")

    unread = shown((await room.ada.open(f"/read?view={view}")).text)
    every = shown((await room.ada.open(f"/read?view={view}&shelf=all")).text)
    within = shown((await room.ada.open(f"/read?view={view}&shelf=all&q=storm")).text)

    assert unread == ["Bremvik after the storm", "Storm hits Bremvik"]
    assert every == ["Harbour of Bremvik flooded", *unread]
    assert within == unread


async def test_an_error_is_shown_at_its_place(room: Newsroom) -> None:
    came = await room.ada.submit("/views", name="", query="storm topik:sport <b>", icon="star")

    assert came.status_code == 400
    assert "A view needs a name." in came.text
    assert "did you mean" in came.text
    assert "<code>storm <mark>topik:</mark>sport &lt;b&gt;</code>" in came.text
    assert 'value="storm topik:sport &lt;b&gt;"' in came.text


async def test_a_view_is_changed_and_its_name_is_used_once(room: Newsroom) -> None:
    view = await make(room.ada, "Storm", "storm")
    await make(room.ada, "Other", "cake")

    assert (await room.ada.submit(f"/views/{view}", name="Cake", query="cake", icon="leaf")).status_code == 303
    taken = await room.ada.submit(f"/views/{view}", name="other", query="cake", icon="leaf")

    assert taken.status_code == 409
    assert "You have a view with this name." in taken.text
    page = (await room.ada.open("/views")).text
    assert names(page) == ["Cake", "Other"]
    assert f"{asset_url('/static/icons.svg')}#leaf" in page


async def test_views_are_ordered_deleted_and_restored(room: Newsroom) -> None:
    first, second = await make(room.ada, "First", "a"), await make(room.ada, "Second", "b")

    moved = await room.ada.send("POST", f"/views/{second}/move", to="up")
    assert names(moved.text) == ["Second", "First"]
    assert f'class="line current" id="view-{second}"' in moved.text
    gone = await room.ada.send("POST", f"/views/{second}/delete")
    assert names(gone.text) == ["First"]
    assert (await room.ada.open(f"/read?view={second}")).status_code == 404
    back = await room.ada.send("POST", f"/views/{second}/restore")

    assert names(back.text) == ["Second", "First"]
    plain = await room.ada.submit(f"/views/{first}/delete")
    assert f'action="/views/{first}/restore"' in (await room.ada.open(plain.headers["location"])).text


async def test_a_user_has_so_many_views(database: Database, clock: MovableClock) -> None:
    async with a_person(create_app(database, clock, web=WebOptions(quotas=Quotas(views=1)))) as ada:
        await ada.register()
        await make(ada, "One", "a")

        came = await ada.submit("/views", name="Two", query="b", icon="star")

    assert came.status_code == 409
    assert "You have 1 views, the maximum on this server." in came.text


async def test_views_of_others_are_not_found(app: Litestar, room: Newsroom) -> None:
    view = await make(room.ada, "Mine", "storm")
    async with a_person(app) as eve:
        await eve.register("eve@example.com")

        answers = [
            await eve.open(f"/read?view={view}"), await eve.open(f"/views/{view}"),
            await eve.submit(f"/views/{view}", name="x", query="x"), await eve.submit(f"/views/{view}/delete"),
            await eve.submit(f"/views/{view}/feed"), await eve.submit(f"/views/{view}/restore"),
        ]  # fmt: skip

    assert {answer.status_code for answer in answers} == {404}
    assert names((await room.ada.open("/views")).text) == ["Mine"]
