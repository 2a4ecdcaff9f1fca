"""The feeds that lie beside the project: feedparser's own test files with what they expect, and real feeds."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FEEDS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "feeds"
DOCUMENT_URL = "http://127.0.0.1:8097/tests/"

_EXPECT = re.compile(r"Description:\s*(?P<description>.*?)\s*Expect:\s*(?P<expect>.*?)\s*-->", re.DOTALL)
_HEADER = re.compile(r"^\s*Header:\s*([\w-]+):(.*)$", re.MULTILINE)
_BOZO = re.compile(r"^(?:not\s+)?bozo\s+and\s+")


@dataclass(frozen=True, slots=True)
class Case:
    """One of feedparser's files: the body, the headers it was served with, and the expression that should hold."""

    name: str
    body: bytes
    headers: dict[str, str]
    expect: str


@cache
def cases() -> tuple[Case, ...]:
    """Every file of feedparser's suite that states an expectation."""
    return tuple(_cases())


@cache
def real_feeds() -> dict[str, bytes]:
    """Every real feed, by its file name."""
    return {path.name: path.read_bytes() for path in sorted((FEEDS / "real").iterdir()) if path.is_file()}


def _cases() -> Iterator[Case]:
    root = FEEDS / "feedparser"
    for path in sorted(root.rglob("*")):
        if path.suffix not in {".xml", ".json"}:
            continue
        body = path.read_bytes()
        text = _readable(body)
        if found := _EXPECT.search(text):
            headers = {name.lower(): value.strip() for name, value in _HEADER.findall(text)}
            yield Case(path.relative_to(root).as_posix(), body, headers, _BOZO.sub("", found["expect"].strip()))


def _readable(body: bytes) -> str:
    """Enough of the text to read the comment: the expressions themselves are ASCII."""
    for encoding in ("utf-32", "utf-16", "utf-8"):
        try:
            text = body.decode(encoding)
        except UnicodeError:
            continue
        if "Expect:" in text:
            return text
    squeezed = body.replace(b"\0", b"")
    if squeezed[:4] == b"\x4c\x6f\xa7\x94":
        return squeezed.decode("cp037")
    return squeezed.decode("latin-1")
