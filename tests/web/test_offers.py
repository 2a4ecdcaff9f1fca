"""Every state of a feed is displayed, a pending line is reloaded, and feeds of a page are offered."""

import re
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from html import unescape

import pytest
from litestar import Litestar

from headwater.db import Database
from headwater.sources.store import sources, suggestions
from headwater.sources.types import Suggestion
from headwater.types import SourceId
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

PAGE_URL = "https://example.com/"
FEED_URL = "https://example.com/feed.xml?a=1&b=2"


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def ada(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        yield person


async def add(person: Person, name: str = "Example", url: str = PAGE_URL) -> str:
    """Adds a feed and returns its id."""
    assert (await person.send("POST", "/feeds", name=name, url=url, category="News")).status_code == 204
    page = (await person.part("/feeds", params={"search": name})).text
    found = re.search(r'id="feed-item-([0-9a-f-]{36})"', page)
    assert found is not None
    return found[1]


async def polled(
    database: Database,
    error: str | None = None,
    *,
    kind: str = "not_a_feed",
    disabled_at: datetime | None = None,
    disabled_until: datetime | None = None,
    is_sought: bool = False,
    url: str = PAGE_URL,
) -> SourceId:
    """The result of a poll. Returns the source."""
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url=url)
        await conn.execute(
            """
            UPDATE feed_state
            SET last_polled_at = %(now)s, next_poll_at = %(next)s, last_error = %(error)s, last_error_type = %(kind)s,
                disabled_until = %(disabled_until)s, needs_rediscovery = %(is_sought)s
            WHERE source_id = %(id)s
            """,
            {
                "id": source.id, "now": START, "next": START + timedelta(hours=2), "error": error,
                "kind": kind if error else None, "disabled_until": disabled_until, "is_sought": is_sought,
            },
        )  # fmt: skip
        await sources.set_disabled(
            conn, source_id=source.id, disabled_at=disabled_at, reason=kind if disabled_at else None
        )
    return source.id


async def suggest(database: Database, source_id: SourceId, *urls: str, title: str = "The <b>feed</b>") -> None:
    async with database.as_system() as conn:
        found = [Suggestion(source_id, "", url, title, 10 - number) for number, url in enumerate(urls)]
        await suggestions.replace(conn, source_id=source_id, suggestions=found, found_at=START)


def watched(part: str) -> list[str]:
    return re.findall(r'name="watched" value="([^"]+)"', part)


# Of the faces.


async def test_every_state_has_its_display(ada: Person, database: Database) -> None:
    async def shown() -> str:
        return " ".join(unescape((await ada.part("/feeds")).text).split())

    await add(ada)
    pending = await shown()
    await polled(database)
    working = await shown()
    await polled(database, "The server does not answer in time.", kind="network")
    failing = await shown()
    await polled(database, "Gone.", kind="gone", disabled_at=START, disabled_until=START + timedelta(days=3))
    resting = await shown()
    await polled(database, "Refused.", kind="ssrf_blocked", disabled_at=START)
    off = await shown()

    assert '<span class="badge">Pending</span>' in pending
    assert "Waiting for the first poll." in pending
    assert '<span class="badge">Healthy</span>' in working
    assert "polled <time" in working
    assert "next in 2 hours" in working
    assert '<span class="badge">Failing</span>' in failing
    assert "The server does not answer in time." in failing
    assert "retry in 2 hours" in failing
    assert '<span class="badge">Auto-disabled</span>' in resting
    assert "Disabled after failures; next retry in 3 days." in resting
    assert "Disabled after failures, until you retry." in off
    assert ["Retry</button>" in face for face in (pending, working, failing, resting, off)] == [
        False, False, False, True, True,
    ]  # fmt: skip


# Of lines that turn by themselves.


async def test_a_pending_line_is_reloaded_alone(ada: Person, database: Database) -> None:
    feed = await add(ada)
    other = await add(ada, "Other", "https://other.example/")
    part = (await ada.part("/feeds")).text

    still = await ada.part("/feeds/changed", params={"watched": watched(part)})
    await polled(database)
    turned = await ada.part("/feeds/changed", params={"watched": watched(part)})

    assert 'hx-get="/feeds/changed" hx-trigger="every 3s"' in part
    assert set(watched(part)) == {f"{feed}:pending", f"{other}:pending"}
    assert (still.status_code, still.content) == (204, b"")
    assert f'id="feed-item-{feed}" class="feed working" hx-swap-oob="true"' in turned.text
    assert f"feed-item-{other}" not in turned.text
    assert 'id="feed-watch"' in turned.text


async def test_reloading_ends_when_no_line_is_pending(ada: Person, database: Database) -> None:
    feed = await add(ada)
    await polled(database)

    turned = await ada.part("/feeds/changed", params={"watched": f"{feed}:pending"})
    part = await ada.part("/feeds")

    assert f"feed-item-{feed}" in turned.text
    assert "feed-watch" not in turned.text
    assert "feed-watch" not in part.text


async def test_a_line_being_edited_is_not_reloaded(ada: Person) -> None:
    feed = await add(ada)

    form = (await ada.part(f"/feeds/{feed}/edit")).text
    nothing = await ada.part("/feeds/changed")

    assert watched(form) == []
    assert "every 3s" not in form
    assert nothing.status_code == 204


async def test_editing_a_line_cancels_its_reload(ada: Person) -> None:
    await add(ada)

    part = (await ada.part("/feeds")).text

    assert 'id="feed-lines" class="feeds" hx-sync="this:queue all"' in part
    assert 'hx-get="/feeds/changed" hx-trigger="every 3s"' in part
    assert 'hx-sync="#feed-list-container:abort"' in part  # the watch gives way to any request of the list
    assert 'hx-sync="#feed-list-container:replace"' in part  # Edit ends what is under way for the list


@pytest.mark.parametrize(
    "query",
    [["odd"], ["odd:pending"], [":"], ["0190a000-0000-7000-8000-000000000000:x"] * 21],
    ids=["odd", "odd-id", "empty", "too-many"],
)
async def test_invalid_queries_are_400(ada: Person, query: list[str]) -> None:
    part = await ada.part("/feeds/changed", params={"watched": query})

    assert part.status_code == 400
    assert "Invalid query parameters" in part.text


async def test_lines_of_another_user_are_not_sent(app: Litestar, ada: Person) -> None:
    feed = await add(ada)
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        part = await bob.part("/feeds/changed", params={"watched": f"{feed}:odd"})
    async with a_person(app) as visitor:
        refused = await visitor.part("/feeds/changed", params={"watched": f"{feed}:odd"})

    assert part.status_code == 204
    assert refused.status_code == 401


# Of pages and their feeds.


async def test_a_page_is_searched_then_its_feeds_are_offered(ada: Person, database: Database) -> None:
    feed = await add(ada)
    source_id = await polled(database, "This is a page, not a feed.", is_sought=True)

    searching = (await ada.part("/feeds")).text
    await polled(database, "This is a page, not a feed.")
    await suggest(database, source_id, FEED_URL, "https://example.com/comments.xml")
    offered = (await ada.part("/feeds/changed", params={"watched": watched(searching)})).text

    assert "Looking for its feeds…" in searching
    assert watched(searching) == [f"{feed}:sought"]
    assert "This is a web page. Feeds found on it:" in offered
    assert "Follow The &lt;b&gt;feed&lt;/b&gt;" in offered
    assert re.findall(rf'hx-post="/feeds/{feed}/switch" name="url" value="([^"]+)"', offered) == [
        FEED_URL.replace("&", "&amp;"), "https://example.com/comments.xml",
    ]  # fmt: skip


async def test_choosing_an_offered_feed_replaces_the_page(ada: Person, database: Database, clock: MovableClock) -> None:
    feed = await add(ada)
    await suggest(database, await polled(database, "A page."), FEED_URL)
    clock.move(hours=1)

    response = await ada.send("POST", f"/feeds/{feed}/switch", url=FEED_URL)

    assert response.status_code == 204
    assert response.headers["hx-trigger"] == "refreshFeedList"
    async with database.as_system() as conn:
        cur = await conn.execute(
            """
            SELECT subscriptions.id::text, subscriptions.name, subscriptions.category, sources.feed_url, next_poll_at
            FROM subscriptions
            JOIN sources ON sources.id = source_id
            JOIN feed_state USING (source_id)
            """
        )
        assert await cur.fetchall() == [(feed, "Example", "News", FEED_URL, clock())]
        cur = await conn.execute("SELECT count(*) FROM sources")
        assert await cur.fetchone() == (1,)


async def test_an_invalid_choice_is_reported_on_the_line(ada: Person, database: Database) -> None:
    feed = await add(ada)
    await add(ada, "Mine", FEED_URL)
    await polled(database, "A page.")

    taken = await ada.send("POST", f"/feeds/{feed}/switch", url=FEED_URL)
    odd = await ada.send("POST", f"/feeds/{feed}/switch", url="javascript:alert(1)")
    gone = await ada.send("POST", "/feeds/0190a000-0000-7000-8000-000000000000/switch", url=FEED_URL)

    assert [response.status_code for response in (taken, odd, gone)] == [409, 400, 404]
    assert "You have already added this feed" in taken.text
    assert "Invalid URL format" in odd.text
    assert taken.headers["hx-retarget"] == odd.headers["hx-retarget"] == f"#feed-item-{feed}-errors"


async def test_a_user_cannot_change_another_users_feed(app: Litestar, ada: Person) -> None:
    feed = await add(ada)
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        response = await bob.send("POST", f"/feeds/{feed}/switch", url=FEED_URL)

    assert response.status_code == 404
    assert PAGE_URL in (await ada.part("/feeds")).text


async def test_a_working_feed_has_no_offers(ada: Person, database: Database) -> None:
    await add(ada)
    await suggest(database, await polled(database), FEED_URL)

    assert "Follow" not in (await ada.part("/feeds")).text
