"""The ids of URLs, made of digests: nothing is looked up to know where a URL belongs. Pure."""

from typing import NamedTuple
from uuid import UUID

from headwater.hosts.keys import from_bytes, host_id_of, shard_of
from headwater.urls import key_of, read_url

_WHOLE = 2**64 - 1


class Place(NamedTuple):
    """Where a URL is kept: the columns of its key. Everybody writes rows in this order, so that nobody deadlocks."""

    shard: int
    host_id: int
    url_id: int

    @property
    def id(self) -> UUID:
        """What the API calls it by: its host's half and its own."""
        return UUID(int=(self.host_id & _WHOLE) << 64 | self.url_id & _WHOLE)


class Located(NamedTuple):
    """A URL as it is asked for, the form under which equal pages meet, its host, and where it is kept."""

    url: str
    canonical: str
    host: str
    place: Place


def locate(url: str) -> Located:
    """Where a URL belongs. Raises InvalidUrl."""
    asked, form, host = read_url(url)
    host_id = host_id_of(host)
    return Located(asked, form, host, Place(shard_of(host_id), host_id, from_bytes(key_of(form)[:8])))


def place_of(id: UUID) -> Place:  # noqa: A002  what else should an id be called
    """Where the URL of this id is kept."""
    host_id = from_bytes(id.bytes[:8])
    return Place(shard_of(host_id), host_id, from_bytes(id.bytes[8:]))


def shortened(url: str, host: str) -> str:
    """As it is stored: without https and the host, which stand in the host's row already."""
    start = f"https://{host}/"
    return url[len(start) - 1 :] if url.startswith(start) else url


def lengthened(stored: str, host: str) -> str:
    """What was shortened, whole again."""
    return f"https://{host}{stored}" if stored.startswith("/") else stored
