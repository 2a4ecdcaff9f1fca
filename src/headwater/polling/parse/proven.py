"""Proven markup: most HTML in feeds is well nested and made of known tags. That can be seen tag by tag, at a multiple
of a parser's speed, and written out again with its links absolute and all other attributes gone.

A strict grammar, and hardly a repair: unknown tags go, a block ends an open paragraph. Anything else that is not as
`allowed` has it, and the answer is None, for the parser to see.

What comes out is safe because of its own form, whatever came in: cut at every "<", each piece opens with a whole tag,
quotes and all, as a browser's tokeniser reads it; none of the allowed tags changes how it reads what follows; tags
stand only where its tree builder leaves them. The tests let nh3 look for anything left to remove.
"""

import re
from functools import lru_cache
from html import escape, unescape

from headwater.polling.parse.allowed import (
    ANYTHING,
    ATTRIBUTES,
    DROPPED_WHOLE,
    INLINE,
    INSIDE,
    LINK_REL,
    NO_TEXT_AMONG,
    PHRASING,
    SINGLE_URLS,
    TAGS,
    VOID,
)
from headwater.polling.parse.links import kept_link, link_set

MAX_DEPTH = 100
MAX_REMEMBERED = 4096
SHORT = 200

_SPACE = r"[ \t\n\f\r]"  # as HTML has it: Python's own class is wider
_NAME = r"[a-zA-Z][a-zA-Z0-9_:.-]*+"
_VALUE = r""""[^"]*+"|'[^']*+'|[^\s"'=<>`]++"""
# Groups give back what they took: until 3.11.5 Python's possessive ones, where they fail inside, may swallow text.
_OPENING = re.compile(rf"([a-z][a-z0-9]*+)((?:{_SPACE}++{_NAME}(?:=(?:{_VALUE}))?)*){_SPACE}*+/?")
_CLOSING = re.compile(rf"/([a-z][a-z0-9]*+){_SPACE}*+")
_ATTRIBUTE = re.compile(rf"{_SPACE}++({_NAME})(?:=({_VALUE}))?")
_COMMENT = re.compile(r"<!--(?!-?>).*?--!?>", re.DOTALL)
# A link with an absolute URL, and beside it only attributes that are dropped: most links are this.
_BESIDE = rf'(?:{_SPACE}++(?!href|title|lang|dir|name)[a-z][a-z0-9_-]*+="[^"]*+")*'
_PLAIN_LINK = re.compile(rf'a{_BESIDE}{_SPACE}++href="((?:https?://|mailto:)[^"]*+)"{_BESIDE}{_SPACE}*+')
# A srcset of absolute URLs in the form that `link_set` writes.
_CANDIDATE = r"""https?://[^\s,"'&/?#][^\s,"'&]*+ [0-9]++[wx]"""
_PLAIN_SET = re.compile(rf"{_CANDIDATE}(?:, {_CANDIDATE}){{0,63}}")
_REL = f' rel="{LINK_REL}"'
_NOTHING: frozenset[str] = frozenset()
# Stands for a tag that goes while what it holds stays. No text has it: XML cannot, and JSON's is cleaned.
_DROPPED = "\0"
_AS_IT_IS = ("https://", "http://", "mailto:", "tel:")
_LINKING = frozenset(tag for tag, names in ATTRIBUTES.items() if not names.isdisjoint(SINGLE_URLS | {"srcset"}))

_Room = frozenset[str]
# A tag by what stands between "<" and ">": its name; what it becomes, or "" where it may stay; its end tag, or "" where
# it has none; what may stand inside it, or None where what is around it decides. Those that feeds repeat are kept.
_Tag = tuple[str, str, str, _Room | None]
_remembered: dict[str, _Tag] = {}


def proven(html: str, base: str) -> str | None:  # noqa: C901, PLR0912  (one loop over every tag: calls cost)
    """The safe form of HTML that needs no repair but these; None for all other."""
    if _DROPPED in html:
        return None
    if "<!--" in html:
        if html.rfind("<!--") > html.rfind("-->"):
            return None
        parts = _COMMENT.split(html)
        if any(part.rfind("<") > part.rfind(">") for part in parts[:-1]):
            return None  # inside a tag it is no comment
        html = "".join(parts)
    pieces = html.split("<")
    around: list[tuple[str, _Room]] = []
    ending, room = "never", ANYTHING
    dropped = False
    for at in range(1, len(pieces)):
        piece = pieces[at]
        if piece.startswith(ending):
            ending, room = around.pop()
            if room is not ANYTHING and room in NO_TEXT_AMONG and not _is_blank(piece.partition(">")[2]):
                return None
            continue
        source, closed, text = piece.partition(">")
        tag = _remembered.get(source) or _read(source, base)
        if tag is None or not closed:
            # The end of what is around a paragraph ends the paragraph too.
            if ending != "/p>" or not piece.startswith(around[-1][0]):
                return None
            around.pop()
            ending, room = around.pop()
            if room in NO_TEXT_AMONG and not _is_blank(text):
                return None
            pieces[at] = f"/p><{piece}"
            continue
        name, written, end, inside = tag
        if name not in room:
            if name == _DROPPED:
                pieces[at] = _DROPPED + text
                dropped = True
                continue
            # A block ends a paragraph.
            if ending != "/p>":
                return None
            ending, room = around.pop()
            if name not in room:
                return None
            written = f"/p><{written or source}"
        if written:
            pieces[at] = f"{written}>{text}"
        if end:
            around.append((ending, room))
            ending = end
            if inside is not None:
                room = inside
                if room in NO_TEXT_AMONG and not _is_blank(text):
                    return None
            elif name == "a":
                room = _without_links(room)
            if len(around) > MAX_DEPTH:
                return None
    if around:
        return None
    clean = "<".join(pieces)
    return clean.replace(f"<{_DROPPED}", "") if dropped else clean


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _read(source: str, base: str) -> _Tag | None:
    if link := _PLAIN_LINK.fullmatch(source):
        return "a", f'a href="{link[1]}"{_REL}', "/a>", None
    found = _OPENING.fullmatch(source)
    if not found:
        return _end_tag(source)
    name, raw = found.groups()
    if name not in TAGS:
        return None if name in DROPPED_WHOLE else (_DROPPED, "", "", None)
    written = name + (_attributes(name, raw, base) if raw else "") + (_REL if name == "a" else "")
    tag = name, written if written != source else "", "" if name in VOID else f"/{name}>", _inside(name)
    if len(source) < SHORT and (not raw or name not in _LINKING):
        if len(_remembered) >= MAX_REMEMBERED:
            _remembered.clear()
        _remembered[source] = tag
    return tag


def _end_tag(source: str) -> _Tag | None:
    """An end tag with nothing to end: that of a tag we drop goes too; of </p> a browser makes an empty paragraph."""
    found = _CLOSING.fullmatch(source)
    if not found:
        return None
    name = found[1]
    if name == "p":
        return "p", "p></p", "", None
    return None if name in TAGS or name in DROPPED_WHOLE else (_DROPPED, "", "", None)


def _inside(name: str) -> _Room | None:
    return None if name in INLINE else INSIDE.get(name, _NOTHING)


@lru_cache(maxsize=32)
def _without_links(room: _Room) -> _Room:
    """What may stand in a link: what may stand around it, links and what could hold one unseen aside."""
    return (room & PHRASING) - {"a"}


def _attributes(tag: str, raw: str, base: str) -> str:
    kept: dict[str, str] = {}
    allowed = ATTRIBUTES[tag]
    for given, quoted in _ATTRIBUTE.findall(raw):
        name = given if given in allowed else given.lower()
        if name not in allowed or name in kept:
            continue
        value = quoted[1:-1] if quoted[:1] in {'"', "'"} else quoted
        if name in SINGLE_URLS:
            value = (
                value
                if value.startswith(_AS_IT_IS) and '"' not in value
                else escape(kept_link(unescape(value), base) or "")
            )
        elif name == "srcset":
            value = value if _PLAIN_SET.fullmatch(value) else escape(link_set(unescape(value), base))
        elif not value.isalnum():
            value = escape(unescape(value))
        kept[name] = value
    return "".join([f' {name}="{value}"' for name, value in kept.items() if value or name not in SINGLE_URLS])
