"""What a request ends in: a response, or a failure of one of these kinds."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class FetchFailure(StrEnum):
    TIMEOUT = "timeout"
    NETWORK = "network"
    DNS = "dns"
    TOO_LARGE = "too_large"
    REDIRECT_LOOP = "redirect_loop"
    BAD_ENCODING = "bad_encoding"
    BLOCKED = "blocked"


class FetchError(Exception):
    """There is no response. The kind can be stored and counted; the detail is for people. `by_name`: what is blocked is
    where a name led, which may be the doing of our own network."""

    def __init__(self, url: str, kind: FetchFailure, detail: str, *, by_name: bool = False) -> None:
        super().__init__(f"{url}: {detail}")
        self.url, self.kind, self.detail = url, kind, detail
        self.by_name = by_name


@dataclass(frozen=True, slots=True)
class Hop:
    status: int
    url: str


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered, after redirects and decompression."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    hops: tuple[Hop, ...] = ()
