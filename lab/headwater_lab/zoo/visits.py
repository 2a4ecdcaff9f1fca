"""A log of requests, at most a million, so that tests can check delays, leases and conditional requests."""

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from sys import intern
from time import monotonic

from aiohttp import web

_KEPT = 1_000_000


@dataclass(frozen=True, slots=True)
class Visit:
    """One request. `at` and `ended_at` are time.monotonic(), which all processes of a machine share.

    `status` and `ended_at` are None while the answer is under way; `status` stays None when none was sent in full.
    `clock_at` is the zoo's own clock, which a test may move, in seconds since 1970.
    """

    at: float
    ended_at: float | None
    clock_at: float
    host: str
    path: str
    method: str
    status: int | None
    user_agent: str | None
    if_none_match: str | None
    if_modified_since: str | None
    accept_encoding: str | None


class RequestLog:
    def __init__(self) -> None:
        self._finished: deque[Visit] = deque(maxlen=_KEPT)
        self._open: dict[int, Visit] = {}
        self._entries = 0

    def arrive(self, request: web.BaseRequest, host: str, clock_at: float) -> int:
        headers = request.headers
        self._entries += 1
        self._open[self._entries] = Visit(
            at=monotonic(), ended_at=None, clock_at=clock_at, host=intern(host), path=request.path_qs,
            method=intern(request.method), status=None, user_agent=_shared(headers.get("User-Agent")),
            if_none_match=headers.get("If-None-Match"), if_modified_since=headers.get("If-Modified-Since"),
            accept_encoding=_shared(headers.get("Accept-Encoding")),
        )  # fmt: skip
        return self._entries

    def leave(self, entry: int, status: int | None) -> None:
        visit = self._open.pop(entry, None)  # the log may have been cleared meanwhile
        if visit is not None:
            self._finished.append(replace(visit, ended_at=monotonic(), status=status))

    def visits(self) -> list[Visit]:
        return sorted((*self._finished, *self._open.values()), key=lambda visit: visit.at)

    def clear(self) -> None:
        self._finished.clear()
        self._open.clear()

    def lines(self) -> Iterator[bytes]:
        for visit in self.visits():
            yield json.dumps(asdict(visit)).encode() + b"\n"


def impolite(visits: Iterable[Visit], delay: float) -> list[tuple[Visit, Visit]]:
    """Pairs of neighbouring requests to one host, whatever they were for, that overlap or begin within its delay."""
    by_host: defaultdict[str, list[Visit]] = defaultdict(list)
    for visit in visits:
        by_host[visit.host].append(visit)
    pairs = (pair for of_host in by_host.values() for pair in pairwise(sorted(of_host, key=lambda visit: visit.at)))
    return [(one, other) for one, other in pairs if other.at < max(one.at + delay, one.ended_at or one.at)]


def _shared(text: str | None) -> str | None:
    """One copy of a text that a million requests share."""
    return None if text is None else intern(text)
