"""Query parameters that several routes share."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from litestar.params import QueryParameter

from headwater.api.schemas import LIST_MOST, PLAIN, field_error
from headwater.asgi.handlers import decode_cursor
from headwater.errors import Invalid

Cursor = Annotated[str | None, QueryParameter(description="`next_cursor` of the previous page.", max_length=100)]
Limit = Annotated[int, QueryParameter(description="Maximum number of items.", ge=1, le=LIST_MOST)]
ByHost = Annotated[
    str | None, QueryParameter(description="Only on this host.", min_length=1, max_length=253, pattern=PLAIN)
]


def read_cursor(cursor: str | None, source: str = "query") -> tuple[datetime, UUID] | None:
    """The time and id of a cursor, if one was sent. Raises ValidationException."""
    try:
        return decode_cursor(cursor) if cursor is not None else None
    except Invalid as error:
        raise field_error(source, "cursor", "invalid cursor") from error
