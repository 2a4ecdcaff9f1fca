"""Where a list of suggestions goes on, as one opaque word."""

from litestar.exceptions import ValidationException

from headwater.frontier.cursor import from_word, to_word
from headwater.frontier.types import UrlCursor
from headwater.sources.custom.types import QueueCursor
from headwater.types import SourceId


def word_of(cursor: QueueCursor) -> str:
    """The cursor as it is sent."""
    return to_word(UrlCursor(cursor.at, cursor.id))


def read_place(word: str | None) -> QueueCursor | None:
    """The cursor that was sent. Raises ValidationException."""
    if word is None:
        return None
    try:
        place = from_word(word)
    except ValueError as error:
        fault = {"source": "query", "key": "cursor", "message": "it is not one that this API gave"}
        raise ValidationException(extra=[fault]) from error
    return QueueCursor(place.discovered_at, SourceId(place.id))
