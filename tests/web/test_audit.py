"""The audit log and the settings, for operators."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape

import pytest
from litestar import Litestar

from headwater.audit import store as audit
from headwater.audit.types import COMMAND_LINE, Actor, AuditAction
from headwater.db import Database
from headwater.runtime import setting_lines
from headwater.settings import Settings, load_settings
from headwater.web import WebOptions
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def admin(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register("first@example.com")
        yield person


@pytest.fixture
async def filled(database: Database, clock: MovableClock) -> None:
    actions = [
        (AuditAction.SOURCE_DISABLED, "Zoo Daily"),
        (AuditAction.SOURCE_ENABLED, "Zoo Daily"),
        (AuditAction.FEED_REJECTED, "<b>Spam</b>"),
    ]
    for number, (action, subject) in enumerate(actions):
        async with database.as_system() as conn:
            actor = COMMAND_LINE if number else Actor(None, "mo@example.com")
            detail = {"reason": "<i>Because</i>", "urls": ["a", "b"], "until": None}
            await audit.record(conn, actor, action, clock(), subject=subject, detail=detail)
        clock.move(seconds=1)


async def test_an_empty_log_explains_its_purpose(admin: Person) -> None:
    assert "No entries yet." in (await admin.open("/admin/audit")).text


@pytest.mark.usefixtures("filled")
async def test_the_log_is_listed_newest_first(admin: Person) -> None:
    page = (await admin.open("/admin/audit")).text

    assert page.index("feed rejected</a></td>") < page.index("source enabled</a></td>")
    assert "reason: &lt;i&gt;Because&lt;/i&gt;" in page
    assert "urls: a, b" in page
    assert "until" not in page.partition("<table")[2]
    assert "&lt;b&gt;Spam&lt;/b&gt;" in page


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("action=source.disabled", 1),
        ("person=MO@", 1),
        ("person=command", 2),
        ("subject=zoo", 2),
        ("subject=zoo&action=source.enabled", 1),
        ("subject=zzz", 0),
        (f"since={START:%Y-%m-%d}", 3),
        (f"until={START:%Y-%m-%d}&sort=target", 3),
        (f"since={START + timedelta(days=1):%Y-%m-%d}", 0),
        (f"until={START - timedelta(days=1):%Y-%m-%d}", 0),
    ],
)
async def test_the_log_is_filtered(admin: Person, query: str, found: int) -> None:
    page = (await admin.open(f"/admin/audit?{query}")).text
    part = await admin.part(f"/admin/audit/rows?{query}")
    file = await admin.open(f"/admin/audit.csv?{query}")

    assert page.count('<th scope="row">') == part.text.count('<th scope="row">') == found
    assert len(file.text.splitlines()) == found + 1


@pytest.mark.usefixtures("filled")
async def test_a_long_log_has_pages(admin: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.web.routes.admin.audit.PAGE", 2)

    first = (await admin.open("/admin/audit")).text
    more = re.search(r'id="more-rows" href="([^"]+)" hx-get="([^"]+)"', first)
    assert more is not None
    second, appended = (await admin.open(unescape(more[1]))).text, (await admin.part(unescape(more[2]))).text

    assert [page.count('<th scope="row">') for page in (first, second, appended)] == [2, 1, 1]
    assert "every 10s" in first
    assert "every 10s" not in second


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("sort", "actions"),
    [
        ("", ["feed rejected", "source enabled", "source disabled"]),
        ("time", ["source disabled", "source enabled", "feed rejected"]),
        ("-time", ["feed rejected", "source enabled", "source disabled"]),
        ("action", ["feed rejected", "source disabled", "source enabled"]),
        ("-action", ["source enabled", "source disabled", "feed rejected"]),
        ("target", ["feed rejected", "source disabled", "source enabled"]),
        ("-target", ["source enabled", "source disabled", "feed rejected"]),
        ("odd", ["feed rejected", "source enabled", "source disabled"]),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 50])
async def test_the_log_is_sorted_page_by_page(
    admin: Person, sort: str, actions: list[str], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.web.routes.admin.audit.PAGE", size)
    found: list[str] = []
    address = f"/admin/audit?sort={sort}"
    while address:
        page = (await admin.open(address)).text
        found += re.findall(r">([^<]+)</a></td>\s*<th", page)
        more = re.search(r'id="more-rows" href="([^"]+)"', page)
        address = unescape(more[1]) if more else ""

    assert found == actions


@pytest.mark.usefixtures("filled")
async def test_a_filter_of_the_log_is_saved(admin: Person) -> None:
    await admin.send("POST", "/admin/filters", page="audit", name="Rejected", query="action=feed.rejected")

    assert '<a href="/admin/audit?action=feed.rejected">Rejected</a>' in (await admin.open("/admin/audit")).text


@pytest.mark.parametrize("query", ["action=odd", "person=%00", "subject=" + "x" * 501, "since=x", "until=9999-12-31"])
async def test_invalid_filters_are_refused_with_a_message(admin: Person, query: str) -> None:
    for path in ("/admin/audit", "/admin/audit/rows", "/admin/audit.csv"):
        assert (await admin.open(f"{path}?{query}")).status_code == 400


async def test_settings_are_shown_and_secrets_are_masked(database: Database, clock: MovableClock) -> None:
    values = load_settings(
        environ={
            "HEADWATER_API_TOKEN": "a-secret-that-nobody-sees",
            "DATABASE_URL": "postgresql://headwater:hidden@db.example/news",
            "HEADWATER_PORT": "8123",
        }
    ).values
    app = create_app(database, clock, web=WebOptions(settings=setting_lines(values)))
    async with a_person(app) as admin:
        await admin.register()

        page = (await admin.open("/admin/settings")).text
        found = (await admin.open("/admin/settings?q=PORT")).text
        none = (await admin.open("/admin/settings?q=zzzz")).text

    assert all(f"HEADWATER_{name.upper()}" in page for name in Settings.model_fields)
    assert "a-secret-that-nobody-sees" not in page
    assert "hidden" not in page.partition("HEADWATER_DATABASE_URL")[2].partition("</tr>")[0]
    port = found.partition("<code>HEADWATER_PORT</code>")[2].partition("</tr>")[0]
    assert "8123" in port
    assert '<span class="origin">set</span>' in port
    assert '<span class="origin">default</span>' in page.partition("HEADWATER_HOST<")[2].partition("</tr>")[0]
    assert "No settings match." in none


async def test_a_page_without_settings_says_so(admin: Person) -> None:
    assert "headwater settings" in (await admin.open("/admin/settings")).text
