"""What a link leads to, by its URL alone. Pure. The source's patterns decide. Without them a URL is an article's if it
has what those of newspapers and blogs have: a date in the path, a long name of several words, a number at its end."""

import re
from collections.abc import Sequence
from urllib.parse import unquote

import can_ada

from headwater.spider.types import LinkKind
from headwater.urls import is_file, is_same_site

_LISTS = re.compile(
    r"""tags?|cat|categor(?:y|ies)|topics?|sections?|authors?|autor|profiles?|users?|archives?|archiv|pages?|seite|latest
    |labels?|series|collections?|index|rubrik|thema""",
    re.VERBOSE,
)
_NOTHING = re.compile(
    r"""log-?in|log-?out|sign-?in|sign-?up|register|accounts?|cart|basket|checkout|password|(?:un)?subscribe|subscriptions?
    |newsletters?|search|suche|share|print|email|privacy(?:-policy)?|terms(?:-of-(?:use|service))?|legal|cookies?|imprint
    |impressum|datenschutz|contact(?:-us)?|kontakt|about(?:-us)?|help|faq|jobs|careers|advertis(?:e|ing)|feeds?|rss|atom
    |xmlrpc\.php|wp-admin|wp-login\.php|wp-json|cdn-cgi|api|amp|preferences|settings""",
    re.VERBOSE,
)
_NOTHING_ASKED = re.compile(
    r"(?:^|&)(?:replytocom|share|print|action|add-to-cart|redirect(?:_to)?|returnurl|s|q)=", re.IGNORECASE
)
_DATE = re.compile(r"/(?:19|20)\d\d[/-](?:0?[1-9]|1[0-2])(?:[/-](?:0?[1-9]|[12]\d|3[01]))?(?:[/-]|$)|/20\d{6}[/-]")
_ONLY_DATE = re.compile(r"(?:/\d{1,4}){1,3}/?$")
_NUMBER = re.compile(r"(?:^|[-_.])[a-z]{0,3}\d{4,}$", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_PAGE_ENDING = re.compile(r"\.(?:s?html?|php|aspx?|jsp|cms|ece)$", re.IGNORECASE)
_WORDS_FEW, _WORDS_MANY = 3, 4
_LONG_NAME = 12  # letters, for scripts that put no hyphens between words
_ENOUGH = 2


def classify(url: str, *, sites: Sequence[str], patterns: Sequence[re.Pattern[str]]) -> LinkKind:
    """`sites` are the host names of the source."""
    parsed = can_ada.parse(url)
    is_own = any(is_same_site(parsed.hostname, site) for site in sites)
    if patterns and is_own and any(pattern.search(url) for pattern in patterns):
        return LinkKind.ARTICLE
    segments = [unquote(segment).lower() for segment in parsed.pathname.split("/") if segment]
    if is_file(url) or any(map(_NOTHING.fullmatch, segments)) or _NOTHING_ASKED.search(parsed.search.removeprefix("?")):
        return LinkKind.NOTHING
    is_article = (not patterns or not is_own) and _looks_like_an_article(parsed.pathname, segments)
    if is_own:
        return LinkKind.ARTICLE if is_article else LinkKind.LIST
    return LinkKind.EXTERNAL if is_article else LinkKind.NOTHING


def _looks_like_an_article(path: str, segments: Sequence[str]) -> bool:
    if not segments or _ONLY_DATE.fullmatch(path) or (any(map(_LISTS.fullmatch, segments)) and not _DATE.search(path)):
        return False
    name = _PAGE_ENDING.sub("", segments[-1])
    words = [word for word in re.split(r"[-_+ ]+", name) if word]
    has_number = bool(_NUMBER.search(name)) and not _YEAR.fullmatch(name)
    score = 0
    score += 2 if _DATE.search(path) else 0
    score += 2 if len(words) >= _WORDS_MANY or (not name.isascii() and len(name) >= _LONG_NAME) else 0
    score += 1 if len(words) == _WORDS_FEW else 0
    score += 1 if has_number else 0
    score += 1 if name != segments[-1] and len(words) > 1 else 0
    score += 1 if len(segments) > 1 and (has_number or len(words) >= _WORDS_FEW) else 0
    return score >= _ENOUGH
