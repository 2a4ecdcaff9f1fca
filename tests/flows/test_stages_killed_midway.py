"""As test_killed_midway.py, for the stages `classifying`, `rules`, `notifying` and `digests`."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from headwater.audit.types import COMMAND_LINE
from headwater.channels import operate
from headwater.channels.types import ChannelFields, DestinationLimits
from headwater.db import Database
from headwater.library.digests.worker import DigestWriter
from headwater.library.notifications.worker import Notifier
from headwater.library.rules.types import NotificationKind, RuleActions
from headwater.net import Client
from headwater.query.types import Everything, Query
from headwater.sandbox import Sandbox
from headwater.understanding.worker import Classifier, DueBatch
from tests.clock import MovableClock
from tests.flows import test_killed_midway
from tests.flows.test_killed_midway import HOW, PATIENCE_S, WAIT, Scene
from tests.flows.test_up import embedded_only
from tests.flows.victim import CLASSIFYING, PRELOAD
from tests.library.digests.test_stage import DAILY, choose
from tests.library.notifications.test_stage import SECRET, SITE, add_target
from tests.library.rules.reader import RuleReader, a_rule_reader
from tests.understanding.test_worker import a_page

pytestmark = [pytest.mark.soak, pytest.mark.database, embedded_only]

server, migrated, scene = test_killed_midway.server, test_killed_midway.migrated, test_killed_midway.scene
ALL = (NotificationKind.WEBHOOK, NotificationKind.EMAIL)


# Classifying


async def add_channel(database: Database, clock: MovableClock) -> None:
    """One that gets everything."""
    fields, query = ChannelFields("all", "*"), Query("*", Everything())
    async with database.transaction() as conn:
        await operate.create(
            conn, fields=fields, query=query, limits=DestinationLimits(), actor=COMMAND_LINE, now=clock()
        )


async def classify_again(scene: Scene, clock: MovableClock) -> int:
    """Returns how many articles got labels."""
    async with (
        scene.database() as database,
        Sandbox(processes=1, time_limit=WAIT, memory_limit=1_000_000_000, preload=PRELOAD) as sandbox,
    ):
        classifier = Classifier(database, sandbox, clock, CLASSIFYING)
        batches = [one for one in await classifier.claim(1) if isinstance(one, DueBatch)]
        return sum([(await classifier.work(batch)).labelled for batch in batches])


@pytest.mark.parametrize("kills", [["process"], ["database"], ["process", "database", "process"]], ids="-".join)
async def test_articles_whose_classification_was_killed_get_labels_and_are_routed_once(
    scene: Scene, kills: list[str]
) -> None:
    clock = MovableClock()
    async with scene.database() as database:
        await add_channel(database, clock)
        for number in range(3):
            await a_page(database, url=f"https://example.com/news/{number}")
    for how in kills:
        async with scene.holding("LOCK TABLE deliveries IN SHARE MODE"):
            await scene.start("tests.flows.victim", "classify", scene.conninfo, clock().isoformat())
            await scene.until_it_waits()
            await scene.kill(how)
        await scene.settled()
        written = await scene.row("SELECT (SELECT count(*) FROM labels), (SELECT count(*) FROM deliveries)")
        assert written == (0, 0)
        assert await classify_again(scene, clock) == 0  # they are leased
        clock.move(minutes=6)

    assert [await classify_again(scene, clock), await classify_again(scene, clock)] == [3, 0]
    assert await scene.rows("SELECT count(*) FROM deliveries GROUP BY article_id") == [(1,)] * 3
    assert await scene.row("SELECT count(DISTINCT revision), max(lost_leases) FROM article_state") == (3, 0)
    assert await scene.row("SELECT count(DISTINCT article_id) FROM labels") == (3,)


# Rules


async def a_scene_with_rules(database: Database) -> RuleReader:
    """A rule that stars, tags and notifies; three articles."""
    ada = await a_rule_reader(database, MovableClock())
    async with database.as_system() as conn:
        await conn.execute("UPDATE users SET confirmed_at = now()")
    await ada.save("otter", RuleActions(stars=True, tags=("river",), notify=ALL), "Otters")
    for title in ("An otter", "Another otter", "One more otter"):
        await ada.arrive(title)
    return ada


@HOW
async def test_rules_whose_batch_was_killed_act_once(scene: Scene, how: str) -> None:
    async with scene.database() as database:
        ada = await a_scene_with_rules(database)
        await add_target(ada, NotificationKind.WEBHOOK, "https://hook.example/", secret=SECRET)
        await add_target(ada, NotificationKind.EMAIL)
    async with scene.holding("LOCK TABLE notifications IN SHARE MODE"):
        await scene.start("tests.flows.victim", "apply_rules", scene.conninfo)
        await scene.until_it_waits()
        await scene.kill(how)
    await scene.settled()
    counts = (
        "SELECT (SELECT count(*) FROM rule_log), (SELECT count(*) FROM marks WHERE starred_at IS NOT NULL), "
        "(SELECT count(*) FROM notifications)"
    )
    halfway = await scene.row(counts)
    ada.clock.move(minutes=3)
    async with scene.database() as database:
        ada.database = database
        acted = [await ada.apply(), await ada.apply()]
        marks = await ada.marks()

    assert halfway == (0, 0, 0)
    assert acted == [3, 0]
    assert await scene.row(counts) == (3, 3, 6)
    assert [mark["tags"] for mark in marks.values()] == [["river"]] * 3


# Notifying


@dataclass
class Hook:
    """A webhook that takes each message, and answers when it may."""

    url: str = ""
    ids: list[str] = field(default_factory=list[str])
    articles: list[list[str]] = field(default_factory=list[list[str]])
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def a_hook() -> AsyncIterator[Hook]:
    hook = Hook()

    async def take(request: web.Request) -> web.Response:
        hook.ids.append(request.headers["webhook-id"])
        hook.articles.append(sorted(one["title"] for one in json.loads(await request.read())["articles"]))
        hook.asked.set()
        await hook.may_answer.wait()
        return web.Response()

    app = web.Application()
    app.router.add_post("/", take)
    async with TestServer(app) as running:
        hook.url = str(running.make_url("/"))
        yield hook


async def notify_again(scene: Scene, clock: MovableClock) -> int:
    """Returns how many targets were due."""
    async with scene.database() as database, Client(user_agent="Headwater", allow_loopback=True) as client:
        notifier = Notifier(database, client, clock, site=SITE)
        targets = await notifier.claim(10)
        for target in targets:
            await notifier.work(target)
        return len(targets)


@HOW
async def test_a_notification_that_was_killed_is_sent_again_under_the_same_id(scene: Scene, how: str) -> None:
    async with a_hook() as hook:
        async with scene.database() as database:
            ada = await a_scene_with_rules(database)
            await add_target(ada, NotificationKind.WEBHOOK, hook.url, secret=SECRET)
            await ada.apply()
        await scene.start("tests.flows.victim", "notify", scene.conninfo, ada.clock().isoformat())
        async with asyncio.timeout(PATIENCE_S):
            await hook.asked.wait()
        async with scene.holding("LOCK TABLE notifications IN SHARE MODE"):
            hook.may_answer.set()
            await scene.until_it_waits()  # to write down that they are sent
            await scene.kill(how)
        await scene.settled()
        early = await notify_again(scene, ada.clock)
        ada.clock.move(minutes=3)
        due = [await notify_again(scene, ada.clock), await notify_again(scene, ada.clock)]

    assert (early, due) == (0, [1, 0])
    assert hook.articles == [["An otter", "Another otter", "One more otter"]] * 2
    assert len(set(hook.ids)) == 1  # by which the receiver knows that it has them
    assert await scene.row("SELECT count(*), count(sent_at) FROM notifications") == (3, 3)


@HOW
async def test_a_digest_that_was_killed_is_queued_once(scene: Scene, how: str) -> None:
    async with scene.database() as database:
        ada = await a_scene_with_rules(database)
        await add_target(ada, NotificationKind.EMAIL)
        await ada.apply()
    ada.clock.move(hours=18)  # six in the morning
    async with scene.holding("LOCK TABLE outgoing_mail IN SHARE MODE"):
        await scene.start("tests.flows.victim", "notify", scene.conninfo, ada.clock().isoformat())
        await scene.until_it_waits()
        await scene.kill(how)
    await scene.settled()
    halfway = await scene.row("SELECT (SELECT count(*) FROM outgoing_mail), count(sent_at) FROM notifications")
    ada.clock.move(minutes=3)
    due = [await notify_again(scene, ada.clock), await notify_again(scene, ada.clock)]

    assert halfway == (0, 0)
    assert due == [1, 0]
    assert await scene.row("SELECT count(*) FROM outgoing_mail") == (1,)
    assert await scene.row("SELECT count(*), count(sent_at) FROM notifications") == (3, 3)


# Unread articles by email


async def write_digests_again(scene: Scene, clock: MovableClock) -> int:
    """Returns how many were due."""
    async with scene.database() as database:
        writer = DigestWriter(database, clock, site=SITE, has_mail_server=True)
        due = await writer.claim(10)
        for one in due:
            await writer.work(one)
        return len(due)


@HOW
async def test_an_email_with_unread_articles_that_was_killed_is_queued_once(scene: Scene, how: str) -> None:
    async with scene.database() as database:
        ada = await a_scene_with_rules(database)
        async with database.as_system() as conn:
            await conn.execute("UPDATE users SET confirmed_at = created_at")
        await choose(ada, DAILY)
    ada.clock.move(hours=18)  # six in the morning
    async with scene.holding("LOCK TABLE outgoing_mail IN SHARE MODE"):
        await scene.start("tests.flows.victim", "write_digests", scene.conninfo, ada.clock().isoformat())
        await scene.until_it_waits()
        await scene.kill(how)
    await scene.settled()
    halfway = await scene.row("SELECT count(*) FROM outgoing_mail")
    early = await write_digests_again(scene, ada.clock)
    ada.clock.move(minutes=3)
    due = [await write_digests_again(scene, ada.clock), await write_digests_again(scene, ada.clock)]

    assert (halfway, early, due) == ((0,), 0, [1, 0])
    assert await scene.row("SELECT count(*), min(kind) FROM outgoing_mail") == (1, "unread")
