"""Rules of operators: which are valid, what happens when one changes, and what a test of one finds."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from headwater.audit.types import Actor
from headwater.db import Connection, Database, fetch_value
from headwater.errors import Invalid, RuleExists, RuleNotFound, TooManyRules
from headwater.ids import new_id
from headwater.labels.types import Scheme
from headwater.sandbox import Sandbox
from headwater.types import ArticleId, SourceId
from headwater.understanding.rulebook import decide, operate, store
from headwater.understanding.rulebook.decide import check_rule
from headwater.understanding.rulebook.trial import EXAMPLES_MOST, RuleTester
from headwater.understanding.rulebook.types import RuleFields, RuleTrial, as_rule
from tests.builders import a_source
from tests.clock import START, MovableClock
from tests.labels.given import an_article_of

MO = Actor(None, "mo@example.com")
SPORT = RuleFields("Sport", Scheme.TOPIC, "sport", ["league table"], ["https://*/sport/*"])


async def create(conn: Connection, fields: RuleFields = SPORT) -> UUID:
    return (await operate.create(conn, fields=fields, actor=MO, now=START)).id


async def waiting(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM article_state WHERE classify_at < %(at)s", {"at": SOON})


SOON = START + timedelta(minutes=5)


# Which rules are valid


def test_a_rule_is_stored_with_clean_values_and_without_duplicates() -> None:
    given = RuleFields(" A\tname ", Scheme.LANGUAGE, "EN", [" One ", "", "one", "two  words"], ["*/A/*", "*/a/*"])

    assert check_rule(given) == RuleFields("A name", Scheme.LANGUAGE, "en", ("one", "two words"), ("*/a/*",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": " "}, "A name has 1 to 100 characters"),
        ({"name": "x" * 101}, "A name has 1 to 100 characters"),
        ({"label": "football"}, "is not a label of topic"),
        ({"scheme": Scheme.QUALITY, "label": "quality"}, "computed"),
        ({"keywords": [], "patterns": [" "]}, "matches nothing"),
        ({"keywords": ["…"]}, "has no word"),
        ({"patterns": ["*"]}, "matches everything"),
        ({"patterns": ["*://*/*"]}, "matches everything"),
        ({"keywords": ["x" * 101]}, "at most 100 characters"),
        ({"keywords": [f"word{n}" for n in range(101)]}, "at most 100 keywords"),
        ({"patterns": ["x" * 201]}, "at most 200 characters"),
        ({"patterns": [f"*{n}" for n in range(51)]}, "at most 50 patterns"),
        ({"source_ids": [SourceId(UUID(int=n)) for n in range(101)]}, "at most 100 sources"),
        ({"min_score": 1.1}, "from 0 to 1"),
        ({"min_score": -0.1}, "from 0 to 1"),
        ({"min_score": float("nan")}, "from 0 to 1"),
    ],
)
def test_an_invalid_rule_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        check_rule(replace(SPORT, **change))  # pyright: ignore[reportArgumentType]


# Changing rules


@pytest.mark.database
async def test_a_new_rule_is_disabled_and_untested(conn: Connection) -> None:
    rule = await store.find(conn, rule_id=await create(conn))

    assert (rule.is_enabled, rule.is_tested, rule.version) == (False, False, 1)
    assert rule.fields == check_rule(SPORT)
    assert await fetch_value(conn, "SELECT count(*) FROM article_state") == 0


@pytest.mark.database
async def test_enabling_and_disabling_classifies_recent_articles_again(conn: Connection) -> None:
    rule_id = await create(conn)
    await an_article_of(conn)
    await an_article_of(conn, url="https://example.com/old", at=START - timedelta(days=8))
    await conn.execute("UPDATE article_state SET classify_at = NULL")

    _, queued = await operate.set_enabled(conn, rule_id, is_enabled=True, actor=MO, now=START)
    assert (queued, await waiting(conn)) == (1, 1)
    assert await operate.set_enabled(conn, rule_id, is_enabled=True, actor=MO, now=START) == (
        await store.find(conn, rule_id=rule_id), 0,
    )  # fmt: skip

    await conn.execute("UPDATE article_state SET classify_at = NULL")
    assert (await operate.set_enabled(conn, rule_id, is_enabled=False, actor=MO, now=START))[1] == 1
    assert await waiting(conn) == 1


@pytest.mark.database
async def test_an_article_that_is_being_classified_is_classified_again_by_the_new_rules(conn: Connection) -> None:
    rule_id = await create(conn)
    await an_article_of(conn)
    lease = {"at": START + timedelta(minutes=1), "lease": new_id()}
    await conn.execute("UPDATE article_state SET classify_at = %(at)s, classify_lease = %(lease)s", lease)

    await operate.set_enabled(conn, rule_id, is_enabled=True, actor=MO, now=START)

    assert await fetch_value(conn, "SELECT classify_lease FROM article_state") is None
    assert await fetch_value(conn, "SELECT classify_at FROM article_state") == START + timedelta(milliseconds=10)


@pytest.mark.database
async def test_a_change_makes_a_new_version_that_is_not_tested(conn: Connection) -> None:
    rule_id = await create(conn)
    await store.set_tested(conn, rule_id=rule_id, version=1)
    await an_article_of(conn)

    renamed, none = await operate.change(conn, rule_id, fields=replace(SPORT, name="Sports"), actor=MO, now=START)
    assert (renamed.version, renamed.is_tested, none) == (1, True, 0)

    await operate.set_enabled(conn, rule_id, is_enabled=True, actor=MO, now=START)
    changed, queued = await operate.change(
        conn, rule_id, fields=replace(SPORT, name="Sports", keywords=["goal"]), actor=MO, now=START
    )
    assert (changed.version, changed.is_tested, changed.is_enabled, queued) == (2, False, True, 1)
    same = await operate.change(conn, rule_id, fields=changed.fields, actor=MO, now=START)
    assert same == (changed, 0)


@pytest.mark.database
async def test_changes_of_rules_are_in_the_audit_log(conn: Connection) -> None:
    rule_id = await create(conn)
    await operate.change(conn, rule_id, fields=replace(SPORT, min_score=0.75), actor=MO, now=START)
    await operate.set_enabled(conn, rule_id, is_enabled=True, actor=MO, now=START)
    await operate.set_enabled(conn, rule_id, is_enabled=False, actor=MO, now=START)
    await operate.delete(conn, rule_id, actor=MO, now=START)

    await conn.execute("SET LOCAL ROLE headwater_system")
    cur = await conn.execute("SELECT action, detail FROM audit_log ORDER BY id")
    logged = dict(await cur.fetchall())
    assert list(logged) == ["rule.created", "rule.changed", "rule.enabled", "rule.disabled", "rule.deleted"]
    assert logged["rule.changed"] == {"min_score": 0.75}
    assert logged["rule.enabled"] == {"version": 2, "is_tested": False}
    assert logged["rule.deleted"]["keywords"] == ["league table"]


@pytest.mark.database
async def test_names_are_unique_whatever_their_case(conn: Connection) -> None:
    await create(conn)
    other = await create(conn, replace(SPORT, name="Other"))

    with pytest.raises(RuleExists, match="already a rule named 'SPORT'"):
        async with conn.transaction():
            await create(conn, replace(SPORT, name="SPORT"))
    with pytest.raises(RuleExists):
        async with conn.transaction():
            await operate.change(conn, other, fields=SPORT, actor=MO, now=START)


@pytest.mark.database
async def test_there_are_not_too_many_rules(conn: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operate, "RULES_MOST", 1)
    await create(conn)

    with pytest.raises(TooManyRules):
        await create(conn, replace(SPORT, name="Other"))


@pytest.mark.database
async def test_a_deleted_rule_is_gone_and_recent_articles_are_classified_again(conn: Connection) -> None:
    rule_id = await create(conn)
    await an_article_of(conn)
    await operate.set_enabled(conn, rule_id, is_enabled=True, actor=MO, now=START)

    assert await operate.delete(conn, rule_id, actor=MO, now=START) == 1

    for find in (store.find, store.lock):
        with pytest.raises(RuleNotFound):
            await find(conn, rule_id=rule_id)


@pytest.mark.database
async def test_only_public_sources_can_be_chosen(conn: Connection) -> None:
    private = await a_source(conn, url="https://private.example/feed", name="My diary")
    public = await a_source(conn, url="https://public.example/feed", name="The Diary")
    await conn.execute("UPDATE sources SET is_system = false WHERE id = %(id)s", {"id": private.id})

    assert [one.name for one in await store.search_sources(conn, text="DIARY", limit=5)] == ["The Diary"]
    with pytest.raises(Invalid, match="There is no public source"):
        await create(conn, replace(SPORT, source_ids=[private.id]))
    rule_id = await create(conn, replace(SPORT, source_ids=[public.id]))
    # A source that is no longer public stays until it is removed from the rule.
    await conn.execute("UPDATE sources SET is_system = false")
    fields = replace(SPORT, source_ids=[public.id], min_score=0.6)
    assert (await operate.change(conn, rule_id, fields=fields, actor=MO, now=START))[0].source_ids == [public.id]


# Testing rules

ARTICLES = {
    "https://example.com/sport/1": ("The match", "<p>It ended in a draw.</p>"),
    "https://example.com/2": ("The league table", "<p>All results.</p>"),
    "https://example.com/3": ("The weather", "<p>League, then table.</p>"),
}


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(processes=1, time_limit=timedelta(seconds=20), memory_limit=512_000_000) as sandbox:
        yield sandbox


async def fill(database: Database) -> list[ArticleId]:
    async with database.transaction() as conn:
        return [
            await an_article_of(conn, title, url=url, content=content) for url, (title, content) in ARTICLES.items()
        ]


async def attempt(tester: RuleTester, fields: RuleFields = SPORT, days: int = 7) -> RuleTrial:
    return await tester.test(as_rule(check_rule(fields), new_id()), days=days)


def found(trial: RuleTrial) -> dict[str, tuple[float, Sequence[str], Sequence[str]]]:
    return {one.url: (round(one.score, 2), one.keywords, one.patterns) for one in trial.examples}


@pytest.mark.database
@pytest.mark.parametrize("is_sandboxed", [True, False])
async def test_a_test_shows_what_matched_and_why(
    is_sandboxed: bool, database: Database, clock: MovableClock, sandbox: Sandbox
) -> None:
    await fill(database)

    trial = await attempt(RuleTester(database, clock, sandbox if is_sandboxed else None))

    assert (trial.tested, trial.matched, trial.is_whole, trial.is_out_of_time, trial.unreadable) == (
        3, 2, True, False, 0,
    )  # fmt: skip
    assert found(trial) == {
        "https://example.com/sport/1": (1.0, [], ["https://*/sport/*"]),
        "https://example.com/2": (0.75, ["league table"], []),
    }


@pytest.mark.database
async def test_a_test_finds_sources_and_respects_the_minimum(database: Database, clock: MovableClock) -> None:
    ids = await fill(database)
    async with database.transaction() as conn:
        source_id = await fetch_value(
            conn, "SELECT source_id FROM article_sources WHERE article_id = %(id)s", {"id": ids[2]}
        )
    tester = RuleTester(database, clock)

    by_source = await attempt(tester, replace(SPORT, keywords=[], patterns=[], source_ids=[source_id]))
    by_score = await attempt(tester, replace(SPORT, min_score=0.8))

    assert [(one.title, one.source_ids) for one in by_source.examples] == [("The weather", [source_id])]
    assert list(found(by_score)) == ["https://example.com/sport/1"]


@pytest.mark.database
async def test_a_test_is_limited_in_days_articles_time_and_examples(database: Database, clock: MovableClock) -> None:
    await fill(database)
    clock.move(days=2)

    assert (await attempt(RuleTester(database, clock), days=1)).tested == 0
    few = await attempt(RuleTester(database, clock, most=2))
    assert (few.tested, few.is_whole, few.is_out_of_time) == (2, False, False)

    late = await attempt(RuleTester(database, clock, time_limit=timedelta(0)))
    assert (late.tested, late.is_whole, late.is_out_of_time) == (0, False, True)
    async with database.transaction() as conn:
        for n in range(EXAMPLES_MOST):
            await an_article_of(conn, url=f"https://example.com/sport/more/{n}", at=clock())
    many = await attempt(RuleTester(database, clock))
    assert (many.matched, len(many.examples)) == (EXAMPLES_MOST + 2, EXAMPLES_MOST)


@pytest.mark.database
async def test_a_test_neither_reads_nor_shows_what_only_private_feeds_list(
    database: Database, clock: MovableClock
) -> None:
    await fill(database)
    async with database.transaction() as conn:
        await conn.execute("UPDATE sources SET is_system = false, feed_url = feed_url || '?key=8c1f2a'")

    trial = await attempt(RuleTester(database, clock))

    assert (trial.tested, trial.matched, trial.examples) == (0, 0, [])


@pytest.mark.database
async def test_articles_that_the_sandbox_cannot_read_are_counted(database: Database, clock: MovableClock) -> None:
    await fill(database)

    async with Sandbox(processes=1, time_limit=timedelta(milliseconds=1), memory_limit=512_000_000) as hasty:
        trial = await attempt(RuleTester(database, clock, hasty))

    assert (trial.tested, trial.matched, trial.unreadable) == (0, 0, 3)
    assert decide.RULES_MOST == 500
