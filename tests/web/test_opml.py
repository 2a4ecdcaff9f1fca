"""OPML import: the form, the progress bar, the report; no line is lost."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from httpx import Response
from litestar import Litestar

from headwater.db import Database
from headwater.errors import Conflict
from headwater.ids import new_id
from headwater.sandbox import Sandbox
from headwater.sources.opml import BYTES_MAX, OpmlLine, read_opml, write_opml
from headwater.sources.opml_import import Importer
from headwater.sources.store import imports as imports_store
from headwater.sources.store import sources
from headwater.sources.types import IMPORTS_KEPT, Import, LineOutcome
from headwater.types import UserId
from headwater.web import WebOptions
from tests.app import create_app
from tests.builders import a_reader, a_source, another_administrator
from tests.clock import START, MovableClock
from tests.owner import as_owner, until_waiting
from tests.removals import remove_all
from tests.web.visitor import PAGE, PASSWORD, Person, a_person

pytestmark = pytest.mark.database

WAIT = timedelta(seconds=5)
FILE = b"""<?xml version="1.0"?><opml version="1.0"><head/><body>
<outline text="News"><outline text="Daily" xmlUrl="https://daily.example/feed"/>
<outline text="Daily again" xmlUrl="http://daily.example/feed"/></outline>
<outline text="&lt;script&gt;alert(1)&lt;/script&gt;" xmlUrl="javascript:alert(1)"/>
<outline text="Nothing" type="rss"/>
<outline text="Weekly" xmlUrl="https://weekly.example/feed"/>
</body></opml>"""


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def ada(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        yield person


@pytest.fixture
def importer(database: Database, clock: MovableClock) -> Importer:
    return Importer(database, clock)


async def upload(person: Person, data: bytes = FILE, name: str = "feeds.opml", *, token: str | None = None) -> Response:
    return await person.client.post(
        "/opml",
        headers=PAGE,
        data={"_csrf_token": person.token if token is None else token},
        files={"file": (name, data, "text/x-opml")},
    )


def feeds(count: int, *, host: str = "example.com") -> bytes:
    return write_opml("x", [OpmlLine(f"Feed {n}", f"https://{n}.{host}/feed") for n in range(count)], START)


async def scalar(database: Database, sql: str) -> int:
    async with database.as_system() as conn:
        row = await (await conn.execute(sql.encode())).fetchone()
    assert row is not None
    return row[0]


async def how_far(database: Database, user_id: UserId, import_id: UUID) -> Import:
    async with database.as_user(user_id) as conn:
        found = await imports_store.find(conn, import_id=import_id)
    assert found is not None
    return found


# Of the form and the report.


async def test_each_line_of_a_file_is_imported_and_reported(ada: Person, database: Database) -> None:
    sent = await upload(ada)
    page = (await ada.open(sent.headers["location"])).text

    assert sent.status_code == 303
    assert "Done: 5 lines." in page
    assert "2 added · 1 already followed · 2 invalid" in page
    assert re.findall(r'<span class="badge">(.+?)</span>', page) == [
        "added", "already followed", "invalid", "invalid", "added",
    ]  # fmt: skip
    assert "Invalid URL format. Must start with http:// or https://" in page
    assert "Feed URL is required" in page
    assert "<script>alert" not in page
    async with database.as_system() as conn:
        rows = await (await conn.execute("SELECT name, category FROM subscriptions ORDER BY name")).fetchall()
    assert rows == [("Daily", "News"), ("Weekly", None)]


async def test_the_page_has_the_form_the_export_and_earlier_imports(ada: Person) -> None:
    await upload(ada, name="old <reader>.opml")

    page = (await ada.open("/opml")).text

    assert 'action="/opml" enctype="multipart/form-data"' in page
    assert 'href="/opml/export"' in page
    assert "old &lt;reader&gt;.opml" in page
    assert "2 feeds added, 1 already followed, 2 invalid" in page


async def test_the_report_is_filtered_by_outcome_and_paged(ada: Person) -> None:
    lines = [OpmlLine(f"Odd {n}", "nowhere") for n in range(150)] + [OpmlLine("Good", "https://a.example/")]
    place = (await upload(ada, write_opml("x", lines, START))).headers["location"]

    first = (await ada.open(place, params={"show": "invalid"})).text
    after = re.search(r"after=(\d+)", first)
    assert after is not None
    second = (await ada.open(place, params={"show": "invalid", "after": after[1]})).text
    added = (await ada.open(place, params={"show": "added"})).text

    assert [first.count("Odd "), second.count("Odd "), added.count("Odd ")] == [100, 50, 0]
    assert "More lines" not in second
    assert "Good" in added


@pytest.mark.parametrize("query", [{"show": "odd"}, {"after": "-1"}, {"after": "x"}, {"after": "9" * 30}], ids=str)
async def test_invalid_queries_of_a_report_are_400(ada: Person, query: dict[str, str]) -> None:
    place = (await upload(ada)).headers["location"]

    assert (await ada.open(place, params=query)).status_code == 400


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "This file is empty"),
        (b"<html></html>", "This is not an OPML file"),
        (b"<opml><body/></opml>", "There are no feeds in this file"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><opml/>', "document type declaration"),
        (b"\0\xff" * 100, "not OPML, or is damaged"),
    ],
    ids=["empty", "html", "no-feeds", "entities", "noise"],
)
async def test_a_file_that_cannot_be_read_is_refused_beside_the_form(
    ada: Person, database: Database, data: bytes, message: str
) -> None:
    refused = await upload(ada, data)

    assert refused.status_code == 400
    assert message in refused.text
    assert 'action="/opml"' in refused.text
    assert await scalar(database, "SELECT count(*) FROM imports") == 0


@pytest.mark.parametrize("size", [BYTES_MAX + 1, BYTES_MAX + 1_000_000], ids=["file", "body"])
async def test_a_file_that_is_too_large_is_refused_beside_the_form(ada: Person, size: int) -> None:
    refused = await upload(ada, b" " * size)

    assert refused.status_code in {400, 413}
    assert "The file is too large (5 MB at most)." in refused.text
    assert 'action="/opml"' in refused.text


async def test_a_form_without_a_file_is_refused(ada: Person) -> None:
    plain = await ada.submit("/opml", file="not a file")
    broken = await ada.client.post(
        "/opml", headers={**PAGE, "Content-Type": "multipart/form-data; boundary=x", "X-CSRF-Token": ada.token},
        content=b"--x\r\nodd",
    )  # fmt: skip

    assert plain.status_code == 400
    assert "Choose a file first." in plain.text
    assert broken.status_code == 400


async def test_an_upload_with_a_wrong_csrf_token_is_refused(ada: Person, database: Database) -> None:
    refused = await upload(ada, token="odd")

    assert refused.status_code == 403
    assert await scalar(database, "SELECT count(*) FROM imports") == 0


async def test_opml_pages_require_a_login(app: Litestar) -> None:
    async with a_person(app) as visitor:
        await visitor.open("/privacy")
        responses = [
            await visitor.open("/opml"),
            await visitor.open("/opml/export"),
            await visitor.open("/account/export"),
            await visitor.open(f"/opml/{new_id()}"),
            await upload(visitor),
        ]

    assert [response.status_code for response in responses] == [303] * 5
    assert {response.headers["location"] for response in responses} == {"/auth/login"}


async def test_an_import_is_private(app: Litestar, ada: Person, importer: Importer, database: Database) -> None:
    user_id = UserId(UUID(str(await scalar(database, "SELECT id FROM users"))))
    import_id = await importer.begin(user_id, "mine.opml", feeds(3))
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        responses = [await bob.open(f"/opml/{import_id}"), await bob.send("POST", f"/opml/{import_id}/work")]
        listed = (await bob.open("/opml")).text

    assert [response.status_code for response in responses] == [404, 404]
    assert "mine.opml" not in listed
    assert (await how_far(database, user_id, import_id)).done == 0


# Of the bar.


async def test_the_progress_bar_reloads_until_done_and_each_request_imports(
    ada: Person, importer: Importer, database: Database
) -> None:
    user_id = UserId(UUID(str(await scalar(database, "SELECT id FROM users"))))
    import_id = await importer.begin(user_id, "mine.opml", feeds(30))
    page = (await ada.open("/opml")).text

    first = await ada.send("POST", f"/opml/{import_id}/work")
    second = await ada.send("POST", f"/opml/{import_id}/work")

    polls = f'hx-post="/opml/{import_id}/work" hx-trigger="every 1s" hx-swap="outerHTML"'
    assert polls in page
    assert '<progress id="import-bar" max="30" value="0">' in page
    assert polls in first.text
    assert 'max="30" value="25"' in first.text
    assert "hx-trigger" not in second.text
    assert "Done: 30 lines." in second.text
    assert second.headers["hx-trigger"] == "importFinished"
    assert "<html" not in second.text


# Of what could go wrong.


async def test_an_interrupted_import_continues(database: Database, importer: Importer, clock: MovableClock) -> None:
    user_id = await a_reader(database)
    import_id = await importer.begin(user_id, "f", feeds(10))
    assert await importer.work(user_id, import_id, 4) == 4

    halfway = await how_far(database, user_id, import_id)
    await Importer(database, clock).finish(user_id, import_id)
    ended = await how_far(database, user_id, import_id)

    assert (halfway.done, halfway.is_running) == (4, True)
    assert (ended.added, ended.is_running) == (10, False)
    assert await scalar(database, "SELECT count(*) FROM events WHERE event_type = 'feed_added'") == 10


async def test_concurrent_requests_import_each_line_once(database: Database, importer: Importer) -> None:
    user_id = await a_reader(database)
    import_id = await importer.begin(user_id, "f", feeds(40))

    await asyncio.gather(*(importer.finish(user_id, import_id) for _ in range(4)))

    ended = await how_far(database, user_id, import_id)
    assert (ended.added, ended.followed, ended.invalid, ended.is_running) == (40, 0, 0, False)


async def test_the_same_file_of_two_users_creates_each_source_once(database: Database, importer: Importer) -> None:
    readers = [await a_reader(database), await a_reader(database, "bob@example.com")]
    imports = [await importer.begin(user_id, "f", feeds(25)) for user_id in readers]

    await asyncio.gather(*(importer.finish(*both) for both in zip(readers, imports, strict=True)))

    ended = [await how_far(database, *both) for both in zip(readers, imports, strict=True)]
    assert [one.added for one in ended] == [25, 25]
    assert await scalar(database, "SELECT count(*) FROM sources") == 25


async def test_a_source_deleted_at_the_same_moment_is_created_again(database: Database, importer: Importer) -> None:
    user_id = await a_reader(database)
    import_id = await importer.begin(user_id, "f", feeds(1))
    async with database.as_system() as conn:
        before = await a_source(conn, url="https://0.example.com/feed")

    async with database.as_system() as conn:
        await conn.execute("DELETE FROM sources")
        working = asyncio.create_task(importer.finish(user_id, import_id))
        await until_waiting(database)
    await working

    assert (await how_far(database, user_id, import_id)).added == 1
    async with database.as_system() as conn:
        assert (await sources.find_by_url(conn, url="https://0.example.com/feed")).id != before.id


async def test_a_failing_line_does_not_stop_the_others(database: Database, importer: Importer) -> None:
    user_id = await a_reader(database)
    import_id = await importer.begin(user_id, "f", feeds(3))
    async with as_owner(database) as conn:
        await conn.execute("ALTER TABLE sources ADD CONSTRAINT odd CHECK (feed_url NOT LIKE '%%1.example%%')")

    await importer.finish(user_id, import_id)

    async with database.as_user(user_id) as conn:
        lines = await imports_store.list_lines(conn, import_id=import_id, outcome=None, after=0, limit=9)
    assert [line.outcome for line in lines] == [LineOutcome.ADDED, LineOutcome.INVALID, LineOutcome.ADDED]
    assert "internal error" in lines[1].reason


async def test_lines_wait_while_the_database_is_unavailable(database: Database, importer: Importer) -> None:
    user_id = await a_reader(database)
    import_id = await importer.begin(user_id, "f", feeds(3))
    conninfo = f"{database.conninfo} options='-c lock_timeout=50ms'"
    async with Database(conninfo, pool_size=1, wait=WAIT) as impatient, database.as_system() as conn:
        await conn.execute("LOCK TABLE sources")
        await Importer(impatient, lambda: START).finish(user_id, import_id)

    assert (await how_far(database, user_id, import_id)).done == 0
    await importer.finish(user_id, import_id)
    assert (await how_far(database, user_id, import_id)).added == 3


async def test_one_import_at_a_time_and_the_latest_are_kept(database: Database, importer: Importer) -> None:
    user_id = await a_reader(database)
    for number in range(IMPORTS_KEPT + 2):
        await importer.finish(user_id, await importer.begin(user_id, f"file {number}", feeds(1)))
    running = await importer.begin(user_id, "last", feeds(1))

    with pytest.raises(Conflict, match="under way"):
        await importer.begin(user_id, "another", feeds(1))

    async with database.as_user(user_id) as conn:
        kept = await imports_store.list_all(conn)
    assert len(kept) == IMPORTS_KEPT
    assert [one.id for one in kept if one.is_running] == [running]


async def test_a_second_import_is_refused_while_one_runs(ada: Person, importer: Importer, database: Database) -> None:
    user_id = UserId(UUID(str(await scalar(database, "SELECT id FROM users"))))
    await importer.begin(user_id, "mine.opml", feeds(3))

    refused = await upload(ada)

    assert refused.status_code == 409
    assert "An import of yours is under way" in refused.text


async def test_deleting_the_account_during_an_import_deletes_the_import(
    ada: Person, importer: Importer, database: Database
) -> None:
    user_id = UserId(UUID(str(await scalar(database, "SELECT id FROM users"))))
    import_id = await importer.begin(user_id, "mine.opml", feeds(200))
    await another_administrator(database)

    working = asyncio.create_task(importer.finish(user_id, import_id))
    gone = await ada.submit("/account/delete", current_password=PASSWORD)
    await working
    await remove_all(database)

    assert gone.status_code == 303
    assert await scalar(database, "SELECT count(*) FROM import_lines") == 0
    assert await scalar(database, "SELECT count(*) FROM subscriptions") == 0


async def test_importing_and_deleting_the_account_do_not_deadlock(database: Database, importer: Importer) -> None:
    user_id = await a_reader(database)
    import_id = await importer.begin(user_id, "f", feeds(60))

    async def forget() -> None:
        async with database.as_system() as conn:
            await conn.execute("DELETE FROM users WHERE id = %(id)s", {"id": user_id})

    await asyncio.gather(importer.finish(user_id, import_id), importer.finish(user_id, import_id), forget())
    await remove_all(database)

    assert await scalar(database, "SELECT count(*) FROM import_lines") == 0


async def test_thousands_of_lines_are_stored_at_once_and_imported_in_order(
    database: Database, importer: Importer
) -> None:
    user_id = await a_reader(database)
    import_id = await importer.begin(user_id, "f", feeds(5_000))

    await importer.work(user_id, import_id, 5)

    far = await how_far(database, user_id, import_id)
    async with database.as_user(user_id) as conn:
        lines = await imports_store.list_lines(conn, import_id=import_id, outcome=None, after=0, limit=9)
    assert (far.total, far.done) == (5_000, 5)
    assert [line.number for line in lines] == [1, 2, 3, 4, 5]


# Of the export.


def told(lines: Sequence[OpmlLine]) -> set[tuple[str, str, str]]:
    return {(line.name, line.url, line.category) for line in lines}


async def test_an_export_can_be_imported_with_its_categories(app: Litestar, ada: Person) -> None:
    mine = [
        OpmlLine('Dä <i>ly</i> & "co"', "https://daily.example/feed?a=1&b=2", "News/Tech"),
        OpmlLine("Weekly", "https://weekly.example/feed"),
    ]  # fmt: skip
    await upload(ada, write_opml("x", mine, START))

    sent = await ada.open("/opml/export")
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        assert "There are no feeds" in (await upload(bob, (await bob.open("/opml/export")).content)).text
        await upload(bob, sent.content)
        again = await bob.open("/opml/export")

    assert sent.headers["content-disposition"] == 'attachment; filename="headwater-2026-03-01.opml"'
    assert sent.headers["content-type"].startswith("text/x-opml+xml")
    assert told(read_opml(sent.content)) == told(mine)
    assert told(read_opml(again.content)) == told(mine)


def an_upload_sandbox(time_limit: timedelta) -> Sandbox:
    return Sandbox(processes=1, time_limit=time_limit, memory_limit=1_000_000_000, preload=("headwater.sources.opml",))


async def test_parsing_a_slow_file_times_out_in_another_process(database: Database, clock: MovableClock) -> None:
    """4.9 MB of `&` take seconds to parse: in this process no other request would be served meanwhile."""
    async with (
        an_upload_sandbox(timedelta(milliseconds=100)) as sandbox,
        a_person(create_app(database, clock, web=WebOptions(upload_sandbox=sandbox))) as ada,
    ):
        await ada.register()
        answers = await asyncio.gather(*(upload(ada, b"<opml>" + b"&" * 4_900_000) for _ in range(4)))

    assert {answer.status_code for answer in answers} == {400}
    assert "takes too long to read" in answers[0].text


async def test_a_file_is_read_in_another_process(database: Database, clock: MovableClock) -> None:
    async with (
        an_upload_sandbox(timedelta(seconds=60)) as sandbox,
        a_person(create_app(database, clock, web=WebOptions(upload_sandbox=sandbox))) as ada,
    ):
        await ada.register()
        taken = await upload(ada)
        refused = await upload(ada, b"<opml><outline>" * 200)

    assert taken.status_code == 303
    assert "nested more than 100 deep" in refused.text
    assert await scalar(database, "SELECT count(*) FROM subscriptions") == 2
