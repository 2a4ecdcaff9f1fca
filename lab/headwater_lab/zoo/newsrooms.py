"""What the zoo's newsrooms report: the same events, each newsroom in words of its own. From events.toml."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from headwater_lab.zoo.seeded import SeededChoice

SENTENCES = 6  # of one report; newsrooms leave out different ones


@dataclass(frozen=True, slots=True)
class Event:
    topic: str
    headlines: tuple[str, ...]
    sentences: tuple[str, ...]


def _load() -> tuple[tuple[Event, ...], dict[str, list[str]]]:
    table: dict[str, Any] = tomllib.loads(
        files("headwater_lab.zoo").joinpath("events.toml").read_text(encoding="utf-8")
    )
    events = (Event(one["topic"], tuple(one["headlines"]), tuple(one["sentences"])) for one in table["event"])
    return tuple(events), table["names"]


EVENTS, _NAMES = _load()


def report(number: int, newsroom: int) -> tuple[str, tuple[str, ...], str, str]:
    """Title, paragraphs, author and section of a newsroom's report about the event with this number."""
    event, choice = EVENTS[number % len(EVENTS)], SeededChoice("event", number)
    names = {name: choice.pick(values) for name, values in _NAMES.items()} | {"count": str(11 + choice.roll(80))}
    title = _filled(event.headlines[newsroom % len(event.headlines)], names)
    first, *rest = event.sentences
    turned = rest[newsroom % len(rest) :] + rest[: newsroom % len(rest)]
    sentences = [_filled(line, names) for line in (first, *turned[: SENTENCES - 1])]
    author = SeededChoice("author", number, newsroom).pick(_NAMES["other"])
    return title, (" ".join(sentences[:3]), " ".join(sentences[3:])), author, event.topic


def _filled(template: str, names: dict[str, str]) -> str:
    text = template.format(**names)
    return text[0].upper() + text[1:]
