"""Hostile and ordinary HTML for tests, and what a browser-grade parser finds in the result."""

import re
from typing import Literal

import nh3
from hypothesis import strategies as st
from lxml import html as lxml_html

from headwater.reading.html_rules import ATTRIBUTES, DROPPED_WHOLE, LINK_REL, SCHEMES, SINGLE_URLS, TAGS, VOID

BASE = "https://example.com/blog/"

XSS = (
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<scr<iframe>ipt>alert(1)</scr</iframe>ipt>",
    "<img src=x onerror=alert(1)>",
    '<img src="x" onerror="alert(1)">',
    '<img """><script>alert(1)</script>">',
    "<img src=x:alert(1) onerror=eval(src)>",
    '<a href="javascript:alert(1)">x</a>',
    '<a href="JaVaScRiPt:alert(1)">x</a>',
    '<a href="java\tscript:alert(1)">x</a>',
    '<a href="&#106;avascript:alert(1)">x</a>',
    '<a href="&#x6A;avascript&colon;alert(1)">x</a>',
    '<a href=" \x01javascript:alert(1)">x</a>',
    '<a href="data:text/html,<script>alert(1)</script>">x</a>',
    '<a href="vbscript:x">x</a>',
    '<a href="https://ok.example/" href="javascript:alert(1)">x</a>',
    '<a href="javascript:alert(1)" href="https://ok.example/">x</a>',
    '<a title="x" onclick="alert(1)" href="https://ok.example/">x</a>',
    "<a href='https://ok.example/\" onclick=\"alert(1)'>x</a>",
    '<a title="a>b" onclick=alert(1)>x</a>',
    '<p title="</p><script>alert(1)</script>">x</p>',
    "<p title='\"><script>alert(1)</script>'>x</p>",
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<style>@import 'javascript:alert(1)';</style>",
    '<div style="background:url(javascript:alert(1))">x</div>',
    '<iframe src="javascript:alert(1)"></iframe>',
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<textarea><script>alert(1)</script></textarea>",
    "<title><script>alert(1)</script></title>",
    "<xmp><script>alert(1)</script></xmp>",
    "<plaintext><script>alert(1)</script>",
    "<template><script>alert(1)</script></template>",
    '<object data="javascript:alert(1)"></object>',
    '<embed src="javascript:alert(1)">',
    '<form action="javascript:alert(1)"><button>x</button></form>',
    "<input onfocus=alert(1) autofocus>",
    '<video poster="javascript:alert(1)"></video>',
    '<video><source onerror="alert(1)"></video>',
    '<img srcset="javascript:alert(1) 1x">',
    '<blockquote cite="javascript:alert(1)">x</blockquote>',
    '<q CITE = "javascript:alert(1)">x</q>',
    '<img src="tel:1">',
    '<base href="javascript:alert(1)//">',
    '<link rel="stylesheet" href="javascript:alert(1)">',
    '<meta http-equiv="refresh" content="0;url=javascript:alert(1)">',
    '<!--<img src="--><img src=x onerror=alert(1)>">',
    "<!--><script>alert(1)</script>-->",
    "<!---><script>alert(1)</script>-->",
    "<!-- --!><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php <script>alert(1)</script> ?>",
    "<a<script>alert(1)</script>",
    "<p/onclick=alert(1)>x</p>",
    "<p\x0conclick=alert(1)>x</p>",
    "<\x00script>alert(1)</script>",
    "<b onmouseover=alert(1)//",
    "<details open ontoggle=alert(1)>x</details>",
)

_PIECES = (
    *XSS,
    *(
        f"<{tag}>"
        for tag in ("p", "div", "a", "b", "ul", "li", "table", "tr", "td", "h1", "pre", "br", "img", "form", "svg")
    ),
    *(f"</{tag}>" for tag in ("p", "div", "a", "b", "ul", "li", "table", "tr", "td", "h1", "pre", "br", "form", "svg")),
    '<a href="/x">',
    '<a href="https://e.org/?a=1&b=2" class="y">',
    "<img src='pic.jpg' alt=\"a 'b'\">",
    '<p class="x" id=y>',
    "<span title='<b>'>",
    "<!-- x -->",
    *("text", " ", "&amp;", "&", "&lt;", "<", ">", '"', "'", "=", "/", "-->", "\n"),
)

soups = st.lists(st.sampled_from(_PIECES), max_size=14).map("".join)

_GIVEN = (
    *("", "", "", ' class="x"', " lang=en", " title='a \"b\"'", ' title="&lt;b&gt;"', ' style="color:red"', " open"),
    *(' href="/x"', ' href="https://e.org/?a=1&amp;b=2" target=_blank', ' src="p.jpg"', ' HREF="/y" Title=z'),
    *(' href="magnet:?xt=1&amp;dn=x"', " href='geo:1,2'", ' href="urn:x:1"'),
    *(' onclick="alert(1)"', ' href="javascript:alert(1)"', ' href="&#106;avascript:x"', ' src="data:text/html,x"'),
    *(' href="javascript:x" href="/y"', ' title="a" title="b"', ' title="<!-- x -->"', ' title="a>b"', ' title="<b>"'),
    *("\xa0onclick=x", "\x0bonclick=x", "\u2028title=x", "/onclick=x", "\x0ctitle=x", "\n  dir = 'rtl'", ' "', " =x"),
)
_TEXT = ("text", " ", "\n", "&amp;", "&lt;script&gt;", "a > b", '"', "<!-- x -->", "<!-- <b> -->")
_NAMES = (*sorted(TAGS - VOID), "x-y", "svg", "script")


@st.composite
def _element(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    name, given = draw(st.sampled_from(_NAMES)), draw(st.sampled_from(_GIVEN))
    return f"<{name}{given}>{''.join(draw(st.lists(inner, max_size=3)))}</{name}>"


_leaves = st.sampled_from(_TEXT) | st.builds("<{}{}>".format, st.sampled_from(sorted(VOID)), st.sampled_from(_GIVEN))
documents = st.lists(st.recursive(_leaves, _element, max_leaves=12), max_size=3).map("".join)
"""Markup whose tags are closed in order: what they hold, and where they stand, may still be anything."""


def _cleaner(url_relative: Literal["deny"] | tuple[Literal["rewrite_with_base"], str]) -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=TAGS,
        clean_content_tags=DROPPED_WHOLE,
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        link_rel=LINK_REL,
        url_relative=url_relative,
    )


_judge = _cleaner("deny")
_reference = _cleaner(("rewrite_with_base", BASE))


def cleaned(markup: str) -> str:
    """What nh3 alone makes of some HTML on a page at BASE."""
    return _reference.clean(markup)


def tree(markup: str) -> list[object]:
    """The elements, attributes and text of some HTML, in order; a browser gives rows that stand right in a table a
    <tbody>, and drops the line break that opens a <pre>, as nh3 does each time without writing it again."""
    markup = re.sub(r"(<pre[^<>]*>)\n+|</?tbody>", r"\1", markup)
    root = lxml_html.fragment_fromstring(f"<div>{markup}</div>")
    return [(node.tag, sorted(node.attrib.items()), node.text or "", node.tail or "") for node in root.iter("*")]


def dangers(safe: str) -> list[str]:
    """Tags, attributes and links in some HTML that must not be there."""
    found: list[str] = []
    for node in list(lxml_html.fragment_fromstring(f"<div>{safe}</div>").iter("*"))[1:]:
        tag = str(node.tag)
        if tag not in TAGS:
            found.append(tag)
            continue
        for name, value in node.attrib.items():
            if name not in ATTRIBUTES[tag] | {"rel"} or name.startswith("on"):
                found.append(f"{tag} {name}")
            scheme, colon, _ = value.partition(":")
            known = SCHEMES if name == "href" else {"http", "https"}
            if name in SINGLE_URLS and colon and scheme.lower().strip() not in known:
                found.append(f"{tag} {name} {value}")
    return found


def left_to_remove(safe: str) -> bool:
    """Whether nh3, told the same rules, would still change what is there: elements, attributes or text."""
    return tree(_judge.clean(safe)) != tree(_judge.clean(_judge.clean(safe))) or tree(safe) != tree(_judge.clean(safe))
