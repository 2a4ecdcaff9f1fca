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
RSS_10 = "http://purl.org/rss/1.0/"
RSS_090 = ("http://my.netscape.com/rdf/simple/0.9/", "http://channel.netscape.com/rdf/simple/0.9/")
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

# In lower case: feeds write these URIs in any case.
_MODULES = f"""
content http://purl.org/rss/1.0/modules/content/
dc http://purl.org/dc/elements/1.1/ http://purl.org/dc/elements/1.0/
dcterms http://purl.org/dc/terms/
media http://search.yahoo.com/mrss http://search.yahoo.com/mrss/
itunes http://www.itunes.com/dtds/podcast-1.0.dtd http://example.com/dtds/podcast-1.0.dtd
googleplay http://www.google.com/schemas/play-podcasts/1.0
podcast https://podcastindex.org/namespace/1.0
podcast https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md
georss http://www.georss.org/georss
geo http://www.w3.org/2003/01/geo/wgs84_pos#
gml http://www.opengis.net/gml
thr http://purl.org/syndication/thread/1.0 http://purl.org/rss/1.0/modules/threading/
slash http://purl.org/rss/1.0/modules/slash/
sy http://purl.org/rss/1.0/modules/syndication/
feedburner http://rssnamespace.org/feedburner/ext/1.0
wfw http://wellformedweb.org/commentapi/
blogchannel http://backend.userland.com/blogchannelmodule
rdf {RDF}
xhtml {XHTML}
svg http://www.w3.org/2000/svg
math http://www.w3.org/1998/math/mathml
xml http://www.w3.org/xml/1998/namespace
"""
_BARE = f"""
{ATOM_10} {ATOM_10}/ http://purl.org/atom/ns# http://example.com/newformat# http://example.com/necho
http://purl.org/echo/ uri/of/echo/namespace# http://purl.org/pie/
{RSS_10} {" ".join(RSS_090)} http://blogs.law.harvard.edu/tech/rss http://cyber.law.harvard.edu/rss/rss.html
http://purl.org/rss/2.0/ http://purl.org/rss/1.0/modules/rss091#
"""
PREFIXES: dict[str, str] = {
    **dict.fromkeys(("", *_BARE.split()), ""),
    **{uri: line.split()[0] for line in _MODULES.strip().split("\n") for uri in line.split()[1:]},
}
"""The prefix of each known namespace; none for those of RSS and Atom."""


def tag_of(element: Element) -> str:
    """An element's Clark name: our trees have no comments or processing instructions."""
    return cast("str", element.tag)


def word_for(tag: str, prefix: str | None) -> str:
    """The word for a Clark name; `prefix` decides where the namespace is unknown."""
    uri, _, local = tag.rpartition("}")
    uri = uri[1:].strip().lower()
    known = PREFIXES.get(uri)
    if known is None:
        is_undeclared = uri.startswith(UNDECLARED)
        known = "" if is_rss(uri) else uri.removeprefix(UNDECLARED) if is_undeclared else (prefix or "").lower()
    return f"{known}:{local.lower()}" if known else local.lower()


def is_rss(uri: str) -> bool:
    """Whether this is one of the many namespaces that were used for RSS 2.0, which has none."""
    return "backend.userland.com/rss" in uri
