"""The account page: password, email, sessions, API tokens, reading statistics, deletion."""

from collections.abc import Awaitable, Callable
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
from headwater.accounts.types import Scope, Tokens
from headwater.analytics import store as analytics
from headwater.asgi.errors import LOGIN, status_of
from headwater.asgi.handlers import AnyRequest, Db, Now
from headwater.asgi.session import session_cookies
from headwater.db import Database
from headwater.errors import HeadwaterError, NotFound
from headwater.types import Clock
from headwater.web.query import is_htmx, opts_out
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
async def account(request: AnyRequest, database: Db, clock: Now) -> Template:
    return await _page(request, database, clock)


@post("/account/password", status_code=200)
async def change_password(
    request: AnyRequest, data: URLEncodedBody[AccountForm], access: NamedDependency[Access], database: Db, clock: Now
) -> Template:
    """Change the password; all other sessions end, and this browser gets new cookies."""
    issued: list[Tokens] = []

    async def change() -> str:
        check_confirmed(data.password, data.password_confirm)
        tokens = await access.change_password(request.user, data.current_password, data.password, keep=request.auth)
        issued.extend([tokens] if tokens else [])
        return "Password changed. All other sessions are logged out and your API tokens are revoked."

    page = await _attempt(request, database, clock, "password", change)
    page.cookies = [cookie for tokens in issued for cookie in session_cookies(request, tokens, clock())]
    return page


@post("/account/email", status_code=200)
async def change_email(
    request: AnyRequest, data: URLEncodedBody[AccountForm], access: NamedDependency[Access], database: Db, clock: Now
) -> Template:
    """Change the email, after confirmation by a link sent to it."""

    async def change() -> str:
        await access.ask_for_email(request.user, data.email, data.current_password, session=request.auth)
        return f"We sent an email to {data.email.strip()}. Follow its link to confirm the change."

    return await _attempt(request, database, clock, "email", change)


@post("/account/sessions/{session_id:uuid}/end", status_code=303)
async def end_session(request: AnyRequest, session_id: FromPath[UUID], database: Db) -> Redirect:
    async with database.as_user(request.user.id) as conn:
        if not await sessions_store.end(conn, session_id=session_id):
            raise NotFound("This session has already ended.")
    return Redirect("/account#sessions", status_code=303)


@post("/account/tokens", status_code=200)
async def add_token(request: AnyRequest, data: URLEncodedBody[AccountForm], database: Db, clock: Now) -> Template:
    """Create an API token; it is shown only once."""
    shown: dict[str, object] = {}

    async def make() -> str:
        scopes = [data.scopes] if isinstance(data.scopes, str) else data.scopes
        async with database.as_system() as conn:
            user = await lock_logged_in(conn, request.auth)
            shown["token"] = await make_token(conn, user=user, name=data.name, scopes=scopes, now=clock())
        return "Copy the token now: it is not shown again."

    return await _attempt(request, database, clock, "tokens", make, shown)


@post("/account/tokens/{token_id:uuid}/revoke", status_code=303)
async def revoke_token(request: AnyRequest, token_id: FromPath[UUID], database: Db) -> Redirect:
    async with database.as_user(request.user.id) as conn:
        if not await tokens_store.remove(conn, token_id=token_id):
            raise NotFound("This token is already revoked.")
    return Redirect("/account#tokens", status_code=303)


@post("/account/analytics", status_code=303)
async def answer_analytics(
    request: AnyRequest, data: URLEncodedBody[AccountForm], database: Db, clock: Now
) -> Redirect | Template:
    """Answer whether reading is counted. Anything but `yes` is a no."""
    agrees = data.answer == "yes"
    async with database.as_user(request.user.id) as conn:
        answer = analytics.consent if agrees else analytics.refuse
        await answer(conn, user_id=request.user.id, now=clock())
    if is_htmx(request):
        return Template("account/answered.html", context={"agrees": agrees}, status_code=200)
    return Redirect("/account#analytics", status_code=303)


@post("/account/delete", status_code=200)
async def delete_account(
    request: AnyRequest, data: URLEncodedBody[AccountForm], access: NamedDependency[Access], database: Db, clock: Now
) -> Template | Redirect:
    """Delete the account at once; the removing stage deletes what belongs to it."""
    try:
        await access.delete_account(request.user, data.current_password, session=request.auth)
    except HeadwaterError as error:
        return await _page(request, database, clock, error=error, at="delete")
    return Redirect(LOGIN, status_code=303, cookies=session_cookies(request, None, clock()))


async def _attempt(
    request: AnyRequest,
    database: Database,
    clock: Clock,
    at: str,
    step: Callable[[], Awaitable[str]],
    shown: dict[str, object] | None = None,
) -> Template:
    try:
        notice = await step()
    except HeadwaterError as error:
        return await _page(request, database, clock, error=error, at=at)
    return await _page(request, database, clock, at=at, notice=notice, shown=shown)


async def _page(
    request: AnyRequest,
    database: Database,
    clock: Clock,
    *,
    at: str = "",
    error: HeadwaterError | None = None,
    notice: str = "",
    shown: dict[str, object] | None = None,
) -> Template:
    """The page, with the result of the last action beside its form."""
    status = status_of(error) if error else 200
    if error is not None and status >= 500:
        raise error
    async with database.as_user(request.user.id) as conn:
        context = {
            "user": request.user,
            "here": request.auth.id,
            "now": clock(),
            "sessions": await sessions_store.list_of(conn, user_id=request.user.id),
            "tokens": await tokens_store.list_of(conn, user_id=request.user.id),
            "scopes": [scope for scope in Scope if scope in scopes_allowed(request.user.role)],
            "answer": await analytics.find_answer(conn),
            "opts_out": opts_out(request),
            "at": at,
            "error": str(error) if error else None,
            "notice": notice,
        }
    return Template("account/page.html", context=context | (shown or {}), status_code=status)
