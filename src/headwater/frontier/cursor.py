"""Where a list goes on, as one opaque word: programs give it back and need not know what is in it."""

import base64
from datetime import UTC, datetime, timedelta
from uuid import UUID

from headwater.frontier.types import UrlCursor

_START = datetime(1970, 1, 1, tzinfo=UTC)
_LENGTH = 24  # bytes: microseconds, then the id
_MOST = (datetime.max.replace(tzinfo=UTC) - _START) // timedelta(microseconds=1)


def to_word(cursor: UrlCursor) -> str:
    """The cursor as it is sent."""
    moment = (cursor.discovered_at - _START) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(moment.to_bytes(8, "big") + cursor.id.bytes).decode()


def from_word(word: str) -> UrlCursor:
    """The cursor that was sent. Raises ValueError."""
    raw = base64.b64decode(word, altchars=b"-_", validate=True)
    moment = int.from_bytes(raw[:8], "big")
    if len(raw) != _LENGTH or moment > _MOST:
        raise ValueError("not a cursor")
    return UrlCursor(_START + timedelta(microseconds=moment), UUID(bytes=raw[8:]))
