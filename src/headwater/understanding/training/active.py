"""The model in use: the active one of the database, or the one that ships."""

from headwater.db import Connection
from headwater.observability.log import get_logger
from headwater.understanding.model_file import InvalidModel, decode
from headwater.understanding.topic_model import TopicModel
from headwater.understanding.topics import load_base_model
from headwater.understanding.training import store
from headwater.understanding.training.types import StoredModel

log = get_logger()


class ActiveModel:
    """Reads the stored model again only when another is active."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._model = load_base_model()

    async def load(self, conn: Connection) -> TopicModel:
        if await store.find_active_version(conn) != self._version:
            stored = await store.find_active(conn)
            self._version = stored.version if stored else None
            self._model = readable(stored) or load_base_model()
        return self._model


def readable(stored: StoredModel | None) -> TopicModel | None:
    """A stored model; None for one that cannot be read, such as one of another version of Headwater."""
    if stored is None:
        return None
    try:
        return decode(stored.data)
    except InvalidModel as error:
        log.warning("stored model not used", version=stored.version, reason=str(error))
        return None
