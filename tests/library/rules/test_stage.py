"""The stage that applies the rules of readers to articles as they arrive."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from headwater.accounts.quotas import Quotas
from headwater.db import Database, fetch_column, fetch_value
from headwater.ids import new_id
from headwater.library.notifications import store as notifications
from headwater.library.rules import decide, operate, store
from headwater.library.rules.decide import changes_of, mute_rule
from headwater.library.rules.types import (
    MuteKind,
    NotificationKind,
    ReaderRuleFields,
    ReaderRuleHit,
    RuleActions,
)
from headwater.library.store import marks
from headwater.query.grammar import parse
from headwater.query.types import Audience, InField, Query, TextField
from tests.clock import MovableClock
from tests.library.rules.reader import LONG_AGO, RuleReader, a_rule_reader

pytestmark = pytest.mark.database


@pytest.fixture
async def ada(database: Database, clock: MovableClock) -> RuleReader:
    return await a_rule_reader(database, clock)


async def test_an_article_that_arrives_and_matches_gets_all_that_its_rules_say(ada: RuleReader) -> None:
    everything = RuleActions(marks_read=True, stars=True, tags=("water", "rivers"))
    rule = await ada.save("quokka", everything, "Quokkas")
    await ada.save("title:quokka category:news", RuleActions(hides=True, tags=("animals", "water")))
    hit = await ada.arrive("A quokka at the river")
    other = await ada.arrive("Nothing of that kind")

    assert await ada.apply() == 2

    assert await ada.marks() == {
        hit: {"is_read": True, "is_starred": True, "is_hidden": True, "tags": ["water", "rivers", "animals"]}
    }
    assert await ada.log(rule) == [("A quokka at the river", ["read", "star", "tag:water", "tag:rivers"])]
    assert other not in await ada.marks()


async def test_a_rule_acts_on_an_article_once_whatever_happens_to_it_later(ada: RuleReader) -> None:
    await ada.save("quokka", RuleActions(marks_read=True, hides=True))
    hit = await ada.arrive("A quokka")
    stage = ada.stage()
    await ada.apply(stage)
    async with ada.database.as_user(ada.user_id) as conn:
        await marks.mark(conn, user_id=ada.user_id, article_id=hit, is_read=False, now=ada.clock())
        await marks.set_hidden(conn, user_id=ada.user_id, article_ids=[hit], hidden_at=None)

    await ada.revise(hit)

    assert await ada.apply(stage) == 0
    assert await ada.marks() == {hit: {"is_read": False, "is_starred": False, "is_hidden": False, "tags": []}}


async def test_a_rule_that_matches_only_after_a_change_acts_then(ada: RuleReader) -> None:
    await ada.save("topic:sport", RuleActions(stars=True))
    hit = await ada.arrive("The final")
    assert await ada.apply() == 0

    async with ada.database.as_system() as conn:
        await conn.execute(
            """
            INSERT INTO labels (article_id, scheme, label, method, score, version, made_at, is_shown, is_disputed)
            VALUES (%s, 'topic', 'sport', 'model', 0.9, '1', %s, true, false)
            """,
            (hit, ada.clock()),
        )
    await ada.revise(hit)

    assert await ada.apply() == 1
    assert (await ada.marks())[hit]["is_starred"]


async def test_an_article_that_arrived_long_ago_is_left_alone(ada: RuleReader) -> None:
    await ada.save("quokka", RuleActions(stars=True))
    await ada.arrive("An old quokka", seen_at=ada.clock() - LONG_AGO)

    assert await ada.apply() == 0
    assert await ada.marks() == {}


async def test_rules_see_only_the_feeds_of_their_reader(ada: RuleReader, clock: MovableClock) -> None:
    bob = await a_rule_reader(ada.database, clock, "bob@example.com", ada)
    await ada.follow("Ours")
    await ada.save("quokka", RuleActions(stars=True))
    await bob.save("quokka", RuleActions(hides=True))
    await bob.save("source:daily", RuleActions(tags=("daily",)))
    hers = await ada.arrive("A quokka", "Ours")
    both = await ada.arrive("Another quokka")

    await ada.apply()

    assert {article: one["is_starred"] for article, one in (await ada.marks()).items()} == {hers: True, both: True}
    assert await bob.marks() == {both: {"is_read": None, "is_starred": False, "is_hidden": True, "tags": ["daily"]}}


async def test_what_the_reader_did_before_stays(ada: RuleReader) -> None:
    await ada.save("quokka", RuleActions(marks_read=True, stars=True, tags=("b", "c", "d")))
    hit = await ada.arrive("A quokka")
    before = ada.clock()
    async with ada.database.as_user(ada.user_id) as conn:
        await marks.mark(conn, user_id=ada.user_id, article_id=hit, is_starred=True, is_read=True, now=before)
        await marks.add_tag(conn, user_id=ada.user_id, article_ids=[hit], tag="a", most=20)
    ada.clock.move(hours=1)
    ada.quotas = Quotas(tags=3)

    await ada.apply()

    assert (await ada.marks())[hit]["tags"] == ["a", "b", "c"]
    async with ada.database.as_user(ada.user_id) as conn:
        assert await fetch_value(conn, "SELECT starred_at FROM marks") == before
        assert await fetch_value(conn, "SELECT read_at FROM marks") == before


async def test_rules_are_read_again_when_one_changes(ada: RuleReader) -> None:
    rule = await ada.save("quokka", RuleActions(stars=True))
    stage = ada.stage()
    await ada.arrive("A quokka")
    assert await ada.apply(stage) == 1

    async with ada.database.as_user(ada.user_id) as conn:
        await operate.change_rule(conn, rule, ReaderRuleFields("", "numbat", RuleActions(hides=True)))
    await ada.arrive("A second quokka")
    numbat = await ada.arrive("A numbat")
    assert await ada.apply(stage) == 1
    assert (await ada.marks())[numbat]["is_hidden"]

    async with ada.database.as_user(ada.user_id) as conn:
        await operate.enable_rule(conn, rule, is_enabled=False)
    await ada.arrive("A second numbat")
    assert await ada.apply(stage) == 0

    async with ada.database.as_user(ada.user_id) as conn:
        await operate.enable_rule(conn, rule, is_enabled=True)
        await operate.delete_rule(conn, rule, ada.clock())
    await ada.arrive("A third numbat")
    assert await ada.apply(stage) == 0


async def test_a_rule_that_is_deleted_while_a_batch_is_matched_does_nothing(ada: RuleReader) -> None:
    rule = await ada.save("quokka", RuleActions(stars=True))
    await ada.arrive("A quokka")
    stage = ada.stage()
    (turn,) = await stage.claim(1)
    matched = asyncio.Event()
    match, resume = stage._match, asyncio.Event()  # pyright: ignore[reportPrivateUsage]

    async def slow(*args: object) -> object:
        found = await match(*args)  # pyright: ignore[reportArgumentType]
        matched.set()
        await resume.wait()
        return found

    stage._match = slow  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    working = asyncio.create_task(stage.work(turn))
    await matched.wait()
    async with ada.database.as_user(ada.user_id) as conn:
        await operate.delete_rule(conn, rule, ada.clock())
    resume.set()

    assert await working == 0
    assert await ada.marks() == {}


async def test_one_process_at_a_time_has_the_lease_and_the_next_continues_where_it_ended(ada: RuleReader) -> None:
    await ada.save("*", RuleActions(marks_read=True))
    await ada.arrive("One")
    first, second = ada.stage(), ada.stage()

    (turn,) = await first.claim(1)
    assert await second.claim(1) == ()
    ada.clock.move(minutes=5)  # the first process died
    (again,) = await second.claim(1)
    assert await second.work(again) == 1

    assert await first.work(turn) == 0  # it was only slow: its batch is done
    assert await second.claim(1) == ()
    assert await second.lag() == timedelta(0)


async def test_many_batches_are_applied_in_order(ada: RuleReader) -> None:
    await ada.save("*", RuleActions(marks_read=True))
    for number in range(55):
        await ada.arrive(f"Article {number}")
    stage = ada.stage()
    ada.clock.move(seconds=30)
    assert await stage.lag() == timedelta(seconds=30)

    assert await ada.apply(stage) == 55
    assert len(await ada.marks()) == 55


async def test_without_rules_everything_is_passed_at_once(ada: RuleReader) -> None:
    for number in range(3):
        await ada.arrive(f"Article {number}")
    stage = ada.stage()

    (turn,) = await stage.claim(1)
    assert await stage.work(turn) == 0
    assert await stage.claim(1) == ()


async def test_a_query_that_can_no_longer_be_read_harms_no_other_rule(ada: RuleReader) -> None:
    bad = await ada.save("quokka", RuleActions(hides=True))
    await ada.save("quokka", RuleActions(stars=True))
    async with ada.database.as_system() as conn:
        await conn.execute("UPDATE rules SET query = 'topik:x' WHERE id = %s", (bad,))
    hit = await ada.arrive("A quokka")

    assert await ada.apply() == 1
    assert (await ada.marks())[hit] == {"is_read": None, "is_starred": True, "is_hidden": False, "tags": []}


async def test_a_reader_is_notified_once_per_article_and_target_within_the_quota(ada: RuleReader) -> None:
    kinds = (NotificationKind.EMAIL, NotificationKind.WEBHOOK)
    await ada.save("quokka", RuleActions(notify=kinds))
    await ada.save("title:quokka", RuleActions(notify=kinds, stars=True))
    async with ada.database.as_user(ada.user_id) as conn:
        for kind in kinds:
            await notifications.add_target(
                conn, target_id=new_id(), user_id=ada.user_id, kind=kind, url="https://hooks.example/", now=ada.clock()
            )
    ada.quotas = replace(ada.quotas, notifications_per_day=2)
    for number in range(3):
        await ada.arrive(f"Quokka number {number}")

    await ada.apply()

    async with ada.database.as_user(ada.user_id) as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM notifications") == 4
        assert await fetch_value(conn, "SELECT count(DISTINCT article_id) FROM notifications") == 2
        assert await fetch_value(conn, "SELECT count(*) FROM notification_targets WHERE ready_at IS NULL") == 0
    assert len(await ada.marks()) == 3


async def test_of_an_article_that_another_rule_hides_no_rule_notifies(ada: RuleReader) -> None:
    kinds = (NotificationKind.WEBHOOK,)
    await ada.save("quokka", RuleActions(notify=kinds))
    await ada.save("quokka sold", RuleActions(hides=True))
    await ada.save("wombat", RuleActions(hides=True, notify=kinds))
    async with ada.database.as_user(ada.user_id) as conn:
        await notifications.add_target(
            conn, target_id=new_id(), user_id=ada.user_id, kind=NotificationKind.WEBHOOK, url="https://hooks.example/",
            now=ada.clock(),
        )  # fmt: skip
    await ada.arrive("Quokka sold")
    told = {await ada.arrive("Quokka born"), await ada.arrive("A wombat")}

    await ada.apply()

    async with ada.database.as_user(ada.user_id) as conn:
        assert set(await fetch_column(conn, "SELECT article_id FROM notifications")) == told


@pytest.mark.parametrize("author", ["Ann \\", 'Bob "B" Lee', "“Cy”", "D\\E", "F:G -h (i"])
def test_an_author_with_any_signs_can_be_muted(author: str) -> None:
    rule = mute_rule(MuteKind.AUTHOR, author)

    assert parse(rule.query, Audience.READER).tree == InField(TextField.AUTHOR, author)


async def mute(ada: RuleReader, word: str) -> UUID:
    async with ada.database.as_user(ada.user_id) as conn:
        rule = mute_rule(MuteKind.WORD, word)
        return (await operate.mute(conn, rule, user_id=ada.user_id, most=100, now=ada.clock()))[0]


async def unmute(ada: RuleReader, rule: UUID) -> None:
    async with ada.database.as_user(ada.user_id) as conn:
        await operate.unmute(conn, rule, user_id=ada.user_id, now=ada.clock())


@pytest.mark.parametrize("is_later", [False, True])
async def test_what_two_mutes_hide_is_listed_when_both_are_undone(ada: RuleReader, *, is_later: bool) -> None:
    """Whether the articles were there or arrived afterwards."""
    both = None if is_later else await ada.arrive("A quokka and a numbat")
    quokka = await mute(ada, "quokka")
    ada.clock.move(minutes=1)
    numbat = await mute(ada, "numbat")
    both = both or await ada.arrive("A quokka and a numbat")
    await ada.apply()

    await unmute(ada, quokka)
    assert (await ada.marks())[both]["is_hidden"]

    await unmute(ada, numbat)
    assert not (await ada.marks())[both]["is_hidden"]


async def test_a_mute_that_is_undone_while_the_stage_hides_an_article_leaves_none_hidden(ada: RuleReader) -> None:
    rule = await mute(ada, "quokka")
    hit = await ada.arrive("A quokka")
    async with ada.database.as_system() as conn:
        (in_use,) = await store.list_in_use(conn, without=())
        fresh = await store.log_matches(conn, matches=[ReaderRuleHit(in_use, hit)], now=ada.clock())
        undoing = asyncio.create_task(unmute(ada, rule))
        done, _ = await asyncio.wait([undoing], timeout=0.2)
        await marks.apply_rules(conn, changes=changes_of(fresh), most_tags=20, now=ada.clock())
    await undoing

    assert not done
    assert not (await ada.marks())[hit]["is_hidden"]


async def test_a_change_of_one_rule_reads_no_other_again(ada: RuleReader, monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("quokka", "numbat"):
        await ada.save(word, RuleActions(stars=True))
    stage, read = ada.stage(), list[str]()

    def parse_and_note(text: str, audience: Audience) -> Query:
        read.append(text)
        return parse(text, audience)

    monkeypatch.setattr(decide, "parse", parse_and_note)
    await ada.arrive("A first")
    await ada.apply(stage)
    assert sorted(read) == ["numbat", "quokka"]

    read.clear()
    await ada.save("bilby", RuleActions(stars=True))
    read.clear()
    await ada.arrive("A quokka and a bilby")
    assert await ada.apply(stage) == 2
    assert read == ["bilby"]
