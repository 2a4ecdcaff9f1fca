"""The health page: numbers that link to their lists, and plots."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from litestar import Litestar
from pydantic import SecretStr

from headwater.audit.types import COMMAND_LINE
from headwater.db import Connection, Database
from headwater.polling.types import FailureClass
from headwater.sources.follow import disable, follow
from headwater.sources.health.counter import Counter
from headwater.sources.operate import create
from headwater.sources.store import suggestions
from headwater.sources.types import Changes, Source, SourceOverrides, Suggestion
from tests.alerts.world import OWN_CLOCK
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def operator(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()  # the first one looks after the place
        yield person


async def a_sick_zoo(database: Database) -> dict[str, Source]:
    """One source in each state."""
    found: dict[str, Source] = {}
    async with database.as_system() as conn:
        for name, category in (
            ("Working", "News"),
            ("Pending", "News"),
            ("Failing", None),
            ("Off", "Science"),
            ("Disabled", None),
        ):
            wanted = Changes(name=name, feed_url=f"https://{name.lower()}.example/feed", category=category)
            found[name] = await create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)
        site = Changes(name="Site", overrides=SourceOverrides(site="https://site.example/"))
        found["Site"] = await create(conn, wanted=site, actor=COMMAND_LINE, now=START)
        await disable(conn, found["Disabled"], "They asked us to", START)
        await disable(conn, found["Off"], "not_found", START)
        await conn.execute(
            "UPDATE feed_state SET last_polled_at = %s, last_succeeded_at = %s WHERE source_id = %s",
            (START, START, found["Working"].id),
        )
        await conn.execute(
            """
            UPDATE feed_state
            SET last_polled_at = %s, last_error = 'No answer.', last_error_type = 'network', consecutive_errors = 2,
                streak = 2, failing_since = %s
            WHERE source_id = %s
            """,
            (START, START, found["Failing"].id),
        )
        await conn.execute(
            "UPDATE hosts SET paused_until = %s, failure_class = 'network' WHERE name = 'failing.example'",
            (START + timedelta(hours=3),),
        )
    return found


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", "", page).split())


def numbers(page: str) -> dict[str, int]:
    found = re.findall(r'id="state-(\w+)" href="[^"]*"><b>([\d,]+)</b>', page)
    return {state: int(count.replace(",", "")) for state, count in found}


async def test_an_instance_without_sources_says_so(operator: Person) -> None:
    page = await operator.open("/admin")

    assert page.status_code == 200
    assert "No sources yet." in page.text
    assert "No polls in this period." in page.text
    assert "No paused hosts." in page.text
    assert "<dt>Oldest due</dt><dd>–</dd>" in page.text


async def test_each_number_links_to_as_many_sources(operator: Person, database: Database) -> None:
    await a_sick_zoo(database)

    page = (await operator.open("/admin")).text
    links = re.findall(r'href="(/admin/sources\?[^"]*)"[^>]*>(?:<b>)?([\d,]+)(?:</b>|</a>)', page)
    listed = {
        link: (await operator.open(link.replace("&amp;", "&"))).text.count('<th scope="row">') for link, _ in links
    }

    assert numbers(page) == {"working": 1, "pending": 2, "failing": 1, "auto_disabled": 1, "disabled": 1, "all": 6}
    assert len(links) >= 12
    assert listed == {link: int(count) for link, count in links}
    assert "failing.example" in page  # its host is paused
    assert "in 3 hours" in page


async def test_one_sentence_says_how_many_fail_and_how_many_need_a_person(operator: Person, database: Database) -> None:
    zoo = await a_sick_zoo(database)
    calm = text_of((await operator.open("/admin")).text)
    async with database.as_system() as conn:
        await disable(conn, zoo["Working"], "gone", START)
        await conn.execute("UPDATE feed_state SET disabled_until = NULL WHERE source_id = %s", (zoo["Working"].id,))
        found = [Suggestion(zoo["Failing"].id, "", "https://failing.example/new?key=opensesame", "The new one", 12)]
        await suggestions.replace(conn, source_id=zoo["Failing"].id, suggestions=found, found_at=START)
        await conn.execute(
            "UPDATE sources SET enabled = false, moderation_status = 'pending' WHERE id = %s", (zoo["Site"].id,)
        )

    page = (await operator.open("/admin")).text
    listed = (await operator.open("/admin/sources?attention=yes")).text

    assert "2 of 6 sources failing, none needs you." in calm
    assert "3 of 6 sources failing, 3 need you." in text_of(page)
    assert page.index('class="lead"') < page.index('id="alerts"') < page.index('id="needs-title"') < page.index("Total")
    assert "Auto-disabled, no retry scheduled: Gone" in page
    assert f'hx-post="/admin/sources/{zoo["Working"].id}/enable"' in page
    assert "New feed found: The new one" in page
    assert "opensesame" not in page
    assert "1 suggestion in review" in page
    assert re.findall(r'id="source-([0-9a-f-]{36})"', listed) == [
        str(zoo[name].id) for name in ("Failing", "Site", "Working")
    ]


async def test_sources_that_work_are_all_healthy(operator: Person, database: Database) -> None:
    async with database.as_system() as conn:
        wanted = Changes(name="Working", feed_url="https://working.example/feed")
        await create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)
    pending = text_of((await operator.open("/admin")).text)
    async with database.as_system() as conn:
        await conn.execute("UPDATE feed_state SET last_polled_at = %s, last_succeeded_at = %s", (START, START))

    page = text_of((await operator.open("/admin")).text)

    assert "None of 1 source failing, none needs you." in pending
    assert "All 1 source healthy, none needs you." in page


async def test_disabled_feeds_are_listed_with_the_time_of_their_probe(operator: Person, database: Database) -> None:
    zoo = await a_sick_zoo(database)

    page = (await operator.open("/admin")).text

    assert re.search(rf'id="back-{zoo["Off"].id}".*?in 2 days', page, re.DOTALL)


@pytest.mark.parametrize(("period", "columns"), [("24h", 24), ("7d", 28), ("30d", 30), ("nonsense", 24)])
async def test_a_period_is_plotted_and_ranked(
    operator: Person, database: Database, clock: MovableClock, period: str, columns: int
) -> None:
    zoo = await a_sick_zoo(database)
    async with database.as_system() as conn:
        await conn.execute(
            """
            INSERT INTO poll_events (source_id, at, outcome, status, bytes, took_ms, new_articles)
            SELECT %(id)s, %(now)s::timestamptz - n * interval '1 hour',
                CASE WHEN mod(n, 4) = 0 THEN 'gone' ELSE 'polled' END, 200, 1000, 70, 1
            FROM generate_series(1, 23) AS n
            """,
            {"id": zoo["Working"].id, "now": clock()},
        )
    counter = Counter(database, clock, OWN_CLOCK)
    while due := await counter.claim(1):
        await counter.work(due[0])

    page = (await operator.part(f"/admin/health/past?period={period}")).text

    assert page.count('class="target"') == 2 * columns
    assert "78.26%" in page
    assert re.search(r'<li class="lost">Not found or gone <b>5</b>', page)
    assert page.count(f'href="/admin/sources/{zoo["Working"].id}"') == 3  # slowest, failing most, busiest
    assert "style=" not in page
    assert "<script" not in page


async def test_a_fragment_reloads_itself(operator: Person) -> None:
    now = await operator.part("/admin/health/now")
    past = await operator.part("/admin/health/past?period=7d")

    assert 'hx-get="/admin/health/now" hx-trigger="every 10s, sourceChanged from:body"' in now.text
    assert 'hx-get="/admin/health/past?period=7d" hx-trigger="every 60s"' in past.text
    assert "<html" not in now.text + past.text


async def test_a_late_count_is_reported(operator: Person, database: Database, clock: MovableClock) -> None:
    async with database.as_system() as conn:
        await conn.execute("UPDATE poll_counting SET counted_until = %s", (clock() - timedelta(days=2),))

    page = (await operator.open("/admin")).text

    assert "Polls are counted up to 2026-02-27 12:00:00 UTC." in page


async def test_the_api_has_the_same_states(database: Database, clock: MovableClock) -> None:
    zoo = await a_sick_zoo(database)
    app = create_app(database, clock, SecretStr("the operator's own"))

    async with a_person(app) as program:
        headers = {"Authorization": "Bearer the operator's own"}
        told = {
            name: (await program.client.get(f"/api/v1/sources/{source.id}", headers=headers)).json()["status"]
            for name, source in zoo.items()
        }

    async with database.as_system() as conn:
        cur = await conn.execute("SELECT name, state FROM source_health")
        assert told == dict(await cur.fetchall())


@pytest.mark.parametrize("reason", FailureClass)
async def test_a_feed_disabled_by_a_class_of_failure_is_auto_disabled(conn: Connection, reason: FailureClass) -> None:
    """The view lists the classes by name."""
    source = await follow(conn, url="https://example.com/feed", name=None, now=START)
    await conn.execute(
        "UPDATE sources SET feed_disabled_at = %s, feed_disable_reason = %s WHERE id = %s",
        (START, reason.value, source.id),
    )

    cur = await conn.execute("SELECT state, reason FROM source_health")

    assert await cur.fetchone() == ("auto_disabled", reason.value)
