"""What users may enter for a feed and in a search, as tables; without a database."""

from uuid import UUID

import pytest

from headwater.errors import InvalidFeed
from headwater.library.decide import check_category, check_feed, nest_feeds, page_count
from headwater.library.types import UnreadFeed
from headwater.urls import MAX_LENGTH

URL = "https://example.com/feed"
NO_WEB_URL = "Invalid URL format. Must start with http:// or https://"


@pytest.mark.parametrize(
    ("name", "url", "kept"),
    [
        ("News", URL, ("News", URL)),
        ("  News \n", f"\t{URL} ", ("News", URL)),
        ("x" * 255, URL, ("x" * 255, URL)),
        (f" {'x' * 255} ", URL, ("x" * 255, URL)),
        ("News", "HTTP://Example.com/feed", ("News", "http://example.com/feed")),
    ],
)
def test_a_valid_feed_is_trimmed(name: str, url: str, kept: tuple[str, str]) -> None:
    assert check_feed(name, url) == kept


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "Feed name is required"),
        (" \t", "Feed name is required"),
        ("\u200b\u2060", "Feed name is required"),
        ("x" * 256, "Feed name must be less than 255 characters"),
    ],
)
def test_an_invalid_name_is_refused(name: str, problem: str) -> None:
    with pytest.raises(InvalidFeed) as refused:
        check_feed(name, URL)

    assert (refused.value.name, refused.value.url) == (problem, "")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "Feed URL is required"),
        ("  ", "Feed URL is required"),
        ("example.com", NO_WEB_URL),
        ("http:example.com", NO_WEB_URL),
        ("https:/example.com", NO_WEB_URL),
        ("ftp://example.com/", NO_WEB_URL),
        ("javascript:alert(1)", NO_WEB_URL),
        ("https://", NO_WEB_URL),
        ("http://[::1", NO_WEB_URL),
        ("https://user:secret@example.com/", "Invalid URL format: a name or password inside a URL is not sent"),
        (f"{URL}?{'x' * MAX_LENGTH}", f"Invalid URL format: longer than {MAX_LENGTH} characters"),
    ],
)
def test_an_invalid_url_is_refused(url: str, problem: str) -> None:
    with pytest.raises(InvalidFeed) as refused:
        check_feed("News", url)

    assert (refused.value.name, refused.value.url) == ("", problem)


def test_both_fields_are_reported_at_once() -> None:
    with pytest.raises(InvalidFeed) as refused:
        check_feed("", "")

    assert (refused.value.name, refused.value.url) == ("Feed name is required", "Feed URL is required")


@pytest.mark.parametrize(
    ("category", "kept"),
    [
        ("", None),
        (" \n ", None),
        ("  World \t news ", "World news"),
        ("x" * 100, "x" * 100),
        ("World / News", "World/News"),
        (" /a// b/", "a/b"),
        ("/", None),
    ],
)
def test_a_category_is_trimmed_and_an_empty_one_is_none(category: str, kept: str | None) -> None:
    assert check_category(category) == kept


def a_feed(name: str, category: str | None, unread: int) -> UnreadFeed:
    return UnreadFeed(UUID(int=sum(name.encode())), name, category, unread)


def test_feeds_are_nested_by_their_categories_and_counts_are_added_up() -> None:
    feeds = [
        a_feed("a", "World/News", 2), a_feed("b", "world", 3), a_feed("c", "Arts", 100), a_feed("d", None, 5),
        a_feed("e", "world/news/Local", 4),
    ]  # fmt: skip

    arts, world = nest_feeds(feeds, most=100)

    assert (arts.path, arts.unread, arts.is_least) == ("Arts", 100, True)
    assert (world.path, world.unread, world.is_least) == ("World", 9, False)
    assert [feed.name for feed in world.feeds] == ["b"]
    (news,) = world.nested
    assert (news.name, news.path, news.unread) == ("News", "World/News", 6)
    (local,) = news.nested
    assert (local.name, local.path, [feed.name for feed in local.feeds]) == ("Local", "World/News/Local", ["e"])


def test_a_long_category_is_refused() -> None:
    with pytest.raises(InvalidFeed, match="A category has at most 100 characters"):
        check_category("x" * 101)


@pytest.mark.parametrize(
    ("total", "size", "pages"), [(0, 20, 1), (1, 20, 1), (20, 20, 1), (21, 20, 2), (40, 20, 2), (41, 20, 3), (3, 1, 3)]
)
def test_pages(total: int, size: int, pages: int) -> None:
    assert page_count(total, size) == pages
