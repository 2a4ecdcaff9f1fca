"""The pages of docs/ as help inside the app: rendered once, and searched by section."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PACKAGE = Path(__file__).parents[1]
# In the wheel, docs/ is a folder of the package; in a checkout, of the project.
_FOLDER = next((folder for folder in (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs") if folder.is_dir()), None)
# The contents of /help. Other pages are reached by links and by search.
GROUPS: Mapping[str, Sequence[str]] = {
    "Read": ("reading", "query", "accounts"),
    "Operate": ("install", "operating", "settings", "metrics", "runbook", "security"),
    "Connect programs": ("pipeline", "api", "channels", "understanding"),
    "Understand": ("architecture", "polling", "fetching", "extraction", "performance", "specification"),
}
# The help of a page, by how its path begins; the first that fits.
HELP_OF_PAGES: Mapping[str, str] = {
    "/admin/sources": "operating#sources-adminsources",
    "/admin/moderation": "operating#suggestions-and-moderation",
    "/admin/labels": "operating#labels-adminlabels",
    "/admin/rules": "operating#rules-adminrules",
    "/admin/stories": "operating#stories-adminstories",
    "/admin/channels": "channels",
    "/admin/ai-usage": "operating#ai-usage-adminai-usage",
    "/admin/popularity": "operating#popularity",
    "/admin/frontier": "fetching#the-frontier",
    "/admin/settings": "settings",
    "/admin/people": "accounts#roles",
    "/admin": "operating",
    "/read": "reading",
    "/articles": "reading",
    "/dashboard": "reading#feeds",
    "/discover": "reading#feeds",
    "/views": "reading#views",
    "/tags": "reading#tags",
    "/rules": "reading#rules",
    "/account": "accounts",
    "/auth": "accounts",
    "/api": "api",
}
RESULTS_MAX = 30
_EXCERPT = 160  # characters


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what follows it, up to the next one."""

    title: str
    anchor: str
    text: str
    folded: str  # both without case, to be searched


@dataclass(frozen=True, slots=True)
class ManualPage:
    name: str  # its path in docs/, without the suffix
    title: str
    html: str
    sections: Sequence[Section]

    @property
    def contents(self) -> Sequence[Section]:
        """The headings below the title."""
        return self.sections[1:]


@dataclass(frozen=True, slots=True)
class Found:
    """A section that has all words of a search."""

    url: str
    page: str
    title: str
    excerpt: str


@cache
def pages() -> Mapping[str, ManualPage]:
    """Every page by its name."""
    if _FOLDER is None:
        return {}
    paths = {path.relative_to(_FOLDER).with_suffix("").as_posix(): path for path in sorted(_FOLDER.rglob("*.md"))}
    return {name: _render(name, path.read_text(encoding="utf-8"), paths) for name, path in paths.items()}


def search(text: str) -> Sequence[Found]:
    """Sections that have every word: those with words in their title first, and decisions last."""
    words = text.casefold().split()
    if not words:
        return []
    found = [
        (
            ("/" in page.name, -sum(word in section.title.casefold() for word in words)),
            Found(_url(page, section), page.title, section.title, _excerpt(section, words)),
        )
        for page in pages().values()
        for section in page.sections
        if all(word in section.folded for word in words)
    ]
    return [one for _, one in sorted(found, key=itemgetter(0))][:RESULTS_MAX]


def help_url(path: str) -> str:
    """Where the page at this path is explained."""
    page = next((page for begin, page in HELP_OF_PAGES.items() if path.startswith(begin)), None)
    return f"/help/{page}" if page else "/help"


def _url(page: ManualPage, section: Section) -> str:
    return f"/help/{page.name}#{section.anchor}"


def _excerpt(section: Section, words: Sequence[str]) -> str:
    at = section.text.casefold().find(words[0])
    start = max(0, at - _EXCERPT // 3)
    cut = section.text[start : start + _EXCERPT].strip()
    return f"{'… ' if start else ''}{cut}{' …' if start + _EXCERPT < len(section.text) else ''}"


def _render(name: str, text: str, known: Mapping[str, Path]) -> ManualPage:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    sections = list(_sections(tokens))
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("href", _resolved(name, str(child.attrGet("href")), known))
    html = markdown.renderer.render(tokens, markdown.options, {})
    html = html.replace("<table>", '<div class="table" tabindex="0" role="region" aria-label="Table"><table>')
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    return ManualPage(name, sections[0].title if sections else name, html, sections)


def _sections(tokens: Sequence[Token]) -> Sequence[Section]:
    """The sections of a page; each heading gets the id that links to it name."""
    found: list[Section] = []
    title, anchor, words = "", "", list[str]()
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            if anchor:
                found.append(_section(title, anchor, words))
            title = _plain(tokens[place + 1])
            anchor, words = _slug(title), []
            token.attrSet("id", anchor)
        elif token.type == "inline" and _plain(token) != title:
            words.append(_plain(token))
        elif token.type in {"code_block", "fence"}:
            words.append(" ".join(token.content.split()))
    return [*found, _section(title, anchor, words)]


def _section(title: str, anchor: str, words: Sequence[str]) -> Section:
    text = " ".join(words)
    return Section(title, anchor, text, f"{title} {text}".casefold())


def _plain(token: Token) -> str:
    parts = (child.content or " " for child in token.children or () if child.type in _TEXT)
    return " ".join("".join(parts).split())


_TEXT = frozenset({"text", "code_inline", "softbreak"})


def _slug(heading: str) -> str:
    """As Markdown pages are rendered elsewhere: lower case, words joined by hyphens."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _resolved(page: str, link: str, known: Mapping[str, Path]) -> str:
    """A link between files of docs/ as one between pages of the app; what is not part of them leads to the contents."""
    target, _, anchor = link.partition("#")
    if "://" in target or not target:
        return link
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / target).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    name = "/".join(parts).removesuffix(".md")
    if name not in known:
        return "/help"
    return f"/help/{name}#{anchor}" if anchor else f"/help/{name}"
