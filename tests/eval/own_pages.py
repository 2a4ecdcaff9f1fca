"""Pages written for this project (material/pages.txt, stories.txt), with the text and fields that must be found."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.eval.articles import MarkedPage

MATERIAL = Path(__file__).parent / "material"
URL = "https://pages.example/story"

_PLACE = re.compile(r"\{(title|author|date|p|br|\d-?)\}")


@dataclass(frozen=True, slots=True)
class Story:
    """An article, as every layout shows it."""

    fields: Mapping[str, str]
    paragraphs: Sequence[str]


@dataclass(frozen=True, slots=True)
class OwnPage:
    """A page, its story, and the names of the fields that it states."""

    page: MarkedPage
    story: Story
    states: frozenset[str]


@cache
def own_pages() -> tuple[OwnPage, ...]:
    """Every layout with its story."""
    stories = {name: Story(fields, body.split("\n")) for name, fields, body in _cases("stories.txt", "date: ")}
    return tuple(_page(name, head, body, stories) for name, head, body in _cases("pages.txt", "--- body"))


def _page(name: str, head: Mapping[str, str], layout: str, stories: Mapping[str, Story]) -> OwnPage:
    story = stories[head["story"]]
    html = _PLACE.sub(lambda place: _part(story, place[1]), layout).encode(head.get("encoding", "utf-8"))
    text = "\n".join([*story.paragraphs, *head.get("also", "").split(" | ")])
    return OwnPage(MarkedPage(name, URL, html, text), story, frozenset(head.get("states", "").split()))


def _part(story: Story, name: str) -> str:
    if name in story.fields:
        return story.fields[name]
    if name == "br":
        return "<br><br>".join(story.paragraphs)
    if name.isdigit():
        return story.paragraphs[int(name) - 1]
    first = int(name[:-1]) - 1 if name[:-1] else 0
    return "".join(f"<p>{paragraph}</p>" for paragraph in story.paragraphs[first:])


def _cases(file: str, last_of_head: str) -> list[tuple[str, dict[str, str], str]]:
    """Name, head and body of each case; the head ends with the line that begins with `last_of_head`."""
    cases: list[tuple[str, dict[str, str], str]] = []
    for case in (MATERIAL / file).read_text(encoding="utf-8").split("\n=== ")[1:]:
        name, *lines = case.strip().split("\n")
        end = next(number for number, line in enumerate(lines) if line.startswith(last_of_head)) + 1
        head = dict(line.split(": ", 1) for line in lines[:end] if ": " in line)
        cases.append((name, head, "\n".join(lines[end:])))
    return cases
