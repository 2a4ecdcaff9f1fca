import pytest

from headwater.articles.decide import is_of_site
from headwater.feeds import parse_feed
from headwater.feeds.types import Entry, FeedParseError
from headwater.polling.read import articles_of, title_from
from headwater.urls import url_key
from tests.builders import a_parsed_feed
from tests.clock import START

FEED = "https://example.com/feed.xml"
SITE = "example.com"


def test_an_entry_becomes_an_article() -> None:
    entry = Entry(
        id="tag:1",
        url="https://example.com/1",
        title="One",
        authors=("Ann", "Bob"),
        published_at=START,
        summary="<p>S</p>",
    )

    (article,) = articles_of(a_parsed_feed(entry), FEED, site=SITE)

    assert (article.url, article.url_key) == ("https://example.com/1", url_key("https://example.com/1"))
    assert (article.title, article.author, article.published_at) == ("One", "Ann, Bob", START)
    assert (article.summary, article.content) == ("<p>S</p>", None)


def test_the_time_of_change_stands_in_for_a_missing_time_of_publication() -> None:
    (article,) = articles_of(
        a_parsed_feed(Entry(id="1", url="https://example.com/1", updated_at=START)), FEED, site=SITE
    )

    assert article.published_at == START


def test_a_post_without_a_title_is_named_by_its_first_words() -> None:
    text = "<p>It rained &amp; rained all day long here at the very edge of the sea today</p>"

    (article,) = articles_of(a_parsed_feed(Entry(id="1", url="https://example.com/1", summary=text)), FEED, site=SITE)

    assert article.title == "It rained & rained all day long here at the very edge…"


def test_an_entry_without_anything_is_named_by_its_address() -> None:
    (article,) = articles_of(a_parsed_feed(Entry(id="1", url="https://example.com/1")), FEED, site=SITE)

    assert article.title == "https://example.com/1"


@pytest.mark.parametrize("url", [None, "javascript:alert(1)", "mailto:ann@example.com", "not a url"])
def test_entries_without_a_usable_link_are_known_by_feed_and_id_and_lead_to_the_site(url: str | None) -> None:
    first, second = articles_of(
        a_parsed_feed(Entry(id="1", url=url, title="One"), Entry(id="2", url=url, title="Two")), FEED, site=SITE
    )
    (elsewhere,) = articles_of(
        a_parsed_feed(Entry(id="1", url=url, title="One")), "https://other.example/feed", site="other.example"
    )

    assert first.url == "https://example.com/"
    assert len({first.url_key, second.url_key, elsewhere.url_key}) == 3


@pytest.mark.parametrize("path", ["/post", "/" + "ü" * 2000])
@pytest.mark.parametrize(
    ("host", "site", "is_own"),
    [
        ("news.example.com", "example.com", True),
        ("example.com.evil.example", "example.com", False),
        ("example.com", "evil.example", False),
    ],
)
def test_an_article_is_the_feed_s_own_on_the_site_that_served_it(path: str, host: str, site: str, is_own: bool) -> None:
    entry = Entry(id="1", url=f"https://{host}{path}")

    (article,) = articles_of(a_parsed_feed(entry, site_url="https://example.com/"), FEED, site=site)
    bare = Entry(id="1", title="One")
    (borrowed,) = articles_of(a_parsed_feed(bare, site_url="https://victim.example/"), FEED, site=site)

    assert article.is_own is is_own
    assert is_of_site(article.url, article.url_key, site) is is_own
    assert borrowed.is_own  # under a key that no other feed has
    assert is_of_site(borrowed.url, borrowed.url_key, site)


def test_a_site_with_a_hostile_address_leads_to_the_feed() -> None:
    (article,) = articles_of(a_parsed_feed(Entry(id="1", title="One"), site_url="javascript:alert(1)"), FEED, site=SITE)

    assert article.url == FEED


@pytest.mark.parametrize(
    ("url", "is_own"),
    [
        ("https://example.com/1", True),
        ("HTTP://Example.com:80/a/../1/?utm_source=feed#top", True),
        ("https://example.com/", True),
        (FEED, True),
        ("javascript:alert(1)", False),
        (None, False),
    ],
    ids=["plain", "untidy", "the-site", "the-feed", "hostile", "none"],
)
@pytest.mark.parametrize("site_url", ["https://example.com/", None])
def test_only_an_entry_s_own_link_is_a_page_to_fetch(url: str | None, is_own: bool, site_url: str | None) -> None:
    (article,) = articles_of(a_parsed_feed(Entry(id="1", url=url, title="One"), site_url=site_url), FEED, site=SITE)

    assert article.has_page is is_own


def test_a_title_is_made_of_a_text_with_a_number_of_any_length() -> None:
    assert title_from(f"<p>One &#{'1' * 5000}; two</p>") == "One \ufffd two"


def test_an_entry_with_nothing_to_show_is_not_an_article() -> None:
    feed = a_parsed_feed(Entry("sha256:0"), Entry("1"), Entry("2", title="Two"))

    assert [article.title for article in articles_of(feed, FEED, site=SITE)] == ["Two"]


@pytest.mark.parametrize(
    "body", [b"<rss><channel><item/></channel></rss>", b"<rss><channel><item></item></channel></rss>"]
)
def test_an_empty_item_is_not_an_article(body: bytes) -> None:
    assert articles_of(parse_feed(body, url=FEED), FEED, site=SITE) == ()


def test_a_feed_that_is_cut_off_before_its_first_entry_says_anything_is_not_read() -> None:
    with pytest.raises(FeedParseError):
        parse_feed(b"<rss><channel><item>", url=FEED)
