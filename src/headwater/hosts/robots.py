"""robots.txt by RFC 9309: bytes in; rules, Crawl-delay and sitemaps out.

Unknown lines are removed first (an unknown line must not end a group), and all robots but ours and `*` get one name:
parsing takes time in proportion to the length of the file, whatever it contains.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import lru_cache
from math import isfinite

from protego import Protego

from headwater.errors import InvalidUrl
from headwater.urls import parse_url

FIRST_BYTES = 512_000  # RFC 9309 asks for at least 500 KiB
MOST_SITEMAPS = 100
_LINE_MOST = 4_096  # no URL that we fetch is longer
_RULES_KEPT = 512
_RULES_KEPT_MOST = 50_000  # characters: longer ones are not cached, so that a few cannot fill the memory
_LINE = re.compile(
    r"\s*+(?:(?P<agent>user[- ]?agent)|(?P<disallow>d(?:is|ais|ias)s?all?[oa]w)|(?P<allow>allow)"
    r"|(?P<delay>crawl[- ]?delay)|(?P<sitemap>site-?maps?))\s*+(?::|(?<=\s))\s*+(?P<value>[^#]*)",
    re.IGNORECASE,
)
_NAMES = {"agent": "User-agent", "disallow": "Disallow", "allow": "Allow", "delay": "Crawl-delay", "sitemap": "Sitemap"}
_TOKEN = re.compile(r"[a-z_-]+", re.IGNORECASE)
_ANOTHER_ROBOT = "another-robot"


def origin_of(url: str) -> str:
    """Scheme, host and port: what a robots.txt applies to."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{re.split('[/?#]', rest, maxsplit=1)[0]}"


def stripped(body: bytes) -> str:
    """The known lines of a robots.txt; of a web page in its place, nothing."""
    text = body[:FIRST_BYTES].decode("utf-8-sig", "replace").replace("\x00", "")
    return "".join(f"{_NAMES[name]}: {value}\n" for name, value in _lines(text))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """The name and value of each known line."""
    for line in text.splitlines():
        match = _LINE.match(line[:_LINE_MOST])
        if match is not None:
            name = next(name for name in _NAMES if match[name] is not None)
            yield name, match["value"].strip()


class Rules:
    """What a robots.txt allows one robot."""

    def __init__(self, text: str, robot: str) -> None:
        self._robot = robot
        self._rules = Protego.parse("".join(_with_robot_names(text, robot))) if text else None

    def allow(self, url: str) -> bool:
        return self._rules is None or self._rules.can_fetch(url, self._robot)

    def crawl_delay(self, most: timedelta) -> timedelta | None:
        """The time between two requests that it asks for, at most `most`."""
        seconds = self._rules.crawl_delay(self._robot) if self._rules else None
        if seconds is None or not isfinite(seconds) or seconds <= 0:
            return None
        return timedelta(seconds=min(seconds, most.total_seconds()))


_kept_rules = lru_cache(maxsize=_RULES_KEPT)(Rules)


def rules_of(text: str, robot: str) -> Rules:
    """The rules in what `stripped` returned, from the cache if they were parsed before."""
    return _kept_rules(text, robot) if len(text) <= _RULES_KEPT_MOST else Rules(text, robot)


def sitemaps_in(text: str, origin: str) -> Sequence[str]:
    """The sitemaps named in what `stripped` returned."""
    found: dict[str, None] = {}
    for name, value in _lines(text):
        if name == "sitemap" and value and len(found) < MOST_SITEMAPS:
            try:
                found[parse_url(value, base=f"{origin}/robots.txt")] = None
            except InvalidUrl:
                continue
    return tuple(found)


def _with_robot_names(text: str, robot: str) -> Iterator[str]:
    """The lines with one name for all other robots: groups of thousands cost nothing."""
    before = ""
    for name, value in _lines(text):
        if name == "sitemap":
            continue
        written = f"{_NAMES[name]}: {_robot_name(value, robot) if name == 'agent' else value}\n"
        if written != before:
            yield written
        before = written


def _robot_name(value: str, robot: str) -> str:
    if value.startswith("*"):
        return "*"
    token = _TOKEN.match(value)
    return robot if token and token[0].lower() == robot.lower() else _ANOTHER_ROBOT
