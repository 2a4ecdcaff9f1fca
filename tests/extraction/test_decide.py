"""Which article a page is, and what the frontier records of it."""

from dataclasses import replace

import pytest

from headwater.articles.types import ContentChange, Extracted, Saved
from headwater.extraction.decide import (
    KnownArticle,
    about_to_be,
    alias_of,
    choose_article,
    keys_of,
    selectors_for,
    settle,
)
from headwater.extraction.types import NO_SELECTORS, Failed, Failure, Selectors, SourceSelectors
from headwater.frontier.types import Settled
from headwater.ids import new_id
from headwater.types import ArticleId
from headwater.urls import url_key
from tests.articles.builders import a_record

PAGE = "https://example.com/a?page=1"
CANONICAL = "https://example.com/a"


def known(url: str, found: Extracted | None = None) -> dict[bytes, KnownArticle]:
    return {url_key(url): about_to_be(url, found or Extracted())}


@pytest.mark.parametrize(
    ("url", "canonical", "is_believed"),
    [
        (PAGE, CANONICAL, True),
        (PAGE, "http://www.example.com/a", True),
        ("https://m.example.com/a", CANONICAL, True),
        ("https://one.example.com/a", "https://two.example.com/a", True),
        (PAGE, "https://other.example/a", False),
        ("https://a.github.io/a", "https://b.github.io/a", False),
        ("https://a.github.io/a", "https://github.io/a", False),
        ("https://example.com.evil.example/a", CANONICAL, False),
        ("http://127.0.0.1:8001/a", "http://127.0.0.1:8002/a", False),
        (PAGE, "https://example.com/", False),
        (PAGE, "https://example.com", False),
        (PAGE, "https://example.com/?p=7", True),
        (PAGE, None, False),
        (PAGE, "http://[", False),
    ],
)
def test_a_canonical_url_is_believed_on_its_own_site(url: str, canonical: str | None, is_believed: bool) -> None:
    assert alias_of(url, canonical) == (canonical if is_believed else None)


def test_an_article_under_the_pages_own_url_comes_first() -> None:
    here = known(PAGE) | known(CANONICAL)

    assert choose_article(PAGE, PAGE, CANONICAL, a_record(), here) == (PAGE, here[url_key(PAGE)])


def test_an_article_where_the_redirects_ended_comes_next() -> None:
    here = known("https://example.com/end")

    url, _ = choose_article(PAGE, "https://example.com/end", None, a_record(), here)

    assert url == "https://example.com/end"


@pytest.mark.parametrize(
    ("served_from", "is_its_page"),
    [("https://example.com/b", True), ("https://www.example.com/b", True), ("https://evil.example/b", False)],
)
def test_an_article_of_one_site_is_not_taken_for_the_page_of_another(served_from: str, is_its_page: bool) -> None:
    listed_under = {url_key("https://evil.example/b"): about_to_be(CANONICAL, Extracted())}  # as a feed's id and link

    url, article = choose_article("https://evil.example/b", served_from, None, a_record(), listed_under)

    assert (url, article is not None) == ((CANONICAL, True) if is_its_page else (served_from, False))


@pytest.mark.parametrize(
    ("url", "is_own"),
    [
        ("https://example.com/1", True),
        ("https://news.example.com/1", True),
        ("https://feeds.example/1", True),
        ("https://evil.example/1", False),
        ("https://example.com.evil.example/1", False),
        ("nonsense", False),
    ],
)
def test_selectors_are_for_pages_of_the_source_s_own_sites(url: str, is_own: bool) -> None:
    mine = SourceSelectors(Selectors(title=("h1",)), ["https://example.com/", "https://feeds.example/example"])

    assert selectors_for(url, mine) == (mine.selectors if is_own else NO_SELECTORS)
    assert selectors_for(url, None) == NO_SELECTORS


def test_a_new_article_is_made_under_its_canonical_url() -> None:
    assert choose_article(PAGE, PAGE, CANONICAL, a_record(), {}) == (CANONICAL, None)
    assert choose_article(PAGE, PAGE, None, a_record(), {}) == (PAGE, None)


@pytest.mark.parametrize(
    ("stored", "is_same"),
    [(Extracted(), True), (a_record(), True), (a_record("quite another text " * 30), False), (a_record("stub"), False)],
    ids=["no text yet", "the same text", "another text", "another short text"],
)
def test_the_canonical_of_an_article_is_believed_when_the_texts_agree(stored: Extracted, is_same: bool) -> None:
    here = known(CANONICAL, stored)

    url, article = choose_article(PAGE, PAGE, CANONICAL, a_record(), here)

    assert (url, article is not None) == ((CANONICAL, True) if is_same else (PAGE, False))


@pytest.mark.parametrize(
    ("stored", "found", "is_same"),
    [(0, 0b1111_1111_1111, True), (0, 0b1_1111_1111_1111, False), (None, 0, False), (0, None, False)],
    ids=["12 bits apart", "13 bits apart", "too short before", "too short now"],
)
def test_an_older_version_of_a_text_is_the_same_article(stored: int | None, found: int | None, is_same: bool) -> None:
    here = known(CANONICAL, replace(a_record(), content_hash=b"older", simhash=stored))

    _, article = choose_article(PAGE, PAGE, CANONICAL, replace(a_record(), simhash=found), here)

    assert (article is not None) is is_same


def test_a_page_of_an_invalid_url_is_no_other_article() -> None:
    listed_under = {url_key("https://evil.example/b"): about_to_be(CANONICAL, Extracted())}

    assert choose_article("https://evil.example/b", "nonsense", None, a_record(), listed_under) == ("nonsense", None)


def test_a_page_of_another_site_does_not_become_the_article_that_its_canonical_url_is_a_key_of() -> None:
    listed_under = {url_key("https://evil.example/a"): about_to_be(CANONICAL, Extracted())}
    page = "https://evil.example/b"

    assert choose_article(page, page, "https://evil.example/a", a_record(), listed_under) == (page, None)


@pytest.mark.parametrize(
    ("found", "fields"),
    [
        (Extracted(), ("", None, None)),
        (Extracted(title="T", authors=("Ada", "Bob"), description="D"), ("T", "Ada, Bob", "D")),
    ],
    ids=["empty", "full"],
)
def test_what_a_record_says_is_known_to_other_pages_of_its_batch(
    found: Extracted, fields: tuple[str, str | None, str | None]
) -> None:
    article = about_to_be(PAGE, found)

    assert (article.title, article.author, article.summary) == fields
    assert (article.url, article.url_key) == (PAGE, url_key(PAGE))


def test_what_is_no_url_has_no_key() -> None:
    assert keys_of([None, "", "ftp://x", PAGE, PAGE + "#x"]) == [url_key(PAGE)]


def saved(*, text_changed: bool) -> Saved:
    return Saved(ArticleId(new_id()), ContentChange.NEW, 1, text_changed, None, None)


@pytest.mark.parametrize("changed", [True, False])
def test_the_frontier_hears_whether_the_text_changed(changed: bool) -> None:
    record = a_record()

    assert settle(PAGE, record, saved(text_changed=changed)) == Settled(PAGE, record.content_hash, changed)


def test_a_text_that_is_not_saved_has_changed() -> None:
    assert settle(PAGE, a_record(), None) == Settled(PAGE, a_record().content_hash, True)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (Extracted(title="Log in"), "no_text"),
        (Failed(Failure.OVERRUN, ""), "extraction_overrun"),
        (Failed(Failure.UNREADABLE, ""), "unreadable"),
        (Failed(Failure.BROKE, ""), "extraction_broke"),
    ],
)
def test_a_page_without_an_article_is_dead_for_a_reason(found: Extracted | Failed, reason: str) -> None:
    assert settle(PAGE, found, None) == Settled.dead(PAGE, reason)
