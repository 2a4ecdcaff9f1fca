"""Where the user's rules notify them, and the link that ends the emails."""

import re
from collections.abc import AsyncIterator

import pytest
from litestar import Litestar

from headwater.accounts.mail.decide import UNSUBSCRIBE, unsubscribe_code
from headwater.accounts.store import tokens
from headwater.db import Database, fetch_value
from headwater.types import UserId
from tests.app import create_app
from tests.clock import MovableClock
from tests.library.notifications.browser import PushBrowser
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database
HOOK = "https://hooks.example/in"


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def ada(app: Litestar, database: Database) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        async with database.as_system() as conn:
            await conn.execute("UPDATE users SET confirmed_at = created_at")
        yield person


async def test_a_webhook_shows_its_secret_once(ada: Person) -> None:
    added = (await ada.submit("/notifications/webhook", url=HOOK)).text
    later = (await ada.open("/notifications")).text

    assert len(re.findall(r"whsec_[A-Za-z0-9+/=]{44}", added)) == 1
    assert "whsec_" not in later
    assert "hooks.example" in later


@pytest.mark.parametrize(
    "url", ["", "http://hooks.example/in", "ftp://x", "javascript:alert(1)", "https://" + "x" * 3000]
)
async def test_a_webhook_needs_https(ada: Person, url: str) -> None:
    assert (await ada.submit("/notifications/webhook", url=url)).status_code == 400
    assert "None yet." in (await ada.open("/notifications")).text


async def test_there_are_a_few_webhooks_at_most(ada: Person) -> None:
    for number in range(3):
        await ada.submit("/notifications/webhook", url=f"{HOOK}/{number}")

    assert "Delete one first." in (await ada.submit("/notifications/webhook", url=f"{HOOK}/3")).text


async def test_a_browser_subscribes_and_is_deleted(ada: Person) -> None:
    page = (await ada.open("/notifications")).text
    (key,) = re.findall(r'data-push-key="([A-Za-z0-9_-]{87})"', page)
    assert re.findall(r'data-push-key="([^"]+)"', (await ada.open("/notifications")).text) == [key]
    keys = PushBrowser().keys

    answer = await ada.send(
        "POST", "/notifications/browser", endpoint="https://push.example/1", key=keys["push_key"],
        auth=keys["push_auth"],
    )  # fmt: skip
    assert answer.status_code == 204
    page = (await ada.open("/notifications")).text
    assert "<b>Browser</b>" in page
    (target,) = re.findall(r'action="/notifications/([0-9a-f-]{36})/delete"', page)

    await ada.submit(f"/notifications/{target}/delete")
    assert "None yet." in (await ada.open("/notifications")).text


async def test_a_browser_with_invalid_keys_or_address_is_refused(ada: Person) -> None:
    keys = PushBrowser().keys
    good = {"endpoint": "https://push.example/1", "key": keys["push_key"], "auth": keys["push_auth"]}
    for bad in ({"key": "x"}, {"auth": ""}, {"endpoint": "http://push.example/1"}, {"endpoint": ""}):
        assert (await ada.send("POST", "/notifications/browser", **{**good, **bad})).status_code == 400


async def test_a_digest_needs_a_confirmed_email(ada: Person, database: Database) -> None:
    async with database.as_system() as conn:
        await conn.execute("UPDATE users SET confirmed_at = NULL")

    assert (await ada.submit("/notifications/email")).status_code == 400


async def test_a_mail_program_ends_the_emails_without_a_form(app: Litestar, ada: Person, database: Database) -> None:
    await ada.submit("/settings", email_digest="weekly")
    async with database.as_system() as conn:
        user_id = UserId(await fetch_value(conn, "SELECT id FROM users"))
        key = await tokens.shared_secret(conn, name=UNSUBSCRIBE, value=b"k" * 32)
    link = f"/unsubscribe/{unsubscribe_code(key, user_id)}"

    async with a_person(app) as program:
        wrong = await program.client.post(link[:-1], data={"List-Unsubscribe": "One-Click"})
        right = await program.client.post(link, data={"List-Unsubscribe": "One-Click"})

    assert (wrong.status_code, right.status_code) == (404, 200)
    assert 'value="off" checked' in (await ada.open("/settings")).text


async def test_unread_articles_are_not_sent_to_an_email_that_is_not_confirmed(ada: Person, database: Database) -> None:
    async with database.as_system() as conn:
        await conn.execute("UPDATE users SET confirmed_at = NULL")

    answer = await ada.submit("/settings", email_digest="daily", theme="dark")

    assert answer.status_code == 400
    assert "Your email is not confirmed" in answer.text
    assert 'value="dark" checked' in answer.text


async def test_the_link_of_a_digest_ends_it_without_a_login(app: Litestar, ada: Person, database: Database) -> None:
    await ada.submit("/notifications/email")
    await ada.submit("/settings", email_digest="daily")
    assert 'value="daily" checked' in (await ada.open("/settings")).text
    assert "Daily email to ada@example.com" in (await ada.open("/notifications")).text
    async with database.as_system() as conn:
        user_id = UserId(await fetch_value(conn, "SELECT id FROM users"))
        key = await tokens.shared_secret(conn, name=UNSUBSCRIBE, value=b"k" * 32)
    link = f"/unsubscribe/{unsubscribe_code(key, user_id)}"
    async with a_person(app) as visitor:
        await visitor.open("/auth/login")
        page = (await visitor.open(link)).text
        assert "Stop the emails" in page
        assert 'class="badge">Disabled' not in (await ada.open("/notifications")).text

        token = re.findall(r'name="_csrf_token" value="([^"]+)"', page)[0]
        visitor.token = token
        assert "Unsubscribed" in (await visitor.submit(link)).text
        assert (await visitor.open(link[:-1])).status_code == 404

    page = (await ada.open("/notifications")).text
    assert 'class="badge">Disabled' in page
    assert 'value="off" checked' in (await ada.open("/settings")).text
    (target,) = re.findall(r'action="/notifications/([0-9a-f-]{36})/enable"', page)
    await ada.submit(f"/notifications/{target}/enable")
    assert 'class="badge">Disabled' not in (await ada.open("/notifications")).text
