"""The table of sources: sorted, exported, and many changed at once, with a preview and an undo."""

import csv
import io
import re
from collections.abc import AsyncIterator
from html import unescape
from uuid import UUID

import pytest
from litestar import Litestar

from headwater.audit import store as audit
from headwater.audit.types import COMMAND_LINE, AuditAction
from headwater.db import Database
from headwater.sources import bulk
from headwater.sources.operate import create
from headwater.sources.store import sources
from headwater.sources.types import Changes, Source, SourceOverrides, SourceSort
from headwater.web.routes.admin.sources import PER_PAGE
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
        await person.register()
        yield person


async def some(database: Database, number: int) -> list[Source]:
    """Sources with numbers that differ; the last has the most articles."""
    made: list[Source] = []
    async with database.as_system() as conn:
        for n in range(number):
            wanted = Changes(name=f"Feed {n:03}", feed_url=f"https://{n}.example/feed", category="News")
            made.append(await create(conn, wanted=wanted, actor=COMMAND_LINE, now=START))
            await conn.execute(
                "UPDATE source_numbers SET articles = %s, error_rate = %s, readers = %s WHERE source_id = %s",
                (n, 1 / (n + 2), n // 10, made[-1].id),
            )
            await conn.execute(
                """
                UPDATE feed_state
                SET last_polled_at = %(at)s::timestamptz, last_succeeded_at = CASE WHEN %(n)s > 2 THEN %(at)s END,
                    next_poll_at = %(at)s::timestamptz + %(n)s * interval '1 minute'
                WHERE source_id = %(id)s
                """,
                {"at": START, "n": n, "id": made[-1].id},
            )
    return made


async def listed(operator: Person, query: str) -> list[UUID]:
    """All rows of the table, page after page."""
    page = (await operator.open(f"/admin/sources?{query}")).text
    found = re.findall(r'id="source-([0-9a-f-]{36})"', page)
    for _ in range(5):
        onward = re.search(r'hx-get="(/admin/sources/rows\?[^"]*)"', page)
        if onward is None:
            break
        page = (await operator.part(unescape(onward[1]))).text
        found += re.findall(r'id="source-([0-9a-f-]{36})"', page)
    return [UUID(one) for one in found]


@pytest.mark.parametrize("sort", SourceSort)
async def test_every_column_sorts_over_several_pages_in_both_directions(
    operator: Person, database: Database, sort: SourceSort
) -> None:
    made = await some(database, PER_PAGE + 7)

    up, down = await listed(operator, f"sort={sort}"), await listed(operator, f"sort=-{sort}")

    assert sorted(up) == sorted(one.id for one in made), "each once"
    assert down == up[::-1]
    if sort in {SourceSort.NAME, SourceSort.ARTICLES, SourceSort.DUE}:
        assert up == [one.id for one in made]
    if sort is SourceSort.ERRORS:
        assert down == [one.id for one in made]


async def test_the_head_of_a_column_says_how_it_is_sorted(operator: Person, database: Database) -> None:
    await some(database, 1)

    page = (await operator.open("/admin/sources?sort=-articles&category=News")).text

    assert re.search(r'aria-sort="descending"><a id="sort-articles"[^>]*sort=articles"', page)
    assert re.search(r'<a id="sort-errors"[^>]*category=News&amp;sort=-errors"', page)
    assert page.count("aria-sort") == 1


async def test_a_filtered_list_is_exported_with_no_formula_and_no_secret(operator: Person, database: Database) -> None:
    made = await some(database, 3)
    async with database.as_system() as conn:
        await conn.execute("UPDATE sources SET name = '=1+1' WHERE id = %s", (made[0].id,))
        secret = Changes(name="Secret", feed_url="https://s.example/feed?key=opensesame", category="News")
        await create(conn, wanted=secret, actor=COMMAND_LINE, now=START)
        other = Changes(name="Other", feed_url="https://o.example/feed")
        await create(conn, wanted=other, actor=COMMAND_LINE, now=START)

    file = await operator.open("/admin/sources.csv?category=News&sort=-articles")

    rows = list(csv.DictReader(io.StringIO(file.text, newline="")))
    assert file.headers["content-type"] == "text/csv; charset=utf-8"
    assert file.headers["content-disposition"] == 'attachment; filename="headwater-sources.csv"'
    assert [row["Name"] for row in rows[:2]] == ["Feed 002", "Feed 001"]
    assert {row["Name"] for row in rows[2:]} == {"'=1+1", "Secret"}
    assert "opensesame" not in file.text


async def preview(operator: Person, **fields: str | list[str]) -> str:
    sent = await operator.send("POST", "/admin/sources/bulk", **fields)  # pyright: ignore[reportArgumentType]
    return sent.text


def change_in(page: str) -> str:
    found = re.search(r"/admin/sources/bulk/([0-9a-f-]{36})", page)
    assert found, page
    return found[1]


async def apply(operator: Person, page: str, *, undo: bool = False) -> str:
    """Step by step, until it is done."""
    path = f"/admin/sources/bulk/{change_in(page)}{'/undo' if undo else ''}"
    answer = (await operator.send("POST", path)).text
    for _ in range(20):
        if "<progress" not in answer:
            break
        answer = (await operator.send("POST", f"/admin/sources/bulk/{change_in(answer)}")).text
    return answer


async def now_of(database: Database, source: Source) -> tuple[object, ...]:
    async with database.as_system() as conn:
        cur = await conn.execute(
            """
            SELECT state, category, policy, feed_poll_interval_minutes
            FROM source_health JOIN sources USING (id) WHERE id = %s
            """.replace("category", "sources.category", 1),
            (source.id,),
        )
        return await cur.fetchone() or ()


@pytest.mark.parametrize(
    ("fields", "said", "after"),
    [
        ({"action": "category", "value_category": "Science"}, "2 sources changed.", ("working", "Science", None, None)),
        ({"action": "category"}, "2 sources changed.", ("working", None, None, None)),
        ({"action": "policy", "value_policy": "five"}, "2 sources changed.", ("working", "News", "five", None)),
        ({"action": "interval", "value_interval": "30"}, "2 sources changed.", ("working", "News", None, 30)),
        ({"action": "disable", "value_reason": "Asked to"}, "2 sources disabled.", ("disabled", "News", None, None)),
    ],
)
async def test_selected_sources_are_changed_after_a_preview_and_restored(
    operator: Person, database: Database, fields: dict[str, str], said: str, after: tuple[object, ...]
) -> None:
    made = await some(database, 5)
    chosen, other = made[3:5], made[2]

    before = await now_of(database, chosen[0])
    shown = await preview(operator, ids=[str(one.id) for one in chosen], **fields)
    untouched = await now_of(database, chosen[0])
    done = await apply(operator, shown)

    assert all(one.name in shown for one in chosen)
    assert untouched == before, "a preview changes nothing"
    assert said in done
    assert [await now_of(database, one) for one in chosen] == [after] * 2
    assert (await now_of(database, other))[1:] == before[1:]

    undone = await apply(operator, done, undo=True)

    assert "Undone: 2 sources restored." in undone
    assert [(await now_of(database, one))[1:] for one in chosen] == [before[1:]] * 2
    assert (await now_of(database, chosen[0]))[0] in {"working", "pending"}
    again = await operator.send("POST", f"/admin/sources/bulk/{change_in(done)}/undo")
    assert (again.status_code, "has been undone" in again.text) == (409, True)
    async with database.as_system() as conn:
        entries = (await audit.list_entries(conn, limit=50)).entries
    assert len([one for one in entries if one.actor_name == "ada@example.com"]) == 4, "each change has its line"


async def test_all_that_match_are_enabled_in_steps_and_undone_with_their_reasons(
    operator: Person, database: Database
) -> None:
    made = await some(database, bulk.STEP + 5)
    await apply(operator, await preview(operator, everything="yes", action="disable", value_reason="Asked to"))

    shown = await preview(operator, everything="yes", status="disabled", action="enable")
    done = await apply(operator, shown)
    states = {(await now_of(database, one))[0] for one in made}
    await apply(operator, done, undo=True)

    assert f"Enable {bulk.STEP + 5} sources?" in shown
    assert f"{bulk.STEP + 5} sources enabled." in done
    assert states == {"pending"}
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT DISTINCT feed_disable_reason FROM sources")
        assert await cur.fetchall() == [("Asked to",)]


async def test_sources_that_an_action_does_not_fit_are_left_out(operator: Person, database: Database) -> None:
    made = await some(database, 2)
    async with database.as_system() as conn:
        await conn.execute(
            "UPDATE sources SET enabled = false, moderation_status = 'pending' WHERE id = %s", (made[0].id,)
        )
        site = Changes(name="Site", overrides=SourceOverrides(site="https://site.example/"))
        await create(conn, wanted=site, actor=COMMAND_LINE, now=START)

    shown = await preview(operator, everything="yes", action="disable", value_reason="Asked to")
    done = await apply(operator, shown)
    intervals = await preview(operator, everything="yes", action="interval", value_interval="30")

    assert "1 source left out" in shown
    assert "a suggestion that is not approved" in shown
    assert "2 sources disabled." in done, "a site without a feed too"
    assert "has no feed" in intervals


async def test_deleting_says_how_many_readers_and_cannot_be_undone(operator: Person, database: Database) -> None:
    made = await some(database, 12)

    shown = await preview(operator, ids=[str(made[11].id)], action="delete")
    done = await apply(operator, shown)

    assert "This cannot be undone." in shown
    assert "1 reader." in shown
    assert "1 source deleted." in done
    assert "Undo" not in done
    async with database.as_system() as conn:
        assert len(await sources.list_all(conn)) == 11
        assert (await audit.list_entries(conn, limit=1)).entries[0].action == AuditAction.SOURCE_DELETED


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"everything": "yes"}, "Choose an action."),
        ({"everything": "yes", "action": "explode"}, "Choose an action."),
        ({"action": "enable"}, "Select sources first."),
        ({"ids": "nonsense", "action": "enable"}, "Select sources first."),
        ({"everything": "yes", "action": "disable"}, "A reason is required"),
        ({"everything": "yes", "action": "interval", "value_interval": "soon"}, "whole number of minutes"),
        ({"everything": "yes", "action": "interval", "value_interval": "5"}, "at least 15 minutes"),
        ({"everything": "yes", "action": "policy", "value_policy": "lenient"}, "There is no policy"),
        ({"everything": "yes", "action": "category", "value_category": "x" * 101}, "at most 100 characters"),
        ({"everything": "yes", "action": "category", "value_category": "News"}, "Nothing would change."),
    ],
)
async def test_an_invalid_bulk_action_is_refused_with_a_message(
    operator: Person, database: Database, fields: dict[str, str], message: str
) -> None:
    await some(database, 1)

    refused = await operator.send("POST", "/admin/sources/bulk", **fields)

    assert refused.status_code == 400
    assert refused.headers["hx-retarget"] == "#said"
    assert message in refused.text


async def test_a_change_belongs_to_its_user_and_can_be_cancelled(
    operator: Person, app: Litestar, database: Database
) -> None:
    await some(database, 1)
    shown = await preview(operator, everything="yes", action="category")
    path = f"/admin/sources/bulk/{change_in(shown)}"
    async with database.as_system() as conn, a_person(app) as other:
        await other.register("bob@example.com")
        await conn.execute("UPDATE users SET role = 'super_admin'")
        await conn.commit()

        stolen = await other.send("POST", path)
        cancelled = await operator.send("DELETE", path)
        late = await operator.send("POST", path)

    assert (stolen.status_code, cancelled.status_code, late.status_code) == (404, 200, 404)


async def test_a_filter_is_saved_listed_and_deleted(operator: Person) -> None:
    query = "status=failing&sort=-errors"
    saved = await operator.send("POST", "/admin/filters", page="sources", name=" My  <failures> ", query=query)
    page = (await operator.open("/admin/sources")).text
    elsewhere = (await operator.open("/admin/audit")).text
    found = re.search(r'hx-delete="(/admin/filters/sources/[0-9a-f-]{36})"', page)
    assert found
    nameless = await operator.send("POST", "/admin/filters", page="sources", name=" ", query=query)
    unknown = await operator.send("POST", "/admin/filters", page="elsewhere", name="x", query=query)

    gone = await operator.send("DELETE", found[1])

    assert 'href="/admin/sources?status=failing&amp;sort=-errors">My &lt;failures&gt;</a>' in saved.text
    assert "My &lt;failures&gt;" in page
    assert "My &lt;failures&gt;" not in elsewhere
    assert (nameless.status_code, unknown.status_code) == (400, 400)
    assert "None yet." in gone.text


async def test_the_audit_log_is_exported_as_it_is_filtered(operator: Person, database: Database) -> None:
    made = await some(database, 2)
    await operator.send("POST", f"/admin/sources/{made[0].id}/disable", reason="=1+1")

    file = await operator.open("/admin/audit.csv?action=source.disabled")
    wrong = await operator.open("/admin/audit.csv?action=nonsense")

    (row,) = csv.DictReader(io.StringIO(file.text, newline=""))
    assert (row["User"], row["Action"], row["Target"]) == ("ada@example.com", "source.disabled", "Feed 000")
    assert row["Details"].startswith("reason: =1+1")
    assert row["Target id"] == str(made[0].id)
    assert wrong.status_code == 400
