"""A person's own account: password, address, sessions, tokens for programs, and the end of it."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, FromPath
from litestar.response import Redirect, Template

from headwater.accounts.access import Access
from headwater.accounts.changes import lock_logged_in
from headwater.accounts.decide import scopes_allowed
from headwater.accounts.store import sessions as sessions_store
from headwater.accounts.store import tokens as tokens_store
from headwater.accounts.tokens import make_token
from headwater.accounts.types import Scope, Tokens
from headwater.analytics import store as analytics
from headwater.asgi.errors import status_of
from headwater.asgi.session import expired_cookies, is_secure, session_cookies
from headwater.db import Database
from headwater.errors import HeadwaterError, Invalid, NotFound
from headwater.types import Clock
from headwater.web.consent import objects_to_counting
from headwater.web.forms import Consent, Deletion, NewEmail, NewPassword, NewToken

AnyRequest = Request[Any, Any, Any]
Form = Body(media_type=RequestEncodingType.URL_ENCODED)


@get("/account")
async def account(request: AnyRequest, database: NamedDependency[Database], clock: NamedDependency[Clock]) -> Template:
    """All of it on one page."""
    return await _page(request, database, clock)


@post("/account/password", status_code=200)
async def change_password(
    request: AnyRequest,
    data: Annotated[NewPassword, Form],
    access: NamedDependency[Access],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template:
    """A new password by the old one; every other session ends, and this browser gets new cookies."""
    issued: list[Tokens] = []

    async def change() -> str:
        if data.password != data.password_confirm:
            raise Invalid("Passwords do not match")
        tokens = await access.change_password(request.user, data.current_password, data.password, keep=request.auth)
        issued.extend([tokens] if tokens else [])
        return "Password changed. All other sessions are logged out and your API tokens are revoked."

    page = await _try(request, database, clock, "password", change)
    page.cookies = [
        cookie for tokens in issued for cookie in session_cookies(tokens, clock(), is_secure=is_secure(request))
    ]
    return page


@post("/account/email", status_code=200)
async def change_email(
    request: AnyRequest,
    data: Annotated[NewEmail, Form],
    access: NamedDependency[Access],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template:
    """Another address, once a letter to it has been answered."""

    async def change() -> str:
        await access.ask_for_email(request.user, data.email, data.current_password, session=request.auth)
        return f"We sent an email to {data.email.strip()}. Follow its link to confirm the change."

    return await _try(request, database, clock, "email", change)


@post("/account/sessions/{session_id:uuid}/end", status_code=303)
async def end_session(request: AnyRequest, session_id: FromPath[UUID], database: NamedDependency[Database]) -> Redirect:
    """Log out somewhere else. Raises NotFound."""
    async with database.as_user(request.user.id) as conn:
        if not await sessions_store.end(conn, session_id=session_id):
            raise NotFound("This session has already ended.")
    return Redirect("/account#sessions", status_code=303)


@post("/account/tokens", status_code=200)
async def add_token(
    request: AnyRequest,
    data: Annotated[NewToken, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template:
    """A token for programs; it is shown this once."""
    shown: dict[str, object] = {}

    async def make() -> str:
        scopes = [data.scopes] if isinstance(data.scopes, str) else data.scopes
        async with database.as_system() as conn:
            user = await lock_logged_in(conn, request.auth)
            shown["token"] = await make_token(conn, user=user, name=data.name, scopes=scopes, now=clock())
        return "Copy the token now: it is not shown again."

    return await _try(request, database, clock, "tokens", make, shown)


@post("/account/tokens/{token_id:uuid}/revoke", status_code=303)
async def revoke_token(request: AnyRequest, token_id: FromPath[UUID], database: NamedDependency[Database]) -> Redirect:
    """A token that is no good any more. Raises NotFound."""
    async with database.as_user(request.user.id) as conn:
        if not await tokens_store.remove(conn, token_id=token_id):
            raise NotFound("This token is already revoked.")
    return Redirect("/account#tokens", status_code=303)


@post("/account/analytics", status_code=303)
async def answer_analytics(
    request: AnyRequest,
    data: Annotated[Consent, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Redirect | Template:
    """May what this person reads be counted? Anything but a clear yes is a no."""
    agrees = data.answer == "yes"
    async with database.as_user(request.user.id) as conn:
        answer = analytics.consent if agrees else analytics.refuse
        await answer(conn, user_id=request.user.id, now=clock())
    if "hx-request" in request.headers:
        return Template("account/answered.html", context={"agrees": agrees}, status_code=200)
    return Redirect("/account#analytics", status_code=303)


@post("/account/delete", status_code=200)
async def delete_account(
    request: AnyRequest,
    data: Annotated[Deletion, Form],
    access: NamedDependency[Access],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """Delete the account at once; the removing stage deletes what belongs to it."""
    try:
        await access.delete_account(request.user, data.current_password, session=request.auth)
    except HeadwaterError as error:
        return await _page(request, database, clock, error=error, at="delete")
    return Redirect("/auth/login", status_code=303, cookies=expired_cookies(is_secure=is_secure(request)))


async def _try(
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
    return await _page(request, database, clock, at=at, notice=notice, shown=shown or {})


async def _page(
    request: AnyRequest,
    database: Database,
    clock: Clock,
    *,
    at: str = "",
    error: HeadwaterError | None = None,
    notice: str = "",
    shown: Mapping[str, object] = MappingProxyType({}),
) -> Template:
    """The page, with what came of the last step beside the form it was about."""
    status = status_of(error) if error else 200
    if error is not None and status >= 500:
        raise error
    async with database.as_user(request.user.id) as conn:
        sessions = await sessions_store.list_of(conn, user_id=request.user.id)
        tokens = await tokens_store.list_of(conn, user_id=request.user.id)
        answer = await analytics.find_answer(conn)
    context = {
        "user": request.user,
        "here": request.auth.id,
        "now": clock(),
        "sessions": sessions,
        "tokens": tokens,
        "scopes": [scope for scope in Scope if scope in scopes_allowed(request.user.role)],
        "answer": answer,
        "objects": objects_to_counting(request),
        "at": at,
        "error": str(error) if error else None,
        "notice": notice,
        **shown,
    }
    return Template("account/page.html", context=context, status_code=status)


account_pages = [
    account,
    change_password,
    change_email,
    end_session,
    add_token,
    revoke_token,
    answer_analytics,
    delete_account,
]
