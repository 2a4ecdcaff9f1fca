"""Redirects: to good feeds, in chains and loops, and to places no reader may go.

In: a Call. Out: 3xx responses. REDIRECTS maps a host to its paths and their keepers; nothing here follows them.
"""

from itertools import pairwise

from aiohttp import web

from headwater.lab.zoo.calls import Call, Keeper
from headwater.lab.zoo.sites import DOMAIN


def _to(status: int, location: str) -> Keeper:
    """A redirect; `{port}` in the location is the zoo's own."""

    async def keeper(call: Call) -> web.StreamResponse:
        headers = {"Location": location.format(port=call.port)} if location else {}
        return web.Response(status=status, headers=headers, text="See the Location header, if there is one.")

    return keeper


def _chain(hops: int) -> dict[str, Keeper]:
    """So many redirects from /feed.xml to /end.xml, permanent and temporary in turn."""
    stops = ["/feed.xml", *(f"/hop/{number}.xml" for number in range(1, hops)), "/end.xml"]
    return {here: _to(301 + number % 2, there) for number, (here, there) in enumerate(pairwise(stops))}


def _only(status: int, location: str) -> dict[str, Keeper]:
    return {"/feed.xml": _to(status, location)}


REDIRECTS: dict[str, dict[str, Keeper]] = {
    "moved": _only(301, "/current.xml"),
    "moved-308": _only(308, "/current.xml"),
    "merged": _only(301, f"http://daily.{DOMAIN}:{{port}}/feed.xml"),
    "visiting": _only(302, f"http://visiting.{DOMAIN}:{{port}}/today.xml"),
    "visiting-307": _only(307, "/today.xml"),
    "hops": _chain(4),
    "too-many-hops": _chain(6),
    "carousel": {"/feed.xml": _to(302, "/again.xml"), "/again.xml": _to(302, "/feed.xml")},
    "mirror": _only(301, "/feed.xml"),
    "signpost": _only(302, ""),
    "tunnel-metadata": _only(302, "http://169.254.169.254/latest/meta-data/"),
    "tunnel-private": _only(302, "http://10.0.0.1/feed.xml"),
    "tunnel-loopback": _only(302, "http://[::1]:1/feed.xml"),
    "tunnel-file": _only(302, "file:///etc/passwd"),
    "tunnel-ftp": _only(302, f"ftp://files.{DOMAIN}/feed.xml"),
}
