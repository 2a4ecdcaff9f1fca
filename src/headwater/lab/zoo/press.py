"""The newspaper office: which article a site has published by now, and what stands in it.

In: a Site, a moment and the tempo. Out: Articles, the same for the same arguments in any process: number n of a site
appears at EPOCH + n * period / tempo, for ever, so that a zoo that is started again goes on where time has got to.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import TypeVar
from unicodedata import normalize
from zlib import crc32

from headwater.lab.zoo.sites import Site
from headwater.lab.zoo.tongues import TONGUES, Tongue

EPOCH = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Article:
    """One story; `url` is absolute, `paragraphs` are plain text without markup."""

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


class Dice:
    """Rolls that are always the same for the same seed, and look like chance."""

    def __init__(self, *seed: object) -> None:
        text = "/".join(map(str, seed)).encode()
        self._state = int.from_bytes(blake2b(text, digest_size=8).digest())

    def roll(self, sides: int) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64  # Knuth's MMIX generator
        return (self._state >> 33) % sides

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.roll(len(choices))]

    def sample(self, choices: Sequence[T], count: int) -> list[T]:
        left = list(choices)
        return [left.pop(self.roll(len(left))) for _ in range(min(count, len(left)))]


class Press:
    """Every newspaper of one zoo: knows its port, for the links, and its tempo, for the dates."""

    def __init__(self, base_of: Callable[[str], str], tempo: float) -> None:
        self._base_of = base_of
        self._tempo = tempo
        self.article = lru_cache(maxsize=4096)(self._write)

    def newest(self, site: Site, now: float) -> int:
        """The number of the last article out by now; 0 when there is none yet."""
        number = int(((now - EPOCH) * self._tempo - _lag(site)) // site.period)
        if self.published_at(site, number + 1) <= now:  # the division may fall a hair short of a whole number
            number += 1
        return max(0, number)

    def published_at(self, site: Site, number: int) -> float:
        return EPOCH + (number * site.period + _lag(site)) / self._tempo

    def listed(self, site: Site, now: float) -> list[Article]:
        """What a feed or front page shows now, newest first."""
        return self.since(site, self.newest(site, now), site.listed)

    def since(self, site: Site, newest: int, count: int) -> list[Article]:
        return [self.article(site, number) for number in range(newest, max(0, newest - count), -1)]

    def _write(self, site: Site, number: int) -> Article:
        tongue = TONGUES[site.language]
        dice = Dice(site.host, number)
        title, paragraphs, author = compose(tongue, dice)
        section, base = dice.pick(tongue.sections), self._base_of(site.host)
        return Article(
            number=number,
            url=f"{base}/{section}/{slug_of(title)}-{number}.html",
            title=title,
            paragraphs=paragraphs,
            author=author,
            section=section,
            language=site.language,
            published_at=datetime.fromtimestamp(int(self.published_at(site, number)), UTC),
            image_url=f"{base}/pictures/{number}.svg",
            audio_url=f"{base}/audio/{number}.mp3",
        )


def compose(tongue: Tongue, dice: Dice) -> tuple[str, tuple[str, ...], str]:
    """A headline, the paragraphs that tell its story, and who wrote it."""
    author, *witnesses = dice.sample(tongue.people, 3)
    headline_verb, _, report_verb = dice.pick(tongue.verbs).partition("/")
    story = {
        "who": dice.pick(tongue.who),
        "thing": dice.pick(tongue.things),
        "place": dice.pick(tongue.places),
        "reason": dice.pick(tongue.reasons),
        "do": headline_verb,
    }
    story["did"] = report_verb.format(**story)
    title = _sentence(dice.pick(tongue.headlines), story)
    chosen = dice.sample(tongue.sentences, 8 + dice.roll(8))
    details = [_sentence(line, story | {"person": dice.pick(witnesses), "count": 3 + dice.roll(97)}) for line in chosen]
    return title, tuple(_paragraphs([_sentence(tongue.opening, story), *details], tongue.space)), author


def slug_of(title: str) -> str:
    """The title as the path of a URL; a script without Latin letters leaves the word `story`."""
    plain = normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain)[:8]) or "story"


def _paragraphs(sentences: list[str], space: str) -> list[str]:
    return [space.join(sentences[start : start + 3]) for start in range(0, len(sentences), 3)]


def _sentence(template: str, story: Mapping[str, object]) -> str:
    text = template.format(**story)
    return text[0].upper() + text[1:]


def _lag(site: Site) -> float:
    """Spreads the sites out, so that they do not all go to print in the same second."""
    return crc32(site.host.encode()) % 997 / 997 * site.period
