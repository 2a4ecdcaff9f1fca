"""Coming in: register, log in, log out, a forgotten password, a confirmed address, somebody else's door."""

import secrets
from datetime import timedelta
from typing import Annotated, Any

from litestar import Request, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, FromQuery
from litestar.response import Redirect, Template

from headwater.accounts.access import Access, AwaitsConfirmation, LoggedIn
from headwater.accounts.openid import Attempt, OpenId
from headwater.accounts.outside import Outsiders
from headwater.accounts.store import sessions, users
from headwater.asgi.errors import status_of
from headwater.asgi.session import PUBLIC, expired_cookies, is_secure, session_cookies, visitor_of
from headwater.db import Database
from headwater.errors import (
    HeadwaterError,
    Invalid,
    IssuerUnavailable,
    NotFound,
    NotLoggedIn,
    TooManyAttempts,
)
from headwater.types import Clock
from headwater.web.forms import Forgotten, Login, Registration, Reset

AnyRequest = Request[Any, Any, Any]
Form = Body(media_type=RequestEncodingType.URL_ENCODED)
HOME = "/dashboard"
ATTEMPT_COOKIE = "headwater_openid"
ATTEMPT_LIFETIME = timedelta(minutes=10)


@get("/auth/register", role=PUBLIC)
async def register_page(
    request: AnyRequest, access: NamedDependency[Access], database: NamedDependency[Database]
) -> Template | Redirect:
    """The form of a new account."""
    if request.user:
        return Redirect(HOME, status_code=303)
    context = await _first_account(request, access, database)
    return Template("auth/register.html", context={"form": Registration(), **context})


@post("/auth/register", role=PUBLIC, status_code=200)
async def register(
    request: AnyRequest,
    data: Annotated[Registration, Form],
    access: NamedDependency[Access],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """Make an account and log its user in."""
    try:
        if data.password != data.password_confirm:
            raise Invalid("Passwords do not match")
        if not data.privacy:
            raise Invalid("Please accept the privacy policy")
        came = await access.register(data.email, data.password, visitor_of(request), code=data.setup_code)
    except HeadwaterError as error:
        return _again("auth/register.html", data, error, **await _first_account(request, access, database))
    return _welcome(request, came, clock)


async def _first_account(request: AnyRequest, access: Access, database: Database) -> dict[str, bool]:
    """What the registration page says while nobody has an account."""
    async with database.as_system() as conn:
        is_first = not await users.has_any(conn)
    return {"is_first": is_first, "asks_for_code": is_first and access.asks_for_code(visitor_of(request))}


@get("/auth/login", role=PUBLIC)
async def login_page(request: AnyRequest, database: NamedDependency[Database]) -> Template | Redirect:
    """The form to come in; where nobody has an account yet, the one to make the first."""
    if request.user:
        return Redirect(HOME, status_code=303)
    async with database.as_system() as conn:
        if not await users.has_any(conn):
            return Redirect("/auth/register", status_code=303)
    return Template("auth/login.html", context={"form": Login()})


@post("/auth/login", role=PUBLIC, status_code=200)
async def log_in(
    request: AnyRequest,
    data: Annotated[Login, Form],
    access: NamedDependency[Access],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """Let a person in."""
    try:
        came = await access.log_in(data.email, data.password, visitor_of(request))
    except HeadwaterError as error:
        return _again("auth/login.html", data, error)
    return _welcome(request, came, clock)


@post("/auth/logout", role=PUBLIC, status_code=303)
async def log_out(request: AnyRequest, database: NamedDependency[Database]) -> Redirect:
    """Forget the session here and in the browser."""
    if request.auth:
        async with database.as_system() as conn:
            await sessions.end(conn, session_id=request.auth.id)
    return Redirect("/auth/login", status_code=303, cookies=expired_cookies(is_secure=is_secure(request)))


@get("/auth/forgot", role=PUBLIC, sync_to_thread=False)
def forgot_page() -> Template:
    """The form to ask for a new password."""
    return Template("auth/forgot.html", context={"form": Forgotten()})


@post("/auth/forgot", role=PUBLIC, status_code=200)
async def forgot(request: AnyRequest, data: Annotated[Forgotten, Form], access: NamedDependency[Access]) -> Template:
    """Have a link mailed, if there is such an account; the page says the same either way."""
    try:
        await access.ask_for_reset(data.email, visitor_of(request))
    except HeadwaterError as error:
        return _again("auth/forgot.html", data, error)
    return Template("auth/check_mail.html", context={"email": data.email})


@get("/auth/reset", role=PUBLIC, sync_to_thread=False)
def reset_page(token: FromQuery[str] = "") -> Template:
    """The form of a new password."""
    return Template("auth/reset.html", context={"form": Reset(token=token)})


@post("/auth/reset", role=PUBLIC, status_code=200)
async def reset(data: Annotated[Reset, Form], access: NamedDependency[Access]) -> Template | Redirect:
    """A new password by a mailed link."""
    try:
        if data.password != data.password_confirm:
            raise Invalid("Passwords do not match")
        await access.reset_password(data.token, data.password)
    except HeadwaterError as error:
        return _again("auth/reset.html", data, error)
    return Template("auth/login.html", context={"form": Login(), "notice": "Password changed. You can log in now."})


@get("/auth/confirm", role=PUBLIC, sync_to_thread=False)
def confirm_page(token: FromQuery[str] = "") -> Template:
    """A button rather than the deed itself: mail programs follow links to look at them."""
    return Template("auth/confirm.html", context={"form": Reset(token=token)})


@post("/auth/confirm", role=PUBLIC, status_code=200)
async def confirm(data: Annotated[Reset, Form], access: NamedDependency[Access]) -> Template | Redirect:
    """An address is its owner's."""
    try:
        await access.confirm(data.token)
    except HeadwaterError as error:
        return _again("auth/confirm.html", data, error)
    return Template("auth/login.html", context={"form": Login(), "notice": "Email confirmed. You can log in now."})


@get("/auth/openid", role=PUBLIC)
async def leave_for_openid(request: AnyRequest, openid: NamedDependency[OpenId | None]) -> Template | Redirect:
    """To somebody else's door. Raises NotFound."""
    if openid is None:
        raise NotFound("Login with another provider is not set up.")
    attempt = Attempt(secrets.token_urlsafe(32))
    try:
        address = await openid.address(attempt)
    except IssuerUnavailable as error:
        return _again("auth/login.html", Login(), error)
    return Redirect(address, status_code=303, cookies=[_attempt_cookie(request, attempt.seed)])


@get("/auth/openid/callback", role=PUBLIC)
async def come_from_openid(
    request: AnyRequest,
    access: NamedDependency[Access],
    outsiders: NamedDependency[Outsiders],
    openid: NamedDependency[OpenId | None],
    clock: NamedDependency[Clock],
    code: FromQuery[str] = "",
    iss: FromQuery[str] = "",
) -> Template | Redirect:
    """Back from there: let them in who came back with what this browser was sent away with."""
    attempt = Attempt(request.cookies.get(ATTEMPT_COOKIE, ""))
    state = request.query_params.get("state", "")  # as a parameter its name is the framework's own
    try:
        if openid is None or not attempt.seed or not attempt.is_answered_by(state):
            raise NotLoggedIn("This login was not started here, or took too long. Try again.")
        identity = await openid.identify(attempt, code=code, issuer=iss)
        visitor = visitor_of(request)
        user = await outsiders.account_of(identity, may_be_first=not access.asks_for_code(visitor))
        came = await access.welcome(user, visitor, identity)
    except HeadwaterError as error:
        again = _again("auth/login.html", Login(), error)
        again.cookies = [_attempt_cookie(request, "")]
        return again
    welcome = _welcome(request, came, clock)
    welcome.cookies = [*welcome.cookies, _attempt_cookie(request, "")]
    return welcome


def _attempt_cookie(request: AnyRequest, seed: str) -> Cookie:
    """What the browser keeps meanwhile, and forgets when it is back: an attempt is good once."""
    lifetime = round(ATTEMPT_LIFETIME.total_seconds()) if seed else 0
    return Cookie(
        ATTEMPT_COOKIE,
        path="/auth/openid",
        value=seed,
        max_age=lifetime,
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
    )


def _again(template: str, form: object, error: HeadwaterError, **context: object) -> Template:
    """The form once more, with what was typed and what is wrong with it. Raises what is our own fault."""
    status = status_of(error)
    if status >= 500 and not isinstance(error, IssuerUnavailable):
        raise error
    wait = error.retry_after.total_seconds() if isinstance(error, TooManyAttempts) else None
    headers = {} if wait is None else {"Retry-After": str(round(wait))}
    context |= {"form": form, "error": str(error)}
    return Template(template, context=context, status_code=status, headers=headers)


def _welcome(request: AnyRequest, came: LoggedIn | AwaitsConfirmation, clock: Clock) -> Template | Redirect:
    if isinstance(came, AwaitsConfirmation):
        return Template("auth/check_mail.html", context={"email": came.email})
    cookies = session_cookies(came.tokens, clock(), is_secure=is_secure(request))
    return Redirect(HOME, status_code=303, cookies=cookies)


auth_pages = [
    register_page, register, login_page, log_in, log_out, forgot_page, forgot, reset_page, reset, confirm_page, confirm,
    leave_for_openid, come_from_openid,
]  # fmt: skip
