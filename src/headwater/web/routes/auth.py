"""Sign up, log in, log out, reset a password, confirm an email, log in with OpenID."""

import secrets
from datetime import timedelta
from typing import Annotated

from litestar import get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import FromQuery
from litestar.response import Redirect, Template

from headwater.accounts.access import Access, AwaitsConfirmation, LoggedIn
from headwater.accounts.openid import Attempt, OpenId
from headwater.accounts.outside import Outsiders
from headwater.accounts.store import sessions, users
from headwater.asgi.errors import status_of
from headwater.asgi.handlers import AnyRequest, Db, Form, Now
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
from headwater.web.forms import ForgotPassword, Login, Registration, ResetPassword

HOME = "/dashboard"
ATTEMPT_COOKIE = "headwater_openid"
ATTEMPT_LIFETIME = timedelta(minutes=10)


@get("/auth/register", role=PUBLIC)
async def register_page(request: AnyRequest, access: NamedDependency[Access], database: Db) -> Template | Redirect:
    """The form that creates an account."""
    if request.user:
        return Redirect(HOME, status_code=303)
    context = await _first_account(request, access, database)
    return Template("auth/register.html", context={"form": Registration(), **context})


@post("/auth/register", role=PUBLIC, status_code=200)
async def register(
    request: AnyRequest,
    data: Annotated[Registration, Form],
    access: NamedDependency[Access],
    database: Db,
    clock: Now,
) -> Template | Redirect:
    """Create an account and log in."""
    try:
        if data.password != data.password_confirm:
            raise Invalid("Passwords do not match")
        if not data.privacy:
            raise Invalid("Please accept the privacy policy")
        came = await access.register(data.email, data.password, visitor_of(request), code=data.setup_code)
    except HeadwaterError as error:
        return _form_with_error("auth/register.html", data, error, **await _first_account(request, access, database))
    return _logged_in(request, came, clock)


async def _first_account(request: AnyRequest, access: Access, database: Database) -> dict[str, bool]:
    """What the page needs for the first account."""
    async with database.as_system() as conn:
        is_first = not await users.has_any(conn)
    return {"is_first": is_first, "asks_for_code": is_first and access.asks_for_code(visitor_of(request))}


@get("/auth/login", role=PUBLIC)
async def login_page(request: AnyRequest, database: Db) -> Template | Redirect:
    """The login form; without any account, the form for the first."""
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
    clock: Now,
) -> Template | Redirect:
    """Log in."""
    try:
        came = await access.log_in(data.email, data.password, visitor_of(request))
    except HeadwaterError as error:
        return _form_with_error("auth/login.html", data, error)
    return _logged_in(request, came, clock)


@post("/auth/logout", role=PUBLIC, status_code=303)
async def log_out(request: AnyRequest, database: Db) -> Redirect:
    """End the session."""
    if request.auth:
        async with database.as_system() as conn:
            await sessions.end(conn, session_id=request.auth.id)
    return Redirect("/auth/login", status_code=303, cookies=expired_cookies(is_secure=is_secure(request)))


@get("/auth/forgot", role=PUBLIC, sync_to_thread=False)
def forgot_page() -> Template:
    """The form that requests a reset link."""
    return Template("auth/forgot.html", context={"form": ForgotPassword()})


@post("/auth/forgot", role=PUBLIC, status_code=200)
async def forgot(
    request: AnyRequest, data: Annotated[ForgotPassword, Form], access: NamedDependency[Access]
) -> Template:
    """Send a reset link, if the account exists. The response is the same either way."""
    try:
        await access.ask_for_reset(data.email, visitor_of(request))
    except HeadwaterError as error:
        return _form_with_error("auth/forgot.html", data, error)
    return Template("auth/check_mail.html", context={"email": data.email})


@get("/auth/reset", role=PUBLIC, sync_to_thread=False)
def reset_page(token: FromQuery[str] = "") -> Template:
    """The form for a new password."""
    return Template("auth/reset.html", context={"form": ResetPassword(token=token)})


@post("/auth/reset", role=PUBLIC, status_code=200)
async def reset(data: Annotated[ResetPassword, Form], access: NamedDependency[Access]) -> Template | Redirect:
    """Set a new password with the token of an email."""
    try:
        if data.password != data.password_confirm:
            raise Invalid("Passwords do not match")
        await access.reset_password(data.token, data.password)
    except HeadwaterError as error:
        return _form_with_error("auth/reset.html", data, error)
    return Template("auth/login.html", context={"form": Login(), "notice": "Password changed. You can log in now."})


@get("/auth/confirm", role=PUBLIC, sync_to_thread=False)
def confirm_page(token: FromQuery[str] = "") -> Template:
    """A form with a button, since mail programs open links."""
    return Template("auth/confirm.html", context={"form": ResetPassword(token=token)})


@post("/auth/confirm", role=PUBLIC, status_code=200)
async def confirm(data: Annotated[ResetPassword, Form], access: NamedDependency[Access]) -> Template | Redirect:
    """Confirm an email."""
    try:
        await access.confirm(data.token)
    except HeadwaterError as error:
        return _form_with_error("auth/confirm.html", data, error)
    return Template("auth/login.html", context={"form": Login(), "notice": "Email confirmed. You can log in now."})


@get("/auth/openid", role=PUBLIC)
async def openid_login(request: AnyRequest, openid: NamedDependency[OpenId | None]) -> Template | Redirect:
    """Redirect to the OpenID provider. Raises NotFound."""
    if openid is None:
        raise NotFound("Login with another provider is not set up.")
    attempt = Attempt(secrets.token_urlsafe(32))
    try:
        address = await openid.address(attempt)
    except IssuerUnavailable as error:
        return _form_with_error("auth/login.html", Login(), error)
    return Redirect(address, status_code=303, cookies=[_attempt_cookie(request, attempt.seed)])


@get("/auth/openid/callback", role=PUBLIC)
async def openid_callback(
    request: AnyRequest,
    access: NamedDependency[Access],
    outsiders: NamedDependency[Outsiders],
    openid: NamedDependency[OpenId | None],
    clock: Now,
    code: FromQuery[str] = "",
    iss: FromQuery[str] = "",
) -> Template | Redirect:
    """Log in after the redirect from the OpenID provider, with the state of this browser."""
    attempt = Attempt(request.cookies.get(ATTEMPT_COOKIE, ""))
    state = request.query_params.get("state", "")  # as a parameter, the framework injects its own state
    try:
        if openid is None or not attempt.seed or not attempt.is_answered_by(state):
            raise NotLoggedIn("This login was not started here, or took too long. Try again.")
        identity = await openid.identify(attempt, code=code, issuer=iss)
        visitor = visitor_of(request)
        user = await outsiders.account_of(identity, may_be_first=not access.asks_for_code(visitor))
        came = await access.welcome(user, visitor, identity)
    except HeadwaterError as error:
        form = _form_with_error("auth/login.html", Login(), error)
        form.cookies = [_attempt_cookie(request, "")]
        return form
    response = _logged_in(request, came, clock)
    response.cookies = [*response.cookies, _attempt_cookie(request, "")]
    return response


def _attempt_cookie(request: AnyRequest, seed: str) -> Cookie:
    """The cookie of one OpenID login; an empty seed deletes it."""
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


def _form_with_error(template: str, form: object, error: HeadwaterError, **context: object) -> Template:
    """The form with its values and the error. Raises server errors."""
    status = status_of(error)
    if status >= 500 and not isinstance(error, IssuerUnavailable):
        raise error
    wait = error.retry_after.total_seconds() if isinstance(error, TooManyAttempts) else None
    headers = {} if wait is None else {"Retry-After": str(round(wait))}
    context |= {"form": form, "error": str(error)}
    return Template(template, context=context, status_code=status, headers=headers)


def _logged_in(request: AnyRequest, came: LoggedIn | AwaitsConfirmation, clock: Clock) -> Template | Redirect:
    if isinstance(came, AwaitsConfirmation):
        return Template("auth/check_mail.html", context={"email": came.email})
    cookies = session_cookies(came.tokens, clock(), is_secure=is_secure(request))
    return Redirect(HOME, status_code=303, cookies=cookies)


auth_pages = [
    register_page, register, login_page, log_in, log_out, forgot_page, forgot, reset_page, reset, confirm_page, confirm,
    openid_login, openid_callback,
]  # fmt: skip
