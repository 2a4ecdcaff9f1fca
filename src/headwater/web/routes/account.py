"""The account page: password, email, sessions, API tokens, reading statistics, deletion."""

from dataclasses import dataclass
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.access import Access
from headwater.accounts.bearers import make_token
from headwater.accounts.changes import lock_logged_in
from headwater.accounts.decide import scopes_allowed
from headwater.accounts.store import sessions as sessions_store
from headwater.accounts.store import tokens as tokens_store
from headwater.accounts.types import Scope
from headwater.analytics import store as analytics
from headwater.asgi.errors import LOGIN, status_of
from headwater.asgi.handlers import Call, CallContext
from headwater.asgi.session import session_cookies
from headwater.errors import HeadwaterError, NotFound
from headwater.web.query import opts_out
from headwater.web.routes.auth import check_confirmed


@dataclass(frozen=True, slots=True)
class AccountForm:
    """The fields of all forms of the page; each form has some of them."""

    current_password: str = ""
    password: str = ""
    password_confirm: str = ""
    email: str = ""
    name: str = ""  # of a new API token
    scopes: list[str] | str = ""
    answer: str = ""  # to the question on reading statistics


@get("/account")
async def account(call: Call) -> Template:
    return await _page(call)


@post("/account/password", status_code=200)
async def change_password(call: Call, data: URLEncodedBody[AccountForm], access: NamedDependency[Access]) -> Template:
    """Change the password; all other sessions end, and this browser gets new cookies."""
    try:
        check_confirmed(data.password, data.password_confirm)
        tokens = await access.change_password(call.user, data.current_password, data.password, keep=call.request.auth)
    except HeadwaterError as error:
        return await _page(call, error=error, at="password")
    notice = "Password changed. All other sessions are logged out, your API tokens and feed addresses are revoked."
    page = await _page(call, at="password", notice=notice)
    page.cookies = session_cookies(call.request, tokens, call.now) if tokens else []
    return page


@post("/account/email", status_code=200)
async def change_email(call: Call, data: URLEncodedBody[AccountForm], access: NamedDependency[Access]) -> Template:
    """Change the email, after confirmation by a link sent to it."""
    try:
        await access.ask_for_email(call.user, data.email, data.current_password, session=call.request.auth)
    except HeadwaterError as error:
        return await _page(call, error=error, at="email")
    notice = f"We sent an email to {data.email.strip()}. Follow its link to confirm the change."
    return await _page(call, at="email", notice=notice)


@post("/account/sessions/{session_id:uuid}/end", status_code=303)
async def end_session(call: Call, session_id: FromPath[UUID]) -> Redirect:
    async with call.as_user() as conn:
        if not await sessions_store.end(conn, session_id=session_id):
            raise NotFound("This session has already ended.")
    return Redirect("/account#sessions", status_code=303)


@post("/account/tokens", status_code=200)
async def add_token(call: Call, data: URLEncodedBody[AccountForm]) -> Template:
    """Create an API token; it is shown only once."""
    scopes = [data.scopes] if isinstance(data.scopes, str) else data.scopes
    try:
        async with call.database.as_system() as conn:
            user = await lock_logged_in(conn, call.request.auth)
            token = await make_token(conn, user=user, name=data.name, scopes=scopes, now=call.now)
    except HeadwaterError as error:
        return await _page(call, error=error, at="tokens")
    return await _page(call, at="tokens", notice="Copy the token now: it is not shown again.", token=token)


@post("/account/tokens/{token_id:uuid}/revoke", status_code=303)
async def revoke_token(call: Call, token_id: FromPath[UUID]) -> Redirect:
    async with call.as_user() as conn:
        if not await tokens_store.remove(conn, token_id=token_id):
            raise NotFound("This token is already revoked.")
    return Redirect("/account#tokens", status_code=303)


@post("/account/analytics", status_code=303)
async def answer_analytics(call: Call, data: URLEncodedBody[AccountForm]) -> Redirect | Template:
    """Answer whether reading is counted. Anything but `yes` is a no."""
    agrees = data.answer == "yes"
    async with call.as_user() as conn:
        await analytics.answer(conn, user_id=call.user.id, consents=agrees, now=call.now)
    if call.is_htmx:
        return call.page("account/answered.html", agrees=agrees, status_code=200)
    return Redirect("/account#analytics", status_code=303)


@post("/account/delete", status_code=200)
async def delete_account(
    call: Call, data: URLEncodedBody[AccountForm], access: NamedDependency[Access]
) -> Template | Redirect:
    """Delete the account at once; the removing stage deletes what belongs to it."""
    try:
        await access.delete_account(call.user, data.current_password, session=call.request.auth)
    except HeadwaterError as error:
        return await _page(call, error=error, at="delete")
    return Redirect(f"{LOGIN}?deleted=yes", status_code=303, cookies=session_cookies(call.request, None, call.now))


async def _page(
    call: CallContext, *, at: str = "", error: HeadwaterError | None = None, notice: str = "", token: str = ""
) -> Template:
    """The page, with the result of the last action beside its form."""
    status = status_of(error) if error else 200
    if error is not None and status >= 500:
        raise error
    async with call.as_user() as conn:
        return call.page(
            "account/page.html", at=at, notice=notice, token=token, error=str(error) if error else None,
            here=call.request.auth.id, opts_out=opts_out(call.request), answer=await analytics.find_answer(conn),
            sessions=await sessions_store.list_of(conn, user_id=call.user.id),
            tokens=await tokens_store.list_of(conn, user_id=call.user.id),
            scopes=[scope for scope in Scope if scope in scopes_allowed(call.user.role)], status_code=status,
        )  # fmt: skip
