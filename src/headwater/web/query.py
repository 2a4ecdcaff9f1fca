"""Values of query strings and forms, as sent by a browser, and what its privacy settings allow to count."""

from uuid import UUID

from litestar.exceptions import ValidationException

from headwater.analytics import store
from headwater.analytics.types import ReaderAction
from headwater.asgi.handlers import AnyConnection, CallContext
from headwater.db import Connection
from headwater.errors import Invalid
from headwater.types import ArticleId


def parse_number(text: str, *, digits: int = 6) -> int | None:
    """A whole number of ASCII digits; None if it is not one or too long."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def parse_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def page_number(page: str, *texts: str, most: int) -> int:
    """The number of a page, if the search texts beside it are valid too. Raises ValidationException."""
    number = parse_number(page)
    if not number or any(len(text) > most or "\0" in text for text in texts):
        raise ValidationException("Invalid query parameters")
    return number


def search_text(*texts: str, most: int) -> list[str]:
    """Search texts without surrounding whitespace. Raises Invalid."""
    if any(len(text) > most or "\0" in text for text in texts):
        raise Invalid(f"A search text has at most {most} characters.")
    return [text.strip() for text in texts]


def opts_out(connection: AnyConnection) -> bool:
    """Whether the browser sends Global Privacy Control or the older Do Not Track."""
    return "1" in {connection.headers.get("sec-gpc"), connection.headers.get("dnt")}


async def is_counted(conn: Connection, connection: AnyConnection) -> bool:
    """Whether clicks on this page are counted: only of users who consented."""
    return not opts_out(connection) and bool(await store.find_answer(conn))


async def record(conn: Connection, call: CallContext, article_id: ArticleId, action: ReaderAction) -> None:
    """Record what the user did with an article, if they consented."""
    if not opts_out(call.request):
        await store.record(conn, article_id=article_id, action=action, now=call.now)
