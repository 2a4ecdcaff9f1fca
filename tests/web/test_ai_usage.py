"""/admin/ai-usage: what calls to language models cost, and the form for the ceiling."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from html import unescape

import pytest
from httpx import Response
from litestar import Litestar

from headwater.ai.types import AiOptions
from headwater.audit import store as audit
from headwater.db import Database
from headwater.library.summaries.types import SummaryOptions
from headwater.web import WebOptions
from tests.ai.spending import spend
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

PAGE = "/admin/ai-usage"
CEILING = "/admin/ai-usage/ceiling"


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(datetime(2026, 3, 11, 0, 0, tzinfo=UTC))  # ten of 31 days are over


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    options = SummaryOptions(AiOptions(api_key="sk-very-secret"))
    return create_app(database, clock, web=WebOptions(summaries=options))


@pytest.fixture
async def operator(app: Litestar) -> AsyncIterator[Person]:
    """The first user, who is super_admin."""
    async with a_person(app) as person:
        await person.register("operator@example.com")
        yield person


def words(html: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))).strip()


async def shown(operator: Person) -> str:
    page = await operator.open(PAGE)
    assert page.status_code == 200
    assert "sk-very-secret" not in page.text
    return page.text


async def test_a_month_without_calls_is_shown_as_such(operator: Person) -> None:
    page = words(await shown(operator))

    assert "March 2026" in page
    assert "Spent $0.00" in page
    assert "No calls this month." in page
    assert "No cost this month." in page
    assert "No API key" not in page


async def test_without_a_key_the_page_says_what_one_adds_and_how_to_set_it(
    database: Database, clock: MovableClock
) -> None:
    async with a_person(create_app(database, clock)) as operator:
        await operator.register("operator@example.com")
        page = words((await operator.open(PAGE)).text)

    assert "No API key" in page
    assert "tagged by a model, and summaries are written by a model" in page
    assert "Set HEADWATER_OPENROUTER_API_KEY" in page


async def test_cost_is_shown_by_day_purpose_and_model_with_a_forecast(operator: Person, database: Database) -> None:
    await spend(database, "2026-03-01", 150_000_000, model="small", requests=1200, failures=3, tokens=(99_000, 800))
    await spend(database, "2026-03-10", 50_000_000, purpose="summary", model="<b>large")

    page = await shown(operator)

    assert page.count('<rect class="cost"') == 2
    assert page.count('<rect class="target"') == 11
    assert "<title>Sun 01 Mar: $150.00, 1,200 requests</title>" in page
    assert "<b>large" not in page
    text = words(page)
    assert "Tagging small 1,200 3 99,000 800 $150.00" in text
    assert "Summary <b>large 1 0 0 0 $50.00" in text
    assert re.search(r"<dt>Forecast</dt><dd>\$620.00</dd>", page)
    assert "At this rate, the ceiling is reached on 26 March." in text
    assert "Normal 40.0 % of the ceiling" in text


async def test_the_state_of_the_budget_is_named(operator: Person, database: Database) -> None:
    await spend(database, "2026-03-01", 375_000_000)
    saving = words(await shown(operator))
    await spend(database, "2026-03-02", 125_000_000)
    reached = words(await shown(operator))

    assert "Saving: from 75 % on, only articles of sources with many readers are tagged" in saving
    assert "Reached: calls are refused 100.0 % of the ceiling" in reached


async def change(operator: Person, dollars: str, month: str = "2026-03") -> Response:
    return await operator.send("POST", CEILING, month=month, dollars=dollars)


async def test_the_ceiling_is_changed_and_changed_back(operator: Person, database: Database) -> None:
    await operator.open(PAGE)

    first = await change(operator, "12.50")
    second = await change(operator, "")

    assert "The ceiling of March 2026 is $12.50 now. It was $500.00." in words(first.text)
    assert "The ceiling of March 2026 is $500.00 now. It was $12.50." in words(second.text)
    async with database.as_system() as conn:
        entries = (await audit.list_entries(conn, limit=9)).entries
    assert [(str(one.action), one.actor_name, one.subject_name, one.detail) for one in reversed(entries)] == [
        ("ai_budget.changed", "operator@example.com", "2026-03", {"from_micros": None, "to_micros": 12_500_000}),
        ("ai_budget.changed", "operator@example.com", "2026-03", {"from_micros": 12_500_000, "to_micros": None}),
    ]


async def test_a_ceiling_of_zero_allows_no_calls(operator: Person) -> None:
    await operator.open(PAGE)
    await change(operator, "0")

    page = await shown(operator)

    assert "No calls are allowed" in words(page)
    assert 'name="dollars" inputmode="decimal" maxlength="20" value="0"' in page


@pytest.mark.parametrize(
    ("dollars", "month"),
    [
        ("-1", "2026-03"), ("1e3", "2026-03"), ("NaN", "2026-03"), ("1000001", "2026-03"), ("1.0000001", "2026-03"),
        ("٣", "2026-03"), ("1" * 20, "2026-03"), ("<b>", "2026-03"), ("1", "2026-02"), ("1", ""), ("1", "x" * 999),
    ],
)  # fmt: skip
async def test_an_invalid_amount_or_month_is_refused_with_the_reason(
    operator: Person, database: Database, dollars: str, month: str
) -> None:
    await operator.open(PAGE)

    refused = await change(operator, dollars, month)

    assert refused.status_code == 400
    assert refused.headers["hx-retarget"] == "#ceiling-errors"
    assert "<b>" not in refused.text
    async with database.transaction() as conn:
        cur = await conn.execute("SELECT count(*) FROM ai_budget WHERE ceiling_micros IS NOT NULL")
        assert await cur.fetchone() == (0,)


async def test_a_form_without_a_csrf_token_changes_nothing(operator: Person) -> None:
    await operator.open(PAGE)
    operator.token = ""

    assert (await change(operator, "1")).status_code == 403


async def test_only_super_admins_may_see_or_change_it(app: Litestar, operator: Person) -> None:
    async with a_person(app) as reader:
        await reader.register("reader@example.com")

        assert (await reader.open(PAGE)).status_code == 403
        assert (await reader.part("/admin/ai-usage/numbers")).status_code == 403
        assert (await change(reader, "0")).status_code == 403
    assert "Ceiling of March 2026" in words(await shown(operator))
