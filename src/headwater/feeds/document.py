"""One XML document while it is mapped: the words of its elements, and the base URL and language they inherit."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TypeVar

from lxml import etree

from headwater.feeds.namespaces import XML_BASE, XML_LANG, Element, tag_of, word_for
from headwater.feeds.text_constructs import fix_mojibake, line, markup, plain
from headwater.reading.html_rules import LINKS
from headwater.reading.limits import MAX_HTML
from headwater.reading.links import absolute, rebase, resolved, whole

Fields = dict[str, list[Element]]
T = TypeVar("T")

MAX_ANCESTORS = 16
MAX_ITEMS = 20_000  # entries of one feed; those after are not read

_has_bases = etree.XPath("boolean(.//*/@xml:base)")
_SCOPED = re.compile(rb"xml:(?:base|lang)")
_TRANSPARENT = frozenset({"media:group", "media:content"})
_NONE: list[Element] = []
_NEVER = datetime.min.replace(tzinfo=UTC)


def newest(entries: Sequence[T], wanted: int | None, date_of: Callable[[T], datetime | None]) -> Sequence[T]:
    """At most `wanted`, the newest first, those without a date last; all of them in feed order if there are no more."""
    if wanted is None or len(entries) <= wanted:
        return entries
    return sorted(entries, key=lambda entry: date_of(entry) or _NEVER, reverse=True)[: max(wanted, 0)]


def is_scoped(document: bytes) -> bool:
    """Whether a document, given in UTF-8, uses xml:base or xml:lang. Most do not."""
    return _SCOPED.search(document) is not None


class FeedDocument:
    __slots__ = ("_around", "_around_base", "_mojibake", "_words", "guess", "is_cdf", "scoped", "url")

    def __init__(self, url: str, *, form: str = "", scoped: bool = False, mojibake: bool = False) -> None:
        self.url = url
        self.guess = not form.startswith("atom")
        self.is_cdf = form == "cdf"
        self.scoped = scoped
        self._mojibake = mojibake
        self._words: dict[str, str] = {}  # by tag: a feed uses a few tags thousands of times
        self._around: Element | None = None
        self._around_base = url

    def word(self, element: Element) -> str:
        tag = tag_of(element)
        word = self._words.get(tag)
        if word is None:
            word = self._words[tag] = word_for(tag, element.prefix)
        return word

    def fields(self, element: Element) -> Fields:
        """An element's children by word; those of a media:group count as its siblings."""
        found: Fields = {}
        self._collect(element, found)
        return found

    def _collect(self, element: Element, found: Fields) -> None:
        known = self._words
        for child in element[:]:  # half the time of iterating over it
            word = known.get(child.tag) or self.word(child)  # pyright: ignore[reportArgumentType, reportCallIssue]
            if word in found:
                found[word].append(child)
            else:
                found[word] = [child]
            if word in _TRANSPARENT and len(child):
                self._collect(child, found)

    def base(self, element: Element) -> str:
        if not self.scoped:
            return self.url
        parent = element.getparent()
        if parent is None:
            return rebase(self.url, element.get(XML_BASE))
        if parent is not self._around:
            # Siblings are read one after the other: their ancestors are walked once.
            self._around = parent
            self._around_base = self.url
            for around in reversed([parent, *islice(parent.iterancestors(), MAX_ANCESTORS)]):
                self._around_base = rebase(self._around_base, around.get(XML_BASE))
        return rebase(self._around_base, element.get(XML_BASE))

    def language(self, element: Element, otherwise: str | None) -> str | None:
        """The language that xml:lang gives to this element; a blank one means none."""
        if not self.scoped:
            return otherwise
        for node in (element, *islice(element.iterancestors(), MAX_ANCESTORS)):
            if (given := node.get(XML_LANG)) is not None:
                return normalise_language(given)
        return otherwise

    def first_line(self, elements: list[Element]) -> str:
        """The first text that is not blank, as one plain line: a title."""
        for element in elements:
            if text := line(element, guess=self.guess):
                return fix_mojibake(text) if self._mojibake else text
        return ""

    def markup(self, element: Element, default: str) -> str:
        """Text as HTML that is not yet safe, its links relative to the element's base."""
        if self.scoped and len(element) and _has_bases(element):
            resolve_links(element, self.base(element))
        html = markup(element, default, guess=self.guess)
        return fix_mojibake(html) if self._mojibake else html

    def link(self, element: Element, text: str | None) -> str | None:
        return (whole(text) or absolute(text, self.base(element))) if text else None


def resolve_links(element: Element, base: str) -> None:
    """Make those links inside an element absolute to which an xml:base inside it gives another base than `base`."""
    room = MAX_HTML  # a long base and many short links would fill any memory
    bases = {element: base}
    for node in element.iterdescendants("*"):
        outer = node.getparent()
        bases[node] = own = rebase(bases[outer] if outer is not None else base, node.get(XML_BASE))
        for name, value in node.items() if own != base else ():
            if name in LINKS and (link := resolved(name, value, own)):
                node.set(name, link)
                room -= len(link)
        if room < 0:
            return


def each(fields: Fields, *words: str) -> list[Element]:
    """The elements under these words, the first word's first."""
    return [element for word in words if word in fields for element in fields[word]]


def first_text(fields: Fields, *words: str) -> str:
    for word in words:
        for element in fields.get(word, _NONE):
            if text := plain(element):
                return text
    return ""


def attribute(element: Element, name: str) -> str | None:
    """An attribute in lower or upper case, as the oldest formats write it."""
    return (element.get(name) or element.get(name.upper())) if element.attrib else None


def normalise_language(tag: str) -> str | None:
    """A language tag in its usual form: `en_US ` becomes en-US."""
    return tag.strip().replace("_", "-")[:35] or None
