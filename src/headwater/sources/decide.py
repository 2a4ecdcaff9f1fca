"""What a person asks of a source becomes how we follow it. Pure: wishes in, a checked source and its first URLs out."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from headwater.errors import Invalid, InvalidUrl
from headwater.frontier.types import Origin, Submission
from headwater.polling.policy import COOLDOWN
from headwater.polling.types import NEVER, FailureClass, Standing
from headwater.sources.types import FeedPlace, IngestionMode, Pair, Source, Wishes
from headwater.types import PageKind
from headwater.urls import complete_url, parse_url, site_of, url_key

PATTERNS_MOST = 50
PATTERN_LENGTH = 500
SELECTED = ("title", "body", "author", "date", "remove")
SELECTORS_MOST = 20  # for one part of a page
SELECTOR_LENGTH = 500
DEPTH_MOST = 10
BUDGET_MOST = 1_000_000
DELAY_MOST = timedelta(hours=1)
PRIORITY_MOST = 10
SITEMAP_BONUS = 1  # seed 004: a URL of a sitemap comes before one that was met by chance

# Where sitemaps stand by custom: the protocol's own place first, then what WordPress, Yoast and newspapers use.
COMMON_SITEMAPS = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/news-sitemap.xml",
    "/sitemap-news.xml",
    "/sitemap_news.xml",
    "/wp-sitemap.xml",
    "/sitemap.xml.gz",
    "/sitemap.txt",
)


def as_wished(before: Source, wishes: Wishes) -> Source:
    """The source as it is to be followed from now on. Raises Invalid, InvalidUrl."""
    placed = replace(before, url=_url(wishes.site, before.url), sitemap_url=_url(wishes.sitemap, before.sitemap_url))
    mode = _mode(wishes.mode, before, placed)
    return replace(
        placed,
        url=placed.url or _site_of(placed, mode),
        ingestion_mode=mode,
        selectors=before.selectors if wishes.selectors is None else _selectors(wishes.selectors),
        article_url_patterns=before.article_url_patterns if wishes.patterns is None else _patterns(wishes.patterns),
        external_links=before.external_links if wishes.external_links is None else wishes.external_links,
        max_depth=_within("A depth", wishes.max_depth, before.max_depth, 0, DEPTH_MOST),
        page_budget=_within("A budget", wishes.budget, before.page_budget or 0, 0, BUDGET_MOST) or None,
        min_delay=_delay(wishes.delay, before.min_delay),
        priority=_within("A priority", wishes.priority, before.priority, 1, PRIORITY_MOST),
    )


def cooldown_of(reason: str) -> timedelta | None:
    """How long a feed stays off for a reason, by seed 000's table; None: until a person enables it."""
    if reason not in set(FailureClass):
        return None
    cooldown = COOLDOWN.rules[FailureClass(reason)].cooldown
    return None if cooldown == NEVER else cooldown


def retry_refusal(standing: Standing, now: datetime, *, is_enabled: bool) -> str | None:
    """Why a reader may not have a feed polled now, as a sentence; None: they may."""
    if not is_enabled:
        return "An operator has disabled this feed."
    if standing.off_at is not None and (standing.off_by_operator or standing.off_reason not in set(FailureClass)):
        end = f" until {_moment(standing.off_until)}" if standing.off_until else ""
        return f"An operator has disabled this feed{end}."
    if standing.off_at is not None and standing.off_reason == FailureClass.SSRF_BLOCKED:
        return "This feed leads to an address that is not allowed. Only an operator can enable it again."
    if standing.asked_until is not None and standing.asked_until > now:
        return f"The site asks us not to come back before {_moment(standing.asked_until)}."
    if standing.paused_until is not None and standing.paused_until > now:
        return f"The feeds of this site all fail alike. It is asked again at {_moment(standing.paused_until)}."
    return None


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def key_after_move(place: FeedPlace, url: str) -> bytes:
    """The key of a source whose feed is polled at this URL from now on.

    Within its site the feed takes the new address over. At another site it keeps the key of the address it was added
    under: who adds the new one gets a source of their own, with nothing in it that the first site said.
    """
    is_within = is_at_home(place) and site_of(place.feed_url) == site_of(url)
    return url_key(url) if is_within else place.feed_url_key


def is_at_home(place: FeedPlace) -> bool:
    """Whether a feed is polled at the address that its source is found under; else it has moved to another site."""
    try:
        return url_key(place.feed_url) == place.feed_url_key
    except InvalidUrl:  # longer, as it is stored, than a URL may be that is given
        return False


def may_join(pair: Pair) -> bool:
    """Whether a source may join another without anything being lost that a person decided or waits for.

    What is off on either side was switched off, or has failed: its readers would read no more. What was suggested has
    a submitter and moderators, and a source of an operator does not become theirs.

    A feed of another site stays apart, and so does one that has come from there: whoever owns that site would put all
    that it has listed before into the lists of the other's readers.
    """
    if not _is_one_site(pair):
        return False
    is_moderated = pair.is_suggested or (pair.is_system and pair.other_is_suggested)
    return pair.are_read and not (is_moderated or pair.is_set_up or pair.has_pages)


def _is_one_site(pair: Pair) -> bool:
    if pair.place is None or pair.other_place is None:
        return False
    are_at_home = is_at_home(pair.place) and is_at_home(pair.other_place)
    return are_at_home and site_of(pair.place.feed_url) == site_of(pair.other_place.feed_url)


def entrances(source: Source) -> list[Submission]:
    """The pages that reading a source begins from."""
    if not source.reads_lists:
        sitemaps: Sequence[str] = ()
    elif source.sitemap_url is not None:
        sitemaps = (source.sitemap_url,)
    elif source.feed_url is None and source.url is not None:
        sitemaps = [parse_url(path, base=source.url) for path in COMMON_SITEMAPS]
    else:
        sitemaps = ()
    return [*_sitemap_entrances(source, sitemaps), *_list_entrances(source)]


def _sitemap_entrances(source: Source, urls: Sequence[str]) -> Iterator[Submission]:
    priority = min(source.priority + SITEMAP_BONUS, PRIORITY_MOST)
    for url in urls:
        yield Submission(url, Origin.SITEMAP, source.id, PageKind.SITEMAP, priority=priority)


def _list_entrances(source: Source) -> Iterator[Submission]:
    if source.follows_links and source.url is not None:
        yield Submission(source.url, Origin.SPIDER, source.id, PageKind.LIST, priority=source.priority)


def _url(wanted: str | None, before: str | None) -> str | None:
    if wanted is None:
        return before
    return complete_url(wanted) if wanted.strip() else None


def _site_of(source: Source, mode: IngestionMode) -> str | None:
    """The front page that belongs to a feed or sitemap. A source that is nothing but a feed does without."""
    somewhere = source.feed_url or source.sitemap_url
    if somewhere is None:
        raise Invalid("A source needs something to follow: a feed, a site or a sitemap.")
    needs_one = source.feed_url is None or mode is not IngestionMode.FEED
    return parse_url("/", base=somewhere) if needs_one else None


def _mode(wanted: str | None, before: Source, placed: Source) -> IngestionMode:
    """As asked for; else as before; and for a new site of which nothing else is known, all there is."""
    if wanted is None:
        is_new = before.address == ""
        is_bare = placed.feed_url is None and placed.sitemap_url is None
        return IngestionMode.BOTH if is_new and is_bare else IngestionMode(before.ingestion_mode)
    try:
        mode = IngestionMode(wanted.strip().lower())
    except ValueError as error:
        raise Invalid(f"There is no mode {wanted!r}; there are feed, spider and both.") from error
    if mode is IngestionMode.SPIDER and (placed.feed_url or placed.sitemap_url):
        what = "feed" if placed.feed_url else "sitemap"
        raise Invalid(f"A source with a {what} that follows links too has the mode both; spider is for links alone.")
    return mode


def _patterns(patterns: Sequence[str]) -> Sequence[str]:
    kept = [pattern for pattern in patterns if pattern]
    if len(kept) > PATTERNS_MOST:
        raise Invalid(f"A source has at most {PATTERNS_MOST} patterns; these are {len(kept)}.")
    for pattern in kept:
        if len(pattern) > PATTERN_LENGTH or "\0" in pattern:
            raise Invalid(f"A pattern has at most {PATTERN_LENGTH} characters; one of these has {len(pattern)}.")
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise Invalid(f"The pattern {pattern!r} is no regular expression: {error}.") from error
    return tuple(kept)


def _selectors(given: Sequence[str]) -> dict[str, Sequence[str]]:
    """Of `title=h1.headline` and the like, by part of the page, in the order given."""
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, selector = (part.strip() for part in text.partition("="))
        if not text.strip():
            continue
        if not equals or name not in SELECTED:
            raise Invalid(f"{text!r} is no selector; write one like title=h1, for one of {', '.join(SELECTED)}.")
        _check_selector(selector)
        found.setdefault(name, []).append(selector)
        if len(found[name]) > SELECTORS_MOST:
            raise Invalid(f"At most {SELECTORS_MOST} selectors go with {name}.")
    return {name: tuple(selectors) for name, selectors in found.items()}


def _check_selector(selector: str) -> None:
    if len(selector) > SELECTOR_LENGTH or not selector.isprintable():
        raise Invalid(f"A selector is one line of at most {SELECTOR_LENGTH} characters.")
    try:
        LexborHTMLParser("<p></p>").css(selector)
    except (SelectolaxError, ValueError) as error:
        raise Invalid(f"{selector!r} is no CSS selector.") from error


def _delay(wanted: timedelta | None, before: timedelta | None) -> timedelta | None:
    if wanted is None:
        return before
    if wanted > DELAY_MOST:
        raise Invalid("A delay is at most an hour; 0 takes it back.")
    return wanted or None


def _within(what: str, wanted: int | None, before: int, least: int, most: int) -> int:
    if wanted is None:
        return before
    if not least <= wanted <= most:
        raise Invalid(f"{what} is at least {least} and at most {most}; this one is {wanted}.")
    return wanted
