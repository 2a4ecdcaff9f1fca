"""A page read twice, with a source's selectors and without any, side by side. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.articles.types import Extracted, Finder
from headwater.extraction.types import Selectors

# Which field of a record each selector gives.
_FIELDS = {"title": "title", "body": "text", "author": "authors", "date": "published_at"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found each time, and the source of the selectors."""

    url: str
    source: str | None
    selectors: Selectors
    with_selectors: Extracted
    without: Extracted

    @property
    def in_vain(self) -> list[str]:
        given = [part for part in _FIELDS if getattr(self.selectors, part)]
        return [part for part in given if self.with_selectors.origins.get(_FIELDS[part]) is not Finder.SELECTOR]

    @property
    def rows(self) -> Sequence[tuple[str, ...]]:
        """Each field: value and origin with the selectors, and without them."""
        chosen = {name: (value, origin) for name, origin, value in field_rows(self.with_selectors)}
        plain = {name: (value, origin) for name, origin, value in field_rows(self.without)}
        names = dict.fromkeys([*chosen, *plain])
        return [(name, *chosen.get(name, ("", "")), *plain.get(name, ("", ""))) for name in names]


def field_rows(found: Extracted) -> list[tuple[str, str, str]]:
    values = {
        "title": found.title, "authors": ", ".join(found.authors),
        "published_at": f"{found.published_at:%Y-%m-%d %H:%M} UTC" if found.published_at else "",
        "language": found.language, "section": found.section, "keywords": ", ".join(found.keywords),
        "description": found.description, "canonical_url": found.canonical_url, "image_url": found.image_url,
        "text": f"{found.word_count:,} words" if found.word_count else "",
    }  # fmt: skip
    return [(name, str(found.origins.get(name, "")), value) for name, value in values.items() if value]
