"""Checks of a source's settings, where reading it starts, and which sources may be merged. Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from headwater.articles.decide import is_private_feed
from headwater.errors import Invalid, InvalidUrl
from headwater.frontier.types import Origin, Submission
from headwater.polling.policy import COOLDOWN
from headwater.polling.types import NEVER, FailureClass, Standing
from headwater.sources.types import NAME_MAX, FeedAddress, IngestionMode, MergePair, Source, SourceOverrides
from headwater.text import composed, is_blank
from headwater.types import PageKind
from headwater.urls import complete_url, masked, parse_url, site_of, url_key

PATTERNS_MOST = 50
PATTERN_LENGTH = 500
SELECTED = ("title", "body", "author", "date", "remove")
SELECTORS_MOST = 20  # for one part of a page
SELECTOR_LENGTH = 500
DEPTH_MOST = 10
BUDGET_MOST = 1_000_000
DELAY_MOST = timedelta(hours=1)
PRIORITY_MOST = 10
MINUTE = "%Y-%m-%d %H:%M UTC"
SITEMAP_BONUS = 1  # seed 004: a URL of a sitemap comes before one that was found by a link

# Usual URLs of sitemaps: that of the protocol first, then those of WordPress, Yoast and newspapers.
COMMON_SITEMAPS = (
    "/sitemap.xml", "/sitemap_index.xml", "/sitemap-index.xml", "/news-sitemap.xml", "/sitemap-news.xml",
    "/sitemap_news.xml", "/wp-sitemap.xml", "/sitemap.xml.gz", "/sitemap.txt",
)  # fmt: skip


def check_name(name: str) -> str:
    """The name without surrounding space, composed. Raises Invalid."""
    name = composed(name.strip())
    length = 0 if is_blank(name) else len(name)
    if not 1 <= length <= NAME_MAX:
        raise Invalid(f"A name has 1 to {NAME_MAX} characters; this one has {length}.")
    return name


def apply_overrides(before: Source, given: SourceOverrides) -> Source:
    """The source with these overrides, checked. Raises Invalid, InvalidUrl."""
    placed = replace(before, url=_url(given.site, before.url), sitemap_url=_url(given.sitemap, before.sitemap_url))
    mode = _mode(given.mode, before, placed)
    if given.delay is not None and given.delay > DELAY_MOST:
        raise Invalid("A delay is at most an hour; 0 resets it.")
    return replace(
        placed,
        url=placed.url or _site_of(placed, mode),
        ingestion_mode=mode,
        selectors=before.selectors if given.selectors is None else _selectors(given.selectors),
        article_url_patterns=before.article_url_patterns if given.patterns is None else _patterns(given.patterns),
        external_links=before.external_links if given.external_links is None else given.external_links,
        max_depth=_within("A depth", given.max_depth, before.max_depth, 0, DEPTH_MOST),
        page_budget=_within("A budget", given.budget, before.page_budget or 0, 0, BUDGET_MOST) or None,
        min_delay=before.min_delay if given.delay is None else given.delay or None,
        priority=_within("A priority", given.priority, before.priority, 1, PRIORITY_MOST),
    )


def cooldown_of(reason: str) -> timedelta | None:
    """The cooldown of a reason to disable a feed, by the table of seed 000; None: until it is enabled."""
    if reason not in set(FailureClass):
        return None
    cooldown = COOLDOWN.rules[FailureClass(reason)].cooldown
    return None if cooldown == NEVER else cooldown


def retry_refusal(standing: Standing, now: datetime, *, is_enabled: bool) -> str | None:
    """Why a user may not have a feed polled now, as a sentence; None: they may."""
    if not is_enabled:
        return "An operator has disabled this feed."
    if standing.disabled_at is not None and (
        standing.disabled_by_operator or standing.disable_reason not in set(FailureClass)
    ):
        end = f" until {standing.disabled_until:{MINUTE}}" if standing.disabled_until else ""
        return f"An operator has disabled this feed{end}."
    if standing.disabled_at is not None and standing.disable_reason == FailureClass.SSRF_BLOCKED:
        return "This feed leads to an address that is not allowed. Only an operator can enable it again."
    if standing.asked_until is not None and standing.asked_until > now:
        return f"The site allows no request before {standing.asked_until:{MINUTE}}."
    if standing.paused_until is not None and standing.paused_until > now:
        return f"All feeds of this site fail in the same way. The next try is at {standing.paused_until:{MINUTE}}."
    return None


def key_after_move(address: FeedAddress, url: str) -> bytes:
    """The key of a source whose feed has moved to this URL. Within its site, that of the new URL. At another site it
    keeps the key of the URL that it was added under: a user who adds the new URL gets a source of its own, without
    articles of the first site. So does a user's feed that loses a key in its URL: what it said was for its subscribers.
    """
    is_within = has_own_key(address.feed_url, address.feed_url_key) and site_of(address.feed_url) == site_of(url)
    return url_key(url) if is_within and not _loses_key(address, url) else address.feed_url_key


def key_after_edit(address: FeedAddress, url: str) -> bytes:
    """The key of a source whose feed an operator gives this URL: that of the URL. A user's feed that loses a key in its
    URL, now or in an earlier move, keeps its own: a user who adds the new URL gets a source without its articles."""
    is_kept = not has_own_key(address.feed_url, address.feed_url_key) or _loses_key(address, url)
    return address.feed_url_key if is_kept and not address.is_system else url_key(url)


def _loses_key(address: FeedAddress, url: str) -> bool:
    """Whether a URL that may contain a key differs in more than scheme and host from the one it moves to."""
    parts = {(one.username, one.password, one.path, one.query) for one in map(urlsplit, (address.feed_url, url))}
    return not address.is_system and masked(address.feed_url) != address.feed_url and len(parts) > 1


def has_own_key(feed_url: str, feed_url_key: bytes) -> bool:
    """Whether a feed is polled at the URL that its source was added under; else it has moved to another site."""
    try:
        return url_key(feed_url) == feed_url_key
    except InvalidUrl:  # stored with a redirect's target that is longer than a URL may be
        return False


def may_merge(pair: MergePair) -> bool:
    """Whether a source may be merged into another without losing what a user or operator decided. A disabled source or
    feed on either side would end the other's polls. A suggestion has a submitter and moderators, and a system source
    does not become a suggestion. A feed that is at another site, or has come from there, stays separate: the owner of
    that site could put all that it has listed before into the lists of the other's subscribers. So does one that moved
    to a user's private feed: its subscribers would see what that has listed, and everyone if it is an operator's."""
    keys = ((pair.feed_url, pair.feed_url_key), (pair.other_feed_url, pair.other_feed_url_key))
    if not all(has_own_key(*one) for one in keys) or site_of(pair.feed_url) != site_of(pair.other_feed_url):
        return False
    if is_private_feed(pair.other_feed_url, is_public=pair.other_is_public):
        return False
    if pair.other_was_private and not pair.other_is_public:
        return False
    is_moderated = pair.is_suggested or (pair.is_system and pair.other_is_suggested)
    return pair.are_active and not (is_moderated or pair.has_overrides or pair.has_pages)


def start_pages(source: Source) -> list[Submission]:
    """The pages that reading a source starts from: its sitemaps and its front page."""
    sitemaps: Sequence[str] = ()
    if source.reads_lists and source.sitemap_url is not None:
        sitemaps = (source.sitemap_url,)
    elif source.reads_lists and source.feed_url is None and source.url is not None:
        sitemaps = [parse_url(path, base=source.url) for path in COMMON_SITEMAPS]
    priority = min(source.priority + SITEMAP_BONUS, PRIORITY_MOST)
    found = [Submission(url, Origin.SITEMAP, source.id, PageKind.SITEMAP, priority=priority) for url in sitemaps]
    if source.follows_links and source.url is not None:
        found.append(Submission(source.url, Origin.SPIDER, source.id, PageKind.LIST, priority=source.priority))
    return found


def _url(wanted: str | None, before: str | None) -> str | None:
    if wanted is None:
        return before
    return complete_url(wanted) if wanted.strip() else None


def _site_of(source: Source, mode: IngestionMode) -> str | None:
    """The front page of the site of a feed or sitemap; None for a source that is only a feed."""
    base = source.feed_url or source.sitemap_url
    if base is None:
        raise Invalid("A source needs the URL of a feed, a site or a sitemap.")
    needs_one = source.feed_url is None or mode is not IngestionMode.FEED
    return parse_url("/", base=base) if needs_one else None


def _mode(wanted: str | None, before: Source, placed: Source) -> IngestionMode:
    """As given; else as before; both for a new site without a feed or sitemap."""
    if wanted is None:
        is_new = before.address == ""
        is_bare = placed.feed_url is None and placed.sitemap_url is None
        return IngestionMode.BOTH if is_new and is_bare else IngestionMode(before.ingestion_mode)
    try:
        mode = IngestionMode(wanted.strip().lower())
    except ValueError as error:
        raise Invalid(f"Invalid mode {wanted!r}; valid are feed, spider and both.") from error
    if mode is IngestionMode.SPIDER and (placed.feed_url or placed.sitemap_url):
        what = "feed" if placed.feed_url else "sitemap"
        raise Invalid(f"A source with a {what} that also follows links has the mode both; spider is for links alone.")
    return mode


def _patterns(patterns: Sequence[str]) -> Sequence[str]:
    kept = [pattern for pattern in patterns if pattern]
    if len(kept) > PATTERNS_MOST:
        raise Invalid(f"A source has at most {PATTERNS_MOST} patterns; {len(kept)} were given.")
    for pattern in kept:
        if len(pattern) > PATTERN_LENGTH or "\0" in pattern:
            raise Invalid(f"A pattern has at most {PATTERN_LENGTH} characters; one of these has {len(pattern)}.")
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise Invalid(f"The pattern {pattern!r} is not a valid regular expression: {error}.") from error
    return tuple(kept)


def _selectors(given: Sequence[str]) -> dict[str, Sequence[str]]:
    """Selectors such as `title=h1.headline`, by part of the page, in the order given."""
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, selector = (part.strip() for part in text.partition("="))
        if not text.strip():
            continue
        if not equals or name not in SELECTED:
            raise Invalid(f"Invalid selector {text!r}; write one like title=h1, for one of {', '.join(SELECTED)}.")
        if len(selector) > SELECTOR_LENGTH or not selector.isprintable():
            raise Invalid(f"A selector is one line of at most {SELECTOR_LENGTH} characters.")
        try:
            LexborHTMLParser("<p></p>").css(selector)
        except (SelectolaxError, ValueError) as error:
            raise Invalid(f"{selector!r} is not a valid CSS selector.") from error
        found.setdefault(name, []).append(selector)
        if len(found[name]) > SELECTORS_MOST:
            raise Invalid(f"{name} has at most {SELECTORS_MOST} selectors.")
    return {name: tuple(selectors) for name, selectors in found.items()}


def _within(what: str, wanted: int | None, before: int, least: int, most: int) -> int:
    if wanted is None:
        return before
    if not least <= wanted <= most:
        raise Invalid(f"{what} is at least {least} and at most {most}; this one is {wanted}.")
    return wanted
