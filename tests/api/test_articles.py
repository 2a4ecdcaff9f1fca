"""/api/v1/articles on a real database: pages after a cursor, one article, several, and streams."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from httpx import AsyncClient
from pydantic import SecretStr

from headwater.articles.enclosures import as_json
from headwater.articles.store import content, records
from headwater.articles.types import ListedEntry, NewContent
from headwater.asgi.streams import StreamOptions
from headwater.db import Connection, Database, fetch_value
from headwater.downstream import read
from headwater.feeds.types import Enclosure
from headwater.frontier.store import queue
from headwater.frontier.types import Origin, Submission
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.server import address_of, listen, serve
from headwater.sources import follow
from headwater.types import ArticleId, SourceId
from tests.api.conftest import BEARER, TOKEN
from tests.app import create_app
from tests.articles.builders import a_record
from tests.builders import an_article
from tests.clock import START, MovableClock

pytestmark = pytest.mark.database

ARTICLES = "/api/v1/articles"
STORY = UUID(int=7)
SECRET = "https://secret.example/feed?token=0123456789abcdef0123456789abcdef"
AUDIO = Enclosure("https://cdn.example/1.mp3", "audio/mpeg", 5, timedelta(seconds=90), "One")


@dataclass
class Newsroom:
    """Writes articles, and gives them revisions as the router does."""

    database: Database
    source_id: SourceId

    async def add(self, number: int, *, text: str = "", topic: str = "", files: str = "") -> ArticleId:
        url = f"https://news.example/{number}"
        async with self.database.as_system() as conn:
            article = an_article(url, title=f"Title {number}", enclosures=files)
            await records.keep(
                conn, seen_at=START, listed=[ListedEntry(self.source_id, article, "news.example")]
            )  # fmt: skip
            article_id = ArticleId(await fetch_value(conn, "SELECT id FROM articles WHERE url = %(url)s", {"url": url}))
            if text:
                new = NewContent(article_id, url, article.url_key, a_record(text))
                await content.save(conn, records=[new], now=START)
            if topic:
                label = NewLabel(Scheme.TOPIC, topic, 0.75, "1")
                given = {article_id: [label]}
                await replace_labels(conn, given=given, method=Method.MODEL, schemes=[Scheme.TOPIC], now=START)
            return article_id

    async def revise(self, *article_ids: ArticleId) -> None:
        async with self.database.as_system() as conn:
            for article_id in article_ids:
                await revise(conn, article_id)

    async def add_several(self, count: int) -> list[ArticleId]:
        made = [await self.add(number) for number in range(1, count + 1)]
        await self.revise(*made)
        return made


async def revise(conn: Connection, article_id: ArticleId) -> None:
    statement = """
        WITH next AS (UPDATE publishing_state SET last_revision = last_revision + 1 RETURNING last_revision)
        INSERT INTO article_state (article_id, revision, revised_at, classified_at)
        SELECT %(id)s, last_revision, %(now)s, %(now)s FROM next
        ON CONFLICT (article_id) DO UPDATE
        SET revision = excluded.revision, revised_at = excluded.revised_at, classified_at = excluded.classified_at
    """
    await conn.execute(statement, {"id": article_id, "now": START})


@pytest.fixture
def room(database: Database, source_id: UUID) -> Newsroom:
    return Newsroom(database, SourceId(source_id))


async def page(api: AsyncClient, **wanted: Any) -> dict[str, Any]:
    response = await api.get(ARTICLES, params=wanted)
    assert response.status_code == 200, response.text
    return response.json()


def titles(found: dict[str, Any]) -> list[str]:
    return [one["title"] for one in found["articles"]]


async def test_articles_come_in_the_order_of_their_changes_from_either_end(api: AsyncClient, room: Newsroom) -> None:
    made = await room.add_several(3)
    await room.revise(made[0])

    oldest, newest = await page(api), await page(api, order="newest")

    assert titles(oldest) == ["Title 2", "Title 3", "Title 1"]
    assert (oldest["has_more"], oldest["next_cursor"], oldest["latest_cursor"]) == (False, "4", "4")
    assert titles(newest) == ["Title 1", "Title 3", "Title 2"]
    assert (newest["has_more"], newest["next_cursor"]) == (False, None)


@pytest.mark.parametrize("order", ["oldest", "newest"])
async def test_pages_have_each_article_once(order: str, api: AsyncClient, room: Newsroom) -> None:
    await room.add_several(5)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while len(seen) < 10:
        found = await page(api, order=order, limit=2, **cursor)
        seen += titles(found)
        if not found["has_more"]:
            break
        cursor = {"after": found["next_cursor"]}

    numbers = [1, 2, 3, 4, 5] if order == "oldest" else [5, 4, 3, 2, 1]
    assert seen == [f"Title {number}" for number in numbers]


async def test_what_is_classified_late_is_not_skipped(api: AsyncClient, room: Newsroom) -> None:
    early, late = await room.add(1), await room.add(2)
    newer = await room.add(3)
    await room.revise(early, newer)
    cursor = (await page(api))["next_cursor"]

    await room.revise(late)

    assert titles(await page(api, after=cursor)) == ["Title 2"]
    assert titles(await page(api, after="3")) == []


async def test_a_query_selects_and_a_rare_one_gives_short_pages(
    api: AsyncClient, room: Newsroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "EXAMINED_AT_ONCE", 2)
    monkeypatch.setattr(read, "EXAMINED_MOST", 2)
    made = [await room.add(number, topic="sport" if number == 5 else "politics") for number in range(1, 6)]
    await room.revise(*made)

    first = await page(api, q="topic:sport")
    last = await page(api, q="topic:sport", after="4")

    assert (titles(first), first["next_cursor"], first["has_more"]) == ([], "2", True)
    assert (titles(last), last["next_cursor"]) == (["Title 5"], "5")


@pytest.mark.parametrize(
    ("wanted", "where", "code"),
    [
        ({"q": "topik:sport"}, "query.q", "invalid_query"),
        ({"q": "("}, "query.q", "invalid_query"),
        ({"q": "x" * 2001}, "query.q", "invalid_query"),
        ({"q": "is:starred"}, "query.q", "invalid_query"),
        ({"after": "x"}, "query.after", "invalid_value"),
        ({"after": "9" * 19}, "query.after", "invalid_value"),
        ({"fields": "title,colour"}, "query.fields", "invalid_value"),
        ({"limit": 1001}, "query.limit", "invalid_value"),
        ({"order": "best"}, "query.order", "invalid_value"),
    ],
)
async def test_an_invalid_request_says_what_is_wrong(
    wanted: dict[str, Any], where: str, code: str, api: AsyncClient
) -> None:
    response = await api.get(ARTICLES, params=wanted)

    assert response.status_code == 422
    assert [(fault["where"], fault["code"]) for fault in response.json()["errors"]] == [(where, code)]


async def test_an_article_has_everything_that_is_known_about_it(
    api: AsyncClient, room: Newsroom, source_id: UUID
) -> None:
    one = await room.add(1, text="Rain fell on the harbour.", topic="weather", files=as_json([AUDIO]) or "")
    await room.revise(one)
    async with room.database.as_system() as conn:
        await conn.execute("UPDATE article_state SET story_id = %(id)s", {"id": STORY})
        statement = "INSERT INTO stories VALUES (%(id)s, 'Storm', %(now)s, %(now)s, 2, 2)"
        await conn.execute(statement, {"id": STORY, "now": START})

    found = (await api.get(f"{ARTICLES}/{one}")).json()

    assert (found["id"], found["revision"], found["url"]) == (str(one), 1, "https://news.example/1")
    assert (found["text"], found["html"]) == ("Rain fell on the harbour.", "<p>Rain fell on the harbour.</p>")
    assert found["labels"] == {"topic": [{"label": "weather", "score": 0.75, "method": "model"}]}
    assert found["story"] == {"id": str(STORY), "title": "Storm", "article_count": 2, "source_count": 2}
    assert [source["id"] for source in found["sources"]] == [str(source_id)]
    assert found["enclosures"] == [
        {"url": AUDIO.url, "type": "audio/mpeg", "length": 5, "duration": 90.0, "title": "One"}
    ]
    assert (found["open_graph"], found["linked_data"]) == ({}, [])
    assert found["revised_at"] == "2026-03-01T12:00:00Z"


async def test_only_the_chosen_fields_are_sent(api: AsyncClient, room: Newsroom) -> None:
    one = await room.add(1, text="Rain.")
    await room.revise(one)

    [chosen] = (await page(api, fields="title, text"))["articles"]
    [short] = (await page(api))["articles"]

    assert chosen == {"id": str(one), "revision": 1, "title": "High water", "text": "Rain."}
    assert {"text", "html", "open_graph", "linked_data"}.isdisjoint(short)
    assert {"labels", "sources", "enclosures", "story"} <= set(short)


async def test_what_only_a_private_feed_lists_is_not_there(
    api: AsyncClient, room: Newsroom, clock: MovableClock
) -> None:
    public = await room.add(1)
    async with room.database.as_system() as conn:
        hidden = await follow.follow(conn, url=SECRET, name="Ada's own", now=clock())
        await conn.execute("UPDATE sources SET is_system = false WHERE id = %(id)s", {"id": hidden.id})
        files = as_json([Enclosure("https://secret.example/key/1.mp3")]) or ""
        for url in ("https://news.example/1", "https://secret.example/post"):
            article = an_article(url, title="Paid words", is_own=False, enclosures=files)
            await records.keep(conn, seen_at=START, listed=[ListedEntry(hidden.id, article)])
        statement = "SELECT id FROM articles WHERE url = 'https://secret.example/post'"
        only = ArticleId(await fetch_value(conn, statement))
    await room.revise(public, only)

    answers = [
        await api.get(ARTICLES, params={"fields": "title,text,html,sources,enclosures"}),
        await api.get(f"{ARTICLES}/{public}"),
        await api.get(f"{ARTICLES}/stream", params={"after": "0"}),
        await api.post(f"{ARTICLES}/batch", json={"ids": [str(only)], "urls": ["https://secret.example/post"]}),
    ]

    assert [one["id"] for one in answers[0].json()["articles"]] == [str(public)]
    assert answers[0].json()["next_cursor"] == "2"
    assert not any(word in answer.text for answer in answers for word in ("Paid words", "Ada's own", "key/1.mp3"))
    assert (await api.get(f"{ARTICLES}/{only}")).json()["code"] == "article_not_found"
    assert [one["code"] for one in answers[3].json()["results"]] == ["article_not_found", "article_not_found"]


async def test_a_query_does_not_tell_which_articles_a_users_feed_lists(
    api: AsyncClient, room: Newsroom, clock: MovableClock
) -> None:
    one = await room.add(1)
    async with room.database.as_system() as conn:
        own = await follow.follow(conn, url="https://blog.example/feed", name="Ada's own", now=clock())
        await conn.execute("UPDATE sources SET is_system = false, category = 'Diary' WHERE id = %(id)s", {"id": own.id})
        files = as_json([AUDIO]) or ""
        article = an_article("https://news.example/1", is_own=False, enclosures=files)
        await records.keep(conn, seen_at=START, listed=[ListedEntry(own.id, article)])
    await room.revise(one)
    queries = ['source:"Ada\'s own"', f"source:{own.id}", "category:Diary", "has:enclosure"]

    assert [titles(await page(api, q=query)) for query in queries] == [[], [], [], []]
    assert titles(await page(api, q=f"source:{room.source_id}")) == ["Title 1"]


async def test_an_article_of_no_source_is_there_if_it_was_submitted(api: AsyncClient, room: Newsroom) -> None:
    async with room.database.as_system() as conn:
        for number in (1, 2):
            page_ = an_article(f"https://else.example/{number}", title=f"Page {number}", is_own=True)
            await records.keep_pages(conn, seen_at=START, pages=[ListedEntry(None, page_)])
        submission = Submission("https://else.example/1", Origin.MANUAL)
        await queue.submit(conn, submissions=[submission], now=START)
        cur = await conn.execute("SELECT id FROM articles ORDER BY url")
        made = [ArticleId(row[0]) for row in await cur.fetchall()]
    await room.revise(*made)

    assert titles(await page(api)) == ["Page 1"]


async def test_several_are_found_by_id_or_url_in_their_order(api: AsyncClient, room: Newsroom) -> None:
    first, second = await room.add(1), await room.add(2)
    missing = uuid4()
    wanted = {
        "ids": [str(second), str(missing), str(first)],
        "urls": ["http://news.example/2/?utm_source=x", "https://news.example/none", "not a url"],
        "fields": ["title"],
    }

    results = (await api.post(f"{ARTICLES}/batch", json=wanted)).json()["results"]

    assert [one["article"] and one["article"]["title"] for one in results] == [
        "Title 2", None, "Title 1", "Title 2", None, None
    ]  # fmt: skip
    assert [one["code"] for one in results] == [None, "article_not_found", None, None, *["article_not_found"] * 2]
    assert (results[1]["id"], results[3]["url"]) == (str(missing), wanted["urls"][0])


@pytest.mark.parametrize("body", [{}, {"ids": []}, {"ids": [str(UUID(int=1))] * 600, "urls": ["x"] * 401}])
async def test_a_batch_has_1_to_1000(body: dict[str, Any], api: AsyncClient) -> None:
    assert (await api.post(f"{ARTICLES}/batch", json=body)).status_code == 422


async def test_long_texts_make_pages_shorter_and_batches_say_so(
    api: AsyncClient, room: Newsroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [await room.add(number, text=f"{number} " + "word " * 2_000) for number in (1, 2, 3)]
    await room.revise(*made)
    for function in (read.read_page, read.read_articles):
        monkeypatch.setattr(function, "__kwdefaults__", {"bytes_most": 30_000})

    found = await page(api, fields="text")
    batch = (await api.post(f"{ARTICLES}/batch", json={"ids": list(map(str, made)), "fields": ["text"]})).json()

    assert (len(found["articles"]), found["next_cursor"], found["has_more"]) == (1, "1", True)
    assert [one["code"] for one in batch["results"]] == [None, "response_too_large", "response_too_large"]


async def test_a_stream_sends_lines_from_the_cursor(api: AsyncClient, room: Newsroom) -> None:
    await room.add_several(3)

    response = await api.get(f"{ARTICLES}/stream", params={"after": "1", "fields": "title"})
    from_now_on = await api.get(f"{ARTICLES}/stream")

    assert response.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line)["title"] for line in response.text.splitlines()] == ["Title 2", "Title 3"]
    assert (from_now_on.status_code, from_now_on.text) == (200, "")


async def test_a_stream_of_events_goes_on_after_the_last_event_id(api: AsyncClient, room: Newsroom) -> None:
    made = [await room.add(number, topic="sport") for number in (1, 2, 3)]
    await room.revise(*made)
    headers = {"Accept": "text/event-stream", "Last-Event-ID": "2"}

    response = await api.get(f"{ARTICLES}/stream", params={"q": "topic:sport", "after": "0"}, headers=headers)

    assert response.headers["content-type"].startswith("text/event-stream")
    opening, event, rest = response.text.split("\n\n")
    assert (opening, rest) == ("retry: 3000", "")
    lines = event.splitlines()
    assert lines[:2] == ["id: 3", "event: article"]
    assert json.loads(lines[2].removeprefix("data: "))["title"] == "Title 3"


async def test_head_of_a_stream_has_no_body_and_takes_no_slot(api: AsyncClient) -> None:
    for _ in range(30):
        assert (await api.head(f"{ARTICLES}/stream")).status_code == 200


@asynccontextmanager
async def served(
    database: Database, clock: MovableClock, *, per_user: int = 10
) -> AsyncIterator[tuple[AsyncClient, asyncio.Event]]:
    """A real server on loopback: the client, and what stops it."""
    poll, heartbeat = timedelta(milliseconds=20), timedelta(milliseconds=100)
    quick = StreamOptions(per_user=per_user, poll=poll, heartbeat=heartbeat)
    app = create_app(database, clock, SecretStr(TOKEN), streams=quick)
    listener, stop = listen("127.0.0.1", 0), asyncio.Event()
    server = asyncio.create_task(serve(app, listener, stop, timedelta(seconds=5)))
    try:
        async with AsyncClient(base_url=address_of(listener), headers=BEARER, timeout=60) as client:
            yield client, stop
    finally:
        stop.set()
        async with asyncio.timeout(300):
            await server


async def test_a_stream_sends_what_is_new_with_heartbeats_and_ends_when_the_server_stops(
    database: Database, clock: MovableClock, room: Newsroom
) -> None:
    async with served(database, clock) as (client, stop), client.stream("GET", f"{ARTICLES}/stream") as response:
        lines = response.aiter_lines()
        assert await anext(lines) == ""  # nothing yet

        await room.add_several(2)
        found = [json.loads(line) for line in [await anext(lines), await anext(lines)] if line]
        while len(found) < 2:
            found += [json.loads(line) for line in [await anext(lines)] if line]
        stop.set()
        async with asyncio.timeout(300):
            rest = [line async for line in lines]

    assert [one["title"] for one in found] == ["Title 1", "Title 2"]
    assert set(rest) <= {""}


async def test_the_number_of_streams_of_a_user_is_limited(database: Database, clock: MovableClock) -> None:
    async with served(database, clock, per_user=1) as (client, _):
        async with client.stream("GET", f"{ARTICLES}/stream") as first:
            assert first.status_code == 200
            refused = await client.get(f"{ARTICLES}/stream")
        status = 429
        while status == 429:  # until the server has seen that the first one left
            async with client.stream("GET", f"{ARTICLES}/stream") as again:
                status = again.status_code

    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_in_progress")
    assert int(refused.headers["retry-after"]) >= 1
    assert status == 200
