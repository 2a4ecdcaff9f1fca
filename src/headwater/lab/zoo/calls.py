"""What a keeper of a cage is told about the request it answers, and the type of a keeper.

In: a request that the server has read. Out: Call, Keeper, and `fixed` for keepers that always say the same.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from aiohttp import web

from headwater.lab.zoo.documents import Document, respond


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `now` is the zoo's clock, `age` the seconds since opening, stretched by the tempo."""

    request: web.BaseRequest
    host: str
    path: str
    now: float
    age: float
    port: int
    serve: Callable[[str], web.Response]  # what the host's site has at a path


Keeper: TypeAlias = Callable[[Call], Awaitable[web.StreamResponse]]


def fixed(document: Document) -> Keeper:
    async def keeper(call: Call) -> web.StreamResponse:
        return respond(call.request, document)

    return keeper
