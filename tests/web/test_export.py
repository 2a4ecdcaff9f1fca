"""An export has all rows of a user and none of others; a deleted account leaves none."""

import asyncio
import json
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any
from uuid import UUID
from zipfile import ZipFile

import pytest
from litestar import Litestar
from psycopg.types.json import Jsonb

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database
from headwater.errors import NotLoggedIn
from headwater.ids import new_id
from headwater.library.exporting import archive
from headwater.sources.opml import read_opml
from headwater.sources.store import sources
from headwater.types import UserId
from tests.app import create_app
from tests.builders import an_article, another_administrator
from tests.clock import START, MovableClock
from tests.owner import as_owner
from tests.removals import remove_all
from tests.web.visitor import PAGE, PASSWORD, Person, a_person

pytestmark = pytest.mark.database

FILES = {
    "README.txt", "profile.json", "subscriptions.opml", "subscriptions.json", "sources.json", "articles.json",
    "views.json", "custom_feeds.json", "summaries.json", "events.json", "imports.json", "clicks.json",
    "rules.json", "notifications.json", "filters.json",
}  # fmt: skip
# Tables with a user_id that the ZIP speaks of, and what is in there of no use to anyone but us.
EXPORTED = {
    "sessions", "api_tokens", "outside_identities", "events", "subscriptions", "marks", "views", "summaries", "imports",
    "import_lines", "submissions", "analytics_consents", "analytics_refusals", "feed_item_clicks",
    "rules", "rule_log", "notification_targets", "reading_options", "saved_filters",
}  # fmt: skip
# A digest that ends within the hour, what is sent within minutes or a day, and what a button undoes.
LEFT_OUT = {"mailed_tokens", "outgoing_mail", "notifications", "read_undo", "bulk_changes"}


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def ada(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        yield person


async def id_of(database: Database, email: str) -> UserId:
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT id FROM users WHERE email = %(email)s", {"email": email})
        row = await cur.fetchone()
    assert row is not None
    return UserId(row[0])


async def fill(person: Person, database: Database, email: str, word: str) -> UserId:
    """A row of this user in every table that can have one, each with a word to recognise it."""
    user_id = await id_of(database, email)
    url = f"https://{word}.example/feed"
    assert (await person.send("POST", "/feeds", name=f"{word} feed", url=url, category=word)).status_code == 204
    await person.submit("/account/tokens", name=f"{word} token", scopes="read")
    opml = f'<opml><body><outline text="{word} line" xmlUrl="{word}"/></body></opml>'.encode()
    form = {"_csrf_token": person.token}
    await person.client.post("/opml", headers=PAGE, data=form, files={"file": (f"{word}.opml", opml)})
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url=url)
        files = f'[{{"url":"https://{word}.example/1.mp3","length":5}}]'
        article = an_article(f"https://{word}.example/1", title=f"{word} article", enclosures=files)
        await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, article)])
        for statement in (
            """
            INSERT INTO marks (user_id, article_id, is_read, read_at, starred_at, tags, hidden_at)
            SELECT %(user)s, id, true, %(now)s, %(now)s, ARRAY[%(word)s || ' tag'], %(now)s
            FROM articles WHERE title = %(word)s || ' article'
            """,
            """
            INSERT INTO summaries (id, user_id, status, content, model, cost, created_at)
            VALUES (%(id)s, %(user)s, 'ready', %(word)s || ' summary', 'm', 0.0123, %(now)s)
            """,
            "UPDATE subscriptions SET tags = ARRAY[%(word)s || ' tag'] WHERE user_id = %(user)s",
            """
            INSERT INTO views (id, user_id, name, icon, query, place, feed_key)
            VALUES (%(id)s, %(user)s, %(word)s || ' view', 'star', %(word)s, 1, %(word)s::bytea)
            """,
            """
            INSERT INTO saved_filters (id, user_id, page, name, query)
            VALUES (%(id)s, %(user)s, 'sources', %(word)s || ' filter', 'q=' || %(word)s)
            """,
            """
            INSERT INTO bulk_changes (id, user_id, created_at, action, value, source_ids)
            VALUES (%(id)s, %(user)s, %(now)s, 'category', %(word)s, '{}')
            """,
            "INSERT INTO reading_options (user_id, time_zone) VALUES (%(user)s, %(word)s || ' zone')",
            """
            INSERT INTO read_undo (user_id, id, marked_at, article_count, read_until, kept_unread)
            VALUES (%(user)s, %(id)s, %(now)s, 1, '{}', '{}')
            """,
            """
            INSERT INTO rules (id, user_id, name, query, stars)
            VALUES (%(id)s, %(user)s, %(word)s || ' rule', %(word)s, true)
            """,
            """
            INSERT INTO rule_log (rule_id, article_id, user_id, applied_at, actions)
            SELECT id, id, user_id, %(now)s, '{star}' FROM rules WHERE user_id = %(user)s
            """,
            """
            INSERT INTO notification_targets (id, user_id, kind, url, secret)
            VALUES (%(id)s, %(user)s, 'webhook', 'https://hooks.example/' || %(word)s, 'a secret')
            """,
            """
            INSERT INTO notifications (target_id, article_id, user_id, rule_id, queued_at)
            SELECT id, id, user_id, id, %(now)s FROM notification_targets WHERE user_id = %(user)s
            """,
            """
            INSERT INTO events (id, user_id, event_type, metadata, created_at)
            VALUES (%(id)s, %(user)s, 'user_login', %(metadata)s, %(now)s)
            """,
            """
            WITH suggested AS (
                INSERT INTO sources (id, name, feed_url, feed_url_key, is_system, enabled, moderation_status)
                VALUES (%(id)s, 'x', %(word)s || ' custom', %(word)s::bytea, false, false, 'pending')
                RETURNING id
            )
            INSERT INTO submissions (source_id, user_id, name, category, host, sample, submitted_at)
            SELECT id, %(user)s, %(word)s || ' custom', %(word)s, 'x.example', '{}', %(now)s FROM suggested
            """,
            "INSERT INTO outside_identities (issuer, subject, user_id) VALUES ('i', %(word)s, %(user)s)",
            "INSERT INTO analytics_refusals (user_id, refused_at) VALUES (%(user)s, %(now)s)",
            "INSERT INTO analytics_consents (user_id, given_at) VALUES (%(user)s, %(now)s)",
            """
            INSERT INTO feed_item_clicks (id, user_id, article_id, source_id, kind, clicked_at)
            SELECT %(id)s, %(user)s, article_id, source_id, 'click', %(now)s
            FROM article_sources
            JOIN articles ON articles.id = article_id
            WHERE articles.title = %(word)s || ' article'
            """,
            """
            INSERT INTO mailed_tokens (token_hash, user_id, purpose, email, good_until)
            VALUES (%(word)s::bytea, %(user)s, 'reset', %(word)s, %(now)s)
            """,
            """
            INSERT INTO outgoing_mail (id, kind, email, email_key, user_id, site, queued_at, ready_at)
            VALUES (%(id)s, 'email', %(word)s, %(word)s, %(user)s, '', %(now)s, %(now)s)
            """,
        ):
            values = {"id": new_id(), "user": user_id, "word": word, "now": START, "metadata": Jsonb({"word": word})}
            await conn.execute(statement.encode(), values)
    return user_id


async def download(person: Person) -> dict[str, bytes]:
    sent = await person.open("/account/export")
    assert sent.status_code == 200
    assert sent.headers["content-type"] == "application/zip"
    assert sent.headers["content-disposition"] == 'attachment; filename="headwater-2026-03-01.zip"'
    with ZipFile(BytesIO(sent.content)) as found:
        assert found.testzip() is None
        return {name: found.read(name) for name in found.namelist()}


async def tables_of_people(database: Database) -> set[str]:
    async with database.as_system() as conn:
        cur = await conn.execute(
            """
            SELECT table_name
            FROM information_schema.columns
            JOIN information_schema.tables USING (table_schema, table_name)
            WHERE column_name = 'user_id' AND table_schema = 'public' AND table_type = 'BASE TABLE'
            """
        )
        return {row[0] for row in await cur.fetchall()}


async def test_an_export_has_all_rows_of_the_user_and_none_of_others(
    app: Litestar, ada: Person, database: Database
) -> None:
    user_id = await fill(ada, database, "ada@example.com", "apricot")
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        await fill(bob, database, "bob@example.com", "banana")
        files = await download(ada)

    assert set(files) == FILES
    told: dict[str, Any] = {name: json.loads(data) for name, data in files.items() if name.endswith(".json")}
    assert told["profile.json"]["profile"]["id"] == str(user_id)
    assert told["profile.json"]["profile"]["email"] == "ada@example.com"
    assert [one["name"] for one in told["profile.json"]["tokens"]] == ["apricot token"]
    assert [one["subject"] for one in told["profile.json"]["identities"]] == ["apricot"]
    assert len(told["profile.json"]["sessions"]) == 1
    assert told["profile.json"]["settings"]["time_zone"] == "apricot zone"
    assert [(one["name"], one["category"], one["read_until"]) for one in told["subscriptions.json"]] == [
        ("apricot feed", "apricot", None)
    ]
    assert [one["feed_url"] for one in told["sources.json"]] == ["https://apricot.example/feed"]
    (custom,) = told["custom_feeds.json"]
    assert (custom["name"], custom["url"], custom["category"]) == ("apricot custom", "apricot custom", "apricot")
    assert (custom["created_at"], custom["is_active"]) == ("2026-03-01T12:00:00Z", False)
    (article,) = told["articles.json"]
    assert (article["title"], article["is_read"], article["starred_at"]) == (
        "apricot article", True, "2026-03-01T12:00:00Z",
    )  # fmt: skip
    assert article["enclosures"] == [{"url": "https://apricot.example/1.mp3", "length": 5}]
    assert (article["tags"], article["hidden_at"]) == (["apricot tag"], "2026-03-01T12:00:00Z")
    assert [one["tags"] for one in told["subscriptions.json"]] == [["apricot tag"]]
    assert [(one["name"], one["query"], one["has_feed"]) for one in told["views.json"]] == [
        ("apricot view", "apricot", True)
    ]
    assert [(one["name"], one["query"], one["log"][0]["actions"]) for one in told["rules.json"]] == [
        ("apricot rule", "apricot", ["star"])
    ]
    assert [one["url"] for one in told["notifications.json"]] == ["https://hooks.example/apricot"]
    assert [(one["content"], float(one["cost"])) for one in told["summaries.json"]] == [("apricot summary", 0.0123)]
    assert {"user_registered", "feed_added", "user_login"} == {one["event_type"] for one in told["events.json"]}
    assert [(one["url"], one["outcome"]) for one in told["imports.json"]] == [("apricot", "invalid")]
    assert [(line.name, line.category) for line in read_opml(files["subscriptions.opml"])] == [
        ("apricot feed", "apricot")
    ]
    assert b"subscriptions.opml" in files["README.txt"]
    everything = b"".join(files.values())
    assert b"banana" not in everything
    assert b"bob@" not in everything
    assert PASSWORD.encode() not in everything
    assert b"argon2" not in everything
    assert b"a secret" not in everything


async def test_an_empty_export_has_valid_files(ada: Person) -> None:
    files = await download(ada)

    assert set(files) == FILES
    assert [json.loads(files[name]) for name in ("subscriptions.json", "articles.json", "summaries.json")] == [[]] * 3


async def test_a_large_export_has_each_row_once_in_small_pieces(
    ada: Person, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "ROWS_AT_ONCE", 7)
    user_id = await id_of(database, "ada@example.com")
    async with database.as_system() as conn:
        for number in range(50):
            await conn.execute(
                """
                INSERT INTO events (id, user_id, event_type, metadata, created_at)
                VALUES (%(id)s, %(user)s, 'user_login', %(metadata)s, %(now)s)
                """,
                {"id": new_id(), "user": user_id, "metadata": Jsonb({"n": number}), "now": START},
            )

    pieces = [piece async for piece in archive.export(database, user_id, files={}, now=START)]

    with ZipFile(BytesIO(b"".join(pieces))) as found:
        events = json.loads(found.read("events.json"))
    assert sorted(event["metadata"].get("n", -1) for event in events) == [-1, *range(50)]
    assert len(pieces) > 10
    assert max(map(len, pieces)) < 20_000


async def test_no_connection_is_held_while_a_piece_is_sent(conninfo: str, ada: Person, database: Database) -> None:
    user_id = await id_of(database, "ada@example.com")
    pieces = archive.export(database, user_id, files={}, now=START)
    await anext(pieces)

    async with as_owner(database) as conn:
        cur = await conn.execute(
            """
            SELECT count(*)
            FROM pg_stat_activity
            WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND pid <> pg_backend_pid()
            """
        )
        row = await cur.fetchone()

    assert row == (0,)
    assert [piece async for piece in pieces]


async def test_for_head_no_row_is_read(ada: Person, database: Database) -> None:
    async with as_owner(database) as conn:
        await conn.execute("LOCK TABLE subscriptions, marks IN ACCESS EXCLUSIVE MODE")  # who reads them waits
        async with asyncio.timeout(300):
            answer = await ada.client.head("/account/export", headers=PAGE)

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/zip"
    assert answer.headers["Content-Disposition"].endswith('.zip"')
    assert answer.content == b""


async def test_every_table_of_users_is_exported_or_excluded_on_purpose(database: Database) -> None:
    assert await tables_of_people(database) == EXPORTED | LEFT_OUT


async def test_deleting_an_account_deletes_all_its_rows(app: Litestar, ada: Person, database: Database) -> None:
    user_id = await fill(ada, database, "ada@example.com", "apricot")
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        bobs = await fill(bob, database, "bob@example.com", "banana")
    before = await rows_of(database, user_id)
    await another_administrator(database)

    gone = await ada.submit("/account/delete", current_password=PASSWORD)
    await remove_all(database)

    assert gone.status_code == 303
    assert all(before.values()), before
    assert not any((await rows_of(database, user_id)).values())
    assert all((await rows_of(database, bobs)).values())
    assert await tables_that_hold(database, "apricot") == {"hosts"}  # when a host was asked last, by whomever
    assert await tables_that_hold(database, "ada@example.com") == set()
    assert await tables_that_hold(database, str(user_id)) == set()


async def rows_of(database: Database, user_id: UUID) -> dict[str, int]:
    counts: dict[str, int] = {}
    for table in sorted(await tables_of_people(database)):
        async with database.as_system() as conn:
            cur = await conn.execute(
                f'SELECT count(*) FROM "{table}" WHERE user_id = %(id)s'.encode(),
                {"id": user_id},
            )
            row = await cur.fetchone()
        counts[table] = row[0] if row else 0
    return counts


async def tables_that_hold(database: Database, text: str) -> set[str]:
    """Every table that contains this text."""
    found: set[str] = set()
    async with as_owner(database) as conn:
        cur = await conn.execute("SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'public'")
        for (table,) in await cur.fetchall():
            hits = await conn.execute(
                f'SELECT count(*) FROM "{table}" AS row WHERE row::text LIKE %(like)s'.encode(),
                {"like": f"%{text}%"},
            )
            row = await hits.fetchone()
            if row and row[0]:
                found.add(table)
    return found


async def test_the_export_of_an_account_that_is_deleted_meanwhile_is_refused_before_it_begins(
    database: Database, clock: MovableClock
) -> None:
    """The session was checked before the deletion."""
    with pytest.raises(NotLoggedIn):
        await anext(archive.export(database, UserId(new_id()), files={}, now=clock()))
