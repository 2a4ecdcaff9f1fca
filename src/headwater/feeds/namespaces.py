"""Namespaces: an element's namespace and local name become one word, `title` or `dc:creator`, whatever its prefix.

The namespaces of RSS and Atom all map to the bare word, so that Atom inside RSS, or RSS inside Atom, needs no rule.
An unknown namespace falls back on its prefix: `media:` with a mistyped URI is still Media RSS.
"""

from typing import cast

from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]  (lxml names its public class so)

XHTML = "http://www.w3.org/1999/xhtml"
XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
UNDECLARED = "urn:undeclared:"

ATOM_10 = "http://www.w3.org/2005/atom"
ATOM_OLD = (
    "http://purl.org/atom/ns#",
    "http://example.com/newformat#",
    "http://example.com/necho",
    "http://purl.org/echo/",
    "uri/of/echo/namespace#",
    "http://purl.org/pie/",
)
RSS_10 = "http://purl.org/rss/1.0/"
RSS_090 = ("http://my.netscape.com/rdf/simple/0.9/", "http://channel.netscape.com/rdf/simple/0.9/")
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

# Keys are lower case: feeds write these URIs in any case.
PREFIXES: dict[str, str] = {
    "": "",
    **dict.fromkeys((ATOM_10, *ATOM_OLD, RSS_10, *RSS_090), ""),
    "http://www.w3.org/2005/atom/": "",
    "http://blogs.law.harvard.edu/tech/rss": "",
    "http://cyber.law.harvard.edu/rss/rss.html": "",
    "http://purl.org/rss/2.0/": "",
    "http://purl.org/rss/1.0/modules/rss091#": "",
    "http://purl.org/rss/1.0/modules/content/": "content",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/elements/1.0/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://search.yahoo.com/mrss": "media",
    "http://search.yahoo.com/mrss/": "media",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://example.com/dtds/podcast-1.0.dtd": "itunes",
    "http://www.google.com/schemas/play-podcasts/1.0": "googleplay",
    "https://podcastindex.org/namespace/1.0": "podcast",
    "https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md": "podcast",
    "http://www.georss.org/georss": "georss",
    "http://www.w3.org/2003/01/geo/wgs84_pos#": "geo",
    "http://www.opengis.net/gml": "gml",
    "http://purl.org/syndication/thread/1.0": "thr",
    "http://purl.org/rss/1.0/modules/threading/": "thr",
    "http://purl.org/rss/1.0/modules/slash/": "slash",
    "http://purl.org/rss/1.0/modules/syndication/": "sy",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "http://wellformedweb.org/commentapi/": "wfw",
    "http://backend.userland.com/blogchannelmodule": "blogchannel",
    RDF.lower(): "rdf",
    XHTML: "xhtml",
    "http://www.w3.org/2000/svg": "svg",
    "http://www.w3.org/1998/math/mathml": "math",
    "http://www.w3.org/xml/1998/namespace": "xml",
}


class Names:
    """The words of one document, cached by tag: a feed uses a few tags thousands of times."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def of(self, element: Element) -> str:
        """The word for this element."""
        tag = tag_of(element)
        word = self.known.get(tag)
        if word is None:
            word = self.known[tag] = word_for(tag, element.prefix)
        return word


def tag_of(element: Element) -> str:
    """An element's Clark name: our trees have no comments or processing instructions."""
    return cast("str", element.tag)


def word_for(tag: str, prefix: str | None) -> str:
    """The word for a Clark name; `prefix` decides where the namespace is unknown."""
    uri, _, local = tag.rpartition("}")
    uri = uri[1:].strip().lower()
    known = PREFIXES.get(uri)
    if known is None:
        known = _guess(uri, prefix)
    return f"{known}:{local.lower()}" if known else local.lower()


def is_rss(uri: str) -> bool:
    """Whether this is one of the many namespaces that were used for RSS 2.0, which has none."""
    return "backend.userland.com/rss" in uri


def _guess(uri: str, prefix: str | None) -> str:
    if is_rss(uri):
        return ""
    if uri.startswith(UNDECLARED):
        return uri.removeprefix(UNDECLARED)
    return (prefix or "").lower()
