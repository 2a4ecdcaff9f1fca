"""The articles that each site has published by now: the same for the same arguments in any process."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from unicodedata import normalize
from zlib import crc32

from headwater_lab.zoo.languages import LANGUAGES, Language
from headwater_lab.zoo.newsrooms import report
from headwater_lab.zoo.seeded import SeededChoice
from headwater_lab.zoo.sites import Site

EPOCH = datetime(2000, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True, slots=True)
class Article:
    number: int
    url: str
    title: str
    paragraphs: tuple[str, ...]
    author: str
    section: str
    language: str
    published_at: datetime
    image_url: str
    audio_url: str

    @property
    def summary(self) -> str:
        return self.paragraphs[0]


class Publisher:
    """The articles of every site; number n of a site appears at EPOCH + n * period / tempo."""

    def __init__(self, base_of: Callable[[str], str], tempo: float) -> None:
        self._base_of = base_of
        self._tempo = tempo
        self.article = lru_cache(maxsize=4096)(self._write)

    def newest(self, site: Site, now: float) -> int:
        """The number of the newest article; 0 if there is none yet."""
        number = int(((now - EPOCH) * self._tempo - _lag(site)) // site.period)
        if self.published_at(site, number + 1) <= now:  # the division may be rounded down
            number += 1
        return max(0, number)

    def published_at(self, site: Site, number: int) -> float:
        return EPOCH + (number * site.period + _lag(site)) / self._tempo

    def listed(self, site: Site, now: float) -> list[Article]:
        """What a feed or front page lists now, the newest first."""
        return self.since(site, self.newest(site, now), site.listed)

    def since(self, site: Site, newest: int, count: int) -> list[Article]:
        return [self.article(site, number) for number in range(newest, max(0, newest - count), -1)]

    def _write(self, site: Site, number: int) -> Article:
        if site.newsroom is None:
            language, choice = LANGUAGES[site.language], SeededChoice(site.host, number)
            title, paragraphs, author = compose(language, choice)
            section = choice.pick(language.sections)
        else:
            title, paragraphs, author, section = report(number, site.newsroom)
        base = self._base_of(site.host)
        return Article(
            number, f"{base}/{section}/{slug_of(title)}-{number}.html", title, paragraphs, author, section,
            site.language, published_at=datetime.fromtimestamp(int(self.published_at(site, number)), UTC),
            image_url=f"{base}/pictures/{number}.png", audio_url=f"{base}/audio/{number}.mp3",
        )  # fmt: skip


def compose(language: Language, choice: SeededChoice) -> tuple[str, tuple[str, ...], str]:
    author, *witnesses = choice.sample(language.people, 3)
    headline_verb, _, report_verb = choice.pick(language.verbs).partition("/")
    story = {
        "who": choice.pick(language.who), "thing": choice.pick(language.things),
        "place": choice.pick(language.places), "reason": choice.pick(language.reasons), "do": headline_verb,
    }  # fmt: skip
    story["did"] = report_verb.format(**story)
    title = _sentence(choice.pick(language.headlines), story)
    chosen = choice.sample(language.sentences, 8 + choice.roll(8))
    details = [
        _sentence(line, story | {"person": choice.pick(witnesses), "count": 3 + choice.roll(97)}) for line in chosen
    ]
    return title, tuple(_paragraphs([_sentence(language.opening, story), *details], language.space)), author


def slug_of(title: str) -> str:
    """The title as a path; `story` for a title without Latin letters."""
    plain = normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain)[:8]) or "story"


def _paragraphs(sentences: list[str], space: str) -> list[str]:
    return [space.join(sentences[start : start + 3]) for start in range(0, len(sentences), 3)]


def _sentence(template: str, story: Mapping[str, object]) -> str:
    text = template.format(**story)
    return text[0].upper() + text[1:]


def _lag(site: Site) -> float:
    """An offset for each site, so that they do not all publish in the same second."""
    return crc32(site.host.encode()) % 997 / 997 * site.period
