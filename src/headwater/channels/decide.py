"""Which channels are valid, and whether a query matches everything. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headwater.channels.types import ChannelFields, DestinationKind, DestinationLimits
from headwater.errors import Invalid, InvalidUrl, MatchesEverything
from headwater.query.tree import leaves_of
from headwater.query.types import (
    And,
    Before,
    Comparator,
    Everything,
    Leaf,
    Node,
    Not,
    OfQuality,
    OfStory,
    Or,
    Within,
    Words,
)
from headwater.text import text_problem
from headwater.urls import host_of, parse_url

CHANNELS_MOST: Final = 1_000
NAME_MAX: Final = 100
QUERY_MAX: Final = 2_000
BATCH_DEFAULT: Final = 100
BATCH_MOST: Final = 1_000
KEY_MAX: Final = 200  # characters of a stream, subject or file name
STEPS_MOST: Final = 2_000  # of looking for an article that a query does not match; each takes some 50 µs

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._:-]*")
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SUBJECT: Final = re.compile(r"[A-Za-z0-9_:-]+(\.[A-Za-z0-9_:-]+)*")
_BROKER: Final = re.compile(r"(?P<scheme>[a-z]+)://(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>\d{1,5}))?")
_SCHEMES: Final[Mapping[DestinationKind, tuple[str, ...]]] = {
    DestinationKind.REDIS: ("redis", "rediss"), DestinationKind.NATS: ("nats", "tls")
}  # fmt: skip


def check_channel(given: ChannelFields, limits: DestinationLimits) -> ChannelFields:
    """The channel with clean values; its query is checked by the grammar. Raises Invalid."""
    name = given.name.strip()
    if not _NAME.fullmatch(name) or len(name) > NAME_MAX:
        raise Invalid(
            f"A name has 1 to {NAME_MAX} characters of a-z, 0-9 and . _ : - and begins with a letter or digit."
        )
    query = given.query.strip()
    if not 1 <= len(query) <= QUERY_MAX:
        raise Invalid(f"A query has 1 to {QUERY_MAX:,} characters.")
    return ChannelFields(name, query, given.destination, check_options(given.destination, given.options, limits))


def check_options(kind: DestinationKind, given: Mapping[str, Any], limits: DestinationLimits) -> dict[str, Any]:
    """The options of a destination, without those that are empty. Raises Invalid."""
    known = {name: value for name, value in given.items() if value is not None and value != ""}
    if unknown := sorted(set(known) - OPTIONS[kind]):
        allowed = ", ".join(sorted(OPTIONS[kind])) or "none"
        raise Invalid(f"The destination {kind} has no option {unknown[0]!r}. Its options: {allowed}.")
    checked = {"html": _boolean(known, "html"), "batch": _number(known, "batch", 1, BATCH_MOST)}
    match kind:
        case DestinationKind.WEBHOOK:
            checked |= {"url": _webhook_url(known)}
        case DestinationKind.REDIS:
            checked |= {"url": _broker_url(kind, known, limits), "stream": _key(known, "stream")}
            checked |= {
                "username": _key(known, "username", is_needed=False),
                "database": _number(known, "database", 0, 999),
            }
            checked |= {"most": _number(known, "most", 1, 1_000_000_000)}
        case DestinationKind.NATS:
            checked |= {"url": _broker_url(kind, known, limits), "subject": _subject(known)}
            checked |= {"username": _key(known, "username", is_needed=False)}
        case DestinationKind.FILE:
            checked |= {"name": _file_name(known, limits)}
        case DestinationKind.SEARCH_INDEX:
            if not limits.has_index:
                raise Invalid("This server has no search index. Set HEADWATER_ELASTICSEARCH_URL.")
        case DestinationKind.NONE:
            pass
    return {name: value for name, value in checked.items() if value is not None}


OPTIONS: Final[Mapping[DestinationKind, set[str]]] = {
    DestinationKind.NONE: set(),
    DestinationKind.SEARCH_INDEX: set(),
    DestinationKind.WEBHOOK: {"url", "batch", "html"},
    DestinationKind.REDIS: {"url", "stream", "username", "database", "most", "batch", "html"},
    DestinationKind.NATS: {"url", "subject", "username", "batch", "html"},
    DestinationKind.FILE: {"name", "batch", "html"},
}


def _boolean(given: Mapping[str, Any], name: str) -> bool | None:
    value = given.get(name)
    if value is not None and not isinstance(value, bool):
        raise Invalid(f"{name} is true or false.")
    return value


def _number(given: Mapping[str, Any], name: str, least: int, most: int) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Invalid(f"{name} is a number from {least:,} to {most:,}.")
    return value


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise Invalid(f"{name} is missing." if value is None else f"{name} is a text.")
    return value


def _key(given: Mapping[str, Any], name: str, *, is_needed: bool = True) -> str | None:
    if not is_needed and name not in given:
        return None
    value = _text(given, name).strip()
    if not 1 <= len(value) <= KEY_MAX or text_problem(value) or len(value.split()) != 1:
        raise Invalid(f"{name} has 1 to {KEY_MAX} characters, without spaces.")
    return value


def _webhook_url(given: Mapping[str, Any]) -> str:
    try:
        return parse_url(_text(given, "url"))
    except InvalidUrl as error:
        raise Invalid(f"The URL of the webhook is invalid: {error.reason}.") from error


def _broker_url(kind: DestinationKind, given: Mapping[str, Any], limits: DestinationLimits) -> str:
    url, schemes = _text(given, "url").strip(), _SCHEMES[kind]
    found = _BROKER.fullmatch(url.rstrip("/"))
    if found is None or found["scheme"] not in schemes or int(found["port"] or 1) not in range(1, 65_536):
        raise Invalid(f"The URL has the form {schemes[0]}://host:port. A password is set as the channel's secret.")
    host = found["host"].strip("[]").lower()
    if host not in limits.hosts:
        raise Invalid(f"{host} is not allowed. An administrator lists it in HEADWATER_CHANNEL_HOSTS.")
    return url.rstrip("/")


def _subject(given: Mapping[str, Any]) -> str:
    subject = _text(given, "subject")
    if len(subject) > KEY_MAX or not _SUBJECT.fullmatch(subject):
        raise Invalid("A subject has words of letters, digits and _ : - with dots between them.")
    return subject


def _file_name(given: Mapping[str, Any], limits: DestinationLimits) -> str:
    if not limits.has_directory:
        raise Invalid("This server writes no files. An administrator sets HEADWATER_CHANNEL_DIRECTORY.")
    name = _text(given, "name")
    if len(name) > KEY_MAX or not _FILE_NAME.fullmatch(name):
        raise Invalid("A file name has letters, digits and . _ - and begins with a letter or digit.")
    return name


def is_allowed_host(url: str, limits: DestinationLimits) -> bool:
    """Whether the settings allow this host, whatever its address is."""
    return host_of(url).strip("[]") in limits.hosts


def check_not_everything(tree: Node, *, blank: frozenset[str] = frozenset()) -> None:
    """Raises MatchesEverything for a query that is not `*` and matches every article that arrives.

    What it says about time does not limit it: a channel sends what is new. `blank`: words without a letter or digit,
    which are found nowhere. A query that takes too many steps is accepted.
    """
    if not isinstance(tree, Everything) and _may_match_everything(tree, blank, [STEPS_MOST]):
        raise MatchesEverything


def _may_match_everything(tree: Node, blank: frozenset[str], steps: list[int]) -> bool:
    times = sorted({leaf for leaf in leaves_of(tree) if isinstance(leaf, Within | Before)}, key=repr)[:8]
    for number in range(2 ** len(times)):
        if steps[0] <= 0:
            break
        given: dict[Leaf, bool] = {leaf: bool(number >> place & 1) for place, leaf in enumerate(times)}
        for leaf in leaves_of(tree):
            if isinstance(leaf, Everything):
                given[leaf] = True
            elif isinstance(leaf, Words) and leaf.text in blank:
                given[leaf] = False
        if all(_is_always(tree, given | quality, steps) for quality in _qualities(tree)):
            return True
    return False


def _qualities(tree: Node) -> Sequence[dict[Leaf, bool]]:
    """What the comparisons with the quality say, for each range of qualities that they tell apart."""
    compared = {leaf for leaf in leaves_of(tree) if isinstance(leaf, OfQuality)}
    values = {value for leaf in compared for value in (leaf.value - 1, leaf.value, leaf.value + 1) if 0 <= value <= 100}
    return [{leaf: compares(value, leaf) for leaf in compared} for value in sorted(values)] or [{}]


def compares(quality: int, leaf: OfQuality) -> bool:
    match leaf.comparator:
        case Comparator.LESS:
            return quality < leaf.value
        case Comparator.AT_MOST:
            return quality <= leaf.value
        case Comparator.EQUAL:
            return quality == leaf.value
        case Comparator.AT_LEAST:
            return quality >= leaf.value
        case Comparator.MORE:
            return quality > leaf.value


def has_story(tree: Node) -> bool:
    """Whether a query asks for a story."""
    return any(isinstance(leaf, OfStory) for leaf in leaves_of(tree))


def _is_always(tree: Node, given: Mapping[Leaf, bool], steps: list[int]) -> bool:
    """Whether the query is true whatever the other leaves are. With too few steps left it is not."""
    steps[0] -= 1
    found = _value(tree, given)
    if isinstance(found, bool) or steps[0] <= 0:
        return found is True
    return all(_is_always(tree, {**given, found: value}, steps) for value in (False, True))


def _value(tree: Node, given: Mapping[Leaf, bool]) -> bool | Leaf:
    """The value of the query, or a leaf that it depends on."""
    match tree:
        case Not(part):
            found = _value(part, given)
            return not found if isinstance(found, bool) else found
        case And(parts) | Or(parts):
            decides = isinstance(tree, Or)
            values = [_value(part, given) for part in parts]
            if decides in values:
                return decides
            return next((value for value in values if not isinstance(value, bool)), not decides)
        case _:
            return given.get(tree, tree)
