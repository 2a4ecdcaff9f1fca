"""The tags, attributes and URL schemes that sanitising keeps, and which element may be inside which."""


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


FLOW = _words(
    "address article aside blockquote center dd details div dt fieldset figcaption figure footer header "
    "hgroup legend li main nav section summary td th"
)
INLINE = _words(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark meter output "
    "progress q s samp small span strike strong sub sup time tt u var"
)
_TEXT = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "p", "pre"})
VOID = frozenset({"area", "br", "col", "hr", "img", "source", "track", "wbr"})

_STRUCTURE = _words("audio caption colgroup dir dl map menu ol picture rp rt ruby table tbody tfoot thead tr ul video")
TAGS = FLOW | INLINE | _TEXT | VOID | _STRUCTURE

# Removed with all their content.
DROPPED_WHOLE = frozenset({"math", "script", "select", "style", "svg", "template", "textarea", "title"})

_EVERYWHERE = frozenset({"dir", "lang", "title"})
_OWN = {
    tag: _words(names)
    for tags, names in {
        "a": "href hreflang name", "area": "alt coords href shape", "audio": "controls preload src",
        "blockquote q": "cite", "code pre": "class", "col colgroup": "span", "data li": "value",
        "del ins": "cite datetime", "details": "open", "font": "color",
        "img": "align alt height sizes src srcset usemap width", "map": "name", "meter": "max min value",
        "ol": "reversed start type", "progress": "max value", "source": "media sizes src srcset type",
        "table": "border cellpadding cellspacing summary", "td th": "abbr align colspan headers rowspan scope valign",
        "time": "datetime", "track": "kind label src srclang", "video": "controls height poster preload src width",
    }.items()
    for tag in tags.split()
}  # fmt: skip
ATTRIBUTES = {tag: _OWN.get(tag, frozenset[str]()) | _EVERYWHERE for tag in TAGS}

SCHEMES = frozenset({"ftp", "geo", "http", "https", "magnet", "mailto", "tel", "xmpp"})
SINGLE_URLS = frozenset({"cite", "href", "poster", "src"})
LINKS = SINGLE_URLS | {"srcset"}
LINK_REL = "noopener noreferrer nofollow"

# Which element may be a child of which, so that a browser's parser builds the very tree that is written. Narrower than
# HTML allows: any other markup takes the slow path through nh3.
_PLAYERS = frozenset({"audio", "map", "picture", "video"})
TRANSPARENT = INLINE | _PLAYERS
"""What is allowed inside these is what is allowed around them."""
_PHRASING = TRANSPARENT | {"area", "br", "img", "source", "track", "wbr"}
_ONLY_IN_THEIR_OWN = frozenset({"dd", "dt", "legend", "li", "td", "th"})
ANYTHING = _PHRASING | _TEXT | {"dl", "hr", "ol", "table", "ul"} | (FLOW - _ONLY_IN_THEIR_OWN)
_GROUPS = frozenset({"tbody", "tfoot", "thead"})
_CELLS = frozenset({"td", "th"})
INSIDE: dict[str, frozenset[str]] = {
    **dict.fromkeys(_TEXT, _PHRASING),
    **dict.fromkeys(FLOW | {"caption"}, ANYTHING),
    "colgroup": frozenset({"col"}),
    "dl": ANYTHING | {"dd", "dt"},
    **dict.fromkeys(("ol", "ul"), ANYTHING | {"li"}),
    "table": _GROUPS | {"caption", "colgroup", "tr"},
    **dict.fromkeys(_GROUPS, frozenset({"tr"})),
    "tr": _CELLS,
}
# A browser moves text between the rows or cells of a table to before the table.
NO_TEXT_AMONG = frozenset({INSIDE["table"], INSIDE["tbody"], INSIDE["tr"], INSIDE["colgroup"]})
# The end tag of one of these closes all of these that are open inside it.
BLOCKS = (FLOW - _ONLY_IN_THEIR_OWN) | {"dl", "ol", "pre", "ul"}
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# Elements with an optional end tag: each ends with its parent, or where one of these begins. A paragraph ends where
# anything begins that is not allowed in one.
ENDED_BY: dict[str, frozenset[str]] = {
    "p": frozenset(),
    "li": frozenset({"li"}),
    **dict.fromkeys(("dd", "dt"), frozenset({"dd", "dt"})),
    **dict.fromkeys(_CELLS, _CELLS | {"tr"} | _GROUPS),
    **dict.fromkeys(("caption", "tr"), _GROUPS | {"tr"}),
    **dict.fromkeys(_GROUPS, _GROUPS),
}
