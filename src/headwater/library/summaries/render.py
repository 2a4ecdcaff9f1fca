"""A summary as HTML: untrusted Markdown in, sanitised HTML out."""

import re

import nh3
from markdown_it import MarkdownIt

# No images: loading them would report the user to their server.
_TAGS = {"a", "blockquote", "br", "code", "em", "h3", "hr", "li", "ol", "p", "pre", "strong", "ul"}
_HREF = re.compile(r"https?://[^\s]+|/articles/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MARKDOWN = MarkdownIt("commonmark", {"html": False})


def to_html(content: str) -> str:
    """Sanitised HTML, with links to our articles and to http(s) only."""
    tokens = _MARKDOWN.parse(content)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = "h3"  # below the heading of the page
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        attribute_filter=_kept,
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    )


def _kept(tag: str, attribute: str, value: str) -> str | None:
    return value if (tag, attribute) != ("a", "href") or _HREF.fullmatch(value) else None
