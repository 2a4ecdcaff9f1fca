"""The operators' pages of sources: the list, one source, and its actions. Each action is in the audit log."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from html import unescape
from uuid import UUID

import pytest
from litestar import Litestar

from headwater.audit import store as audit
from headwater.audit.types import COMMAND_LINE, AuditAction
from headwater.db import Database
from headwater.hosts.turns import Turns
from headwater.net import Client
from headwater.sandbox import Sandbox
from headwater.sources.operate import change, create
from headwater.sources.store import sources, suggestions
from headwater.sources.trial import Trials
from headwater.sources.types import Changes, IngestionMode, Source, Suggestion
from headwater.web import WebOptions
from headwater.web.routes.admin.sources import DEFAULT_POLLING, PER_PAGE
from headwater_lab.zoo import DOMAIN, Zoo
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.fetching.claims import OPTIONS as FETCHING
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

FEED = "https://example.com/feed.xml"


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def operator(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()  # the first one looks after the place
        yield person


async def a_source(database: Database, url: str = FEED, name: str = "Example", **more: str) -> Source:
    async with database.as_system() as conn:
        wanted = Changes(name=name, feed_url=url, **more)  # pyright: ignore[reportArgumentType]
        return await create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)


async def reread(database: Database, source: Source) -> Source:
    async with database.as_system() as conn:
        return await sources.find_by_id(conn, source_id=source.id)


async def state_of(database: Database, source: Source) -> tuple[object, ...]:
    async with database.as_system() as conn:
        cur = await conn.execute(
            "SELECT state, reason, consecutive_errors FROM source_health WHERE id = %s", (source.id,)
        )
        return await cur.fetchone() or ()


async def actions(database: Database) -> list[tuple[AuditAction, str, object]]:
    async with database.as_system() as conn:
        found = await audit.list_entries(conn, limit=50)
    return [(one.action, one.actor_name, one.detail) for one in reversed(found.entries)]


def form(**changed: str) -> dict[str, str]:
    """The settings form as a browser sends it, some of it changed."""
    shown = {
        "name": "Example",
        "feed_url": FEED,
        "url": "",
        "sitemap_url": "",
        "category": "",
        "mode": "feed",
        "policy": "",
        "interval_minutes": "",
        "priority": "5",
        "patterns": "",
        "selectors": "",
        "max_depth": "2",
        "page_budget": "",
        "min_delay_ms": "",
        "enabled": "yes",
        "is_system": "yes",
    }
    return {**shown, **changed}


async def test_an_empty_list_says_so(operator: Person) -> None:
    page = await operator.open("/admin/sources")
    filtered = await operator.open("/admin/sources?status=auto_disabled&reason=nonsense&host=x&category=y&after=x")

    assert (page.status_code, filtered.status_code) == (200, 200)
    assert "No sources yet." in page.text
    assert "No sources match this filter." in filtered.text


async def test_the_list_is_paged_by_name(operator: Person, database: Database) -> None:
    async with database.as_system() as conn:
        for n in range(PER_PAGE + 3):
            wanted = Changes(name=f"Same name {n // 10}", feed_url=f"https://{n}.example/feed")
            await create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)

    first = (await operator.open("/admin/sources")).text
    onward = re.search(r'hx-get="(/admin/sources/rows\?[^"]*after=[^"]*)"', first)
    assert onward
    second = (await operator.part(unescape(onward[1]))).text

    seen = re.findall(r'id="source-([0-9a-f-]{36})"', first + second)
    assert len(seen) == len(set(seen)) == PER_PAGE + 3
    assert "Show more" not in second
    assert "<html" not in second
    assert f"{PER_PAGE + 3} sources" in first


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=alp", ["Alpha"]),
        ("q=BETA.example", ["Beta"]),
        ("host=beta.example", ["Beta"]),
        ("category=News", ["Alpha"]),
        ("category=-", ["Beta"]),
        ("status=pending", ["Alpha", "Beta"]),
        ("status=working", []),
        ("status=nonsense", ["Alpha", "Beta"]),
        ("q=%25", []),
    ],
)
async def test_the_list_is_filtered(operator: Person, database: Database, query: str, names: list[str]) -> None:
    await a_source(database, "https://alpha.example/feed", "Alpha", category="News")
    await a_source(database, "https://beta.example/feed", "Beta")

    page = (await operator.open(f"/admin/sources?{query}")).text

    assert re.findall(r'href="/admin/sources/[0-9a-f-]{36}">(\w+)</a>', page) == names


async def test_a_source_is_added_and_shown(operator: Person, database: Database) -> None:
    added = await operator.send("POST", "/admin/sources", feed_url=FEED, name="Example", category="News")
    again = await operator.send("POST", "/admin/sources", feed_url=FEED)
    nothing = await operator.send("POST", "/admin/sources", name="Nothing")
    wrong = await operator.send("POST", "/admin/sources", feed_url="https://b.example/f", interval_minutes="soon")

    page = await operator.open(added.headers["hx-redirect"])
    assert added.status_code == 204
    assert page.status_code == 200
    assert "Not polled yet. Due now." in page.text
    assert (again.status_code, "is already followed" in again.text) == (409, True)
    assert (nothing.status_code, "needs the URL of a feed" in nothing.text) == (400, True)
    assert (wrong.status_code, "An interval must be a whole number, not &#39;soon&#39;." in wrong.text) == (
        400,
        True,
    )
    assert {one.headers["hx-retarget"] for one in (again, nothing, wrong)} == {"#said"}
    (made,) = await actions(database)
    assert made == (
        AuditAction.SOURCE_CREATED,
        "ada@example.com",
        {"name": "Example", "feed_url": FEED, "category": "News"},
    )


async def test_only_changed_fields_are_changed(operator: Person, database: Database) -> None:
    source = await a_source(database)
    path = f"/admin/sources/{source.id}"

    same = await operator.send("PATCH", path, **form())
    changed = await operator.send(
        "PATCH",
        path,
        **form(
            name="Another",
            category="Science",
            policy="five",
            interval_minutes="30",
            mode="both",
            url="https://example.com/",
            patterns="/\\d+/\n",
            selectors="title=h1\nbody=.text\nbody=article",
            min_delay_ms="2500",
            is_critical="yes",
        ),
    )

    now = await reread(database, source)
    assert "No changes" in same.text
    assert (changed.status_code, changed.headers["hx-trigger"]) == (200, "sourceChanged")
    assert (now.name, now.category, now.policy, now.interval_minutes) == ("Another", "Science", "five", 30)
    assert (now.ingestion_mode, now.url) == (IngestionMode.BOTH, "https://example.com/")
    assert (now.article_url_patterns, now.min_delay) == (["/\\d+/"], timedelta(seconds=2.5))
    assert now.selectors == {"title": ["h1"], "body": [".text", "article"]}
    assert (now.is_critical, now.is_system, now.enabled, now.priority) == (True, True, True, 5)
    action, _, detail = (await actions(database))[-1]
    assert action == AuditAction.SOURCE_CHANGED
    assert set(detail) == {  # pyright: ignore[reportArgumentType]
        "name", "category", "policy", "interval", "mode", "site", "patterns", "selectors", "delay", "is_critical",
    }  # fmt: skip


async def test_settings_can_be_cleared(operator: Person, database: Database) -> None:
    source = await a_source(database)
    path = f"/admin/sources/{source.id}"
    await operator.send("PATCH", path, **form(category="Science", policy="five", interval_minutes="30"))

    await operator.send("PATCH", path, **form(), is_critical="")

    now = await reread(database, source)
    assert (now.category, now.policy, now.interval_minutes) == (None, None, None)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", " ", "Name is required."),
        ("name", "x" * 256, "A name has 1 to 255 characters"),
        ("feed_url", "", "A feed URL cannot be removed"),
        ("feed_url", "javascript:alert(1)", "only http and https"),
        ("interval_minutes", "14", "at least 15 minutes and at most a day"),
        ("interval_minutes", "1441", "at least 15 minutes and at most a day"),
        ("interval_minutes", "٣٠", "An interval must be a whole number"),
        ("priority", "11", "at least 1 and at most 10"),
        ("max_depth", "-1", "A depth must be a whole number"),
        ("policy", "lenient", "There is no policy"),
        ("mode", "guess", "Invalid mode"),
        ("patterns", "(", "is not a valid regular expression"),
        ("selectors", "title=h1[", "is not a valid CSS selector"),
        ("category", "x" * 101, "at most 100 characters"),
        ("min_delay_ms", "9" * 9, "at most an hour"),
        ("url", "\0", ""),
    ],
)
async def test_invalid_values_are_refused_with_a_message(
    operator: Person, database: Database, field: str, value: str, message: str
) -> None:
    source = await a_source(database)

    refused = await operator.send("PATCH", f"/admin/sources/{source.id}", **form(**{field: value}))

    assert refused.status_code == 400
    assert refused.headers["hx-retarget"] == "#settings-said"
    assert message in refused.text
    assert await reread(database, source) == source


async def test_a_feed_is_disabled_with_a_reason_and_enabled(operator: Person, database: Database) -> None:
    source = await a_source(database)
    path = f"/admin/sources/{source.id}"

    without = await operator.send("POST", f"{path}/disable", reason="  ")
    off = await operator.send("POST", f"{path}/disable", reason="They asked us to <stop>")
    while_off, page = await state_of(database, source), (await operator.open(path)).text
    on = await operator.send("POST", f"{path}/enable")

    assert (without.status_code, "A reason is required" in without.text) == (400, True)
    assert (off.status_code, on.status_code) == (200, 200)
    assert while_off == ("disabled", None, 0)
    assert "Disabled by an operator today at 12:00: They asked us to &lt;stop&gt;." in page
    assert await state_of(database, source) == ("pending", None, 0)
    assert [one[0] for one in await actions(database)][1:] == [AuditAction.SOURCE_DISABLED, AuditAction.SOURCE_ENABLED]


async def test_a_disabled_source_is_enabled_with_its_feed(operator: Person, database: Database) -> None:
    source = await a_source(database)
    path = f"/admin/sources/{source.id}"
    await operator.send("PATCH", path, **{name: value for name, value in form().items() if name != "enabled"})
    before = await state_of(database, source)

    await operator.send("POST", f"{path}/enable")

    assert before == ("disabled", None, 0)
    assert await state_of(database, source) == ("pending", None, 0)


async def test_errors_are_reset_and_a_poll_is_requested(
    operator: Person, database: Database, clock: MovableClock
) -> None:
    source = await a_source(database)
    path = f"/admin/sources/{source.id}"
    async with database.as_system() as conn:
        await conn.execute(
            """
            UPDATE feed_state
            SET last_polled_at = %(now)s, next_poll_at = %(now)s::timestamptz + interval '1 day',
                failing_since = %(now)s, last_error = 'Gone.', last_error_type = 'gone', consecutive_errors = 3,
                streak = 3, streak_class = 'gone'
            """,
            {"now": START},
        )
    clock.move(hours=1)

    failing = (await operator.open(path)).text
    await operator.send("POST", f"{path}/reset")
    well = await state_of(database, source)
    await operator.send("POST", f"{path}/refresh")
    page = (await operator.open(path)).text

    assert "Failed 3 times since today at 12:00 with gone. Next poll tomorrow at 12:00." in failing
    assert well == ("working", None, 0)
    assert "Due now." in page
    assert [one[0] for one in await actions(database)][1:] == [AuditAction.SOURCE_RESET, AuditAction.SOURCE_REFRESHED]


async def test_a_found_feed_is_adopted(operator: Person, database: Database) -> None:
    source = await a_source(database)
    elsewhere = "https://example.com/new.xml"
    async with database.as_system() as conn:
        found = [Suggestion(source.id, "", elsewhere, "The <new> one", 12)]
        await suggestions.replace(conn, source_id=source.id, suggestions=found, found_at=START)

    page = (await operator.open(f"/admin/sources/{source.id}")).text
    adopted = await operator.send("POST", f"/admin/sources/{source.id}/adopt", url=elsewhere)

    assert "The &lt;new&gt; one" in page
    assert adopted.status_code == 200
    assert "It is polled at once." in adopted.text
    assert (await reread(database, source)).feed_url == elsewhere
    assert "Possible new feed URLs" not in (await operator.open(f"/admin/sources/{source.id}")).text


async def test_a_feed_that_is_adopted_for_a_disabled_source_is_not_called_polled(
    operator: Person, database: Database
) -> None:
    source = await a_source(database)
    async with database.as_system() as conn:
        await change(conn, source, wanted=Changes(enabled=False), actor=COMMAND_LINE, now=START)

    adopted = await operator.send("POST", f"/admin/sources/{source.id}/adopt", url="https://example.com/new.xml")

    assert "Feed URL changed. It is not polled: the source is disabled." in adopted.text


async def test_a_found_feed_with_a_secret_is_masked_and_adopted_unmasked(operator: Person, database: Database) -> None:
    source = await a_source(database)
    elsewhere = "https://example.com/new.xml?key=opensesame"
    async with database.as_system() as conn:
        found = [Suggestion(source.id, "", elsewhere, "The new one", 12)]
        await suggestions.replace(conn, source_id=source.id, suggestions=found, found_at=START)

    page = (await operator.open(f"/admin/sources/{source.id}")).text
    shown = re.search(r'name="url" value="([^"]+)"', page)
    assert shown is not None
    await operator.send("POST", f"/admin/sources/{source.id}/adopt", url=shown[1])

    assert "opensesame" not in page
    assert (await reread(database, source)).feed_url == elsewhere


async def test_a_source_is_deleted(operator: Person, database: Database) -> None:
    source = await a_source(database)

    gone = await operator.send("DELETE", f"/admin/sources/{source.id}")

    assert (gone.status_code, gone.headers["hx-redirect"]) == (204, "/admin/sources")
    assert (await operator.open(f"/admin/sources/{source.id}")).status_code == 404
    assert (await actions(database))[-1][0] == AuditAction.SOURCE_DELETED


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_an_unknown_source_is_not_found(operator: Person, method: str) -> None:
    fields = form() if method == "PATCH" else {}

    assert (await operator.send(method, f"/admin/sources/{UUID(int=7)}", **fields)).status_code == 404
    assert (await operator.send("GET", "/admin/sources/nonsense")).status_code == 404
    assert (await operator.send("POST", f"/admin/sources/{UUID(int=7)}/explode")).status_code == 404


async def test_the_last_hundred_polls_are_a_strip_and_a_table(
    operator: Person, database: Database, clock: MovableClock
) -> None:
    source = await a_source(database)
    async with database.as_system() as conn:
        await conn.execute(
            """
            INSERT INTO poll_events (source_id, at, outcome, status, bytes, took_ms, new_articles)
            SELECT %(id)s, %(now)s::timestamptz - n * interval '10 minutes',
                CASE WHEN n <= 10 THEN 'not_found' WHEN mod(n, 2) = 0 THEN 'polled' ELSE 'not_modified' END,
                CASE WHEN n <= 10 THEN 404 ELSE 200 END, 1000, n, 0
            FROM generate_series(1, 140) AS n
            """,
            {"id": source.id, "now": clock()},
        )

    page = (await operator.open(f"/admin/sources/{source.id}")).text

    assert page.count('role="listitem"') == 100
    assert page.count('class="lost"') == 10 + 1  # and the legend
    assert "Sun 01 Mar 11:50: not found, 404, 1 ms" in page
    assert page.count("<tr>") == 100 + 1
    assert "92.9%" in page  # of 140


async def test_a_source_without_a_feed_has_a_page_too(operator: Person) -> None:
    added = await operator.send("POST", "/admin/sources", url="https://site.example/", name="Site")

    page = await operator.open(added.headers["hx-redirect"])

    assert page.status_code == 200
    assert "No feed:" in page.text
    assert "Poll now" not in page.text
    assert (await operator.send("POST", f"{added.headers['hx-redirect']}/disable", reason="x")).status_code == 409


async def test_a_source_links_to_its_urls_and_its_log_entries(operator: Person) -> None:
    other = await operator.send("POST", "/admin/sources", url="https://other.example/", name="Other")
    added = await operator.send("POST", "/admin/sources", url="https://site.example/", name="Site")
    page = (await operator.open(added.headers["hx-redirect"])).text
    links = re.findall(r'href="(/admin/(?:frontier|audit)\?[^"]+)"', page)

    queue, log = [(await operator.open(unescape(link))).text for link in links]

    assert "Source: <b>Site</b>" in queue
    assert 'th scope="row"><a href="/admin/audit?subject=Site"' in log
    assert "Other" not in log
    assert other.status_code == 204


async def test_a_server_without_outgoing_requests_says_so(operator: Person, database: Database) -> None:
    source = await a_source(database)

    answer = await operator.send("POST", f"/admin/sources/{source.id}/test")

    assert (answer.status_code, "makes no outgoing requests" in answer.text) == (400, True)


async def test_a_test_shows_the_result_of_a_poll_and_stores_nothing(database: Database, clock: MovableClock) -> None:
    async with (
        Zoo() as zoo,
        Client(user_agent="Headwater/test", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client,
        Sandbox(processes=1, time_limit=timedelta(seconds=20), memory_limit=1_000_000_000) as sandbox,
    ):
        at_once = replace(DEFAULT_POLLING, host_delay=timedelta(0))
        turns = Turns(database, clock, delay=timedelta(0), lease=timedelta(minutes=1))
        trials = Trials(database, client, sandbox, sandbox, clock, at_once, FETCHING, turns)
        async with a_person(create_app(database, clock, web=WebOptions(trials=trials))) as operator:
            await operator.register()
            well = await a_source(database, zoo.url("daily", "/feed.xml"), "Daily")
            ill = await a_source(database, zoo.url("missing", "/feed.xml"), "Missing")
            found = await operator.send("POST", f"/admin/sources/{well.id}/test")
            lost = await operator.send("POST", f"/admin/sources/{ill.id}/test")
            keyed = await a_source(database, zoo.url("missing", "/feed.xml?key=s3cret"), "Keyed")
            shown = await operator.send("POST", f"/admin/sources/{keyed.id}/test")
            path = f"/admin/sources/{well.id}"
            daily = form(name="Daily", feed_url=well.feed_url or "", selectors="title=h1\nauthor=.no-such-thing")
            await operator.send("PATCH", path, **daily)
            story = re.findall(r'<li><a href="([^"]+)"', found.text)[0]
            read = await operator.send("POST", f"{path}/test-page", url=story)
            unsaved = await operator.send("POST", f"{path}/test-page", url=story, selectors="date=.nothing-either")
            cleared = await operator.send("POST", f"{path}/test-page", url=story, selectors="")
            invalid = await operator.send("POST", f"{path}/test-page", url=story, selectors="title=h1[")
            missing = await operator.send("POST", f"{path}/test-page", url=zoo.url("missing", "/"))
            forbidden = await operator.send("POST", f"{path}/test-page", url="file:///etc/passwd")

    assert "A poll would succeed." in found.text
    assert "25 are new." in found.text
    assert found.text.count("<li>") == 10
    assert "A poll would fail." in lost.text
    assert ("feed.xml?key=***" in shown.text, "s3cret" in shown.text) == (True, False)
    assert "That is the class not_found." in lost.text
    assert "The selector for author found nothing." in read.text
    assert re.search(r'<th scope="row">title</th><td>[^<]+<span class="quiet">selector</span>', read.text)
    assert "The selector for date found nothing." in unsaved.text
    assert "The selector for author" not in unsaved.text
    assert '<span class="quiet">selector</span>' not in cleared.text
    assert (invalid.status_code, "is not a valid CSS selector" in invalid.text) == (400, True)
    assert "The server answered 404." in missing.text
    assert (forbidden.status_code, "only http and https" in forbidden.text) == (400, True)
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT count(*) FROM articles, poll_events")
        assert await cur.fetchone() == (0,)
    assert await state_of(database, ill) == ("pending", None, 0)


async def test_a_secret_in_a_readers_feed_is_shown_to_that_reader_alone(
    app: Litestar, operator: Person, database: Database
) -> None:
    secret = f"{FEED}?token=s3cret"
    async with a_person(app) as reader:
        await reader.register("rae@example.com")
        await reader.send("POST", "/feeds", name="Mine", url=secret)
        own = await reader.part("/feeds")
        taken_along = await reader.open("/opml/export")
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url=secret)

    pages = [await operator.open(path) for path in ("/admin/sources", f"/admin/sources/{source.id}", "/admin/audit")]
    form = dict.fromkeys(("patterns", "selectors"), "") | {"mode": "feed", "enabled": "yes", "priority": "5"}
    await operator.send(
        "PATCH", f"/admin/sources/{source.id}", name="Renamed", feed_url=f"{FEED}?token=***", max_depth="2", **form
    )

    assert "s3cret" in own.text
    assert "s3cret" in taken_along.text
    assert [page.status_code for page in pages] == [200, 200, 200]
    assert not any("s3cret" in page.text for page in pages)
    renamed = await reread(database, source)
    assert (renamed.name, renamed.feed_url) == ("Renamed", secret)


async def test_sources_are_filtered_by_last_success_and_errors_and_sorted_by_it(
    operator: Person, database: Database
) -> None:
    for name, hours, errors in (("Fresh", 1, 0), ("Stuck", 30, 4), ("Older", 300, 2)):
        source = await a_source(database, f"https://{name.lower()}.example/feed", name)
        async with database.transaction() as conn:
            await conn.execute(
                """
                UPDATE feed_state
                SET last_succeeded_at = %(at)s, last_polled_at = %(at)s, consecutive_errors = %(errors)s
                WHERE source_id = %(id)s
                """,
                {"id": source.id, "at": START - timedelta(hours=hours), "errors": errors},
            )
    await a_source(database, "https://never.example/feed", "Never")

    async def shown(**query: str) -> list[str]:
        page = (await operator.open("/admin/sources", params=query)).text
        return re.findall(r'<a id="source-[^"]+" href="[^"]+">([^<]+)</a>', page)

    assert await shown() == ["Fresh", "Never", "Older", "Stuck"]
    assert await shown(sort="-success") == ["Fresh", "Stuck", "Older", "Never"]
    assert await shown(fetched="24h") == ["Older", "Stuck"]
    assert await shown(fetched="7d") == ["Older"]
    assert await shown(errors="yes", sort="-success") == ["Stuck", "Older"]
    assert await shown(fetched="odd", sort="odd", after="odd:odd") == ["Fresh", "Never", "Older", "Stuck"]
    assert await shown(sort="-success", after=f"{UUID(int=0)}:odd") == ["Fresh", "Stuck", "Older", "Never"]
