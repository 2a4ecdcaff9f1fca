"""The stage that notifies readers: digests, webhooks and web push, each to a server on loopback."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from headwater.accounts.mail import store as mails
from headwater.accounts.mail.decide import UNSUBSCRIBE, unsubscribed_user
from headwater.accounts.mail.texts import write_email
from headwater.accounts.mail.types import MailKind, QueuedMail
from headwater.accounts.store import tokens
from headwater.db import Database, fetch_rows, fetch_value
from headwater.ids import new_id
from headwater.library.notifications import store, worker
from headwater.library.notifications.worker import Notifier
from headwater.library.rules.types import NotificationKind, RuleActions
from headwater.net import Client
from tests.accounts.mailbox import collect
from tests.clock import MovableClock
from tests.library.notifications.browser import PushBrowser
from tests.library.rules.reader import RuleReader, a_rule_reader

pytestmark = pytest.mark.database
SITE = "https://reader.example"
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()


@dataclass
class Received:
    """A server that takes messages, and answers as it is told."""

    url: str = ""
    status: int = 201
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list[tuple[dict[str, str], bytes]])


@pytest.fixture
async def server() -> AsyncIterator[Received]:
    received = Received()

    async def take(request: web.Request) -> web.Response:
        received.requests.append(
            ({name.lower(): value for name, value in request.headers.items()}, await request.read())
        )
        return web.Response(status=received.status, text="so it is")

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
async def ada(database: Database, clock: MovableClock) -> RuleReader:
    reader = await a_rule_reader(database, clock)
    async with database.as_system() as conn:
        await conn.execute("UPDATE users SET confirmed_at = %s", (clock(),))
    return reader


async def add_target(ada: RuleReader, kind: NotificationKind, url: str = "", **keys: str) -> UUID:
    async with ada.database.as_user(ada.user_id) as conn:
        return await store.add_target(
            conn, target_id=new_id(), user_id=ada.user_id, kind=kind, url=url, now=ada.clock(), **keys
        )


async def notify(ada: RuleReader, *titles: str) -> None:
    for title in titles:
        await ada.arrive(title)
    await ada.apply()


async def run(ada: RuleReader, client: Client) -> int:
    """Send all that is due. Returns how many targets were."""
    notifier, done = Notifier(ada.database, client, ada.clock, site=SITE), 0
    while targets := await notifier.claim(10):
        for target in targets:
            await notifier.work(target)
            done += 1
    return done


async def targets_of(ada: RuleReader) -> list[dict[str, Any]]:
    async with ada.database.as_user(ada.user_id) as conn:
        return await fetch_rows(conn, "SELECT kind, is_enabled, failures, reason FROM notification_targets")


async def queued(ada: RuleReader) -> list[QueuedMail]:
    async with ada.database.as_system() as conn:
        now = ada.clock()
        return await mails.claim(conn, now=now, leased_until=now, limit=10)


async def remove_mails(ada: RuleReader) -> None:
    async with ada.database.as_system() as conn:
        await conn.execute("DELETE FROM outgoing_mail")


async def test_one_digest_a_day_has_all_articles_since_the_last(ada: RuleReader, client: Client) -> None:
    await ada.save("otter", RuleActions(notify=(NotificationKind.EMAIL,)), "Otters")
    await add_target(ada, NotificationKind.EMAIL)
    await notify(ada, "An otter", "Another otter", "A heron")
    assert await run(ada, client) == 0

    ada.clock.move(hours=18)  # six in the morning
    assert await run(ada, client) == 1
    (mail,) = await queued(ada)
    assert (mail.kind, mail.email, mail.user_id) == (MailKind.DIGEST, "ada@example.com", ada.user_id)
    text = write_email(mail, "", to=mail.email).text
    assert text.startswith("2 articles matched your rules")
    assert "An otter\nDaily · rule: Otters\nhttps://reader.example/articles/" in text
    assert "heron" not in text
    await remove_mails(ada)

    await notify(ada, "A third otter")
    ada.clock.move(hours=23)
    assert await run(ada, client) == 0
    ada.clock.move(hours=1)
    assert await run(ada, client) == 1
    (mail,) = await queued(ada)
    assert "1 article matched" in mail.detail
    assert "A third otter" in mail.detail


async def test_a_digest_that_waits_for_the_mail_server_is_not_sent_to_a_reader_who_unsubscribed(
    ada: RuleReader, client: Client
) -> None:
    await ada.save("otter", RuleActions(notify=(NotificationKind.EMAIL,)))
    await add_target(ada, NotificationKind.EMAIL)
    await notify(ada, "An otter")
    ada.clock.move(hours=18)
    assert await run(ada, client) == 1

    async with ada.database.as_user(ada.user_id) as conn:
        await store.end_digests(conn, user_id=ada.user_id)

    assert await collect(ada.database, ada.clock) == []


async def test_a_digest_waits_while_the_last_one_is_not_sent(ada: RuleReader, client: Client) -> None:
    await ada.save("otter", RuleActions(notify=(NotificationKind.EMAIL,)))
    await add_target(ada, NotificationKind.EMAIL)
    await notify(ada, "An otter")
    ada.clock.move(hours=18)
    await run(ada, client)
    await notify(ada, "A second otter")
    ada.clock.move(hours=24)
    await run(ada, client)
    (mail,) = await queued(ada)
    assert "An otter" in mail.detail

    await remove_mails(ada)
    ada.clock.move(hours=1)
    await run(ada, client)
    (mail,) = await queued(ada)
    assert "A second otter" in mail.detail


async def test_the_link_of_a_digest_names_its_reader_and_cannot_be_forged(ada: RuleReader, client: Client) -> None:
    await ada.save("otter", RuleActions(notify=(NotificationKind.EMAIL,)))
    await add_target(ada, NotificationKind.EMAIL)
    await notify(ada, "An otter")
    ada.clock.move(hours=18)
    await run(ada, client)
    (email,) = await collect(ada.database, ada.clock)
    (code,) = re.findall(r"https://reader\.example/unsubscribe/(\S+)", email.text)

    async with ada.database.as_system() as conn:
        key = await tokens.shared_secret(conn, name=UNSUBSCRIBE, value=b"another")
    assert unsubscribed_user(key, code) == ada.user_id
    assert unsubscribed_user(key, code[:-1] + ("0" if code[-1] != "0" else "1")) is None
    assert unsubscribed_user(key, f"{UUID(int=1).hex}.{code.partition('.')[2]}") is None
    assert unsubscribed_user(key, "é") is None


async def test_an_email_that_is_not_confirmed_gets_no_digest(ada: RuleReader, client: Client) -> None:
    await ada.save("otter", RuleActions(notify=(NotificationKind.EMAIL,)))
    await add_target(ada, NotificationKind.EMAIL)
    await notify(ada, "An otter")
    async with ada.database.as_system() as conn:
        await conn.execute("UPDATE users SET confirmed_at = NULL")
    ada.clock.move(hours=18)

    await run(ada, client)

    assert await queued(ada) == []
    (target,) = await targets_of(ada)
    assert (target["is_enabled"], target["reason"]) == (False, "Your email is not confirmed.")


async def test_a_webhook_gets_a_signed_message_once(ada: RuleReader, client: Client, server: Received) -> None:
    await ada.save("otter", RuleActions(notify=(NotificationKind.WEBHOOK,)), "Otters")
    await add_target(ada, NotificationKind.WEBHOOK, server.url, secret=SECRET)
    await notify(ada, "An otter", "Another otter")

    assert await run(ada, client) == 1
    assert await run(ada, client) == 0

    ((headers, body),) = server.requests
    told = json.loads(body)
    assert told["version"] == 1
    assert sorted((one["title"], one["feed"], one["rule"]) for one in told["articles"]) == [
        ("An otter", "Daily", "Otters"), ("Another otter", "Daily", "Otters"),
    ]  # fmt: skip
    assert told["articles"][0]["link"] == f"{SITE}/articles/{told['articles'][0]['id']}"
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.digest(b"k" * 32, signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


async def test_a_webhook_that_fails_is_retried_and_then_disabled(
    ada: RuleReader, client: Client, server: Received
) -> None:
    await ada.save("otter", RuleActions(notify=(NotificationKind.WEBHOOK,)))
    target = await add_target(ada, NotificationKind.WEBHOOK, server.url, secret=SECRET)
    await notify(ada, "An otter")
    server.status = 500

    for _ in range(10):
        await run(ada, client)
        ada.clock.move(hours=1)

    assert len(server.requests) == 6
    assert len({headers["webhook-id"] for headers, _ in server.requests}) == 1
    (found,) = await targets_of(ada)
    assert (found["is_enabled"], found["failures"], found["reason"]) == (False, 6, "It answered with 500.")

    server.status = 200
    async with ada.database.as_user(ada.user_id) as conn:
        assert await store.set_target_enabled(conn, target_id=target, is_enabled=True)
    await notify(ada, "A second otter")
    await run(ada, client)
    assert json.loads(server.requests[-1][1])["articles"][0]["title"] == "A second otter"
    assert server.requests[-1][0]["webhook-id"] != server.requests[0][0]["webhook-id"]
    assert (await targets_of(ada))[0]["failures"] == 0


async def test_targets_of_one_reader_do_not_delay_others(ada: RuleReader, client: Client) -> None:
    eve = await a_rule_reader(ada.database, ada.clock, "eve@example.com", beside=ada)
    notifier = Notifier(ada.database, client, ada.clock, site=SITE)
    for reader in (eve, ada):
        await reader.save("otter", RuleActions(notify=(NotificationKind.WEBHOOK, NotificationKind.PUSH)))
    for number in range(notifier.concurrency):
        browser = PushBrowser().keys
        await add_target(eve, NotificationKind.PUSH, f"https://push.example/{number}", **browser)
    await notify(eve, "An otter")
    ada.clock.move(seconds=1)
    await add_target(ada, NotificationKind.WEBHOOK, "https://ada.example/", secret=SECRET)
    await notify(ada, "A second otter")

    claimed = await notifier.claim(notifier.concurrency)
    assert sorted(target.user_id for target in claimed) == sorted([ada.user_id, eve.user_id, eve.user_id])
    # Eve's servers do not answer, and are requested by another process.
    another = Notifier(ada.database, client, ada.clock, site=SITE)
    assert await another.claim(notifier.concurrency) == []
    # That process died: its leases end.
    ada.clock.move(minutes=3)
    again = await another.claim(notifier.concurrency)
    assert sorted(target.user_id for target in again) == sorted([ada.user_id, eve.user_id, eve.user_id])


async def test_readers_whose_servers_are_slow_have_half_of_the_slots_together(
    ada: RuleReader, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = [await a_rule_reader(ada.database, ada.clock, f"{n}@example.com", beside=ada) for n in range(4)]
    monkeypatch.setattr(Notifier, "concurrency", 4)
    notifier = Notifier(ada.database, client, ada.clock, site=SITE)
    for reader in (*slow, ada):
        await reader.save("otter", RuleActions(notify=(NotificationKind.PUSH,)))
        for number in range(3):
            await add_target(reader, NotificationKind.PUSH, f"https://push.example/{number}", **PushBrowser().keys)
    await notify(ada, "An otter")
    async with ada.database.as_system() as conn:  # ada's are due last
        late = {"id": ada.user_id}
        await conn.execute(
            "UPDATE notification_targets SET ready_at = ready_at + interval '1 second' WHERE user_id = %(id)s", late
        )
    ada.clock.move(seconds=5)
    monkeypatch.setattr(worker, "SLOW", timedelta(seconds=-1))
    for reader in slow:
        with notifier.slow.timed(reader.user_id):
            pass
    first = await notifier.claim(4)
    assert len([one for one in first if one.user_id == ada.user_id]) == 2

    with ExitStack() as sending:
        for one in first:
            if one.user_id != ada.user_id:
                sending.enter_context(notifier.slow.timed(one.user_id))
        assert notifier.slow.left == 0
        assert await notifier.claim(4) == []  # ada has two, the others have half
    assert len(await notifier.claim(4)) == 2


async def test_the_first_target_of_a_reader_goes_before_the_second_of_another(ada: RuleReader, client: Client) -> None:
    eve = await a_rule_reader(ada.database, ada.clock, "eve@example.com", beside=ada)
    notifier = Notifier(ada.database, client, ada.clock, site=SITE)
    for reader in (eve, ada):
        await reader.save("otter", RuleActions(notify=(NotificationKind.PUSH,)))
    for number in range(3):
        await add_target(eve, NotificationKind.PUSH, f"https://push.example/{number}", **PushBrowser().keys)
    await notify(eve, "An otter")
    ada.clock.move(seconds=1)
    await add_target(ada, NotificationKind.PUSH, "https://push.example/", **PushBrowser().keys)
    await notify(ada, "A second otter")

    assert {one.user_id for one in await notifier.claim(2)} == {ada.user_id, eve.user_id}


async def test_all_targets_of_a_reader_are_served(ada: RuleReader, client: Client, server: Received) -> None:
    await ada.save("otter", RuleActions(notify=(NotificationKind.PUSH,)))
    for number in range(5):
        await add_target(ada, NotificationKind.PUSH, f"{server.url}?{number}", **PushBrowser().keys)
    await notify(ada, "An otter")

    assert await run(ada, client) == 5
    assert len(server.requests) == 5


async def test_nothing_is_sent_to_a_private_address(ada: RuleReader, server: Received) -> None:
    await ada.save("otter", RuleActions(notify=(NotificationKind.WEBHOOK,)))
    await add_target(ada, NotificationKind.WEBHOOK, server.url, secret=SECRET)
    await notify(ada, "An otter")

    async with Client(user_agent="Headwater") as guarded:
        await run(ada, guarded)

    assert server.requests == []
    (found,) = await targets_of(ada)
    assert found["failures"] == 1
    assert "this machine itself" in found["reason"]


async def test_only_the_browser_reads_what_a_push_service_gets(
    ada: RuleReader, client: Client, server: Received
) -> None:
    browser = PushBrowser()
    await ada.save("otter", RuleActions(notify=(NotificationKind.PUSH,)))
    await add_target(ada, NotificationKind.PUSH, server.url, **browser.keys)
    await notify(ada, "An otter")
    await run(ada, client)
    await notify(ada, "A second otter", "A third otter")
    await run(ada, client)

    (first, body), (_, second) = server.requests
    shown = browser.read(body)
    assert (shown["title"], shown["body"]) == ("An otter", "Daily")
    assert re.fullmatch(r"/articles/[0-9a-f-]{36}", shown["path"])
    assert browser.read(second)["title"] == "2 articles matched your rules"
    assert b"otter" not in body
    assert (first["content-encoding"], first["ttl"]) == ("aes128gcm", "86400")
    assert first["authorization"].startswith("vapid t=")


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_is_gone_is_forgotten(
    ada: RuleReader, client: Client, server: Received, status: int
) -> None:
    server.status = status
    await ada.save("otter", RuleActions(notify=(NotificationKind.PUSH,)))
    await add_target(ada, NotificationKind.PUSH, server.url, **PushBrowser().keys)
    await notify(ada, "An otter")

    await run(ada, client)

    assert await targets_of(ada) == []
    async with ada.database.as_system() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM notifications") == 0
