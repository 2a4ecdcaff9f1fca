"""The keys of URLs are digests: no lookup is needed to find the row of a URL. Pure."""

from typing import NamedTuple
from uuid import UUID

from headwater.hosts.keys import from_bytes, host_id_of, shard_of
from headwater.urls import key_of, read_url

_WHOLE = 2**64 - 1


class UrlKey(NamedTuple):
    """The columns of a URL's key. All transactions write rows in this order, so that they cannot deadlock."""

    shard: int
    host_id: int
    url_id: int

    @property
    def id(self) -> UUID:
        """The id in the API: 64 bits of the host and 64 of the URL."""
        return UUID(int=(self.host_id & _WHOLE) << 64 | self.url_id & _WHOLE)


class Located(NamedTuple):
    url: str
    canonical: str
    host: str
    key: UrlKey


def locate(url: str) -> Located:
    """The host and key of a URL. Raises InvalidUrl."""
    requested, canonical, host = read_url(url)
    host_id = host_id_of(host)
    return Located(requested, canonical, host, UrlKey(shard_of(host_id), host_id, from_bytes(key_of(canonical)[:8])))


def url_key_of(id: UUID) -> UrlKey:  # noqa: A002
    host_id = from_bytes(id.bytes[:8])
    return UrlKey(shard_of(host_id), host_id, from_bytes(id.bytes[8:]))


def shortened(url: str, host: str) -> str:
    """As stored: without https and the host, which are in the row of the host."""
    start = f"https://{host}/"
    return url[len(start) - 1 :] if url.startswith(start) else url


def lengthened(stored: str, host: str) -> str:
    return f"https://{host}{stored}" if stored.startswith("/") else stored
