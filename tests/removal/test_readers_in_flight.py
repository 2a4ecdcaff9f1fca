"""Accounts, feeds and subscriptions that are deleted while rules are applied and notifications wait: nothing of them is
kept, sent or brought back."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from headwater.accounts.store import users
from headwater.db import Database
from headwater.ids import new_id
from headwater.library.notifications import store as notifications
from headwater.library.notifications.worker import Notifier
from headwater.library.rules.types import NotificationKind, ReaderRuleHit, RuleActions
from headwater.library.rules.worker import RuleApplier
from headwater.net import Client
from headwater.query.document import Document, ReaderContext
from headwater.sources.store import sources
from headwater.types import ArticleId, UserId
from tests.clock import MovableClock
from tests.library.rules.reader import RuleReader, a_rule_reader
from tests.removal.builders import tables_with
from tests.removals import remove_all

pytestmark = pytest.mark.database

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
STARS_AND_NOTIFIES = RuleActions(stars=True, tags=("x",), notify=(NotificationKind.WEBHOOK,))


class InterruptedApplier(RuleApplier):
    """Something happens after it has read and matched a batch, before it writes."""

    meanwhile: Callable[[], Awaitable[None]]

    async def _match(
        self, documents: Mapping[ArticleId, Document],
        contexts: Mapping[tuple[ArticleId, UserId], ReaderContext], now: datetime,
    ) -> list[ReaderRuleHit]:  # fmt: skip
        found = await super()._match(documents, contexts, now)
        assert found, "there is something to write"
        await self.meanwhile()
        return found


@dataclass
class Hook:
    """A webhook, and how often it was called."""

    url: str = ""
    messages: list[bytes] = field(default_factory=list[bytes])


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    received = Hook()

    async def take(request: web.Request) -> web.Response:
        received.messages.append(await request.read())
        return web.Response()

    app = web.Application()
    app.router.add_post("/in", take)
    async with TestServer(app) as running:
        received.url = str(running.make_url("/in"))
        yield received


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Headwater", allow_loopback=True) as one:
        yield one


@pytest.fixture
async def ada(database: Database, clock: MovableClock, hook: Hook) -> RuleReader:
    """Her rule stars articles about otters, and notifies her."""
    reader = await a_rule_reader(database, clock)
    await reader.save("otter", STARS_AND_NOTIFIES)
    async with database.as_user(reader.user_id) as conn:
        await notifications.add_target(
            conn, target_id=new_id(), user_id=reader.user_id, kind=NotificationKind.WEBHOOK, url=hook.url,
            secret=SECRET, now=clock(),
        )  # fmt: skip
    return reader


async def delete_account(ada: RuleReader) -> None:
    async with ada.database.as_system() as conn:
        await users.remove(conn, user_id=ada.user_id)


async def delete_feed(ada: RuleReader) -> None:
    async with ada.database.as_system() as conn:
        await sources.remove(conn, source_id=ada.sources["Daily"].id)


async def leave_feed(ada: RuleReader) -> None:
    async with ada.database.as_user(ada.user_id) as conn:
        await conn.execute("DELETE FROM subscriptions")


DELETIONS: Sequence[Callable[[RuleReader], Awaitable[None]]] = (delete_account, delete_feed, leave_feed)


async def send_all(ada: RuleReader, client: Client) -> None:
    notifier = Notifier(ada.database, client, ada.clock, site="https://reader.example")
    while targets := await notifier.claim(10):
        for target in targets:
            await notifier.work(target)


@pytest.mark.parametrize("delete", DELETIONS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("is_removed", [False, True])
async def test_a_rule_that_is_being_applied_to_what_is_deleted_does_nothing(
    ada: RuleReader, client: Client, hook: Hook, delete: Callable[[RuleReader], Awaitable[None]], is_removed: bool
) -> None:
    stage = InterruptedApplier(ada.database, ada.clock, ada.quotas)

    async def meanwhile() -> None:
        await delete(ada)
        if is_removed:
            await remove_all(ada.database, ada.clock)

    stage.meanwhile = meanwhile
    article_id = await ada.arrive("An otter")

    assert await ada.apply(stage) == 0

    await send_all(ada, client)
    assert hook.messages == []
    async with ada.database.as_system() as conn:
        left = await tables_with(conn, article_id)
    assert left.isdisjoint({"marks", "rule_log", "notifications"})


@pytest.mark.parametrize("delete", DELETIONS, ids=lambda one: one.__name__)
async def test_a_rule_does_nothing_after_the_deletion_even_if_no_row_is_removed_yet(
    ada: RuleReader, delete: Callable[[RuleReader], Awaitable[None]]
) -> None:
    await delete(ada)
    await ada.arrive("An otter")

    assert await ada.apply() == 0


@pytest.mark.parametrize("delete", DELETIONS, ids=lambda one: one.__name__)
async def test_what_waits_to_be_sent_is_not_sent_after_the_deletion(
    ada: RuleReader, client: Client, hook: Hook, delete: Callable[[RuleReader], Awaitable[None]]
) -> None:
    await ada.save("otter", RuleActions(notify=(NotificationKind.WEBHOOK,)), "without a star")
    article_id = await ada.arrive("An otter")
    await ada.apply()
    async with ada.database.as_system() as conn:
        await conn.execute("UPDATE marks SET starred_at = NULL")  # a starred article stays readable
        assert "notifications" in await tables_with(conn, article_id)

    await delete(ada)

    await send_all(ada, client)
    assert hook.messages == []


async def test_a_notification_that_is_claimed_when_the_account_is_deleted_is_not_sent(
    ada: RuleReader, client: Client, hook: Hook
) -> None:
    await ada.arrive("An otter")
    await ada.apply()
    notifier = Notifier(ada.database, client, ada.clock, site="https://reader.example")
    (target,) = await notifier.claim(10)

    await delete_account(ada)

    await notifier.work(target)
    assert hook.messages == []
    await remove_all(ada.database, ada.clock)
    async with ada.database.as_system() as conn:
        assert await tables_with(conn, ada.user_id) == set()
