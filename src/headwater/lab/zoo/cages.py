"""All keepers in one table: which host and path is answered by which of them.

In: the cages of the modules beside this one. Out: CAGES, host to path to keeper; a path that is not here belongs to the
site of that host, if there is one. The path ANY_PATH stands for all.
"""

from html import escape

from aiohttp import web

from headwater.lab.zoo.bodies import BODY_CAGES, DEN
from headwater.lab.zoo.calls import Call, Keeper
from headwater.lab.zoo.connections import CONNECTION_CAGES, drip
from headwater.lab.zoo.documents import html, respond
from headwater.lab.zoo.redirects import REDIRECTS
from headwater.lab.zoo.sites import DOMAIN
from headwater.lab.zoo.statuses import MOOD_CAGES, STATUS_CAGES

ANY_PATH = "*"


async def lobby(call: Call) -> web.StreamResponse:
    """The front page in place of the feed."""
    return call.serve("/")


async def labyrinth(call: Call) -> web.StreamResponse:
    """Whatever is asked for exists, and leads deeper."""
    here = escape(call.path.rstrip("/"))
    doors = "".join(f'<li><a href="{here}/{door}">{door} door</a></li>' for door in ("left", "middle", "right"))
    return respond(call.request, html(f"<!doctype html><title>Labyrinth</title><h1>A room</h1><ul>{doors}</ul>"))


_FEED_CAGES: dict[str, Keeper] = STATUS_CAGES | MOOD_CAGES | CONNECTION_CAGES | BODY_CAGES | {"lobby": lobby}

_BY_NAME: dict[str, dict[str, Keeper]] = {
    **{name: {"/feed.xml": keeper} for name, keeper in _FEED_CAGES.items()},
    **REDIRECTS,
    "den": DEN | {"/drip.html": drip},
    "labyrinth": {ANY_PATH: labyrinth},
}

CAGES = {f"{name}.{DOMAIN}": paths for name, paths in _BY_NAME.items()}
