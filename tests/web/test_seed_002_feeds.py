"""Seed 002 §2.1 and §2.2, line by line: paths, statuses, headers, ids, attributes, words and side effects."""

from collections.abc import AsyncIterator
from html.parser import HTMLParser

import pytest
from litestar import Litestar

from headwater.db import Database
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.owner import as_owner
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

URL = "https://example.com/feed.xml"
REFRESH = "refreshFeedList"


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def ada(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        yield person


class Elements(HTMLParser):
    """Every element of a page by its id."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.by_id: dict[str, dict[str, str | None]] = {}
        self.named: dict[str, dict[str, str | None]] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {"tag": tag, **dict(attrs)}
        if isinstance(found.get("id"), str):
            self.by_id[str(found["id"])] = found
        if isinstance(found.get("name"), str):
            self.named[str(found["name"])] = found


async def add(person: Person, name: str = "Example", url: str = URL) -> str:
    """Adds a feed and returns its id."""
    response = await person.send("POST", "/feeds", name=name, url=url)
    assert response.status_code == 204, response.text
    page = (await person.part("/feeds", params={"search": name})).text
    return next(key.removeprefix("feed-item-") for key in Elements(page).by_id if key.startswith("feed-item-"))


async def scalar(database: Database, sql: str) -> object:
    async with database.as_system() as conn:
        row = await (await conn.execute(sql.encode())).fetchone()
    return row[0] if row else None


# Of GET /dashboard.


async def test_the_dashboard_has_its_parts_and_htmx_attributes(ada: Person) -> None:
    page = Elements((await ada.open("/dashboard")).text)

    filters, feeds, summary = (page.by_id[key] for key in ("feed-filters", "feed-list-container", "summary-container"))
    assert filters["hx-get"] == "/feeds"
    assert filters["hx-target"] == "#feed-list-container"
    assert filters["hx-trigger"] == "change, submit"
    assert str(feeds["hx-get"]).startswith("/feeds")
    assert feeds["hx-trigger"] == "load, refreshFeedList from:body"
    assert feeds["hx-include"] == "#feed-filters"
    assert summary["hx-get"] == "/summaries/latest"
    assert summary["hx-trigger"] == "load"


async def test_the_filters_of_the_dashboard_come_from_the_query(ada: Person) -> None:
    text = (await ada.open("/dashboard", params={"search": 'a "b"', "status": "error", "page": "3"})).text

    page = Elements(text)
    assert page.named["search"]["value"] == 'a "b"'
    assert '<option value="error" selected>' in text
    assert (page.named["page"]["value"], page.named["page"]["form"]) == ("3", "feed-filters")


@pytest.mark.parametrize("query", [{"status": "odd"}, {"page": "0"}, {"page": "x"}, {"search": "x" * 256}], ids=str)
async def test_invalid_filters_of_the_dashboard_are_400_with_the_specified_message(
    ada: Person, query: dict[str, str]
) -> None:
    page = await ada.open("/dashboard", params=query)

    assert page.status_code == 400
    assert "Invalid filter parameters" in page.text
    assert "feed-filters" in page.text


async def test_the_dashboard_redirects_to_the_login_page(app: Litestar) -> None:
    async with a_person(app) as visitor:
        response = await visitor.open("/dashboard")

    assert response.status_code == 303
    assert response.headers["location"] == "/auth/login"


# Of GET /feeds.


async def test_the_list_is_a_fragment(ada: Person) -> None:
    await add(ada)

    part = await ada.part("/feeds")

    assert part.status_code == 200
    assert "<html" not in part.text
    assert "Example" in part.text


async def test_an_empty_list_says_what_to_do(ada: Person) -> None:
    assert "No feeds yet" in (await ada.part("/feeds")).text
    assert "No feeds match this filter" in (await ada.part("/feeds", params={"search": "x"})).text


async def test_the_list_is_filtered_by_name_whatever_the_case_and_by_status(ada: Person, database: Database) -> None:
    await add(ada, "Morning", "https://a.example/feed")
    await add(ada, "Evening", "https://b.example/feed")
    async with database.as_system() as conn:
        await conn.execute(
            "UPDATE feed_state SET last_polled_at = %(now)s, last_error = 'gone' WHERE feed_url = 'https://b.example/feed'",
            {"now": START},
        )

    async def shown(**query: str) -> list[str]:
        text = (await ada.part("/feeds", params=query)).text
        return [name for name in ("Morning", "Evening") if name in text]

    assert await shown(search="MORN") == ["Morning"]
    assert await shown(status="pending") == ["Morning"]
    assert await shown(status="error") == ["Evening"]
    assert await shown(status="working") == []
    assert await shown(status="all") == ["Morning", "Evening"]


async def test_pages_have_twenty_feeds_and_links_that_keep_the_filter(ada: Person) -> None:
    for number in range(21):
        await ada.send("POST", "/feeds", name=f"Feed {number:02}", url=f"https://{number}.example/feed")

    first = (await ada.part("/feeds", params={"search": "feed"})).text
    second = (await ada.part("/feeds", params={"search": "feed", "page": "2"})).text

    assert first.count('class="feed ') == 20
    assert second.count('class="feed ') == 1
    assert 'hx-get="/feeds?search=feed&amp;status=all&amp;page=2"' in first
    assert "Page 2 of 2, 21 feeds" in second


@pytest.mark.parametrize("query", [{"status": "odd"}, {"page": "0"}, {"page": "-1"}, {"page": "1.5"}], ids=str)
async def test_invalid_filters_of_the_list_are_400_with_the_specified_message(
    ada: Person, query: dict[str, str]
) -> None:
    part = await ada.part("/feeds", params=query)

    assert part.status_code == 400
    assert "Invalid query parameters" in part.text


async def test_without_a_login_the_list_is_401_with_a_link_to_log_in(app: Litestar) -> None:
    async with a_person(app) as visitor:
        part = await visitor.part("/feeds")

    assert part.status_code == 401
    assert 'href="/auth/login"' in part.text
    assert "<html" not in part.text


# Of POST /feeds.


async def test_adding_responds_with_204_and_creates_a_feed_an_event_and_a_due_poll(
    ada: Person, database: Database, clock: MovableClock
) -> None:
    response = await ada.send("POST", "/feeds", name="  Example  ", url=f" {URL} ")

    assert response.status_code == 204
    assert response.headers["hx-trigger"] == REFRESH
    assert response.content == b""
    assert await scalar(database, "SELECT name FROM subscriptions") == "Example"
    assert await scalar(database, "SELECT next_poll_at FROM feed_state") == clock()
    event = await scalar(database, "SELECT metadata->>'feed_id' FROM events WHERE event_type = 'feed_added'")
    assert event == str(await scalar(database, "SELECT id FROM subscriptions"))


@pytest.mark.parametrize(
    ("name", "url", "messages"),
    [
        ("", URL, ["Feed name is required"]),
        ("   ", URL, ["Feed name is required"]),
        ("\u200b\u2060", URL, ["Feed name is required"]),
        ("x" * 256, URL, ["Feed name must be less than 255 characters"]),
        ("A", "", ["Feed URL is required"]),
        ("A", "example.com", ["Invalid URL format. Must start with http:// or https://"]),
        ("", "ftp://a.example/", ["Feed name is required", "Invalid URL format"]),
    ],
    ids=["no-name", "blank", "unseen", "long", "no-url", "no-scheme", "both"],
)
async def test_errors_of_a_new_feed_are_shown_in_the_form(
    ada: Person, name: str, url: str, messages: list[str]
) -> None:
    response = await ada.send("POST", "/feeds", name=name, url=url)

    assert response.status_code == 400
    assert response.headers["hx-retarget"] == "#feed-add-form-errors"
    assert response.headers["hx-reswap"] == "innerHTML"
    assert all(message in response.text for message in messages)


async def test_a_known_feed_is_409_in_the_form(ada: Person) -> None:
    await add(ada)

    response = await ada.send("POST", "/feeds", name="Again", url="http://example.com/feed.xml")

    assert response.status_code == 409
    assert response.headers["hx-retarget"] == "#feed-add-form-errors"
    assert response.headers["hx-reswap"] == "innerHTML"
    assert "You have already added this feed" in response.text


async def test_targets_of_errors_are_on_the_page(ada: Person) -> None:
    page = (await ada.open("/dashboard")).text
    feed = await add(ada)

    assert "feed-add-form-errors" in Elements(page).by_id
    assert Elements(page).by_id["feed-add-form"]["hx-swap"] == "none"
    assert f"feed-item-{feed}-errors" in Elements((await ada.part("/feeds")).text).by_id
    assert f"feed-edit-form-errors-{feed}" in Elements((await ada.part(f"/feeds/{feed}/edit")).text).by_id


# Of GET /feeds/{id}/edit.


async def test_the_edit_form_is_filled_in(ada: Person) -> None:
    feed = await add(ada, 'A "quoted" name')

    part = await ada.part(f"/feeds/{feed}/edit")

    assert part.status_code == 200
    assert Elements(part.text).named["name"]["value"] == 'A "quoted" name'
    assert Elements(part.text).named["url"]["value"] == URL


@pytest.mark.parametrize("feed", ["0190a000-0000-7000-8000-000000000000", "odd", "%0a"])
async def test_an_unknown_feed_is_404_with_a_message(ada: Person, feed: str) -> None:
    edit, change, drop = (
        await ada.part(f"/feeds/{feed}/edit"),
        await ada.send("PATCH", f"/feeds/{feed}", name="A", url=URL),
        await ada.send("DELETE", f"/feeds/{feed}"),
    )

    assert [edit.status_code, change.status_code, drop.status_code] == [404, 404, 404]
    assert all("Feed not found" in response.text for response in (edit, change, drop))
    assert change.headers["hx-reswap"] == drop.headers["hx-reswap"] == "innerHTML"


async def test_an_id_with_a_control_character_is_400_with_a_message(ada: Person) -> None:
    responses = [
        await ada.part("/feeds/%00/edit"),
        await ada.send("PATCH", "/feeds/%00", name="A", url=URL),
        await ada.send("DELETE", "/feeds/%00"),
    ]

    assert [response.status_code for response in responses] == [400, 400, 400]
    assert all("U+0000" in response.text for response in responses)


# Of PATCH /feeds/{id}.


async def test_a_changed_name_keeps_the_state_of_the_feed(ada: Person, database: Database, clock: MovableClock) -> None:
    feed = await add(ada)
    clock.move(hours=1)

    response = await ada.send("PATCH", f"/feeds/{feed}", name="Renamed", url=URL)

    assert response.status_code == 204
    assert response.headers["hx-trigger"] == REFRESH
    assert await scalar(database, "SELECT name FROM subscriptions") == "Renamed"
    assert await scalar(database, "SELECT next_poll_at FROM feed_state") == START


async def test_a_changed_url_resets_errors_and_is_polled_at_once(
    ada: Person, database: Database, clock: MovableClock
) -> None:
    feed = await add(ada)
    clock.move(hours=1)

    await ada.send("PATCH", f"/feeds/{feed}", name="Moved", url="https://example.com/new.xml")

    assert await scalar(database, "SELECT count(*) FROM feed_state") == 1
    assert await scalar(database, "SELECT next_poll_at FROM feed_state") == clock()
    assert await scalar(database, "SELECT last_etag FROM feed_state") is None


async def test_a_changed_feed_is_checked_like_a_new_one(ada: Person) -> None:
    feed = await add(ada)
    await add(ada, "Other", "https://other.example/feed")

    wrong = await ada.send("PATCH", f"/feeds/{feed}", name="", url="x")
    taken = await ada.send("PATCH", f"/feeds/{feed}", name="A", url="https://other.example/feed")

    assert wrong.status_code == 400
    assert "Feed name is required" in wrong.text
    assert taken.status_code == 409
    assert "A feed with this URL already exists" in taken.text
    for response in (wrong, taken):
        assert response.headers["hx-retarget"] == f"#feed-edit-form-errors-{feed}"
        assert response.headers["hx-reswap"] == "innerHTML"


# Of DELETE /feeds/{id}.


async def test_deleting_a_feed_deletes_the_articles_only_it_lists(ada: Person, database: Database) -> None:
    feed = await add(ada)

    response = await ada.send("DELETE", f"/feeds/{feed}")

    assert response.status_code == 204
    assert response.headers["hx-trigger"] == REFRESH
    assert await scalar(database, "SELECT count(*) FROM subscriptions") == 0
    assert await scalar(database, "SELECT count(*) FROM sources") == 0


async def test_an_ended_session_is_reported_in_place(app: Litestar, ada: Person) -> None:
    feed = await add(ada)
    async with a_person(app) as visitor:
        await visitor.open("/auth/login")
        response = await visitor.send("DELETE", f"/feeds/{feed}")

    assert response.status_code == 401
    assert response.headers["hx-retarget"] == f"#feed-item-{feed}-errors"
    assert response.headers["hx-reswap"] == "innerHTML"


# Of what breaks.


@pytest.mark.parametrize(
    ("method", "path", "message", "place"),
    [
        ("GET", "/feeds", "Failed to load feeds", ""),
        ("POST", "/feeds", "Failed to add feed. Please try again.", "#feed-add-form-errors"),
        ("GET", "/feeds/{feed}/edit", "Failed to load feed", ""),
        ("PATCH", "/feeds/{feed}", "Failed to update feed", "#feed-edit-form-errors-{feed}"),
        ("DELETE", "/feeds/{feed}", "Failed to delete feed", "#feed-item-{feed}-errors"),
    ],
    ids=["list", "add", "edit", "change", "drop"],
)
async def test_server_errors_have_the_specified_messages(
    ada: Person, database: Database, method: str, path: str, message: str, place: str
) -> None:
    feed = await add(ada)
    async with as_owner(database) as conn:
        await conn.execute("ALTER TABLE subscriptions RENAME TO hidden")

    response = await ada.send(method, path.format(feed=feed), name="A", url=URL)

    assert response.status_code == 500
    assert message in response.text
    assert response.headers.get("hx-retarget", "") == place.format(feed=feed)


async def test_a_failing_dashboard_has_the_specified_message(ada: Person, database: Database) -> None:
    async with as_owner(database) as conn:
        await conn.execute("ALTER TABLE analytics_consents RENAME TO hidden")

    page = await ada.open("/dashboard")

    assert page.status_code == 500
    assert "Failed to load dashboard. Please refresh the page." in page.text


async def test_a_page_past_the_last_one_is_the_last_one(ada: Person) -> None:
    for number in range(21):
        await ada.send("POST", "/feeds", name=f"Feed {number:02}", url=f"https://{number}.example/feed")

    beyond = (await ada.part("/feeds", params={"page": "9"})).text
    nothing = (await ada.part("/feeds", params={"page": "9", "search": "nowhere"})).text

    assert "Page 2 of 2, 21 feeds" in beyond
    assert beyond.count('class="feed ') == 1
    assert "No feeds match this filter." in nothing


async def test_feeds_of_another_user_are_not_reachable(app: Litestar, ada: Person, database: Database) -> None:
    feed = await add(ada)
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        responses = [
            await bob.part(f"/feeds/{feed}/edit"),
            await bob.send("PATCH", f"/feeds/{feed}", name="Mine", url="https://evil.example/"),
            await bob.send("DELETE", f"/feeds/{feed}"),
            await bob.send("POST", f"/feeds/{feed}/retry"),
        ]

    assert [response.status_code for response in responses] == [404] * 4
    assert await scalar(database, "SELECT name FROM subscriptions") == "Example"
