from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from headwater.errors import Invalid
from headwater.frontier.types import Origin
from headwater.ids import new_id
from headwater.polling.types import Standing
from headwater.sources.decide import (
    apply_overrides,
    check_name,
    cooldown_of,
    key_after_move,
    may_merge,
    retry_refusal,
    start_pages,
)
from headwater.sources.types import FeedAddress, IngestionMode, MergePair, Source, SourceOverrides
from headwater.types import PageKind, SourceId
from headwater.urls import url_key
from tests.clock import START

SITE = "https://example.com/"
FEED = "https://example.com/feed.xml"
SITEMAP = "https://example.com/maps/news.xml"


USUAL_SITEMAPS = [
    SITE + name
    for name in (
        "sitemap.xml", "sitemap_index.xml", "sitemap-index.xml", "news-sitemap.xml", "sitemap-news.xml",
        "sitemap_news.xml", "wp-sitemap.xml", "sitemap.xml.gz", "sitemap.txt",
    )
]  # fmt: skip


def at(url: str, *, of: str | None = None) -> dict[str, Any]:
    """A feed that is polled at a URL, and was added under that or another."""
    return {"feed_url": url, "feed_url_key": url_key(of or url)}


def other(url: str, *, of: str | None = None) -> dict[str, Any]:
    return {f"other_{name}": value for name, value in at(url, of=of).items()}


def a_source(feed_url: str | None = None, **overrides: Any) -> Source:
    return apply_overrides(Source(SourceId(new_id()), "Example", feed_url, START), SourceOverrides(**overrides))


@pytest.mark.parametrize(
    ("feed", "overrides", "mode", "site"),
    [
        (FEED, {}, IngestionMode.FEED, None),
        (FEED, {"site": "example.com/news"}, IngestionMode.FEED, "https://example.com/news"),
        (FEED, {"mode": "both"}, IngestionMode.BOTH, SITE),
        (None, {"site": "example.com"}, IngestionMode.BOTH, SITE),
        (None, {"site": SITE, "mode": "spider"}, IngestionMode.SPIDER, SITE),
        (None, {"site": SITE, "mode": " Feed "}, IngestionMode.FEED, SITE),
        (None, {"sitemap": SITEMAP}, IngestionMode.FEED, SITE),
        (None, {"sitemap": SITEMAP, "site": SITE, "mode": "both"}, IngestionMode.BOTH, SITE),
    ],
    ids=["feed", "feed and site", "feed and links", "site", "links", "lists", "sitemap", "all"],
)
def test_what_is_not_said_is_chosen(
    feed: str | None, overrides: dict[str, Any], mode: IngestionMode, site: str | None
) -> None:
    source = a_source(feed, **overrides)

    assert (source.ingestion_mode, source.url) == (mode, site)


@pytest.mark.parametrize(
    ("feed", "overrides", "message"),
    [
        (None, {}, "the URL of a feed, a site or a sitemap"),
        (None, {"site": "javascript:x"}, "only http and https"),
        (None, {"site": SITE, "mode": "crawl"}, "Invalid mode 'crawl'; valid are feed, spider and both"),
        (FEED, {"mode": "spider"}, "A source with a feed that also follows links has the mode both"),
        (None, {"sitemap": SITEMAP, "mode": "spider"}, "A source with a sitemap that also follows links"),
        (FEED, {"patterns": ["("]}, "The pattern '\\(' is not a valid regular expression: missing \\)"),
        (FEED, {"patterns": ["x" * 501]}, "at most 500 characters; one of these has 501"),
        (FEED, {"patterns": ["x"] * 51}, "at most 50 patterns; 51 were given"),
        (FEED, {"selectors": ["title"]}, "Invalid selector 'title'; write one like title=h1, for one of title, body"),
        (FEED, {"selectors": ["colour=h1"]}, "Invalid selector 'colour=h1'"),
        (FEED, {"selectors": ["title=h1["]}, "'h1\\[' is not a valid CSS selector"),
        (FEED, {"selectors": ["title="]}, "'' is not a valid CSS selector"),
        (FEED, {"selectors": ["title=h1\x00"]}, "A selector is one line"),
        (FEED, {"max_depth": 11}, "A depth is at least 0 and at most 10; this one is 11"),
        (FEED, {"max_depth": -1}, "A depth is at least 0"),
        (FEED, {"budget": -1}, "A budget is at least 0 and at most 1000000"),
        (FEED, {"priority": 0}, "A priority is at least 1 and at most 10; this one is 0"),
        (FEED, {"delay": timedelta(hours=1, seconds=1)}, "A delay is at most an hour"),
        (FEED, {"budget": 1_000_001}, "A budget is at least 0 and at most 1000000"),
        (FEED, {"priority": 11}, "A priority is at least 1 and at most 10; this one is 11"),
        (FEED, {"patterns": ["a\0"]}, "A pattern has at most 500 characters"),
        (FEED, {"selectors": ["title=" + "a" * 501]}, "A selector is one line of at most 500 characters"),
        (FEED, {"selectors": ["title=h1"] * 21}, "title has at most 20 selectors"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(
    feed: str | None, overrides: dict[str, Any], message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        a_source(feed, **overrides)


@pytest.mark.parametrize(
    "overrides",
    [
        {"max_depth": 0},
        {"max_depth": 10},
        {"page_budget": 1_000_000},
        {"priority": 1},
        {"priority": 10},
        {"min_delay": timedelta(hours=1)},
        {"article_url_patterns": ("x" * 500,)},
        {"article_url_patterns": ("x",) * 50},
        {"selectors": {"title": ("a" * 500,)}},
        {"selectors": {"title": ("h1",) * 20}},
        {"selectors": dict.fromkeys(("title", "body", "author", "date", "remove"), ("p",))},
    ],
    ids=lambda overrides: str(overrides)[:40],
)
def test_the_largest_and_smallest_values_are_valid(overrides: dict[str, Any]) -> None:
    names = {"page_budget": "budget", "min_delay": "delay", "article_url_patterns": "patterns"}
    given: dict[str, Any] = {names.get(name, name): value for name, value in overrides.items()}
    if selectors := given.get("selectors"):
        given["selectors"] = [f"{part}={one}" for part, several in selectors.items() for one in several]

    source = a_source(FEED, **given)

    assert {name: getattr(source, name) for name in overrides} == overrides


@pytest.mark.parametrize(("name", "kept"), [(" x ", "x"), ("x" * 255, "x" * 255)], ids=["short", "long"])
def test_a_name_has_1_to_255_characters(name: str, kept: str) -> None:
    assert check_name(name) == kept


@pytest.mark.parametrize(
    ("name", "length"), [("", 0), (" \u200b ", 0), ("x" * 256, 256)], ids=["none", "blank", "long"]
)
def test_a_name_that_is_empty_or_too_long_is_refused(name: str, length: int) -> None:
    with pytest.raises(Invalid, match=f"A name has 1 to 255 characters; this one has {length}."):
        check_name(name)


@pytest.mark.parametrize(
    ("reason", "cooldown"),
    [
        ("not_found", timedelta(days=2)),
        ("upstream_failure", timedelta(hours=6)),
        ("ssrf_blocked", None),
        ("too noisy", None),
    ],
)
def test_a_reason_to_disable_a_feed_has_its_cooldown(reason: str, cooldown: timedelta | None) -> None:
    assert cooldown_of(reason) == cooldown


LONG = "https://example.com/" + "a" * 3000


@pytest.mark.parametrize(
    ("feed", "added_under", "to", "key"),
    [
        (FEED, FEED, "https://news.example.com/rss", "https://news.example.com/rss"),
        (FEED, FEED, "https://evil.example/rss", FEED),
        (FEED, "https://first.example/feed", "https://example.com/rss", "https://first.example/feed"),
        (LONG, FEED, "https://example.com/rss", FEED),
    ],
    ids=["within its site", "to another site", "on from another site", "from a URL that is too long"],
)
def test_a_feed_that_moves_to_another_site_keeps_its_key(feed: str, added_under: str, to: str, key: str) -> None:
    assert key_after_move(FeedAddress(feed, url_key(added_under)), to) == url_key(key)


@pytest.mark.parametrize(
    ("feed", "to", "takes"),
    [
        ("https://example.com/feed?key=1", "https://example.com/feed", False),
        ("https://example.com/feed?key=1", "https://example.com/feed?format=rss", False),
        ("https://example.com/f/0123456789abcdef0123456789/feed", "https://example.com/feed", False),
        ("https://example.com/feed?key=1", "https://news.example.com/feed?key=1", True),
        ("https://example.com/feed", "https://example.com/rss", True),
    ],
)
@pytest.mark.parametrize("is_system", [False, True])
def test_a_users_feed_that_loses_the_key_in_its_url_keeps_the_key_of_its_source(
    feed: str, to: str, takes: bool, is_system: bool
) -> None:
    key = key_after_move(FeedAddress(feed, url_key(feed), is_system), to)

    assert key == url_key(to if takes or is_system else feed)


@pytest.mark.parametrize(
    ("mode", "given", "kept"),
    [
        ("spider", {"max_depth": 3}, IngestionMode.SPIDER),
        ("feed", {"max_depth": 3}, IngestionMode.FEED),
        ("spider", {"mode": "both"}, IngestionMode.BOTH),
    ],
)
def test_the_mode_of_a_source_changes_only_if_it_is_given(
    mode: str, given: dict[str, Any], kept: IngestionMode
) -> None:
    changed = apply_overrides(a_source(site=SITE, mode=mode), SourceOverrides(**given))

    assert changed.ingestion_mode is kept


def test_what_is_given_is_kept_and_what_is_empty_is_taken_back() -> None:
    given = a_source(
        FEED,
        sitemap=SITEMAP,
        patterns=[r"/\d+$"],
        selectors=["title=h1", "remove=.ad", "remove= nav > a "],
        external_links=True,
        max_depth=4,
        budget=50,
        delay=timedelta(seconds=5),
        priority=8,
    )
    kept = apply_overrides(given, SourceOverrides())
    bare = apply_overrides(
        given, SourceOverrides(sitemap="", patterns=[""], selectors=[""], budget=0, delay=timedelta(0))
    )

    assert kept == given
    assert given.selectors == {"title": ("h1",), "remove": (".ad", "nav > a")}
    assert (given.article_url_patterns, given.page_budget, given.min_delay) == ((r"/\d+$",), 50, timedelta(seconds=5))
    assert (bare.sitemap_url, bare.selectors, bare.article_url_patterns) == (None, {}, ())
    assert (bare.page_budget, bare.min_delay, bare.max_depth, bare.priority) == (None, None, 4, 8)


def test_a_site_alone_is_entered_by_its_front_page_and_where_sitemaps_usually_are() -> None:
    found = start_pages(a_source(site=SITE))

    assert [(one.url, one.origin, one.priority) for one in found if one.kind is PageKind.LIST] == [
        (SITE, Origin.SPIDER, 5)
    ]
    assert [one.url for one in found if one.kind is PageKind.SITEMAP] == USUAL_SITEMAPS


def test_a_site_whose_links_are_not_followed_is_entered_by_sitemaps_alone() -> None:
    assert [one.url for one in start_pages(a_source(site=SITE, mode="feed"))] == USUAL_SITEMAPS


@pytest.mark.parametrize(
    ("feed", "overrides", "expected"),
    [
        (FEED, {}, []),
        (FEED, {"site": SITE}, []),
        (FEED, {"sitemap": SITEMAP, "priority": 10}, [(SITEMAP, "sitemap", 10)]),
        (FEED, {"mode": "both"}, [(SITE, "list", 5)]),
        (None, {"site": SITE, "mode": "spider", "priority": 3}, [(SITE, "list", 3)]),
        (None, {"sitemap": SITEMAP}, [(SITEMAP, "sitemap", 6)]),
    ],
    ids=["feed", "feed and site", "feed and sitemap", "feed and links", "links", "sitemap"],
)
def test_a_source_is_entered_where_it_says(
    feed: str | None, overrides: dict[str, Any], expected: list[tuple[str, str, int]]
) -> None:
    assert [(one.url, one.kind, one.priority) for one in start_pages(a_source(feed, **overrides))] == expected


@pytest.mark.parametrize(
    ("differing", "joins"),
    [
        ({}, True),
        ({"is_system": True}, True),
        ({"other_is_suggested": True}, True),
        ({"is_system": True, "other_is_suggested": True}, False),
        ({"is_suggested": True}, False),
        ({"has_overrides": True}, False),
        ({"has_pages": True}, False),
        ({"are_active": False}, False),
        (other("https://victim.example/feed"), False),
        ({**at("https://a.github.io/feed"), **other("https://b.github.io/feed")}, False),
        (at("https://example.com/feed", of="https://evil.example/feed"), False),
        (other("https://example.com/feed", of="https://evil.example/feed"), False),
        (other("https://example.com/feed?key=0123456789abcdef"), False),
        ({**other("https://example.com/feed?key=0123456789abcdef"), "other_is_public": True}, True),
        ({"other_was_private": True}, False),
        ({"other_was_private": True, "other_is_public": True}, True),
    ],
    ids=[
        "private",
        "operator's",
        "into-suggested",
        "operator's-into-suggested",
        "suggested",
        "set-up",
        "pages",
        "off",
        "another-site",
        "another-owner",
        "from-another-site",
        "into-one-from-another-site",
        "into-a-private-one",
        "into-a-public-one-with-a-query",
        "into-one-that-was-private",
        "into-a-public-one-that-was-private",
    ],
)
def test_a_source_joins_another_unless_something_would_be_lost(differing: dict[str, Any], joins: bool) -> None:
    plain: dict[str, Any] = {
        **at("http://example.com/feed"),
        **other("https://www.example.com/rss"),
        "are_active": True,
        "is_system": False,
        "is_suggested": False,
        "has_overrides": False,
        "has_pages": False,
        "other_is_suggested": False,
        "other_is_public": False,
        "other_was_private": False,
    }

    assert may_merge(MergePair(**{**plain, **differing})) is joins


# Who may have a feed polled now


FREE = Standing(None, None, None, disabled_by_operator=False, asked_until=None, paused_until=None)
BEFORE, LATER = START - timedelta(hours=1), START + timedelta(hours=1)
BY_OPERATOR = "An operator has disabled this feed."


@pytest.mark.parametrize(
    ("standing", "refusal"),
    [
        (FREE, None),
        (
            replace(FREE, disabled_at=BEFORE, disable_reason="not_found"),
            None,
        ),  # disabled by polling: a retry is welcome
        (replace(FREE, disabled_at=BEFORE, disable_reason="not_found", disabled_by_operator=True), BY_OPERATOR),
        (replace(FREE, disabled_at=BEFORE, disable_reason="too noisy"), BY_OPERATOR),
        (
            replace(FREE, disabled_at=BEFORE, disable_reason="too noisy", disabled_until=LATER),
            "An operator has disabled this feed until 2026-03-01 13:00 UTC.",
        ),
        (
            replace(FREE, disabled_at=BEFORE, disable_reason="ssrf_blocked"),
            "This feed leads to an address that is not allowed. Only an operator can enable it again.",
        ),
        (replace(FREE, disable_reason="ssrf_blocked"), None),
        (replace(FREE, asked_until=LATER), "The site allows no request before 2026-03-01 13:00 UTC."),
        (replace(FREE, asked_until=START), None),
        (
            replace(FREE, paused_until=LATER),
            "All feeds of this site fail in the same way. The next try is at 2026-03-01 13:00 UTC.",
        ),
        (replace(FREE, paused_until=START), None),
    ],
)
def test_why_a_user_may_not_have_a_feed_polled(standing: Standing, refusal: str | None) -> None:
    assert retry_refusal(standing, START, is_enabled=True) == refusal
    assert retry_refusal(standing, START, is_enabled=False) == BY_OPERATOR
