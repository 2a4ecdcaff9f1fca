"""/admin/api/ai-usage: what calls to language models cost, and the ceiling of a month."""

from datetime import UTC, datetime
from typing import Any

import pytest
from httpx import AsyncClient

from headwater.accounts.types import Role
from headwater.audit import store as audit
from headwater.audit.types import AuditAction
from headwater.db import Database
from tests.ai.spending import spend
from tests.api.test_bearers import People, with_token
from tests.clock import MovableClock

pytestmark = pytest.mark.database

USAGE = "/admin/api/ai-usage"


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(datetime(2026, 3, 11, 0, 0, tzinfo=UTC))  # ten of 31 days are over


async def found(api: AsyncClient, path: str = "", **params: int) -> dict[str, Any]:
    response = await api.get(f"{USAGE}{path}", params=params)
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_month_without_calls_is_empty(api: AsyncClient) -> None:
    assert await found(api) == {
        "month": "2026-03", "requests": 0, "failures": 0, "tokens_in": 0, "tokens_out": 0, "cost_micros": 0,
        "ceiling_micros": 500_000_000, "reserved_micros": 0, "percent": 0.0, "level": "normal", "by_model": [],
    }  # fmt: skip


async def test_the_usage_of_this_month_is_added_up_by_purpose_and_model(api: AsyncClient, database: Database) -> None:
    await spend(database, "2026-03-01", 100_000_000, purpose="tagging", model="small", requests=10, tokens=(50, 5))
    await spend(database, "2026-03-10", 300_000_000, purpose="tagging", model="small", requests=20, failures=2)
    await spend(database, "2026-03-10", 1, purpose="summary", model="large")
    await spend(database, "2026-02-28", 77_000_000)

    shown = await found(api)

    assert shown == await found(api, "/current-month")
    assert (shown["requests"], shown["failures"], shown["tokens_in"], shown["tokens_out"]) == (31, 2, 50, 5)
    assert (shown["cost_micros"], shown["percent"], shown["level"]) == (400_000_001, 80.0, "saving")
    assert [(one["purpose"], one["model"], one["requests"], one["cost_micros"]) for one in shown["by_model"]] == [
        ("tagging", "small", 30, 400_000_000),
        ("summary", "large", 1, 1),
    ]


async def test_the_cost_report_has_every_day_and_a_forecast(api: AsyncClient, database: Database) -> None:
    await spend(database, "2026-03-02", 200_000_000)

    report = await found(api, "/cost-report")

    assert [one["day"] for one in report["days"]] == [f"2026-03-{day:02}" for day in range(1, 12)]
    assert [one["cost_micros"] for one in report["days"][:3]] == [0, 200_000_000, 0]
    assert report["forecast_micros"] == 620_000_000  # $20 a day
    assert report["reached_on"] == "2026-03-26"
    assert report["by_model"][0]["purpose"] == "tagging"


async def test_the_history_has_months_and_days(api: AsyncClient, database: Database) -> None:
    await spend(database, "2026-01-31", 7)
    await spend(database, "2026-03-10", 5)
    await api.patch(f"{USAGE}/2026-03/budget", json={"ceiling_micros": 9})

    shown = await found(api, "/history", months=3, days=2)
    shorter = await found(api, "/history", months=2)

    assert [(one["month"], one["cost_micros"], one["ceiling_micros"]) for one in shown["months"]] == [
        ("2026-03", 5, 9),
        ("2026-01", 7, 500_000_000),
    ]
    assert [(one["day"], one["cost_micros"]) for one in shown["days"]] == [("2026-03-10", 5), ("2026-03-11", 0)]
    assert [one["month"] for one in shorter["months"]] == ["2026-03"]
    assert len(shorter["days"]) == 30


async def test_a_changed_ceiling_applies_at_once_and_is_in_the_audit_log(
    api: AsyncClient, database: Database, clock: MovableClock
) -> None:
    await spend(database, "2026-03-10", 90, reached=True)

    changed = await api.patch(f"{USAGE}/2026-03/budget", json={"ceiling_micros": 100})
    ahead = await api.patch(f"{USAGE}/2027-03/budget", json={"ceiling_micros": 0})
    back = await api.patch(f"{USAGE}/2026-03/budget", json={"ceiling_micros": None})

    assert (changed.status_code, changed.json()["ceiling_micros"], changed.json()["level"]) == (200, 100, "saving")
    assert (ahead.json()["month"], ahead.json()["level"]) == ("2027-03", "reached")
    assert back.json()["ceiling_micros"] == 500_000_000
    async with database.as_system() as conn:
        entries = (await audit.list_entries(conn, limit=9)).entries
    assert [(one.action, one.subject_name, one.detail) for one in reversed(entries)] == [
        (AuditAction.AI_BUDGET_CHANGED, "2026-03", {"from_micros": None, "to_micros": 100}),
        (AuditAction.AI_BUDGET_CHANGED, "2027-03", {"from_micros": None, "to_micros": 0}),
        (AuditAction.AI_BUDGET_CHANGED, "2026-03", {"from_micros": 100, "to_micros": None}),
    ]


@pytest.mark.parametrize(
    ("month", "body", "where"),
    [
        ("2026-02", {"ceiling_micros": 1}, "path.month"),
        ("2027-04", {"ceiling_micros": 1}, "path.month"),
        ("2026-13", {"ceiling_micros": 1}, "path.month"),
        ("march", {"ceiling_micros": 1}, "path.month"),
        ("2026-03", {"ceiling_micros": -1}, "body.ceiling_micros"),
        ("2026-03", {"ceiling_micros": 1.5}, "body.ceiling_micros"),
        ("2026-03", {"ceiling_micros": "1"}, "body.ceiling_micros"),
        ("2026-03", {"ceiling_micros": 10**13}, "body.ceiling_micros"),
        ("2026-03", {}, "body.ceiling_micros"),
        ("2026-03", {"ceiling_micros": 1, "more": 1}, "body.more"),
    ],
)
async def test_a_month_that_is_over_and_an_amount_that_cannot_be_are_refused(
    api: AsyncClient, month: str, body: dict[str, Any], where: str
) -> None:
    response = await api.patch(f"{USAGE}/{month}/budget", json=body)

    assert response.status_code == 422
    assert [fault["where"].removesuffix(".int") for fault in response.json()["errors"]] == [where]
    assert (await found(api))["ceiling_micros"] == 500_000_000


@pytest.mark.parametrize("path", ["", "/current-month", "/history", "/cost-report"])
async def test_only_super_admins_see_the_usage(
    api: AsyncClient, database: Database, clock: MovableClock, path: str
) -> None:
    people = People(database, clock)
    statuses: dict[Role, int] = {}
    for role in Role:
        token = await people.token(await people.person(role), ("admin",) if role is not Role.READER else ("read",))
        statuses[role] = (await api.get(f"{USAGE}{path}", headers=with_token(token))).status_code

    assert statuses == {Role.READER: 403, Role.MODERATOR: 403, Role.SUPER_ADMIN: 200}
    assert (await api.get(f"{USAGE}{path}", headers={"Authorization": ""})).status_code == 401


async def test_only_super_admins_change_a_ceiling(api: AsyncClient, database: Database, clock: MovableClock) -> None:
    people = People(database, clock)
    moderator = with_token(await people.token(await people.person(Role.MODERATOR), ("admin",)))
    administrator = await people.person(Role.SUPER_ADMIN)
    reading = with_token(await people.token(administrator, ("read",)))

    for headers in (moderator, reading):
        refused = await api.patch(f"{USAGE}/2026-03/budget", json={"ceiling_micros": 0}, headers=headers)
        assert refused.status_code == 403
    assert (await found(api))["ceiling_micros"] == 500_000_000
