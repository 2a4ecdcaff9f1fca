"""The feed of a view: by a secret address, without a login, as its user reads it, and cheap to poll."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, cast

import pytest
from httpx import ASGITransport, AsyncClient
from litestar import Litestar

from headwater.db import Database
from headwater.feeds import parse_feed
from headwater.library.store import marks
from headwater.web.view_feeds import MISSES, READS
from tests.app import create_app
from tests.browser import visit
from tests.clock import START, MovableClock
from tests.web.newsroom import Newsroom, open_newsroom
from tests.web.test_views import make

pytestmark = pytest.mark.database


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def room(app: Litestar, database: Database, clock: MovableClock) -> AsyncIterator[Newsroom]:
    async with open_newsroom(app, database, clock) as room:
        yield room


@pytest.fixture
async def program(app: Litestar) -> AsyncIterator[AsyncClient]:
    """A client without cookies."""
    async with visit(app, "http://127.0.0.1:8000") as client:
        yield client


async def address(room: Newsroom, query: str, name: str = "Bremvik & co") -> tuple[str, str]:
    """A new view, and the path of its Atom feed."""
    view = await make(room.ada, name, query)
    page = (await room.ada.submit(f"/views/{view}/feed")).text
    (found,) = re.findall(r'id="atom-address">http://127.0.0.1:8000(/view-feeds/[^<]+)<', page)
    return view, found


def titles(body: bytes) -> list[str]:
    return [entry.title for entry in parse_feed(body, url="https://h.example/").entries]


async def test_a_view_is_read_as_atom_and_json_feed_without_a_login(room: Newsroom, program: AsyncClient) -> None:
    _, path = await address(room, "bremvik or leaked")

    atom = await program.get(path)
    json = await program.get(path.replace("atom.xml", "feed.json"))

    assert atom.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert json.headers["content-type"] == "application/feed+json; charset=utf-8"
    assert parse_feed(atom.content, url="https://h.example/").title == "Bremvik & co"
    assert titles(atom.content) == titles(json.content) == [
        "Harbour of Bremvik flooded", "Bremvik after the storm", "Storm hits Bremvik",
    ]  # not what only another user's feed has  # fmt: skip
    assert atom.headers["x-robots-tag"] == "noindex, nofollow"
    assert atom.headers["cache-control"] == "private, max-age=300"
    assert "set-cookie" not in atom.headers
    assert b"ada@" not in atom.content


async def test_hidden_articles_are_not_in_it_unless_the_query_says_so(
    room: Newsroom, program: AsyncClient, database: Database
) -> None:
    _, path = await address(room, "bremvik")
    _, hidden = await address(room, "is:hidden", name="Hidden")
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT id FROM users WHERE email = 'ada@example.com'")
        row = await cur.fetchone()
        assert row is not None
        article = room.articles["Storm hits Bremvik"]
        await marks.set_hidden(conn, user_id=row[0], article_ids=[article], hidden_at=START)

    assert titles((await program.get(path)).content) == ["Harbour of Bremvik flooded", "Bremvik after the storm"]
    assert titles((await program.get(hidden)).content) == ["Storm hits Bremvik"]


async def test_an_article_that_is_found_late_is_sent_to_a_client_that_asks_by_time(
    room: Newsroom, program: AsyncClient, database: Database
) -> None:
    """It may be older than others that the client has: as one that got its topic after them."""
    _, path = await address(room, "storm -title:bremvik")
    before = await program.get(path)
    async with database.as_system() as conn:
        article = room.articles["Storm hits Bremvik"]
        await conn.execute("UPDATE articles SET title = 'The storm' WHERE id = %s", (article,))
        await conn.execute("UPDATE content SET title = 'The storm' WHERE article_id = %s", (article,))

    since = before.headers.get("last-modified", "Sun, 01 Nov 2099 12:00:00 GMT")
    after = await program.get(path, headers={"If-Modified-Since": since})

    assert after.status_code == 200
    assert set(titles(after.content)) - set(titles(before.content)) == {"The storm"}


async def test_texts_that_are_too_long_are_not_in_it(room: Newsroom, program: AsyncClient, database: Database) -> None:
    """50 of a million characters each would take seconds to write, at each of 120 requests an hour."""
    _, path = await address(room, "bremvik")
    async with database.as_system() as conn:
        await conn.execute("UPDATE articles SET content = repeat('long ', 100000), summary = repeat('long ', 100000)")

    answer = await program.get(path)

    assert len(titles(answer.content)) == 3
    assert len(answer.content) < 10_000


async def test_what_a_client_has_is_not_sent_again(room: Newsroom, program: AsyncClient) -> None:
    view, path = await address(room, "bremvik")
    first = await program.get(path)
    tag = first.headers["etag"]

    by_tag = await program.get(path, headers={"If-None-Match": f'"other", W/{tag}'})
    other_tag = await program.get(path, headers={"If-None-Match": '"other"'})

    assert [one.status_code for one in (by_tag, other_tag)] == [304, 200]
    assert by_tag.content == b""
    assert by_tag.headers["etag"] == tag
    await room.ada.submit(f"/views/{view}", name="Bremvik", query="bremvik storm", icon="star")
    assert (await program.get(path, headers={"If-None-Match": tag})).status_code == 200


async def test_head_has_the_headers_of_get(room: Newsroom, program: AsyncClient) -> None:
    _, path = await address(room, "bremvik")

    got, head = await program.get(path), await program.head(path)

    assert head.status_code == 200
    assert head.content == b""
    assert [head.headers[name] for name in ("etag", "content-length")] == [
        got.headers[name] for name in ("etag", "content-length")
    ]


async def test_a_new_address_a_revocation_and_a_deletion_end_the_feed(room: Newsroom, program: AsyncClient) -> None:
    view, first = await address(room, "bremvik")
    page = (await room.ada.submit(f"/views/{view}/feed")).text
    (second,) = re.findall(r'id="atom-address">http://127.0.0.1:8000(/view-feeds/[^<]+)<', page)
    assert (await program.get(first)).status_code == 404
    assert (await program.get(second)).status_code == 200
    assert second.split("/")[2] not in (await room.ada.open(f"/views/{view}")).text  # shown once

    await room.ada.submit(f"/views/{view}/feed/revoke")
    assert (await program.get(second)).status_code == 404

    other, third = await address(room, "storm", name="Storm")
    await room.ada.submit(f"/views/{other}/delete")
    assert (await program.get(third)).status_code == 404


async def test_it_is_not_read_too_often_and_secrets_are_not_guessed(
    room: Newsroom, program: AsyncClient, clock: MovableClock, database: Database
) -> None:
    view, path = await address(room, "bremvik")
    async with database.as_system() as conn:
        await conn.execute(
            "INSERT INTO attempts (bucket, count, ends_at) VALUES (%(reads)s, %(read)s, %(until)s), "
            "('view-feed-misses:127.0.0.1', %(missed)s, %(until)s)",
            {
                "reads": f"view-feed:{view}", "read": READS.most, "missed": MISSES.most,
                "until": clock() + timedelta(minutes=10),
            },
        )  # fmt: skip

    often, guessed = await program.get(path), await program.get("/view-feeds/guess/atom.xml")

    assert (often.status_code, guessed.status_code) == (429, 429)
    assert int(often.headers["retry-after"]) == 600
    clock.move(minutes=11)
    assert (await program.get(path)).status_code == 200
    assert (await program.get("/view-feeds/guess/atom.xml")).status_code == 404


@pytest.mark.parametrize("kind", ["view", "channel"])
async def test_secrets_are_not_guessed_from_the_many_addresses_of_one_network(
    kind: str, database: Database, clock: MovableClock
) -> None:
    app = create_app(database, clock)
    statuses: list[int] = []
    for number in range(MISSES.most + 1):
        transport = ASGITransport(app=cast("Any", app), client=(f"2001:db8::{number:x}", 1234))
        async with AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as guesser:
            statuses.append((await guesser.get(f"/{kind}-feeds/guess{number}/atom.xml")).status_code)

    assert statuses == [404] * MISSES.most + [429]


async def test_the_feed_of_a_deleted_account_ends_at_once(room: Newsroom, program: AsyncClient) -> None:
    _, path = await address(room, "bremvik")

    await room.ada.submit("/account/delete", current_password="correct horse battery")

    assert (await program.get(path)).status_code == 404
