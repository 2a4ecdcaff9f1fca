"""The fields of the language: their names, and the leaf that each value makes. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, date, timedelta
from difflib import get_close_matches
from typing import Final
from uuid import UUID

from headwater.errors import InvalidUrl, QueryInvalid
from headwater.labels.decide import LABEL_MAX_CHARS, is_language
from headwater.labels.types import Scheme
from headwater.labels.vocabulary import CATEGORIES, CLASSES, SENTIMENTS, TOPICS, TYPES
from headwater.query.lexer import Token, has_word
from headwater.query.types import (
    Audience,
    Before,
    Comparator,
    HasEnclosure,
    InField,
    InState,
    LabelField,
    Labelled,
    Leaf,
    Not,
    OfCategory,
    OfHost,
    OfQuality,
    OfSource,
    OfStory,
    StateField,
    Tagged,
    TextField,
    Within,
)
from headwater.urls import host_of

Labels = tuple[tuple[str, str], ...]
Read = Callable[[Token], Leaf | Not]

UNITS: Mapping[str, timedelta] = {
    "min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1),
    "mo": timedelta(days=30), "y": timedelta(days=365),
}  # fmt: skip
TIME_MAX: Final = 100 * UNITS["y"]
_TIME: Final = re.compile(r"([1-9][0-9]{0,3})([a-z]*)", re.IGNORECASE)
_DAY: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_QUALITY: Final = re.compile(r"(<=|>=|<|>|=)?([0-9]{1,3})")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NOT_IN_HOST: Final = re.compile(r"[/@\\?#]|:\d+$|^[*.]")  # a port, what only a URL has, or all below it
_NAMES: Final = re.compile(r"[^\W_]+")
_PLAIN: Final = re.compile(r"[\w&/.,'+#-]+")
_CLOSE: Final = 0.6  # how similar two names are that may be confused
# Names that other programs use, as suggestions.
_ELSEWHERE: Mapping[str, str] = {
    "language": "lang", "feed": "source", "from": "source", "by": "author", "writer": "author", "site": "host",
    "domain": "host", "url": "host", "since": "after", "until": "before", "folder": "category", "label": "tag",
    "intitle": "title", "subject": "title", "kind": "type", "age": "newer", "state": "is", "score": "quality",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FieldRule:
    """How the value of a field is read, and what may be written there."""

    read: Read
    hint: str
    values: Sequence[str] = ()  # all or the usual ones, for completion
    is_of_reader: bool = False  # about one reader: refused in a query about all articles


def read_field(name: Token, value: Token, audience: Audience) -> Leaf | Not:
    """The leaf of a field and its value. Raises QueryInvalid."""
    rule = FIELDS[name.text.lower()]
    if rule.is_of_reader and audience is Audience.EVERYONE:
        raise name.invalid(f"`{name.text.lower()}:` is about one reader, and this query is about the articles of all")
    return rule.read(value)


def suggest_field(name: str, *, closeness: float = _CLOSE) -> str:
    """A known field that may be meant, or an empty text."""
    lower = name.lower()
    if lower in _ELSEWHERE:
        return f"{_ELSEWHERE[lower]}:"
    return next((f"{one}:" for one in get_close_matches(lower, FIELDS, n=1, cutoff=closeness)), "")


def _in_text(field: TextField) -> Callable[[Token], Leaf]:
    def read(value: Token) -> Leaf:
        if not has_word(value.text):
            raise value.invalid("There is no letter or digit to search for")
        return InField(field, value.text)

    return read


def _source(value: Token) -> Leaf:
    return OfSource(UUID(value.text)) if _UUID.fullmatch(value.text) else _in_text(TextField.SOURCE)(value)


def _category(value: Token) -> Leaf:
    name = "/".join(part.strip() for part in value.text.split("/") if part.strip())
    if not name:
        raise value.invalid("`category:` needs the name of a category")
    return OfCategory(name)


def _tag(value: Token) -> Leaf:
    tag = value.text.lstrip("# ").rstrip()
    if not tag:
        raise value.invalid("`tag:` needs the name of a tag")
    return Tagged(tag.lower())  # as it is stored


def plain(name: str) -> str:
    """The name of a label without regard to case and signs: `Business & Finance` is `business-finance`."""
    return " ".join(_NAMES.findall(name.lower()))


def _topics() -> dict[str, Labels]:
    """The topics by their names and short names, and the categories of seed 003 by theirs."""
    found: dict[str, set[tuple[str, str]]] = {}
    for topic in TOPICS:
        found.setdefault(plain(topic), set()).add((Scheme.TOPIC, topic))
    for short, one in CLASSES.items():
        if short != "technology":  # a topic together with science, and a category by itself
            found.setdefault(plain(short), set()).add((Scheme.TOPIC, one.topic))
    for category in CATEGORIES:
        found.setdefault(plain(category), set()).add((Scheme.CATEGORY, category))
    return {name: tuple(sorted(labels)) for name, labels in found.items()}


def _fixed(field: LabelField, known: Mapping[str, Labels], shown: Sequence[str]) -> Read:
    def read(value: Token) -> Leaf:
        name = plain(value.text)
        if name in known:
            return Labelled(field, value.text, known[name])
        close = get_close_matches(name, known, n=1, cutoff=_CLOSE)
        if close:
            raise value.invalid(f"Unknown {field} `{value.text}`", in_quotes(close[0]))
        raise value.invalid(f"Unknown {field} `{value.text}`. Use one of: {', '.join(shown)}")

    return read


def _language(value: Token) -> Leaf:
    code = value.text.lower()
    if not is_language(code):
        raise value.invalid("`lang:` needs the code of a language, such as `en`")
    return Labelled(LabelField.LANGUAGE, value.text, ((Scheme.LANGUAGE, code),))


def _keyword(value: Token) -> Leaf:
    if not value.text.strip() or len(value.text) > LABEL_MAX_CHARS:
        raise value.invalid(f"A keyword has 1 to {LABEL_MAX_CHARS} characters")
    return Labelled(LabelField.KEYWORD, value.text, ((Scheme.KEYWORD, value.text),))


def _quality(value: Token) -> Leaf:
    found = _QUALITY.fullmatch(value.text)
    if found is None or int(found[2]) > 100:
        raise value.invalid("`quality:` needs a number from 0 to 100, such as `quality:>60`")
    return OfQuality(Comparator(found[1] or "="), int(found[2]))


def _host(value: Token) -> Leaf:
    text = value.text.lower()
    try:
        host = host_of(text if "://" in text else f"https://{text}/")
    except InvalidUrl:
        host = ""
    if not has_word(host):
        raise value.invalid("`host:` needs the name of a host, such as `example.org`")
    if _NOT_IN_HOST.search(text):
        raise value.invalid("`host:` needs the name of a host only", host.lstrip("*."))
    return OfHost(host)


def _story(value: Token) -> Leaf:
    if not _UUID.fullmatch(value.text):
        raise value.invalid("`story:` needs the id of a story")
    return OfStory(UUID(value.text))


def _one_of(field: str, known: Mapping[str, Leaf]) -> Read:
    def read(value: Token) -> Leaf:
        name = value.text.lower()
        if name in known:
            return known[name]
        if close := get_close_matches(name, known, n=1, cutoff=_CLOSE):
            raise value.invalid(f"Unknown value `{value.text}` of `{field}:`", close[0])
        raise value.invalid(f"Unknown value `{value.text}` of `{field}:`. Use one of: {', '.join(known)}")

    return read


def _within(field: str, other: str) -> Callable[[Token], Within]:
    def read(value: Token) -> Within:
        found = _TIME.fullmatch(value.text)
        if found and found[2].lower() in UNITS:
            time = int(found[1]) * UNITS[found[2].lower()]
            if time > TIME_MAX:
                raise value.invalid("At most 100 years are possible here")
            return Within(time)
        if _DAY.fullmatch(value.text):
            raise value.invalid(f"`{field}:` needs a time, such as `2d`. For a day use `{other}:{value.text}`")
        if found and found[2].lower() == "m":
            raise value.invalid(f"Write `{found[1]}min` for minutes or `{found[1]}mo` for months")
        raise value.invalid(f"`{field}:` needs a time such as `2d`: a number, then one of {', '.join(UNITS)}")

    return read


def _day(field: str, value: Token) -> date:
    try:
        if found := _DAY.fullmatch(value.text):
            return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        raise value.invalid(f"There is no such day as `{value.text}`") from None
    raise value.invalid(f"`{field}:` needs a day, such as `{field}:2026-11-01`")


def _before(value: Token) -> Leaf:
    return Before(_day("before", value))


def _after(value: Token) -> Not:
    day = _day("after", value)
    if day.year == MAXYEAR:
        raise value.invalid(f"There is no day after the year {MAXYEAR - 1} here")
    return Not(Before(day + timedelta(days=1)))


def in_quotes(text: str) -> str:
    """A value as it may be written after a field: in quotation marks if it has spaces or signs."""
    return text if _PLAIN.fullmatch(text) else phrase(text)


def phrase(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _stored(scheme: Scheme, labels: Sequence[str]) -> dict[str, Labels]:
    return {plain(one): ((scheme, one),) for one in labels}


_newer, _older = _within("newer", "after"), _within("older", "before")
_TOPICS = _topics()
_SHORT = [name for name in CLASSES if name in _TOPICS]
FIELDS: Mapping[str, FieldRule] = {
    "source": FieldRule(_source, "name of a feed, or an id"),
    "category": FieldRule(_category, "category of feeds"),
    "topic": FieldRule(_fixed(LabelField.TOPIC, _TOPICS, _SHORT), "what it is about", [*_SHORT, *CATEGORIES]),
    "type": FieldRule(
        _fixed(LabelField.TYPE, _stored(Scheme.TYPE, TYPES), TYPES), "what kind of page it is", TYPES
    ),
    "lang": FieldRule(_language, "language of the text"),
    "sentiment": FieldRule(
        _fixed(LabelField.SENTIMENT, _stored(Scheme.SENTIMENT, SENTIMENTS), SENTIMENTS), "tone of the text", SENTIMENTS
    ),
    "keyword": FieldRule(_keyword, "keyword of the text"),
    "quality": FieldRule(_quality, "0 to 100", [">20", ">40", ">60", ">80"]),
    "author": FieldRule(_in_text(TextField.AUTHOR), "words of an author's name"),
    "title": FieldRule(_in_text(TextField.TITLE), "words of the title"),
    "host": FieldRule(_host, "host of its address, and those below"),
    "story": FieldRule(_story, "id of a story"),
    "is": FieldRule(
        _one_of("is", {one.value: InState(one) for one in StateField}), "read, unread, starred or hidden",
        [one.value for one in StateField], is_of_reader=True,
    ),
    "has": FieldRule(_one_of("has", {"enclosure": HasEnclosure()}), "audio, video or another file", ["enclosure"]),
    "newer": FieldRule(_newer, "listed in the last …", ["1h", "1d", "2d", "1w", "1mo"]),
    "older": FieldRule(lambda value: Not(_older(value)), "listed before that", ["1d", "1w", "1mo", "1y"]),
    "before": FieldRule(_before, "listed before a day"),
    "after": FieldRule(_after, "listed after a day"),
    "tag": FieldRule(_tag, "a tag of yours", is_of_reader=True),
}  # fmt: skip


def is_field(name: str) -> bool:
    return name.lower() in FIELDS


def unknown_field(name: Token) -> QueryInvalid:
    suggestion = suggest_field(name.text)
    if suggestion:
        return name.invalid(f"Unknown field `{name.text}:`", suggestion)
    return name.invalid(f"Unknown field `{name.text}:`. To search for the text itself, write it in quotation marks")
