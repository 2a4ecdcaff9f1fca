"""Query and path parameters that several routes share."""

from typing import Annotated
from uuid import UUID

from litestar.params import PathParameter, QueryParameter

from headwater.api.schemas import LIST_MOST, PLAIN, field_error
from headwater.asgi.handlers import decode_cursor
from headwater.errors import Invalid
from headwater.types import PageCursor


def text_filter(description: str, most: int = 200) -> QueryParameter:
    """A filter by a text without control characters."""
    return QueryParameter(description=description, min_length=1, max_length=most, pattern=PLAIN)


Cursor = Annotated[str | None, QueryParameter(description="`next_cursor` of the previous page.", max_length=100)]
Limit = Annotated[int, QueryParameter(description="Maximum number of items.", ge=1, le=LIST_MOST)]
ByHost = Annotated[str | None, text_filter("Only on this host.", 253)]
ByCategory = Annotated[str | None, text_filter("Only of this category.", 100)]
BySourceText = Annotated[str | None, text_filter("Only with this text in the name or URL.")]
BySystem = Annotated[
    bool | None, QueryParameter(description="true: only system sources; false: only those added by users.")
]
PathId = Annotated[UUID, PathParameter(description="The id.")]


def read_cursor(cursor: str | None, source: str = "query") -> PageCursor | None:
    """The cursor, if one was sent. Raises ValidationException."""
    try:
        return decode_cursor(cursor) if cursor is not None else None
    except Invalid as error:
        raise field_error(source, "cursor", "invalid cursor") from error
