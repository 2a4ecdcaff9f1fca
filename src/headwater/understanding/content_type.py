"""What kind of page an article is. Pure.

The first rule that applies decides, from sure evidence to weak: the type in JSON-LD, a special og:type, the URL, a list
of links, phrases, og:type article, a text with a date, any other text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, cast
from urllib.parse import urlsplit

from headwater.understanding.phrases import padded
from headwater.understanding.quality import spam_share
from headwater.understanding.types import ArticleText, Guess

_MAX_NODES: Final = 200
_MAX_DEPTH: Final = 6

# Types of schema.org. A page of a recipe is often an article, too: the more special type counts.
_SPECIAL: Final[Mapping[str, str]] = {
    "recipe": "recipe", "jobposting": "job", "podcastepisode": "podcast", "radioepisode": "podcast",
    "liveblogposting": "live blog", "opinionnewsarticle": "opinion", "reviewnewsarticle": "review",
    "criticreview": "review", "review": "review", "pressrelease": "press release",
}  # fmt: skip
_ARTICLES: Final = frozenset({
    "newsarticle", "reportagenewsarticle", "analysisnewsarticle", "backgroundnewsarticle", "blogposting",
    "report", "scholarlyarticle", "techarticle", "socialmediaposting", "discussionforumposting", "satiricalarticle",
    "advertisercontentarticle", "askpublicnewsarticle",
})  # fmt: skip
_ANY_ARTICLE: Final = "article"  # blogs declare it for recipes and events, too: better evidence comes first
# Pages of articles contain these, too; alone they say what the page is.
_ALONE: Final[Mapping[str, str]] = {
    "videoobject": "video", "event": "event", "musicevent": "event", "sportsevent": "event", "theaterevent": "event",
    "businessevent": "event", "educationevent": "event", "festival": "event", "collectionpage": "listing",
    "searchresultspage": "listing", "aboutpage": "page", "contactpage": "page", "faqpage": "page",
    "profilepage": "page",
}  # fmt: skip

# Folders of a URL: each is a whole part of the path.
_URL_LISTING: Final = frozenset({
    "tag", "tags", "category", "categories", "topic", "topics", "author", "authors", "archive", "archives", "search",
    "label", "labels",
})  # fmt: skip
_URL_PAGE: Final = frozenset({
    "about", "about-us", "contact", "contact-us", "privacy", "privacy-policy", "terms", "terms-of-service", "imprint",
    "impressum", "login", "register", "subscribe", "faq", "help",
})  # fmt: skip
_URL_TYPES: Final[Mapping[str, str]] = {
    "video": "video", "videos": "video", "watch": "video", "podcast": "podcast", "podcasts": "podcast",
    "press-release": "press release", "press-releases": "press release", "pressrelease": "press release",
    "job": "job", "jobs": "job", "careers": "job", "vacancies": "job",
    "event": "event", "events": "event", "obituary": "obituary", "obituaries": "obituary", "obits": "obituary",
    "recipe": "recipe", "recipes": "recipe", "review": "review", "reviews": "review", "opinion": "opinion",
    "opinions": "opinion", "editorial": "opinion", "commentisfree": "opinion", "live": "live blog",
    "liveblog": "live blog", "live-blog": "live blog",
}  # fmt: skip


# English phrases: three different ones make the type.
_PHRASES: Final[Mapping[str, Sequence[str]]] = {
    "recipe": padded(
        "ingredients", "preheat", "preheated", "tablespoon", "tablespoons", "teaspoon", "teaspoons", "tbsp", "tsp",
        "prep time", "preparation time", "cook time", "cooking time", "recipe", "recipes", "bake for", "simmer",
        "medium heat", "cups of flour",
    ),
    "job": padded(
        "job description", "job title", "job type", "job summary", "apply now", "full time", "part time", "salary",
        "responsibilities", "qualifications", "we are hiring", "we are looking for a", "we are looking for an",
        "years of experience", "vacancy", "equal opportunity employer", "curriculum vitae", "cover letter",
    ),
    "event": padded(
        "doors open", "tickets are", "tickets from", "tickets cost", "tickets available", "tickets on sale",
        "register now", "register here", "register today", "venue", "admission", "rsvp", "save the date", "free entry",
        "keynote speaker", "keynote speakers", "box office",
    ),
    "obituary": padded(
        "obituary", "passed away", "survived by", "in lieu of flowers", "funeral service", "funeral home",
        "funeral will", "in memoriam", "memorial service", "was predeceased", "celebration of life", "died aged",
        "dies aged", "died at the age of",
    ),
    "press release": padded(
        "for immediate release", "pr newswire", "prnewswire", "business wire", "businesswire", "globe newswire",
        "globenewswire", "media contact", "media contacts", "press contact", "press contacts",
        "forward looking statements", "today announced", "press release", "safe harbor",
    ),
}  # fmt: skip
_LEAST_PHRASES: Final = 3
_TITLES: Final = (
    (re.compile(r"^(?:opinion|editorial|op-ed|comment)\s*[:|–—-]", re.IGNORECASE), "opinion"),
    (re.compile(r"\breview\s*[:|–—-]|[:|–—-]\s*review\b|\breview$", re.IGNORECASE), "review"),
    (re.compile(r"\blive (?:updates|blog)\b|\bas it happened\b", re.IGNORECASE), "live blog"),
    (re.compile(r"^(?:obituary)\s*[:|–—-]|\bobituary$", re.IGNORECASE), "obituary"),
    (re.compile(r"^(?:podcast)\s*[:|–—-]|\bepisode \d+\b", re.IGNORECASE), "podcast"),
    (re.compile(r"^(?:video|watch)\s*[:|–—-]", re.IGNORECASE), "video"),
)
_SPAM_FROM: Final = 2.0  # phrases for each hundred words
_LISTING_LINKS: Final = 12


def find_type(article: ArticleText, words: int, line: str, *, is_english: bool) -> Guess:
    """`words`: how many the text has. `line`: title and text as `line_of` gives; it counts only in English."""
    types = {kind for node in _nodes(article.linked_data) for kind in _types(node)}
    found = _by_linked_data(types) or _by_open_graph(article.open_graph.get("type", ""))
    if is_english and (spam := spam_share(line, words)) >= _SPAM_FROM:
        return Guess("spam", min(0.95, 0.6 + spam / 20))
    if found is None:
        found = _by_url(article.url, words) or _by_links(article, words)
    if found is None and is_english:
        found = _by_title(article.title) or _by_phrases(line)
    return found or _by_weak_signs(article, types, words)


def _by_linked_data(types: AbstractSet[str]) -> Guess | None:
    special = next((_SPECIAL[kind] for kind in sorted(types) if kind in _SPECIAL), None)
    if special is not None:
        return Guess(special, 1.0)
    if types & _ARTICLES:
        return Guess("article", 1.0)
    if _ANY_ARTICLE in types:
        return None
    alone = {_ALONE[kind] for kind in types if kind in _ALONE}
    return Guess(alone.pop(), 0.95) if len(alone) == 1 else None


def _nodes(documents: Sequence[object]) -> Iterator[Mapping[str, object]]:
    """Objects at the top, in @graph, or that are the main entity of one."""
    left = [(document, _MAX_DEPTH) for document in documents[:_MAX_NODES]]
    for _ in range(_MAX_NODES):
        if not left:
            return
        value, depth = left.pop()
        if depth == 0:
            continue
        if isinstance(value, list):
            left += [(one, depth - 1) for one in cast("list[object]", value)[:_MAX_NODES]]
        elif isinstance(value, dict):
            node = cast("dict[str, object]", value)
            yield node
            left += [(node[name], depth - 1) for name in ("@graph", "mainEntity") if name in node]


def _types(node: Mapping[str, object]) -> list[str]:
    kind = node.get("@type")
    kinds = cast("list[object]", kind)[:10] if isinstance(kind, list) else [kind]
    return [one.rpartition("/")[2].lower() for one in kinds if isinstance(one, str)]


def _by_open_graph(kind: str) -> Guess | None:
    kind = kind.strip().lower()
    if kind.startswith("video"):
        return Guess("video", 0.85)
    if kind in {"podcast", "podcast.episode", "music.radio_station"}:
        return Guess("podcast", 0.85)
    return None


def _by_url(url: str, words: int) -> Guess | None:
    if not url:
        return None  # of a text without one
    parts = [part for part in urlsplit(url).path.lower().split("/") if part][:10]
    if not parts:
        return Guess("page", 0.9)  # the front page of a site
    folders, last = parts[:-1], parts[-1].rpartition(".")[0] or parts[-1]
    if last in _URL_PAGE:
        return Guess("page", 0.9)
    if last in _URL_LISTING or (len(parts) == 2 and folders[0] in _URL_LISTING and words < 300):
        return Guess("listing", 0.9)
    special = next((_URL_TYPES[folder] for folder in reversed(folders) if folder in _URL_TYPES), None)
    return Guess(special, 0.8) if special else None


def _by_links(article: ArticleText, words: int) -> Guess | None:
    """A page that is mostly links: more than one for each ten words."""
    is_list = article.has_page and article.links >= _LISTING_LINKS and article.links * 10 > words
    return Guess("listing", 0.85) if is_list else None


def _by_title(title: str) -> Guess | None:
    return next((Guess(kind, 0.8) for pattern, kind in _TITLES if pattern.search(title)), None)


def _by_phrases(line: str) -> Guess | None:
    counts = {kind: sum(phrase in line for phrase in phrases) for kind, phrases in _PHRASES.items()}
    kind = max(counts, key=lambda kind: counts[kind])
    return Guess(kind, min(0.85, 0.55 + 0.05 * counts[kind])) if counts[kind] >= _LEAST_PHRASES else None


def _by_weak_signs(article: ArticleText, types: AbstractSet[str], words: int) -> Guess:
    if _ANY_ARTICLE in types:
        return Guess("article", 0.9)
    if article.open_graph.get("type", "").strip().lower() == "article":
        return Guess("article", 0.78)
    if article.has_date or not article.has_page:
        return Guess("article", 0.75 if words >= 50 else 0.6)
    return Guess("article", 0.65) if words >= 300 else Guess("page", 0.6)
