"""Styles, checked without a browser: contrast of colours, no unused rules, nothing inline.

Pages are tested in tests/flows/browser.
"""

import re
from pathlib import Path

import pytest

import headwater.web
from headwater.sources.health.types import SUCCESSES, FailureGroup
from headwater.types import SourceState

WEB = Path(headwater.web.__file__).parent
CSS = re.sub(r"/\*.*?\*/", "", (WEB / "static" / "headwater.css").read_text(), flags=re.DOTALL)
TEMPLATES = {path.relative_to(WEB / "templates").as_posix(): path.read_text() for path in WEB.rglob("*.html")}
TOKENS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", CSS)
}
TEXT, PART = 4.5, 3.0  # WCAG AA: of text, and of what must be seen to be used
PAIRS = [
    *((text, ground, TEXT) for text in ("ink", "quiet", "water") for ground in ("paper", "raised", "sunk", "shallow")),
    *((text, ground, TEXT) for text in ("good", "wait", "bad", "star") for ground in ("paper", "raised")),
    ("ink", "blush", TEXT),
    ("on-water", "water", TEXT),
    ("paper", "bad", TEXT),
    ("edge", "paper", PART),
    ("edge", "raised", PART),
]
WRITTEN_BY_TEMPLATES = {  # states, as {{ … }}
    *("working", "pending", "error", "added", "invalid"),
    *(*SourceState, *SUCCESSES, *(group.name.lower() for group in FailureGroup)),
    *("fetching", "fetched", "failed", "dead", "spider", "both"),  # of URLs and of sources
    *("critical", "warning"),  # of incidents
    *("normal", "saving", "reached"),  # of the budget
    *("active", "paused", "replaying"),  # of channels
}
WRITTEN_BY_HTMX = {"htmx-request", "htmx-indicator"}


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(("text", "ground", "least"), PAIRS, ids=[f"{text}-on-{ground}" for text, ground, _ in PAIRS])
def test_colours_have_enough_contrast_in_both_schemes(text: str, ground: str, least: float) -> None:
    found = [contrast(one, other) for one, other in zip(TOKENS[text], TOKENS[ground], strict=True)]

    assert min(found) >= least


def test_every_colour_is_a_token_so_that_both_schemes_have_it() -> None:
    rules = re.sub(r"--[\w-]+: [^;]+;", "", CSS)

    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[^{}]*;)", rules) == []


def test_every_css_rule_matches_an_element() -> None:
    styled = set(re.findall(r"\.([a-zA-Z][\w-]*)", re.sub(r"\{[^{}]*\}", "{}", CSS)))
    script = (WEB / "static" / "headwater.js").read_text()
    used = set(re.findall(r"[\w-]+", " ".join([script, *re.findall(r'class="([^"]*)"', "".join(TEMPLATES.values()))])))

    assert styled - used - WRITTEN_BY_TEMPLATES - WRITTEN_BY_HTMX == set()


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_templates_have_no_inline_code(name: str) -> None:
    assert re.findall(r"\sstyle=|<style|\son\w+=|<script(?![^>]* src=)|javascript:", TEMPLATES[name]) == []


@pytest.mark.parametrize("query", ["prefers-reduced-motion", "prefers-contrast", "print", "max-width"])
def test_preferences_of_the_reader_are_respected(query: str) -> None:
    assert re.search(rf"@media[^{{]*{query}", CSS)
