"""The prompt, links for citations, what the page shows, and untrusted Markdown as sanitised HTML. Pure."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import nh3
from markdown_it import MarkdownIt

from headwater.ai.types import AiOutcome, NotAnswered, NotAnsweredKind
from headwater.library.summaries.types import (
    DayArticle,
    NotWritten,
    ShownSummary,
    Summary,
    SummaryOptions,
    SummaryOutcome,
    SummaryStatus,
    Written,
)
from headwater.reading.text import unescape

FAILED = "Failed to generate summary. Please try again later."
UNAVAILABLE = "AI service is temporarily unavailable"

CONTENT_MAX = 12_000  # characters; twice the usual length of a response
EXCERPT_MAX = 1_200
TITLE_MAX = 300
CLOCKS_APART = timedelta(minutes=5)  # between machines; a later start was written by a wrong clock
SHOWN_FOR = timedelta(minutes=10)  # how long the page shows a failure

_BREAK = re.compile(r"</?(?:p|br|div|li|ul|ol|h[1-6]|tr|td|th|table|blockquote|pre|hr|figure|figcaption)\b[^<>]*>")
_TAG = re.compile(r"<[^<>]*>?")
_CITATION = re.compile(r"(?<![ \t])([ \t]*)\[(\^?\d{1,4}(?:\s*[,;]\s*\^?\d{1,4}){0,20})\](?:\([^()\n]{0,2000}\))?")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Characters that PostgreSQL does not store, or that are invisible.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
# No images: loading them would report the user to their server.
_TAGS = {"a", "blockquote", "br", "code", "em", "h3", "hr", "li", "ol", "p", "pre", "strong", "ul"}
# No links to other sites: an article may instruct the model to link to its own, with the texts of others in the URL.
_HREF = re.compile(r"/articles/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MARKDOWN = MarkdownIt("commonmark", {"html": False})


def plain(html: str) -> str:
    """The words of sanitised HTML, possibly cut off in the middle; a line for each block."""
    return unescape(_TAG.sub("", _BREAK.sub("\n", html)))


def tidy(text: str) -> str:
    """One line, without invisible characters."""
    return " ".join(_UNWANTED.sub("", text).split())


def by_story(articles: Sequence[DayArticle]) -> list[DayArticle]:
    """The articles of one story together, the story of most feeds first; otherwise in their order."""
    stories: dict[object, list[DayArticle]] = {}
    for article in articles:
        stories.setdefault(article.story_id or article.id, []).append(article)
    ordered = sorted(stories.values(), key=lambda story: -len({article.feed_name for article in story}))
    return [article for story in ordered for article in story]


def prompt_of(template: str, articles: Sequence[DayArticle], limit: int) -> str:
    """The template with the articles, numbered from 1; never longer than `limit`."""
    room = (limit - len(template)) // max(1, len(articles))
    excerpts = "\n".join(
        _excerpt(number, article, room, first) for number, (article, first) in enumerate(_with_first(articles), 1)
    )
    return template.replace("{articles}", excerpts)


def _with_first(articles: Sequence[DayArticle]) -> Iterator[tuple[DayArticle, int]]:
    """Each article, and the number of the first one of its story."""
    first: dict[object, int] = {}
    for number, article in enumerate(articles, 1):
        yield article, first.setdefault(article.story_id or number, number)


def _excerpt(number: int, article: DayArticle, room: int, first: int) -> str:
    head = f"\n[{number}]\n" if first == number else f"\n[{number}]\nSame event as: [{first}]\n"
    head += (
        f"Title: {_cut(tidy(article.title), min(TITLE_MAX, room // 3))}\n"
        f"Source: {_cut(tidy(article.feed_name), min(100, room // 6))}\n"
        f"Published Date: {article.published_at:%Y-%m-%d %H:%M} UTC\nContent excerpt: "
    )
    return (head + _cut(tidy(article.text), min(EXCERPT_MAX, room - len(head) - 1)))[: max(0, room - 1)]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(0, limit - 1)].rsplit(" ", 1)[0] + "…"


def clean_answer(text: str, *, is_cut_off: bool) -> str:
    """The text of a response as stored; may be empty."""
    text = _UNWANTED.sub("", text.replace("\r\n", "\n")).strip()[:CONTENT_MAX]
    return f"{text}…" if text and is_cut_off else text


def cite(content: str, articles: Sequence[DayArticle]) -> str:
    """Markdown in which `[3]` links to the third article. Unknown numbers are left out.

    A number that the response links itself links to our article, too: a citation never links to another site.
    """

    def link(match: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"\d+", match[2])]
        known = [number for number in dict.fromkeys(numbers) if 1 <= number <= len(articles)]
        cited = [(number, articles[number - 1]) for number in known]
        links = [rf'[\[{number}\]](/articles/{one.id} "{escaped(one.title)}")' for number, one in cited]
        return match[1] * bool(known) + "".join(links)

    return _CITATION.sub(link, content)


def escaped(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", tidy(text))


def written_of(outcome: AiOutcome) -> SummaryOutcome:
    if isinstance(outcome, NotAnswered):
        return NotWritten(outcome.reason, outcome.kind is NotAnsweredKind.UNAVAILABLE)
    content = clean_answer(outcome.content, is_cut_off=outcome.is_cut_off)
    if not content:
        return NotWritten("empty response")
    return Written(content, outcome.model, outcome.tokens_in, outcome.tokens_out, outcome.cost)


def shown(newest: Summary | None, ready: Summary | None, now: datetime, options: SummaryOptions) -> ShownSummary:
    if newest is None or newest.status == SummaryStatus.READY:
        return ShownSummary(ready)
    if newest.status == SummaryStatus.MAKING:
        if -CLOCKS_APART <= now - newest.created_at < options.given_up_after:
            return ShownSummary(ready, making=newest)
        return ShownSummary(ready, error=FAILED)
    is_fresh = now - (newest.finished_at or newest.created_at) < SHOWN_FOR
    return ShownSummary(ready, error=(newest.error or FAILED) if is_fresh else "")


def to_html(content: str) -> str:
    """Sanitised HTML, with links to our articles only."""
    tokens = _MARKDOWN.parse(content)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = "h3"  # below the heading of the page
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    attributes = {"a": {"href", "title"}, "ol": {"start"}}
    rel = "noopener noreferrer nofollow"
    schemes = {"http", "https"}
    return nh3.clean(html, tags=_TAGS, attributes=attributes, attribute_filter=_kept, url_schemes=schemes, link_rel=rel)


def _kept(tag: str, attribute: str, value: str) -> str | None:
    return value if (tag, attribute) != ("a", "href") or _HREF.fullmatch(value) else None
