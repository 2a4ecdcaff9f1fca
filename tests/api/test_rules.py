"""/api/v1/rules: the rules of the token's user, and of nobody else."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from httpx import AsyncClient

from headwater.accounts.bearers import make_token
from headwater.accounts.store import users
from headwater.db import Database
from headwater.library.rules.types import RuleActions
from headwater.types import UserId
from tests.app import create_app
from tests.browser import visit
from tests.clock import MovableClock
from tests.library.rules.reader import RuleReader, a_rule_reader

pytestmark = pytest.mark.database
RULES = "/api/v1/rules"


async def bearer(database: Database, clock: MovableClock, user_id: UserId, *scopes: str) -> dict[str, str]:
    async with database.as_system() as conn:
        found = await users.find_credentials_by_id(conn, user_id=user_id)
        assert found is not None
        token = await make_token(conn, user=found.user, name="-".join(scopes), scopes=scopes, now=clock())
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
async def ada(database: Database, clock: MovableClock) -> RuleReader:
    return await a_rule_reader(database, clock)


@pytest.fixture
async def api(database: Database, clock: MovableClock, ada: RuleReader) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(database, clock)) as client:
        client.headers.update(await bearer(database, clock, ada.user_id, "read", "write"))
        yield client


async def test_a_rule_is_previewed_created_changed_logged_and_deleted(api: AsyncClient, ada: RuleReader) -> None:
    await ada.arrive("An otter")
    previewed = (await api.post(f"{RULES}/preview", json={"query": "otter"})).json()
    assert (previewed["matched"], previewed["examined"]) == (1, 1)
    assert [one["title"] for one in previewed["articles"]] == ["An otter"]

    made = await api.post(RULES, json={"query": "otter", "star": True, "tags": ["Rivers"], "notify": ["email"]})
    assert made.status_code == 201
    rule = made.json()
    assert (rule["name"], rule["star"], rule["tags"], rule["notify"]) == ("otter", True, ["rivers"], ["email"])
    await ada.apply()
    (line,) = (await api.get(f"{RULES}/{rule['id']}/log")).json()["log"]
    assert (line["title"], line["actions"]) == ("An otter", ["star", "tag:rivers", "notify:email"])

    changed = (await api.patch(f"{RULES}/{rule['id']}", json={"enabled": False, "name": "Otters"})).json()
    assert changed | {"updated_at": ""} == rule | {
        "enabled": False, "name": "Otters", "matched": 1, "matched_at": changed["matched_at"], "updated_at": "",
    }  # fmt: skip
    assert (await api.get(RULES)).json() == {"rules": [changed]}
    assert (await api.get(f"{RULES}/{rule['id']}")).json() == changed

    assert (await api.delete(f"{RULES}/{rule['id']}")).status_code == 204
    assert (await api.get(RULES)).json() == {"rules": []}
    assert (await api.get(f"{RULES}/{rule['id']}")).status_code == 404


async def test_problems_name_their_fields(api: AsyncClient) -> None:
    for path in (RULES, f"{RULES}/preview"):
        refused = await api.post(path, json={"query": "topik:sport"} | ({"star": True} if path == RULES else {}))
        assert refused.status_code == 422
        (fault,) = refused.json()["errors"]
        assert fault["where"] == "body.query"
        assert "did you mean `topic:`?" in fault["problem"]

    refused = await api.post(RULES, json={"query": "otter", "tags": ["#"]})
    assert [one["where"] for one in refused.json()["errors"]] == ["body.tags"]
    assert (await api.post(RULES, json={"query": "otter"})).status_code == 422
    assert (await api.post(RULES, json={"query": "otter", "star": True, "more": 1})).status_code == 422


async def test_another_user_reaches_none_of_it(
    api: AsyncClient, ada: RuleReader, database: Database, clock: MovableClock
) -> None:
    rule = (await api.post(RULES, json={"query": "otter", "star": True})).json()["id"]
    bob = await a_rule_reader(database, clock, "bob@example.com", ada)
    theirs = await bearer(database, clock, bob.user_id, "read", "write")

    assert (await api.get(RULES, headers=theirs)).json() == {"rules": []}
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/log")):
        body = {"enabled": False} if method == "PATCH" else None
        answer = await api.request(method, f"{RULES}/{rule}{path}", headers=theirs, json=body)
        assert answer.status_code == 404
    assert (await api.get(f"{RULES}/{UUID(int=7)}")).status_code == 404
    assert (await api.get(f"{RULES}/{rule}")).json()["enabled"]


async def test_a_token_that_only_reads_changes_nothing(
    api: AsyncClient, ada: RuleReader, database: Database, clock: MovableClock
) -> None:
    reading = await bearer(database, clock, ada.user_id, "read")

    assert (await api.post(RULES, json={"query": "otter", "star": True}, headers=reading)).status_code == 403
    assert (await api.get(RULES, headers=reading)).json() == {"rules": []}


async def test_two_changes_at_the_same_time_are_both_kept(api: AsyncClient, ada: RuleReader) -> None:
    rule = await ada.save("otter", RuleActions(stars=True))
    async with ada.database.as_user(ada.user_id) as conn:
        await conn.execute("UPDATE rules SET name = 'Otters' WHERE id = %(id)s", {"id": rule})
        changing = asyncio.create_task(api.patch(f"{RULES}/{rule}", json={"enabled": False}))
        await asyncio.wait([changing], timeout=0.3)

    changed = (await changing).json()
    assert (changed["name"], changed["enabled"]) == ("Otters", False)
