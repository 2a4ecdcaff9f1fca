"""Feeds written for this project (material/feeds_*.txt), each with what must be read from it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MATERIAL = Path(__file__).parent / "material"


@dataclass(frozen=True, slots=True)
class OwnFeed:
    """A body with its Content-Type, and the fields that must be read from it."""

    name: str
    body: bytes
    content_type: str | None
    expect: dict[str, Any]


def own_feeds() -> Iterator[OwnFeed]:
    """Every case: `=== name`, header lines, `--- expect` with JSON, `--- body`."""
    for path in sorted(MATERIAL.glob("feeds_*.txt")):
        for case in path.read_text(encoding="utf-8").split("\n=== ")[1:]:
            head, _, rest = case.partition("\n--- expect\n")
            expect, _, body = rest.partition("\n--- body\n")
            name, *lines = head.split("\n")
            headers = dict(line.split(": ", 1) for line in lines)
            encoded = body.strip().encode(headers.get("encoding", "utf-8"))
            yield OwnFeed(name, encoded, headers.get("content-type"), json.loads(expect))
