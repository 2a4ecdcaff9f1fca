"""Sign up, log in (also with OpenID), log out, reset a password, confirm an email; the home page and privacy policy."""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from litestar import get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.access import Access, AwaitsConfirmation, LoggedIn
from headwater.accounts.external import ExternalAccounts
from headwater.accounts.openid import OpenId, OpenIdAttempt
from headwater.accounts.preferences import store as preferences
from headwater.accounts.preferences.types import StartPage
from headwater.accounts.store import sessions, users
from headwater.asgi.errors import AFTER_LOGIN, LOGIN, retry_header, status_of
from headwater.asgi.handlers import AnyRequest, Call, CallContext
from headwater.asgi.session import PUBLIC, is_secure, session_cookies, visitor_of
from headwater.errors import HeadwaterError, Invalid, IssuerUnavailable, NotFound, NotLoggedIn
from headwater.library.store import lists
from headwater.types import UserId

ATTEMPT_COOKIE = "headwater_openid"
ATTEMPT_LIFETIME = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AuthForm:
    """The fields of all forms before the login; each form has some of them."""

    email: str = ""
    password: str = ""
    password_confirm: str = ""
    privacy: str = ""
    setup_code: str = ""
    token: str = ""
    back: str = ""


@get("/", role=PUBLIC)
async def front(call: Call) -> Redirect:
    return Redirect(await _start_page(call, call.user.id) if call.user else LOGIN, status_code=303)


@get("/privacy", role=PUBLIC, sync_to_thread=False)
def privacy(request: AnyRequest) -> Template:
    return Template("privacy.html", context={"user": request.user})


@get("/auth/register", role=PUBLIC)
async def register_page(call: Call, access: NamedDependency[Access]) -> Template | Redirect:
    if call.user:
        return Redirect(await _start_page(call, call.user.id), status_code=303)
    context = await _first_account(call, access)
    return Template("auth/register.html", context={"form": AuthForm(), **context})


@post("/auth/register", role=PUBLIC, status_code=200)
async def register(call: Call, data: URLEncodedBody[AuthForm], access: NamedDependency[Access]) -> Template | Redirect:
    try:
        check_confirmed(data.password, data.password_confirm)
        if not data.privacy:
            raise Invalid("Please accept the privacy policy")
        came = await access.register(data.email, data.password, visitor_of(call.request), code=data.setup_code)
    except HeadwaterError as error:
        return _form_with_error("auth/register.html", data, error, **await _first_account(call, access))
    return await _logged_in(call, came)


async def _first_account(call: CallContext, access: Access) -> dict[str, bool]:
    async with call.database.as_system() as conn:
        is_first = not await users.has_any(conn)
    return {"is_first": is_first, "needs_setup_code": is_first and access.needs_setup_code(visitor_of(call.request))}


@get("/auth/login", role=PUBLIC)
async def login_page(call: Call, deleted: FromQuery[str] = "", back: FromQuery[str] = "") -> Template | Redirect:
    """The login form; without any account, the form for the first. `deleted`: an account was deleted just now; `back`:
    what is opened after the login."""
    if call.user:
        return Redirect(await _next_page(call, call.user.id, back), status_code=303)
    notice = "Your account and your data are deleted." if deleted else ""
    async with call.database.as_system() as conn:
        if not deleted and not await users.has_any(conn):
            return Redirect("/auth/register", status_code=303)
    return Template("auth/login.html", context={"form": AuthForm(back=back), "notice": notice})


@post("/auth/login", role=PUBLIC, status_code=200)
async def log_in(call: Call, data: URLEncodedBody[AuthForm], access: NamedDependency[Access]) -> Template | Redirect:
    try:
        came = await access.log_in(data.email, data.password, visitor_of(call.request))
    except HeadwaterError as error:
        return _form_with_error("auth/login.html", data, error)
    return await _logged_in(call, came, data.back)


@post("/auth/logout", role=PUBLIC, status_code=303)
async def log_out(call: Call) -> Redirect:
    if call.request.auth:
        async with call.database.as_system() as conn:
            await sessions.end(conn, session_id=call.request.auth.id)
    return Redirect(LOGIN, status_code=303, cookies=session_cookies(call.request, None, call.now))


@get("/auth/forgot", role=PUBLIC, sync_to_thread=False)
def forgot_page() -> Template:
    return Template("auth/forgot.html", context={"form": AuthForm()})


@post("/auth/forgot", role=PUBLIC, status_code=200)
async def forgot(request: AnyRequest, data: URLEncodedBody[AuthForm], access: NamedDependency[Access]) -> Template:
    """Send a reset link, if the account exists. The response is the same either way."""
    try:
        await access.ask_for_reset(data.email, visitor_of(request))
    except HeadwaterError as error:
        return _form_with_error("auth/forgot.html", data, error)
    return Template("auth/check_mail.html", context={"email": data.email})


@get("/auth/reset", role=PUBLIC, sync_to_thread=False)
def reset_page(token: FromQuery[str] = "") -> Template:
    return Template("auth/reset.html", context={"form": AuthForm(token=token)})


@post("/auth/reset", role=PUBLIC, status_code=200)
async def reset(data: URLEncodedBody[AuthForm], access: NamedDependency[Access]) -> Template | Redirect:
    try:
        check_confirmed(data.password, data.password_confirm)
        await access.reset_password(data.token, data.password)
    except HeadwaterError as error:
        return _form_with_error("auth/reset.html", data, error)
    return Template("auth/login.html", context={"form": AuthForm(), "notice": "Password changed. You can log in now."})


@get("/auth/confirm", role=PUBLIC, sync_to_thread=False)
def confirm_page(token: FromQuery[str] = "") -> Template:
    """A form with a button, since mail programs open links."""
    return Template("auth/confirm.html", context={"form": AuthForm(token=token)})


@post("/auth/confirm", role=PUBLIC, status_code=200)
async def confirm(data: URLEncodedBody[AuthForm], access: NamedDependency[Access]) -> Template | Redirect:
    try:
        await access.confirm(data.token)
    except HeadwaterError as error:
        return _form_with_error("auth/confirm.html", data, error)
    return Template("auth/login.html", context={"form": AuthForm(), "notice": "Email confirmed. You can log in now."})


@get("/auth/openid", role=PUBLIC)
async def openid_login(request: AnyRequest, openid: NamedDependency[OpenId | None]) -> Template | Redirect:
    if openid is None:
        raise NotFound("Login with another provider is not set up.")
    attempt = OpenIdAttempt(secrets.token_urlsafe(32))
    try:
        address = await openid.address(attempt)
    except IssuerUnavailable as error:
        return _form_with_error("auth/login.html", AuthForm(), error)
    return Redirect(address, status_code=303, cookies=[_attempt_cookie(request, attempt.seed)])


@get("/auth/openid/callback", role=PUBLIC)
async def openid_callback(
    call: Call, access: NamedDependency[Access], external_accounts: NamedDependency[ExternalAccounts],
    openid: NamedDependency[OpenId | None], code: FromQuery[str] = "", iss: FromQuery[str] = ""
) -> Template | Redirect:  # fmt: skip
    """Log in after the redirect from the OpenID provider, with the state of this browser."""
    attempt = OpenIdAttempt(call.request.cookies.get(ATTEMPT_COOKIE, ""))
    state = call.request.query_params.get("state", "")  # as a parameter, the framework injects its own state
    try:
        if openid is None or not attempt.seed or not attempt.has("state", state):
            raise NotLoggedIn("This login was not started here, or took too long. Try again.")
        identity = await openid.identify(attempt, code=code, issuer=iss)
        visitor = visitor_of(call.request)
        user = await external_accounts.account_of(identity, may_be_first=not access.needs_setup_code(visitor))
        response = await _logged_in(call, await access.start_session(user, visitor, identity))
    except HeadwaterError as error:
        response = _form_with_error("auth/login.html", AuthForm(), error)
    response.cookies = [*response.cookies, _attempt_cookie(call.request, "")]
    return response


def _attempt_cookie(request: AnyRequest, seed: str) -> Cookie:
    """The cookie of one OpenID login; an empty seed deletes it."""
    return Cookie(
        ATTEMPT_COOKIE, path="/auth/openid", value=seed, max_age=round(ATTEMPT_LIFETIME.total_seconds()) if seed else 0,
        secure=is_secure(request), httponly=True, samesite="lax",
    )  # fmt: skip


def check_confirmed(password: str, again: str) -> None:
    if password != again:
        raise Invalid("Passwords do not match")


def _form_with_error(template: str, form: AuthForm, error: HeadwaterError, **context: object) -> Template:
    """The form with its values and the error. Raises server errors."""
    status = status_of(error)
    if status >= 500 and not isinstance(error, IssuerUnavailable):
        raise error
    context |= {"form": form, "error": str(error)}
    return Template(template, context=context, status_code=status, headers=retry_header(error))


async def _logged_in(call: CallContext, came: LoggedIn | AwaitsConfirmation, back: str = "") -> Template | Redirect:
    if isinstance(came, AwaitsConfirmation):
        return Template("auth/check_mail.html", context={"email": came.email})
    cookies = session_cookies(call.request, came.tokens, call.now)
    return Redirect(await _next_page(call, came.user.id, back), status_code=303, cookies=cookies)


async def _next_page(call: CallContext, user_id: UserId, back: str) -> str:
    """What was opened before the login, if that may be opened by a link from elsewhere; else the start page."""
    return back if AFTER_LOGIN.fullmatch(back) else await _start_page(call, user_id)


async def _start_page(call: CallContext, user_id: UserId) -> str:
    """The page that the user chose; without a choice, what to read once there is something, else the feeds."""
    async with call.database.as_user(user_id) as conn:
        chosen = (await preferences.find(conn)).start_page
        if chosen is StartPage.AUTO:
            chosen = StartPage.UNREAD if await lists.has_articles(conn) else StartPage.DASHBOARD
    return "/dashboard" if chosen is StartPage.DASHBOARD else f"/read?shelf={chosen}"
