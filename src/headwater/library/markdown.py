"""An article as Markdown (CommonMark, with the tables of GitHub). Pure. Its HTML is sanitised."""

import re
from collections.abc import Callable, Iterator

from lxml.html import HtmlElement, fragment_fromstring

from headwater.library.types import ArticleFull
from headwater.text import one_line

MEDIA_TYPE = "text/markdown"
_ESCAPED = re.compile(r"([\\`*_\[\]<>#|~]|&(?=#?\w{1,40};))")
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s)", re.MULTILINE)
_BULLET = re.compile(r"^([-+=])", re.MULTILINE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_TICKS = re.compile(r"`+")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SKIPPED = {"script", "style", "iframe", "object", "embed", "video", "audio", "source", "svg", "form"}
_BLOCKS = {
    "p", "div", "section", "article", "header", "footer", "main", "aside", "figure", "figcaption", "ul", "ol", "li",
    "dl", "dt", "dd", "blockquote", "pre", "table", "hr", "details", "summary", "address", *_HEADINGS,
}  # fmt: skip
DEPTH_MAX = 60


def to_markdown(article: ArticleFull) -> str:
    """The title, where it comes from, and the text."""
    about = " · ".join(
        part for part in (", ".join(article.feeds), article.author, f"{article.listed_at:%Y-%m-%d}") if part
    )
    html = _NOT_XML.sub("", article.html or "")
    text = _blocks(fragment_fromstring(html, create_parent="div"), 0) if html.strip() else ""
    parts = (f"# {_text(one_line(article.title or article.url))}", _text(one_line(about)), _link(article.url), text)
    return _BLANK_LINES.sub("\n\n", "\n\n".join(part for part in parts if part)).strip() + "\n"


def _blocks(element: HtmlElement, depth: int) -> str:
    """The blocks inside an element; text between them is a paragraph."""
    if depth > DEPTH_MAX:
        return _text(_flat(element))
    blocks: list[str] = []
    line: list[str] = [_text(element.text or "")]

    def end_line() -> None:
        if paragraph := _paragraph("".join(line)):
            blocks.append(paragraph)
        line.clear()

    for child in element:
        if not isinstance(child.tag, str) or child.tag in _SKIPPED:
            pass
        elif child.tag in _BLOCKS:
            end_line()
            blocks.append(_block(child, depth + 1))
        else:
            line.append(_inline(child, depth + 1))
        line.append(_text(child.tail or ""))
    end_line()
    return "\n\n".join(block for block in blocks if block.strip())


def _block(element: HtmlElement, depth: int) -> str:
    if heading := _HEADINGS.get(str(element.tag)):
        content = _paragraph(_inside(element, depth)).replace("\n", " ")
        return f"{heading} {content}" if content else ""
    match element.tag:
        case "hr":
            return "---"
        case "pre":
            return _fenced(_flat(element).strip("\n"))
        case "blockquote":
            return _prefixed(_blocks(element, depth), "> ", "> ")
        case "ul":
            return _items(element, depth, lambda _: "- ")
        case "ol":
            return _items(element, depth, lambda number: f"{number}. ")
        case "table":
            return _table(element, depth)
        case _:
            return _blocks(element, depth)


def _items(element: HtmlElement, depth: int, marker: Callable[[int], str]) -> str:
    lines: list[str] = []
    for number, item in enumerate(element.iterchildren("li"), 1):
        first = marker(number)
        lines.append(_prefixed(_blocks(item, depth + 1) or " ", first, " " * len(first)))
    return "\n".join(lines)


def _table(element: HtmlElement, depth: int) -> str:
    rows = [
        [_paragraph(_inside(cell, depth + 1)).replace("\n", " ") for cell in row.iterchildren("td", "th")]
        for row in element.iter("tr")
    ]
    rows = [row for row in rows if row]
    if not rows:
        return ""
    width = max(map(len, rows))
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _inside(element: HtmlElement, depth: int) -> str:
    """All of an element as one line of text."""
    return _text(element.text or "") + "".join(_parts(element, depth))


def _parts(element: HtmlElement, depth: int) -> Iterator[str]:
    for child in element:
        if isinstance(child.tag, str) and child.tag not in _SKIPPED:
            yield _inline(child, depth + 1)
        yield _text(child.tail or "")


def _inline(element: HtmlElement, depth: int) -> str:
    if depth > DEPTH_MAX:
        return _text(_flat(element))
    match element.tag:
        case "br":
            return "\\\n"
        case "img":
            source = element.get("src", "")
            return f"![{_text(one_line(element.get('alt', '')))}]({_address(source)})" if source else ""
        case "code" | "kbd" | "samp" | "tt":
            return _code(_flat(element))
        case "a":
            content, href = _inside(element, depth), element.get("href", "")
            return f"[{content}]({_address(href)})" if href and content.strip() else content
        case "em" | "i":
            return _around(_inside(element, depth), "*")
        case "strong" | "b":
            return _around(_inside(element, depth), "**")
        case "del" | "s":
            return _around(_inside(element, depth), "~~")
        case _:
            return _inside(element, depth)


def _text(text: str) -> str:
    """Text as it is written, with spaces folded: no sign in it formats anything."""
    return _ESCAPED.sub(r"\\\1", _SPACES.sub(" ", text))


def _paragraph(text: str) -> str:
    """A paragraph. A number or sign at the beginning of a line would be a list or a heading."""
    lines = "\n".join(line.strip() for line in text.strip().split("\n"))
    lines = lines.removesuffix("\\").rstrip()
    return _BULLET.sub(r"\\\1", _NUMBERED.sub(r"\1\\\2", lines))


def _around(content: str, mark: str) -> str:
    inner = content.strip()
    if not inner:
        return content
    before, after = content[: len(content) - len(content.lstrip())], content[len(content.rstrip()) :]
    return f"{before}{mark}{inner}{mark}{after}"


def _code(text: str) -> str:
    text = _SPACES.sub(" ", text).strip()
    if not text:
        return ""
    ticks = "`" * (max((len(run) for run in _TICKS.findall(text)), default=0) + 1)
    return f"{ticks} {text} {ticks}" if text.startswith("`") or text.endswith("`") else f"{ticks}{text}{ticks}"


def _fenced(text: str) -> str:
    fence = "`" * max(3, max((len(run) for run in _TICKS.findall(text)), default=0) + 1)
    return f"{fence}\n{text}\n{fence}"


def _prefixed(text: str, first: str, others: str) -> str:
    lines = text.split("\n")
    return "\n".join([first + lines[0], *((others + line).rstrip() for line in lines[1:])])


def _address(url: str) -> str:
    """A URL in parentheses ends at a space or a parenthesis."""
    return url.strip().translate({ord(" "): "%20", ord("("): "%28", ord(")"): "%29", ord("<"): "%3C", ord(">"): "%3E",
                                  ord("\n"): "%0A", ord("\r"): "%0D", ord("\t"): "%09"})  # fmt: skip


def _link(url: str) -> str:
    return f"<{_address(url)}>"


def _flat(element: HtmlElement) -> str:
    return "".join(str(text) for text in element.itertext())
