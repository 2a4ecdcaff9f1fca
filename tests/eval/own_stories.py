"""News articles written for this project (material/stories.jsonl), with the story that each belongs to."""

from datetime import datetime
from functools import cache
from pathlib import Path

import msgspec

STORIES = Path(__file__).parent / "material" / "stories.jsonl"


class OwnArticle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An article of an invented outlet; articles about one event have the same `story`."""

    id: str
    source: str
    title: str
    text: str
    at: datetime
    story: str


@cache
def own_articles() -> tuple[OwnArticle, ...]:
    """Every article, oldest first."""
    return tuple(msgspec.json.decode(line, type=OwnArticle) for line in STORIES.read_bytes().splitlines())
