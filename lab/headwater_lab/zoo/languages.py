"""The languages of the zoo's articles: word lists and sentences, from languages.toml."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Language:
    who: tuple[str, ...]
    verbs: tuple[str, ...]
    things: tuple[str, ...]
    places: tuple[str, ...]
    reasons: tuple[str, ...]
    people: tuple[str, ...]
    sections: tuple[str, ...]
    headlines: tuple[str, ...]
    opening: str
    sentences: tuple[str, ...]
    space: str = " "


def _load() -> dict[str, Language]:
    text = files("headwater_lab.zoo").joinpath("languages.toml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {code: Language(**{name: _frozen(value) for name, value in table.items()}) for code, table in tables.items()}


def _frozen(value: Any) -> Any:  # noqa: ANN401  a text or a list of texts
    return value if isinstance(value, str) else tuple(value)


LANGUAGES = _load()
