"""An operator before the health of sources and one source, in a real browser: by mouse and by keyboard."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from headwater.audit.types import COMMAND_LINE
from headwater.db import Database
from headwater.sources import follow, operate
from headwater.sources.health.counter import Counter
from headwater.sources.store import suggestions
from headwater.sources.types import Changes, Source, Suggestion
from headwater_lab.zoo import Zoo
from tests.flows.browser.person import CHROMIUM, Place, open_page, register
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.test_every_page import faults_of

pytestmark = [pytest.mark.database, pytest.mark.soak]


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture(scope="module")
def operator(browser: Browser, served: Served) -> Iterator[Page]:
    """Whoever registers first looks after the place."""
    with open_page(browser, Place(served.url, Zoo())) as page:
        register(page)
        yield page


def test_the_pages_have_no_fault_while_they_are_empty(operator: Page) -> None:
    for path, words in (("/admin", "No sources yet."), ("/admin/sources", "No sources yet.")):
        operator.goto(path, wait_until="networkidle")
        expect(operator.get_by_text(words)).to_be_visible()
        assert faults_of(operator) == []


@pytest.fixture(scope="module")
def filled(served: Served, operator: Page) -> str:
    """Sources in every state, polled for a month. Returns the path of one that fails."""
    return served.run(fill)


async def fill(database: Database) -> str:
    now = datetime.now(UTC)
    made: list[Source] = []
    async with database.as_system() as conn:
        for n in range(70):
            name, category = f"Gazette {n:02}", ("News", "Science and Health", None)[n % 3]
            wanted = Changes(name=name, feed_url=f"https://host{n % 30}.example/feed{n}.xml", category=category)
            source = await operate.create(conn, wanted=wanted, actor=COMMAND_LINE, now=now)
            made.append(source)
        for source, reason in ((made[5], "not_found"), (made[6], "They asked us to")):
            await follow.disable(conn, source, reason, now)
        sick = made[-1]
        await conn.execute(
            """
            UPDATE feed_state
            SET last_polled_at = %(now)s, last_succeeded_at = %(now)s,
                next_poll_at = %(now)s::timestamptz + interval '1 hour'
            WHERE disabled_at IS NULL AND mod(hashtext(feed_url), 9) <> 0
            """,
            {"now": now},
        )
        await conn.execute(
            """
            UPDATE feed_state
            SET last_error = 'The site''s server failed. (HTTP 503)', last_error_type = 'upstream_failure',
                consecutive_errors = 2, streak = 2, streak_class = 'upstream_failure',
                failing_since = %(now)s::timestamptz - interval '3 hours', last_polled_at = %(now)s
            WHERE source_id = %(id)s
            """,
            {"now": now, "id": sick.id},
        )
        await conn.execute(
            "UPDATE hosts SET paused_until = %s, failure_class = 'rate_limited' WHERE name = 'host3.example'",
            (now + timedelta(hours=2),),
        )
        await conn.execute(
            """
            INSERT INTO poll_events (source_id, at, outcome, status, bytes, took_ms, new_articles)
            SELECT id, %(now)s::timestamptz - n * interval '5 hours', CASE mod(n + hashtext(name), 13)
                    WHEN 0 THEN 'gone' WHEN 1 THEN 'network' WHEN 2 THEN 'upstream_failure' WHEN 3 THEN 'forbidden'
                    WHEN 4 THEN 'parse_error' WHEN 5 THEN 'not_modified' ELSE 'polled'
                END, 200, 9000, 20 + abs(mod(hashtext(name || n), 900)), abs(mod(n, 3))
            FROM sources, generate_series(0, 140) AS n
            """,
            {"now": now},
        )
        found = Suggestion(sick.id, "", "https://elsewhere.example/feed", "Elsewhere", 20)
        await suggestions.replace(conn, source_id=sick.id, suggestions=[found], found_at=now)
    counter = Counter(database, lambda: datetime.now(UTC))
    while due := await counter.claim(1):
        await counter.work(due[0])
    return f"/admin/sources/{sick.id}"


def test_the_pages_have_no_fault_when_they_are_full(operator: Page, filled: str) -> None:
    for path in ("/admin", "/admin?period=30d", "/admin/sources", "/admin/sources?status=auto_disabled", filled):
        operator.goto(path, wait_until="networkidle")
        for table in operator.get_by_text("Show as table").all():
            table.click()
        assert faults_of(operator) == []
    operator.goto("/admin/sources")
    operator.get_by_text("Add a source").click()
    assert faults_of(operator) == []


def test_a_number_leads_to_the_list_behind_it(operator: Page, filled: str) -> None:
    operator.goto("/admin")
    for state in ("failing", "auto_disabled", "disabled"):
        number = operator.locator(f"#state-{state}")
        shown = int(number.locator("b").inner_text())
        number.click()
        expect(operator.locator(".sources tbody tr")).to_have_count(shown)
        operator.go_back()


def test_the_period_is_switched_without_a_new_page_and_what_is_open_stays_open(operator: Page, filled: str) -> None:
    operator.goto("/admin")
    operator.get_by_text("Show as table").click()
    operator.evaluate("window.isTheSame = true")

    operator.get_by_role("link", name="30 days").click()

    expect(operator.get_by_role("heading", name="Last 30 days")).to_be_visible()
    expect(operator.locator("#past-table table")).to_be_visible()
    assert operator.url.endswith("/admin?period=30d")
    assert operator.evaluate("window.isTheSame")


def test_who_holds_the_focus_keeps_it_while_the_page_renews_itself(operator: Page, filled: str) -> None:
    operator.goto("/admin")
    operator.locator("#state-disabled").focus()
    before = operator.locator("#health-now").bounding_box()

    with operator.expect_response("**/admin/health/now"):
        operator.wait_for_timeout(0)
    expect(operator.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)

    expect(operator.locator("#state-disabled")).to_be_focused()
    assert operator.locator("#health-now").bounding_box() == before


def test_the_list_is_filtered_as_one_types(operator: Page, filled: str) -> None:
    operator.goto("/admin/sources")

    operator.keyboard.press("/")
    operator.keyboard.type("gazette 4")

    expect(operator.locator(".sources tbody tr")).to_have_count(10)
    expect(operator).to_have_url(re.compile(r"q=gazette(\+|%20)4"))
    operator.locator("#source-filters").get_by_label("Category").select_option("News")
    expect(operator.locator(".sources tbody tr")).to_have_count(3)


def test_a_source_is_worked_on_by_keyboard_alone(operator: Page, filled: str) -> None:
    operator.goto(filled)
    story, said = operator.locator("#source-now .story"), operator.locator("#said")
    expect(story).to_contain_text("Failed twice since ")

    operator.get_by_role("button", name="Reset errors").focus()
    operator.keyboard.press("Enter")
    expect(said).to_contain_text("Errors reset")
    expect(story).to_contain_text("Healthy.")

    operator.get_by_label("Reason for disabling").focus()
    operator.keyboard.press("Enter")
    expect(said).to_contain_text("Errors reset")  # the browser itself demands a reason
    operator.keyboard.type("They asked us to stop")
    operator.keyboard.press("Enter")
    expect(story).to_contain_text("Disabled by an operator today at ")

    operator.get_by_role("button", name="Enable").focus()
    operator.keyboard.press("Space")
    expect(story).to_contain_text("Not polled yet. Due now.")
    expect(operator.locator("#source-log")).to_contain_text("source disabled")


def test_settings_are_saved_or_refused_where_one_looks(operator: Page, filled: str) -> None:
    operator.goto(filled)
    form = operator.locator("#settings")

    form.get_by_label("Poll interval (minutes)").fill("7")
    form.get_by_role("button", name="Save").click()
    expect(form.locator(".problem")).to_contain_text("at least 15 minutes")
    form.get_by_label("Poll interval (minutes)").fill("30")
    form.get_by_role("button", name="Save").click()

    expect(form.locator(".notice")).to_have_text("Saved.")


def test_a_feed_is_adopted_and_a_source_deleted_only_after_a_question(operator: Page, filled: str) -> None:
    operator.goto(filled)
    asked: list[str] = []

    def refuse(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    def agree(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    operator.once("dialog", agree)
    operator.get_by_role("button", name="Use this feed").click()
    expect(operator.locator("#said")).to_contain_text("Feed URL changed")
    operator.once("dialog", refuse)
    operator.get_by_role("button", name="Delete source").click()
    operator.reload()
    expect(operator.get_by_role("heading", level=1)).to_have_text("Gazette 69")
    operator.once("dialog", agree)
    operator.get_by_role("button", name="Delete source").click()

    operator.wait_for_url("**/admin/sources")
    assert len(asked) == 3
    gone = operator.goto(filled)
    assert gone is not None
    assert gone.status == 404
