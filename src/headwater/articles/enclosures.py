"""Enclosures as they are stored with the link of an article to a source: a short JSON list. Pure.

What a feed says is limited and checked before it is stored, and checked again when it is read, since it becomes a link
on a page.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from itertools import islice

import msgspec

from headwater.feeds.types import Enclosure
from headwater.reading.text import storable

MAX_ENCLOSURES = 16
MAX_URL = 2_048
MAX_TITLE = 200
MAX_LENGTH = 10**15
MAX_DURATION = timedelta(days=366)
_URL = re.compile(r"https?://[^\s/?#\x00-\x1f\x7f][^\s\x00-\x1f\x7f]*", re.IGNORECASE)
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")


class _Stored(msgspec.Struct, omit_defaults=True):
    url: str
    type: str | None = None
    length: int | None = None
    duration: float | None = None  # in seconds
    title: str | None = None


def as_json(enclosures: Iterable[Enclosure]) -> str | None:
    """What is stored of these: the first few with a URL that can be followed. None without one."""
    kept = list(islice((_stored(one) for one in enclosures if _is_link(one.url)), MAX_ENCLOSURES))
    return msgspec.json.encode(kept).decode() if kept else None


def from_stored(lists: Iterable[object]) -> list[Enclosure]:
    """The enclosures of stored lists, one for each source, each URL once."""
    found: dict[str, Enclosure] = {}
    for stored in lists:
        for one in msgspec.convert(stored or [], list[_Stored]):
            if _is_link(one.url):
                seconds = timedelta(seconds=one.duration) if one.duration else None
                found.setdefault(one.url, Enclosure(one.url, one.type, one.length, seconds, one.title))
    return list(found.values())


def as_plain(enclosures: Iterable[Enclosure]) -> list[dict[str, object]]:
    """Enclosures as plain JSON, with all fields; the duration in seconds."""
    return [
        {
            "url": one.url, "type": one.type, "length": one.length,
            "duration": one.duration.total_seconds() if one.duration else None, "title": one.title,
        }
        for one in enclosures
    ]  # fmt: skip


def _stored(one: Enclosure) -> _Stored:
    kind = (one.type or "").partition(";")[0].strip().lower()
    is_plausible = one.duration is not None and timedelta(0) < one.duration <= MAX_DURATION
    return _Stored(
        url=one.url,
        type=kind if _TYPE.fullmatch(kind) else None,
        length=one.length if one.length is not None and 0 < one.length <= MAX_LENGTH else None,
        duration=one.duration.total_seconds() if one.duration is not None and is_plausible else None,
        title=" ".join(storable(one.title or "").split())[:MAX_TITLE].strip() or None,
    )


def _is_link(url: str) -> bool:
    return len(url) <= MAX_URL and storable(url) == url and _URL.fullmatch(url) is not None
