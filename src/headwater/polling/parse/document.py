"""One document while it is read: its words, where it stands, and what its elements inherit from those around them."""

import re
from itertools import islice

from lxml import etree

from headwater.polling.parse.mend import mended
from headwater.polling.parse.names import XML_BASE, XML_LANG, Element, Names
from headwater.polling.parse.text import line, markup, plain
from headwater.reading.html_rules import LINKS
from headwater.reading.links import absolute, rebased, resolved, whole

Fields = dict[str, list[Element]]

MAX_ANCESTORS = 16

# Nobody is shown more: a long base and many short links would fill any memory.
MAX_SETTLED = 1_000_000

_has_bases = etree.XPath("boolean(.//*/@xml:base)")
_SCOPED = re.compile(rb"xml:(?:base|lang)")
_TRANSPARENT = frozenset({"media:group", "media:content"})
_NONE: list[Element] = []


def is_scoped(document: bytes) -> bool:
    """Whether anything in a document, given in UTF-8, says where it stands or in which language. Most say nothing."""
    return _SCOPED.search(document) is not None


class Document:
    """What every part of the mapping needs to know of the document it reads from."""

    __slots__ = ("_around", "_around_base", "_names", "_suspect", "guess", "is_cdf", "scoped", "url")

    def __init__(self, url: str, *, form: str = "", scoped: bool = False, suspect: bool = False) -> None:
        self.url = url
        self.guess = not form.startswith("atom")
        self.is_cdf = form == "cdf"
        self.scoped = scoped
        self._suspect = suspect
        self._names = Names()
        self._around: Element | None = None
        self._around_base = url

    def word(self, element: Element) -> str:
        """The element's name, as one word."""
        return self._names.of(element)

    def fields(self, element: Element) -> Fields:
        """An element's children under their words; those of a media:group stand beside it."""
        found: Fields = {}
        self._collect(element, found)
        return found

    def _collect(self, element: Element, found: Fields) -> None:
        known = self._names.known
        for child in element[:]:  # half the time of iterating over it
            word = known.get(child.tag) or self._names.of(child)  # pyright: ignore[reportArgumentType, reportCallIssue]
            if word in found:
                found[word].append(child)
            else:
                found[word] = [child]
            if word in _TRANSPARENT and len(child):
                self._collect(child, found)

    def base(self, element: Element) -> str:
        """The URL that relative links inside this element start from."""
        if not self.scoped:
            return self.url
        parent = element.getparent()
        if parent is None:
            return rebased(self.url, element.get(XML_BASE))
        if parent is not self._around:
            # Siblings ask one after the other: the way up is walked once for all of them.
            self._around = parent
            self._around_base = self.url
            for around in reversed([parent, *islice(parent.iterancestors(), MAX_ANCESTORS)]):
                self._around_base = rebased(self._around_base, around.get(XML_BASE))
        return rebased(self._around_base, element.get(XML_BASE))

    def language(self, element: Element, otherwise: str | None) -> str | None:
        """The language that xml:lang gives to this element; a blank one says that there is none."""
        if not self.scoped:
            return otherwise
        for node in (element, *islice(element.iterancestors(), MAX_ANCESTORS)):
            if (given := node.get(XML_LANG)) is not None:
                return tidy_language(given)
        return otherwise

    def line(self, element: Element) -> str:
        """A title: one plain line."""
        text = line(element, guess=self.guess)
        return mended(text) if self._suspect else text

    def markup(self, element: Element, default: str) -> str:
        """Prose, as HTML that is not yet safe; its links start from the element's base."""
        if self.scoped and len(element) and _has_bases(element):
            settle_links(element, self.base(element))
        html = markup(element, default, guess=self.guess)
        return mended(html) if self._suspect else html

    def link(self, element: Element, text: str | None) -> str | None:
        """An absolute URL from a text or attribute of this element."""
        return (whole(text) or absolute(text, self.base(element))) if text else None


def settle_links(element: Element, base: str) -> None:
    """Make those links inside an element absolute that an xml:base inside it has start from elsewhere than `base`."""
    room = MAX_SETTLED
    bases = {element: base}
    for node in element.iterdescendants("*"):
        outer = node.getparent()
        bases[node] = own = rebased(bases[outer] if outer is not None else base, node.get(XML_BASE))
        room -= _settle(node, own) if own != base else 0
        if room < 0:
            return


def _settle(node: Element, base: str) -> int:
    """Make the links of one element absolute: how many characters that took."""
    links = {name: link for name, value in node.items() if name in LINKS and (link := resolved(name, value, base))}
    for name, link in links.items():
        node.set(name, link)
    return sum(map(len, links.values()))


def each(fields: Fields, *words: str) -> list[Element]:
    """The elements under these words, the first word's first."""
    return [element for word in words if word in fields for element in fields[word]]


def first_text(fields: Fields, *words: str) -> str:
    """The first text that is not blank."""
    for word in words:
        for element in fields.get(word, _NONE):
            if text := plain(element):
                return text
    return ""


def attribute(element: Element, name: str) -> str | None:
    """An attribute in lower or upper case: the oldest formats shout."""
    return (element.get(name) or element.get(name.upper())) if element.attrib else None


def tidy_language(tag: str) -> str | None:
    """A language tag as everybody writes it: `en_US ` becomes en-US."""
    return tag.strip().replace("_", "-")[:35] or None
