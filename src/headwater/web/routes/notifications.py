"""Where the user's rules notify them: a daily email, webhooks and browsers; and the link that ends the emails."""

from dataclasses import dataclass
from secrets import token_bytes
from uuid import UUID

from litestar import get, post
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.mail.decide import UNSUBSCRIBE, unsubscribed_user
from headwater.accounts.preferences import store as preferences
from headwater.accounts.store import tokens
from headwater.asgi.handlers import Call, CallContext
from headwater.asgi.session import PUBLIC
from headwater.errors import Conflict, Invalid, NotFound
from headwater.library.notifications import operate, store
from headwater.library.notifications.worker import find_server_key
from headwater.types import UserId


@dataclass(frozen=True, slots=True)
class WebhookForm:
    url: str = ""


@dataclass(frozen=True, slots=True)
class BrowserForm:
    """What a browser's subscription to web push has."""

    endpoint: str = ""
    key: str = ""
    auth: str = ""


@get("/notifications")
async def notifications(call: Call) -> Template:
    return await _page(call)


@post("/notifications/email", status_code=303)
async def add_email(call: Call) -> Redirect | Template:
    """Send a daily email. The address must be confirmed: another one may be a stranger's."""
    if call.user.confirmed_at is None:
        return await _page(call, error="Your email is not confirmed. Set it again on the page Account.", status=400)
    async with call.as_user() as conn:
        await operate.add_digest(conn, user_id=call.user.id, now=call.now)
    return Redirect("/notifications", status_code=303)


@post("/notifications/webhook", status_code=200)
async def add_webhook(call: Call, data: URLEncodedBody[WebhookForm]) -> Template:
    """Add a webhook; its secret is in this response only."""
    try:
        async with call.as_logged_in() as conn:
            secret = await operate.add_webhook(conn, data.url, user_id=call.user.id, now=call.now)
    except (Invalid, Conflict) as error:
        return await _page(call, error=str(error), url=data.url, status=400)
    return await _page(call, secret=secret)


@post("/notifications/browser", status_code=204)
async def add_browser(call: Call, data: URLEncodedBody[BrowserForm]) -> None:
    """Notify this browser. Raises Invalid, Conflict."""
    agent = call.request.headers.get("user-agent", "")
    async with call.as_logged_in() as conn:
        await operate.add_browser(
            conn, data.endpoint, key=data.key, auth=data.auth, name=agent, user_id=call.user.id, now=call.now
        )


@post("/notifications/{target_id:uuid}/enable", status_code=303)
async def enable(call: Call, target_id: FromPath[UUID]) -> Redirect:
    """Raises NotFound."""
    async with call.as_logged_in() as conn:
        await operate.enable_target(conn, target_id)
    return Redirect("/notifications", status_code=303)


@post("/notifications/{target_id:uuid}/delete", status_code=303)
async def delete(call: Call, target_id: FromPath[UUID]) -> Redirect:
    """Raises NotFound."""
    async with call.as_user() as conn:
        await operate.remove_target(conn, target_id)
    return Redirect("/notifications", status_code=303)


@get("/unsubscribe/{code:str}", role=PUBLIC)
async def unsubscribe_page(call: Call, code: FromPath[str]) -> Template:
    """A button, since mail programs open links by themselves. Raises NotFound."""
    await _require_reader(call, code)
    return call.page("rules/unsubscribe.html", code=code, is_done=False)


@post("/unsubscribe/{code:str}", role=PUBLIC, needs_csrf_token=False, status_code=200)
async def unsubscribe(call: Call, code: FromPath[str]) -> Template:
    """End all emails with articles, without a login. Mail programs send this by themselves (RFC 8058); the code is what
    allows it. Raises NotFound."""
    user_id = await _require_reader(call, code)
    async with call.database.as_user(user_id) as conn:
        await store.end_digests(conn, user_id=user_id)
        await preferences.end_digest(conn, user_id=user_id)
    return call.page("rules/unsubscribe.html", code=code, is_done=True)


async def _require_reader(call: CallContext, code: str) -> UserId:
    async with call.database.transaction() as conn:
        key = await tokens.shared_secret(conn, name=UNSUBSCRIBE, value=token_bytes(32))
    user_id = unsubscribed_user(key, code)
    if user_id is None:
        raise NotFound("This link is not valid.")
    return user_id


async def _page(call: CallContext, *, error: str = "", secret: str = "", url: str = "", status: int = 200) -> Template:
    async with call.as_user() as conn:
        targets = await store.list_targets(conn)
    key = await find_server_key(call.database)
    return call.page(
        "rules/notifications.html", status_code=status, targets=targets, error=error, secret=secret, url=url,
        push_key=key.public,
    )  # fmt: skip
