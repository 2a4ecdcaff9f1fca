"""Parses text that is not well-formed XML into a tree, without losing text or entries, in linear time.

Accepts common errors: bare ampersands, HTML entities, undeclared prefixes, tags left open or closed twice, an item
inside an item, an unclosed CDATA section.
"""

import re
from html.entities import html5, name2codepoint

from lxml import etree

from headwater.feeds.namespaces import PREFIXES, UNDECLARED, Element, is_rss
from headwater.reading.limits import MAX_ATTRIBUTES, MAX_DEPTH
from headwater.reading.text import xml_safe

ROOT = "{urn:headwater}fragments"  # the element around several root elements
MAX_TOKENS = 1_000_000
MAX_EXPANSION = 1_000_000

_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*+(?::[A-Za-z_][A-Za-z0-9_.-]*+)?"
_PIECE = r"""[^<>"']++|"[^"<]*+"|'[^'<]*+'"""
# Linear for hostile text: no part matches past the next "<" except one quoted value, and no two such values that begin
# with the same quote overlap. Lookaheads do not backtrack; possessive groups have a bug before Python 3.11.5.
_TOKEN = re.compile(
    rf"""
    <!\[CDATA\[(?P<cdata>.*?)\]\]>
    | <!--.*?-->
    | <[?!][^<>]*>
    | </\s*(?P<end>{_NAME})[^<>]*>?
    | <(?P<start>{_NAME})
      (?P<attributes>
        (?=(?P<first>(?:{_PIECE})*))(?P=first)
        (?:(?<==)(?:"[^"\n]{{0,1000}}+"|'[^'\n]{{0,1000}}+')(?<!=["'])(?=\s|/?>))?
        (?=(?P<last>(?:{_PIECE}|["'])*))(?P=last)
      )
      (?P<close>>|(?=<))
    """,
    re.DOTALL | re.VERBOSE,
)
# No match begins inside a name: a long name without a value would take quadratic time.
_ATTRIBUTE = re.compile(rf"""(?<![A-Za-z0-9_.:-])({_NAME})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_REFERENCE = re.compile(r"&(?:#[xX]([0-9a-fA-F]{1,6})|#([0-9]{1,7})|([A-Za-z][A-Za-z0-9._-]{0,39}));")

_VOID = frozenset({"br", "img", "hr", "input", "area", "col", "wbr", "embed", "param", "meta"})
_ENTRIES = frozenset({"item", "entry"})
# These contain text only: a tag inside one means that its end tag is missing or mistyped.
_PLAIN = frozenset({
    "link", "guid", "id", "pubdate", "updated", "published", "modified", "issued", "created", "lastbuilddate",
    "dc:date", "dc:creator", "language", "ttl", "name", "email", "uri", "url", "width", "height", "comments",
    "category",
})  # fmt: skip
_ROOTS = frozenset({"rss", "feed", "rdf:rdf", "channel"})
_AFTER_TITLE = _PLAIN | _ENTRIES | {"description", "summary", "content", "content:encoded", "author", "image"}
_CONTAINERS = _ROOTS | _ENTRIES
_FEED_WORDS = _ROOTS | _AFTER_TITLE | {"title"}


def read(text: str, entities: dict[str, str]) -> Element | None:
    """The root element, or None where the text has no tag."""
    text = xml_safe(text)
    for opening, closing in (("<![CDATA[", "]]>"), ("<!--", "-->")):
        # The start of an unclosed section becomes a space, so that the text around it cannot form another start. Its
        # content is parsed.
        end = text.rfind(closing)
        if opening in text[end + 1 :]:
            text = text[: end + 1] + text[end + 1 :].replace(opening, " ")
    return _LenientParser({name: xml_safe(value) for name, value in entities.items()}).tree(text)


class _LenientParser:
    def __init__(self, entities: dict[str, str]) -> None:
        self._entities = entities
        self._room = MAX_EXPANSION
        self._namespaces: dict[str, str] = {}
        self._default = ""
        self._open: list[str] = []
        self._entry: int | None = None  # index of the open entry, of which there is one at most
        self._tags: list[tuple[str, str]] = []  # each with the default namespace outside it
        self._builder = etree.TreeBuilder()

    def tree(self, text: str) -> Element | None:
        self._builder.start(ROOT, {})
        at = 0
        for number, token in enumerate(_TOKEN.finditer(text)):
            if number >= MAX_TOKENS:
                break
            self._data(self._decoded(text[at : token.start()]))
            at = token.end()
            self._take(token)
        self._data(self._decoded(text[at:]))
        self._close_down_to(0)
        self._builder.end(ROOT)
        root = self._builder.close()
        return root[0] if len(root) == 1 else root if len(root) else None

    def _take(self, token: re.Match[str]) -> None:
        if (cdata := token["cdata"]) is not None:
            self._data(cdata)
        elif end := token["end"]:
            if (word := self._word(end)) in self._open:
                self._close_down_to(len(self._open) - 1 - self._open[::-1].index(word))
        elif start := token["start"]:
            if token["close"] or self._is_unclosed_tag(self._word(start), token["attributes"]):
                self._start(start, token["attributes"])
            else:
                self._data(self._decoded(token[0]))

    def _is_unclosed_tag(self, word: str, rest: str) -> bool:
        """Whether `<item` without a `>` before the next `<` is a tag, and not a bare `<` in a text."""
        # A channel or an item has no text of its own that could be lost.
        at_top = not self._open or self._open[-1] in _CONTAINERS
        return word in _FEED_WORDS and (at_top or "=" in rest or ":" in rest or not rest.strip(" \t\r\n/"))

    def _data(self, text: str) -> None:
        if text and self._open:
            self._builder.data(text)

    def _start(self, name: str, raw: str) -> None:
        following = self._word(name)
        if following in _ENTRIES:
            self._close_down_to(len(self._open) if self._entry is None else self._entry)
        elif self._open and (self._open[-1] in _PLAIN or (self._open[-1] == "title" and following in _AFTER_TITLE)):
            self._close_down_to(len(self._open) - 1)
        if len(self._open) >= MAX_DEPTH:
            return
        outside = self._default
        attributes = self._attributes(raw) if raw else {}
        if name.lower() == "rss" and PREFIXES.get(self._default.strip().lower()):
            self._default = ""  # a module's namespace, declared by mistake as the default
        tag, word = self._clark(name), self._word(name)  # after its own namespace declarations
        self._builder.start(tag, attributes)
        if word in _ENTRIES:
            self._entry = len(self._open)
        self._open.append(word)
        self._tags.append((tag, outside))
        if raw.endswith("/") or word in _VOID:
            self._close_down_to(len(self._open) - 1)

    def _close_down_to(self, depth: int) -> None:
        while len(self._open) > depth:
            self._open.pop()
            tag, self._default = self._tags.pop()
            self._builder.end(tag)
        if self._entry is not None and self._entry >= depth:
            self._entry = None

    def _attributes(self, raw: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(raw)[:MAX_ATTRIBUTES]:
            value = self._decoded(double or single or bare)
            if name.startswith("xmlns:"):
                self._namespaces[name[6:]] = value
            elif name == "xmlns":
                self._default = value
            else:
                found.setdefault(self._clark(name) if ":" in name else name, value)
        return found

    def _word(self, name: str) -> str:
        """The name in lower case, without a prefix that means RSS or Atom."""
        prefix, _, local = name.rpartition(":")
        uri = self._namespaces.get(prefix, "").strip().lower() if prefix else ""
        return (local if uri and (PREFIXES.get(uri) == "" or is_rss(uri)) else name).lower()

    def _clark(self, name: str) -> str:
        prefix, _, local = name.rpartition(":")
        if prefix == "xml":
            return f"{{http://www.w3.org/XML/1998/namespace}}{local}"
        uri = (self._namespaces.get(prefix, "") if prefix else self._default).strip().lower()
        if uri in PREFIXES:
            return f"{{{uri}}}{local}" if uri else local if not prefix else f"{{{UNDECLARED}{prefix}}}{local}"
        if is_rss(uri):
            return local
        return f"{{{UNDECLARED}{prefix}}}{local}" if prefix else local

    def _decoded(self, text: str) -> str:
        return _REFERENCE.sub(self._resolve, text) if "&" in text else text

    def _resolve(self, reference: re.Match[str]) -> str:
        hexadecimal, decimal, name = reference.groups()
        if name is None:
            code = int(hexadecimal, 16) if hexadecimal else int(decimal)
            return xml_safe(chr(code)) if code < 0x110000 else ""
        if (declared := self._entities.get(name)) is not None and len(declared) <= self._room:
            self._room -= len(declared)
            return declared
        # HTML 4's names first, as in XML feeds: its &lang; differs from HTML 5's.
        return chr(name2codepoint[name]) if name in name2codepoint else html5.get(f"{name};", reference[0])
