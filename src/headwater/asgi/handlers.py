"""What handlers of pages and of the API share: the context of a call, one source, and cursors."""

import base64
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency, Provide
from litestar.response import Template

from headwater.accounts.changes import lock_logged_in
from headwater.accounts.preferences.types import Preferences
from headwater.accounts.types import SessionRow
from headwater.audit import store as audit
from headwater.audit.types import API_TOKEN, Actor, AuditAction
from headwater.channels.route import router_of
from headwater.channels.visible import find_visible
from headwater.db import Connection, Database, set_user
from headwater.errors import ArticleNotFound, Invalid
from headwater.library.store import lists
from headwater.sources.store import sources
from headwater.sources.types import Source
from headwater.types import ArticleId, Clock, PageCursor, SourceId

AnyConnection = ASGIConnection[Any, Any, Any, Any]
AnyRequest = Request[Any, Any, Any]
Db = NamedDependency[Database]
Now = NamedDependency[Clock]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LENGTH = 24  # bytes: microseconds, then the id
_MOST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def provide(**values: object) -> dict[str, Provide]:
    """Dependencies that have the same value in every request."""

    def always(value: object) -> Provide:
        return Provide(lambda: value, sync_to_thread=False)

    return {name: always(value) for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class CallContext:
    """A request with what its handler needs: who sent it, the database and the clock."""

    request: AnyRequest
    database: Database
    clock: Clock

    @property
    def user(self) -> Any:  # noqa: ANN401  a User where the route requires a login, else User or None
        return self.request.user

    @property
    def actor(self) -> Actor:
        """The logged-in user, or the operator's API token; for the audit log."""
        return Actor(self.user.id, self.user.email) if self.user else API_TOKEN

    @property
    def now(self) -> datetime:
        return self.clock()

    @property
    def preferences(self) -> Preferences:
        """Of the logged-in user; else the defaults."""
        return preferences_of_request(self.request)

    @property
    def is_htmx(self) -> bool:
        """Whether htmx sent the request, and takes a fragment."""
        return "hx-request" in self.request.headers

    def page(
        self, name: str, /, *, status_code: int = 200, headers: dict[str, str] | None = None, **values: object
    ) -> Template:
        """A template with the user, the time and these values."""
        context = {"user": self.user, "now": self.now, **values}
        return Template(name, context=context, status_code=status_code, headers=headers)

    async def audit(
        self, conn: Connection, action: AuditAction, subject: str, subject_id: UUID | None = None, **detail: object
    ) -> None:
        """Record in the audit log what the caller did."""
        await audit.record(conn, self.actor, action, self.now, subject=subject, subject_id=subject_id, detail=detail)

    async def route(self, conn: Connection, article_id: ArticleId) -> None:
        """Send a changed article to its channels. Last in a transaction: nothing else may be locked after this."""
        await router_of(self.database).route(conn, article_ids=[article_id], now=self.now)

    async def require_visible(self, article_id: ArticleId) -> None:
        """Raises ArticleNotFound for what only private feeds list, unless the user reads one of them."""
        async with self.database.transaction() as conn:
            if await find_visible(conn, [article_id], self.now):
                return
        if self.user is not None:
            async with self.as_user() as conn:
                if await lists.find_article(conn, article_id=article_id) is not None:
                    return
        raise ArticleNotFound

    def as_user(self) -> AbstractAsyncContextManager[Connection]:
        """A transaction with the rows of the logged-in user."""
        return self.database.as_user(self.user.id)

    @asynccontextmanager
    async def as_logged_in(self) -> AsyncIterator[Connection]:
        """The same for what outlives the session. A new password ends it, also one that is set at this moment. Raises
        NotLoggedIn."""
        async with self.database.as_system() as conn:
            await lock_logged_in(conn, self.request.auth)
            await set_user(conn, self.user.id)
            yield conn


Call = NamedDependency[CallContext]


def preferences_of_request(connection: AnyConnection) -> Preferences:
    """Of the session of a request, found with it; without one the defaults."""
    session = cast("dict[str, object]", connection.scope).get("auth")
    return session.preferences if isinstance(session, SessionRow) else Preferences()


def make_call(request: AnyRequest, database: Db, clock: Now) -> CallContext:
    return CallContext(request, database_of(request, database), clock)


def database_of(connection: AnyConnection, database: Database) -> Database:
    """The connections of a request: few for each user and for the operator's token. Visitors without either are limited
    before (`asgi/session.py`)."""
    known = cast("dict[str, Any]", connection.scope)
    user, auth = known.get("user"), known.get("auth")
    return database if auth is None else database.of(user.id if user else API_TOKEN)


@asynccontextmanager
async def open_source(database: Database, source_id: UUID) -> AsyncIterator[tuple[Connection, Source]]:
    """A system transaction and a source. Raises SourceNotFound."""
    async with database.as_system() as conn:
        yield conn, await sources.find_by_id(conn, source_id=SourceId(source_id))


def encode_cursor(at: datetime, row_id: UUID) -> str:
    """Where the next page of a list begins, after this row: opaque text that clients send back unchanged."""
    microseconds = (at - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(microseconds.to_bytes(8, "big") + row_id.bytes).decode()


def decode_cursor(cursor: str) -> PageCursor:
    """Raises Invalid."""
    try:
        raw = base64.b64decode(cursor, altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    microseconds = int.from_bytes(raw[:8], "big")
    if len(raw) != _LENGTH or microseconds > _MOST:
        raise Invalid("Invalid cursor. Start at the first page.")
    return PageCursor(_EPOCH + timedelta(microseconds=microseconds), UUID(bytes=raw[8:]))
