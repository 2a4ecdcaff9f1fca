"""Proven markup: nearly all HTML in feeds is well nested and made of known tags. That can be seen tag by tag, at a
multiple of a parser's speed, and written out again with its links absolute and all other attributes gone.

A strict grammar with the few repairs that need no look back: what may end by itself does (a paragraph, a list's item, a
cell, anything at the very end), unknown tags and comments go, a script goes with all it holds. Anything else that is
not as `allowed` has it, and the answer is None, for the parser to see.

What comes out is safe because of its own form, whatever came in: cut at every "<", each piece opens with a whole tag,
quotes and all, as a browser's tokeniser reads it; none of the allowed tags changes how it reads what follows; tags
stand only where its tree builder leaves them. The tests let nh3 look for anything left to remove.
"""

import re
from functools import lru_cache
from html import escape
from itertools import islice
from typing import TypeAlias

from headwater.reading.html_rules import (
    ANYTHING,
    ATTRIBUTES,
    BLOCKS,
    DROPPED_WHOLE,
    ENDED_BY,
    HEADINGS,
    INSIDE,
    LINK_REL,
    LINKS,
    NO_TEXT_AMONG,
    TAGS,
    TRANSPARENT,
    VOID,
)
from headwater.reading.links import WEB, resolved
from headwater.reading.references import unescape_attribute

MAX_DEPTH = 100
MAX_REMEMBERED = 2048
SHORT = 200
LONG = 500

_SPACE = r"[ \t\n\f\r]"  # as HTML has it: Python's own class is wider
_TAG = r"[a-zA-Z][a-zA-Z0-9:_-]*+"
_NAME = r"[a-zA-Z][a-zA-Z0-9_:.-]*+"
_VALUE = r""""[^"]*+"|'[^']*+'|[^\s"'=<>`]++"""
# Groups give back what they took: until 3.11.5 Python's possessive ones, where they fail inside, may swallow text.
_BETWEEN = rf"(?:{_SPACE}++|(?<=[\"']))"
_EQUALS = rf"{_SPACE}*+={_SPACE}*+"
_OPENING = re.compile(rf"({_TAG})((?:{_BETWEEN}{_NAME}(?:{_EQUALS}(?:{_VALUE}))?)*){_SPACE}*+/?(?=>)")
_CLOSING = re.compile(rf"/({_TAG}){_SPACE}*+>")
_ATTRIBUTE = re.compile(rf"{_BETWEEN}({_NAME})(?:{_EQUALS}({_VALUE}))?")
_COMMENT = re.compile(r"!--(?!-?>)")
_COMMENT_END = re.compile(r"--!?>")
# A srcset of absolute URLs in the form that `link_set` writes.
_CANDIDATE = r"""https?://[^\s,"'&/?#][^\s,"'&]*+(?:&amp;[^\s,"'&]*+)* [0-9]++[wx]"""
_PLAIN_SET = re.compile(rf"{_CANDIDATE}(?:, {_CANDIDATE}){{0,63}}")
_REL = f' rel="{LINK_REL}"'
# Stands for a tag that goes while what follows it stays. No text has it: XML cannot, and JSON's is cleaned.
_GONE = "\1"
_PLAIN_LINK = ('a href="https://', 'a href="http://')
_FOREIGN = frozenset({"math", "svg"})
_LINKING = frozenset(tag for tag, names in ATTRIBUTES.items() if not names.isdisjoint(LINKS))


class _Room(dict[str, "_Move"]):
    """What may stand in some place. Tags that feeds repeat there are remembered with what becomes of them; of those
    that differ in a link or an id, the shape is: the tag without its values."""

    __slots__ = ("allowed", "in_link", "shapes", "strict")

    def __init__(self, allowed: frozenset[str], *, in_link: bool) -> None:
        super().__init__()
        self.allowed = allowed - {"a"} if in_link else allowed
        self.in_link = in_link
        self.shapes: dict[str, _Shape] = {}
        self.strict = allowed in NO_TEXT_AMONG


# What a tag opens, None for one that opens nothing: its end tag, and what may stand in it.
_Inner: TypeAlias = tuple[str, _Room] | None
# What is written in place of a tag, "" where it may stay; and what it opens.
_Move: TypeAlias = tuple[str, _Inner]
# A tag's name; which of its values are kept, by their place among the quotes (0 for one without a value), and as what;
# its end; and what it opens.
_Shape: TypeAlias = tuple[str, list[tuple[int, str]], str, _Inner]
# What is open: its end tag, what may stand in it, what is open around it, and how deep it is.
_State: TypeAlias = tuple[str, _Room, "_State | None", int]


@lru_cache(maxsize=64)
def _room(allowed: frozenset[str], in_link: bool) -> _Room:  # noqa: FBT001  (part of the cache key)
    return _Room(allowed, in_link=in_link)


def proven(html: str, base: str) -> str | None:  # noqa: C901  (one loop over every tag: calls cost)
    """The safe form of HTML that needs no repair but these; None for all other."""
    if _GONE in html:
        return None
    pieces = html.split("<")
    ending: str = "<"  # which is nowhere
    room: _Room = _room(ANYTHING, False)  # noqa: FBT003
    around: _State | None = None
    depth: int = 0
    for at, piece in islice(enumerate(pieces), 1, None):
        source, closed, text = piece.partition(">")
        if source == ending and closed and around is not None:
            ending, room, around, depth = around
            if room.strict and not _is_blank(text):
                return None
            continue
        move = room.get(source) or _shaped(room, source, base)
        if move is None or not closed:
            state = _unusual(pieces, at, base, (ending, room, around, depth))
            if state is None:
                return None
            ending, room, around, depth = state
            continue
        written, inner = move
        if written:
            pieces[at] = written + text
        if inner:
            around = ending, room, around, depth
            ending, room = inner
            depth += 1
            if depth > MAX_DEPTH or (room.strict and not _is_blank(text)):
                return None
    while around:
        pieces.append(f"{ending}>")
        ending, room, around, depth = around
    clean = "<".join(pieces)
    return clean.replace(f"<{_GONE}", "") if _GONE in clean else clean


def _shaped(room: _Room, source: str, base: str) -> _Move | None:
    """What becomes of a tag whose shape is known."""
    if source.startswith(_PLAIN_LINK) and source[-1] == '"' and source.count('"') == 2:
        known = room.shapes.get('a href=""')
        return (source + known[2], known[3]) if known else None
    values = _cut(source)
    known = room.shapes.get('""'.join(values[::2]))
    if known is None or len(values) % 2 == 0:
        return None
    written, kept, end, inner = known
    for place, name in kept:
        value = values[place] if place else ""
        if name in LINKS and not (value := _link(name, value, base)):
            continue
        written += f' {name}="{value}"'
    return written + end, inner


def _cut(source: str) -> list[str]:
    """A tag cut at its quotes: every second part is a value, and the others together are its shape."""
    return (source if '"' in source else source.replace("'", '"')).split('"')


def _unusual(pieces: list[str], at: int, base: str, state: _State) -> _State | None:
    """Deal with a piece that is not remembered: what is open behind it, or None to give up."""
    piece = pieces[at]
    first = piece[:1]
    if first == _GONE:
        return state
    if first == "/":
        return _ended(pieces, at, state)
    if first in {"!", "?"}:
        return _without_comment(pieces, at, state)
    if first == "\0":
        return None
    if not first.isascii() or not first.isalpha():
        # As a browser has it, no tag begins here.
        return _gone(pieces, at, at, f"&lt;{piece}", state)
    tag = _OPENING.match(piece)
    if not tag:
        return None
    name, raw = tag[1].lower(), tag[2]
    if name in DROPPED_WHOLE and not (name in _FOREIGN and tag[0].endswith("/")):
        return _without_whole(pieces, at, name, state)
    if name not in TAGS:
        return _gone(pieces, at, at, piece[tag.end() + 1 :], state)
    written = name + (_attributes(name, raw, base) if raw else "") + (_REL if name == "a" else "")
    return _opened(pieces, at, (tag[0], name, written), state)


def _opened(pieces: list[str], at: int, tag: tuple[str, str, str], state: _State) -> _State | None:
    source, name, written = tag
    text = pieces[at][len(source) + 1 :]
    ending, room, around, depth = state
    ended = ""
    while name not in room.allowed:
        open_tag = ending[1:]
        if around is None or open_tag not in ENDED_BY or (open_tag != "p" and name not in ENDED_BY[open_tag]):
            return None
        ended += f"{ending}><"
        ending, room, around, depth = around
    inner = None if name in VOID else (f"/{name}", _inside(name, room))
    if (inner[1] if inner else room).strict and not _is_blank(text):
        return None
    if inner or not room.strict:
        _remember(room, source, name, (f"{written}>" if written != source else "", inner))
    if ended or written != source:
        pieces[at] = f"{ended}{written}>{text}"
    if inner is None:
        return ending, room, around, depth
    return (*inner, (ending, room, around, depth), depth + 1) if depth < MAX_DEPTH else None


def _inside(name: str, room: _Room) -> _Room:
    allowed = room.allowed if name in TRANSPARENT else INSIDE.get(name, frozenset[str]())
    return _room(allowed, room.in_link or name == "a")


def _remember(room: _Room, source: str, name: str, move: _Move) -> None:
    """Keep what becomes of a tag or, where its values matter, of its shape."""
    if len(room) + len(room.shapes) > MAX_REMEMBERED:
        room.clear()
        room.shapes.clear()
    if source == name or (name not in _LINKING and " id=" not in source and len(source) < SHORT):
        if ">" not in source:
            room[source] = move
        return
    shape = '""'.join(_cut(source)[::2])
    given = _ATTRIBUTE.findall(shape, len(name))
    odd = iter(range(1, 2 * len(given), 2))
    places: dict[str, int] = {}
    for attribute, quoted in given:
        places.setdefault(attribute.lower(), next(odd) if quoted == '""' else -1 if quoted else 0)
    kept = [(place, attribute) for attribute, place in places.items() if attribute in ATTRIBUTES[name]]
    if len(shape) < LONG and "'" not in shape and all(place >= 0 for place, _ in kept):
        room.shapes[shape] = name, kept, f"{_REL if name == 'a' else ''}>", move[1]


def _ended(pieces: list[str], at: int, state: _State) -> _State | None:
    """An end tag: of what is open, or of what is around that; one with nothing to end goes."""
    found = _CLOSING.match(pieces[at])
    if not found:
        return None
    name, text = found[1].lower(), pieces[at][found.end() :]
    ending, room, around, depth = state
    ended = ""
    while around and ending[1:] != name and _ends(name, ending[1:]):
        ended += f"{ending}><"
        ending, room, around, depth = around
    if around and ending[1:] == name:
        ending, room, around, depth = around
        pieces[at] = f"{ended}/{name}>{text}"
        return (ending, room, around, depth) if not room.strict or _is_blank(text) else None
    if name not in {"br", "p"} and not _is_open(HEADINGS if name in HEADINGS else frozenset({name}), state):
        return _gone(pieces, at, at, text, state)
    if name == "p" and "p" in state[1].allowed:
        # A browser makes an empty paragraph of it.
        pieces[at] = f"p></p>{text}"
        return state
    return None


def _ends(name: str, inside: str) -> bool:
    """Whether the end of one tag is that of another which is open inside it."""
    return (inside in ENDED_BY and name not in TRANSPARENT) or (name in BLOCKS and inside in BLOCKS)


def _is_open(names: frozenset[str], state: _State) -> bool:
    around: _State | None = state
    while around:
        if around[0][1:] in names:
            return True
        around = around[2]
    return False


def _gone(pieces: list[str], at: int, last: int, text: str, state: _State) -> _State | None:
    """Take out these pieces, and leave this text."""
    pieces[at : last + 1] = [_GONE] * (last - at) + [_GONE + text]
    return state if not state[1].strict or _is_blank(text) else None


def _without_comment(pieces: list[str], at: int, state: _State) -> _State | None:
    if not pieces[at].startswith("!--"):
        _, closed, text = pieces[at].partition(">")
        return _gone(pieces, at, at, text, state) if closed else None
    if not _COMMENT.match(pieces[at]):
        return None
    for last in range(at, len(pieces)):
        if end := _COMMENT_END.search(pieces[last], 3 if last == at else 0):
            return _gone(pieces, at, last, pieces[last][end.end() :], state)
    return None


def _without_whole(pieces: list[str], at: int, name: str, state: _State) -> _State | None:
    """Take out a tag with all it holds, up to its end tag. HTML inside a drawing or formula would end that."""
    for last in range(at + 1, len(pieces)):
        piece = pieces[last]
        if piece.startswith(("!--", name)) or (name in _FOREIGN and _may_be_html(piece)):
            return None
        if (end := _CLOSING.match(piece)) and end[1].lower() == name:
            return _gone(pieces, at, last, piece[end.end() :], state)
    return None


def _may_be_html(piece: str) -> bool:
    tag = _OPENING.match(piece)
    return tag[1].lower() in TAGS if tag else piece[:1].isalpha()


def _is_blank(text: str) -> bool:
    return not text.strip(" \t\n\f\r")


def _attributes(tag: str, raw: str, base: str) -> str:
    """The attributes that are kept, as `_shaped` writes them too: the first of each name, and values as they stand."""
    kept: dict[str, str] = {}
    allowed = ATTRIBUTES[tag]
    for given, quoted in _ATTRIBUTE.findall(raw):
        name = given.lower()
        if name in allowed and name not in kept:
            value = quoted[1:-1] if quoted[:1] in {'"', "'"} else quoted
            kept[name] = _link(name, value, base) if name in LINKS else value
    written = [f' {name}="{_held(value)}"' for name, value in kept.items() if value or name not in LINKS]
    return "".join(written)


def _held(value: str) -> str:
    """A value that was in other quotes, or held what tells where a tag ends."""
    return value.replace('"', "&quot;").replace(">", "&gt;")


def _link(name: str, value: str, base: str) -> str:
    if _PLAIN_SET.fullmatch(value) if name == "srcset" else value.startswith(WEB):
        return value
    return escape(resolved(name, unescape_attribute(value), base) or "")
