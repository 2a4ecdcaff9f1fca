"""Cursors: where the next page of a list begins, as opaque text that clients send back unchanged."""

import base64
from datetime import UTC, datetime, timedelta
from uuid import UUID

from headwater.errors import Invalid

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LENGTH = 24  # bytes: microseconds, then the id
_MOST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def encode_cursor(at: datetime, row_id: UUID) -> str:
    """The cursor after a row, by its time and id."""
    microseconds = (at - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(microseconds.to_bytes(8, "big") + row_id.bytes).decode()


def decode_cursor(cursor: str) -> tuple[datetime, UUID]:
    """The time and id of a cursor. Raises Invalid."""
    try:
        raw = base64.b64decode(cursor, altchars=b"-_", validate=True)
    except ValueError as error:
        raise Invalid("Invalid cursor. Start at the first page.") from error
    microseconds = int.from_bytes(raw[:8], "big")
    if len(raw) != _LENGTH or microseconds > _MOST:
        raise Invalid("Invalid cursor. Start at the first page.")
    return _EPOCH + timedelta(microseconds=microseconds), UUID(bytes=raw[8:])
