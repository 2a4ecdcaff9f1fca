"""Cages that answer with a status and little else; and the moods, which do so on schedule.

In: a Call. Out: the response. STATUS_CAGES and MOOD_CAGES map a host's path to its keeper.
"""

from dataclasses import dataclass
from email.utils import formatdate
from math import inf

from aiohttp import web

from headwater.lab.zoo.calls import Call, Keeper, fixed
from headwater.lab.zoo.documents import Document

_CHALLENGE = (
    '<!doctype html><html lang="en"><head><title>Just a moment...</title></head><body><h1>One moment, please</h1>'
    "<p>The gatekeeper of this zoo would like to see you juggle before you come in.</p>"
    "<noscript>Switch on JavaScript to juggle.</noscript><script>/* juggling */</script></body></html>"
)


def _status(status: int, *headers: tuple[str, str]) -> Keeper:
    body = f"<!doctype html><title>{status}</title><h1>{status}</h1><p>This cage always says so.</p>"
    return fixed(Document(body.encode(), "text/html; charset=utf-8", headers=headers, status=status))


def _challenge(status: int) -> Keeper:
    headers = (("cf-mitigated", "challenge"), ("Server", "gatekeeper"))
    return fixed(Document(_CHALLENGE.encode(), "text/html; charset=utf-8", headers=headers, status=status))


async def _busy_until(call: Call) -> web.StreamResponse:
    return web.Response(status=429, headers={"Retry-After": formatdate(call.now + 120, usegmt=True)}, text="Later.")


@dataclass(frozen=True, slots=True)
class Mood:
    """Well, then ill, then well again; each in seconds at tempo 1."""

    well: float
    ill: float
    status: int
    location: str = ""

    def is_ill(self, age: float) -> bool:
        return age >= self.well if self.ill == inf else age % (self.well + self.ill) >= self.well


def _moody(mood: Mood) -> Keeper:
    async def keeper(call: Call) -> web.StreamResponse:
        if not mood.is_ill(call.age):
            return call.serve("/steady.xml")
        headers = {"Location": mood.location} if mood.location else {}
        return web.Response(status=mood.status, headers=headers, text="Not now.")

    return keeper


STATUS_CAGES: dict[str, Keeper] = {
    "bad-request": _status(400),
    "unauthorized": _status(401, ("WWW-Authenticate", 'Basic realm="zoo"')),
    "forbidden": _status(403),
    "missing": _status(404),
    "gone": _status(410),
    "teapot": _status(418),
    "legal": _status(451),
    "busy-seconds": _status(429, ("Retry-After", "120")),
    "busy-until": _busy_until,
    "busy": _status(429),
    "broken": _status(500),
    "bad-gateway": _status(502),
    "resting": _status(503, ("Retry-After", "300")),
    "gateway-timeout": _status(504),
    "challenge": _challenge(403),
    "challenge-503": _challenge(503),
}

MOOD_CAGES: dict[str, Keeper] = {
    "flicker": _moody(Mood(well=20, ill=10, status=503)),
    "forgetful": _moody(Mood(well=30, ill=30, status=404)),
    "farewell": _moody(Mood(well=45, ill=inf, status=410)),
    "mover": _moody(Mood(well=45, ill=inf, status=301, location="/new-address.xml")),
}
