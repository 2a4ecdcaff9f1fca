"""The page of classification rules: create, change, test, enable, delete."""

import re
from collections.abc import AsyncIterator

import pytest
from httpx import Response
from litestar import Litestar

from headwater.accounts.types import Role
from headwater.db import Database
from headwater.types import SourceId
from headwater.understanding.rulebook import store
from headwater.understanding.rulebook.types import RuleDetails
from tests.app import create_app
from tests.builders import a_source
from tests.clock import MovableClock
from tests.labels.given import an_article_of
from tests.web.test_labels import actions
from tests.web.test_moderation import set_role
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database
SPORT = {"name": "Sport & play", "gives": "topic:sport", "keywords": "match\nleague table", "patterns": "*/sport/*"}
NOBODYS = "/admin/rules/00000000-0000-0000-0000-000000000007"


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def mo(app: Litestar, database: Database) -> AsyncIterator[Person]:
    """A moderator; the first account is an administrator's."""
    async with a_person(app) as first, a_person(app) as person:
        await first.register("first@example.com")
        await person.register("mo@example.com")
        await set_role(database, "mo@example.com", Role.MODERATOR)
        await person.open("/admin/rules")
        yield person


@pytest.fixture
async def source_id(database: Database) -> SourceId:
    async with database.transaction() as conn:
        source = await a_source(conn, url="https://public.example/feed", name="The <i>Diary</i>")
        await a_source(conn, url="https://private.example/feed", name="My diary")
        await conn.execute("UPDATE sources SET is_system = false WHERE name = 'My diary'")
    return source.id


async def create(mo: Person, **more: str) -> str:
    """The path of the new rule."""
    made = await mo.send("POST", "/admin/rules", **(SPORT | more))
    assert made.status_code == 204, made.text
    return made.headers["hx-redirect"]


async def only_rule(database: Database) -> RuleDetails:
    async with database.transaction() as conn:
        [rule] = await store.list_details(conn)
    return rule


def refusal(answer: Response) -> tuple[int, str]:
    return answer.status_code, " ".join(re.sub(r"<[^>]+>", "", answer.text).split())


async def test_without_rules_the_page_says_so(mo: Person) -> None:
    assert "No rules yet." in (await mo.open("/admin/rules")).text


async def test_readers_may_not_see_rules(app: Litestar, mo: Person) -> None:
    async with a_person(app) as ada:
        await ada.register("ada@example.com")

        assert (await ada.open("/admin/rules")).status_code == 403
        assert (await ada.send("POST", "/admin/rules", **SPORT)).status_code == 403


async def test_a_rule_is_created_disabled_and_listed(mo: Person, database: Database, source_id: SourceId) -> None:
    path = await create(mo, source_ids=str(source_id), min_score="0.75")

    rule = await only_rule(database)
    assert (rule.name, rule.label, rule.is_enabled, rule.min_score) == ("Sport & play", "sport", False, 0.75)
    assert (list(rule.keywords), list(rule.source_ids)) == (["match", "league table"], [source_id])
    page = (await mo.open("/admin/rules")).text
    assert "Sport &amp; play" in page
    assert "2 keywords, 1 pattern, 1 source" in page
    own = (await mo.open(path)).text
    assert '<option value="topic:sport" selected>' in own
    assert "match\nleague table</textarea>" in own
    assert "The &lt;i&gt;Diary&lt;/i&gt;" in own
    assert await actions(database) == [("rule.created", "mo@example.com")]


async def test_a_rule_gives_a_label_of_any_text(mo: Person, database: Database) -> None:
    path = await create(mo, gives="keyword:", text="local team")

    assert (await only_rule(database)).label == "local team"
    assert 'name="text" value="local team"' in (await mo.open(path)).text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"name": ""}, "A name has 1 to 100 characters."),
        ({"gives": ""}, "Choose the label that the rule gives."),
        ({"gives": "quality:quality"}, "Choose the label that the rule gives."),
        ({"gives": "language:", "text": "English"}, "is not a language code"),
        ({"keywords": "", "patterns": ""}, "This rule matches nothing."),
        ({"patterns": "*"}, "matches everything"),
        ({"min_score": "much"}, "The minimum score is a number from 0 to 1."),
        ({"min_score": "nan"}, "The minimum score is a number from 0 to 1."),
        ({"source_ids": "00000000-0000-0000-0000-000000000007"}, "There is no public source"),
    ],
)
async def test_an_invalid_rule_is_refused_in_place(mo: Person, more: dict[str, str], message: str) -> None:
    refused = await mo.send("POST", "/admin/rules", **(SPORT | more))

    assert refusal(refused)[0] == 400
    assert message in refusal(refused)[1]
    assert refused.headers["hx-retarget"] == "#rule-said"
    assert (await mo.send("POST", "/admin/rules/test", **(SPORT | more))).headers["hx-retarget"] == "#rule-trial"
    assert "No rules yet." in (await mo.open("/admin/rules")).text


async def test_two_rules_of_one_name_are_refused(mo: Person) -> None:
    await create(mo)

    assert refusal(await mo.send("POST", "/admin/rules", **SPORT))[0] == 409


async def test_a_test_shows_matches_before_the_rule_is_saved(mo: Person, database: Database) -> None:
    async with database.transaction() as conn:
        await an_article_of(conn, "<b>A match</b>", url="https://example.com/sport/1")
        await an_article_of(conn, "The weather", url="https://example.com/2")

    said = (await mo.send("POST", "/admin/rules/test", **SPORT)).text

    assert "Matches 1 of 2 articles, 50.0 %." in said
    assert "Tested all articles of the last 7 days." in said
    assert "Nothing was saved." in said
    assert "&lt;b&gt;A match&lt;/b&gt;" in said
    assert 'href="https://example.com/sport/1"' in said
    assert "keyword match" in said
    assert "pattern */sport/*" in said
    assert "No rules yet." in (await mo.open("/admin/rules")).text


async def test_a_test_says_when_nothing_matches_or_nothing_is_there(mo: Person, database: Database) -> None:
    assert "There are no articles to test it on." in (await mo.send("POST", "/admin/rules/test", **SPORT)).text
    async with database.transaction() as conn:
        await an_article_of(conn, "The weather")

    assert "No article matches." in (await mo.send("POST", "/admin/rules/test", **SPORT)).text


async def test_a_test_of_the_saved_rule_is_remembered(mo: Person, database: Database) -> None:
    path = await create(mo)
    rule_id = path.rpartition("/")[2]

    await mo.send("POST", "/admin/rules/test", **SPORT, rule_id=rule_id, min_score="0.9")
    assert not (await only_rule(database)).is_tested
    await mo.send("POST", "/admin/rules/test", **SPORT, rule_id=rule_id)
    assert (await only_rule(database)).is_tested
    assert "Tested." in (await mo.open(path)).text


async def test_enabling_a_rule_that_was_never_tested_warns_first(mo: Person, database: Database) -> None:
    path = await create(mo)
    async with database.transaction() as conn:
        await an_article_of(conn)

    warned = await mo.send("POST", f"{path}/enable")
    assert "never been tested" in warned.text
    assert not (await only_rule(database)).is_enabled

    enabled = await mo.send("POST", f"{path}/enable", confirmed="yes")
    assert "Enabled. 1 article of the last 7 days will be classified again." in enabled.text
    assert enabled.headers["hx-trigger"] == "ruleChanged"
    assert (await only_rule(database)).is_enabled
    assert "Disabled. 1 article" in (await mo.send("POST", f"{path}/disable")).text
    assert not (await only_rule(database)).is_enabled


async def test_a_tested_rule_is_enabled_at_once(mo: Person, database: Database) -> None:
    path = await create(mo)
    await mo.send("POST", "/admin/rules/test", **SPORT, rule_id=path.rpartition("/")[2])

    assert "Enabled." in (await mo.send("POST", f"{path}/enable")).text
    assert (await only_rule(database)).is_enabled


async def test_a_changed_rule_is_saved_with_a_new_version(mo: Person, database: Database) -> None:
    path = await create(mo)

    said = await mo.send("PATCH", path, **(SPORT | {"keywords": "goal"}))

    assert "Saved. This version has not been tested." in said.text
    assert list((await only_rule(database)).keywords) == ["goal"]
    assert (await only_rule(database)).version == 2
    assert refusal(await mo.send("PATCH", path, **(SPORT | {"patterns": "**"})))[0] == 400


async def test_a_rule_is_deleted(mo: Person, database: Database) -> None:
    path = await create(mo)

    gone = await mo.send("DELETE", path)

    assert (gone.status_code, gone.headers["hx-redirect"]) == (204, "/admin/rules")
    assert (await mo.open(path)).status_code == 404
    assert [action for action, _ in await actions(database)] == ["rule.deleted", "rule.created"]


async def test_an_unknown_rule_is_not_found(mo: Person) -> None:
    assert (await mo.open(NOBODYS)).status_code == 404
    assert (await mo.send("PATCH", NOBODYS, **SPORT)).status_code == 404
    assert (await mo.send("DELETE", NOBODYS)).status_code == 404
    for action in ("enable", "disable"):
        assert (await mo.send("POST", f"{NOBODYS}/{action}")).status_code == 404


async def test_sources_are_found_by_name_and_chosen_ones_stay(mo: Person, source_id: SourceId) -> None:
    found = (await mo.part("/admin/rules/sources", params={"find": "diary"})).text
    assert "The &lt;i&gt;Diary&lt;/i&gt;" in found
    assert "My diary" not in found
    assert "checked" not in found

    kept = (await mo.part("/admin/rules/sources", params={"find": "zzz", "source_ids": str(source_id)})).text
    assert f'value="{source_id}" checked' in kept
    assert "No other public source has “zzz” in its name." in kept
    assert (await mo.part("/admin/rules/sources", params={"find": "x" * 300})).status_code == 400
