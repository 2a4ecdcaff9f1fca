from datetime import timedelta

import pytest

from headwater.feeds import NotAFeed
from headwater.feeds.types import ParsedFeed
from headwater.polling.read import hints_of, read_feed
from headwater.polling.types import PollHints, ReadFeed
from headwater.sandbox.codec import decode, encode

RSS = b"""<rss version="2.0"><channel><title>News</title><ttl>60</ttl>
<item><guid>1</guid><link>/1</link><title>One</title><pubDate>Sun, 01 Mar 2026 12:00:00 GMT</pubDate></item>
<item><guid>2</guid><link>/2</link></item><item><guid>3</guid><link>/3</link></item></channel></rss>"""


def read(body: bytes) -> ReadFeed:
    return read_feed(
        body, url="https://a.example/feed", feed_url="https://a.example/", content_type=None, max_entries=2
    )


def test_a_feed_is_read_with_its_newest_entries_and_comes_back_from_the_sandbox_as_it_was() -> None:
    feed = read(RSS)

    assert (feed.title, feed.hints) == ("News", PollHints(timedelta(hours=1)))
    assert [entry.url for entry in feed.entries] == ["https://a.example/1", "https://a.example/2"]
    assert feed.entries[0].published_at is not None
    assert len(feed.entries[0].url_key) == 32
    assert decode(encode(feed), read_feed) == feed


def test_titles_and_authors_have_composed_letters_and_ids_stay_as_they_are() -> None:
    item = "<item><guid isPermaLink='false'>e\u0301</guid><title>Cafe\u0301</title><author>Rene\u0301</author></item>"
    feed = read(f"<rss version='2.0'><channel><title>Cafe\u0301</title>{item}</channel></rss>".encode())

    (entry,) = feed.entries
    assert (feed.title, entry.title, entry.author) == ("Caf\u00e9", "Caf\u00e9", "Ren\u00e9")
    assert entry.entry_id == "e\u0301"


def test_what_is_no_feed_is_refused_in_words() -> None:
    with pytest.raises(NotAFeed):
        read(b"<html><body>Hello</body></html>")


def test_the_longer_of_ttl_and_update_period_counts() -> None:
    hour, at_three = timedelta(hours=1), frozenset({3})

    assert hints_of(ParsedFeed("rss20", ttl=2 * hour, update_period=3 * hour)) == PollHints(3 * hour)
    assert hints_of(ParsedFeed("rss20", ttl=2 * hour, skip_hours=at_three)) == PollHints(2 * hour, at_three)
    assert hints_of(ParsedFeed("rss20", skip_days=at_three)) == PollHints(skip_days=at_three)
    assert hints_of(ParsedFeed("rss20", ttl=timedelta(0))) is None


def test_the_files_of_an_entry_come_with_its_article() -> None:
    item = b"<guid>1</guid><link>/1</link><enclosure url='/1.mp3' type='audio/mpeg' length='5'/>"
    feed = read(b"<rss version='2.0'><channel><title>Talk</title><item>" + item + b"</item></channel></rss>")

    assert feed.entries[0].enclosures == '[{"url":"https://a.example/1.mp3","type":"audio/mpeg","length":5}]'
    assert decode(encode(feed), read_feed) == feed


@pytest.mark.parametrize("site", ["", "<link>https://a.example/8c1f6a5b4d3e2f1a0b9c8d7e/</link>"])
@pytest.mark.parametrize("key", ["?token=s3cret", "/8c1f6a5b4d3e2f1a0b9c8d7e/feed.xml"])
def test_entries_without_a_link_of_a_private_feed_are_its_own_and_have_a_url_without_the_key(
    site: str, key: str
) -> None:
    items = "<item><guid>1</guid><title>Paid</title></item><item><guid>2</guid><enclosure url='/2.mp3'/></item>"
    body = f"<rss version='2.0'><channel>{site}{items}</channel></rss>".encode()
    url = f"https://a.example{key}"

    private = read_feed(body, url=url, feed_url=url, content_type=None, max_entries=2, is_private=True)
    public = read_feed(body, url=url, feed_url=url, content_type=None, max_entries=2)

    assert [(one.title, one.url, one.is_own) for one in private.entries] == [
        ("Paid", "https://a.example/", False),
        ("https://a.example/", "https://a.example/", False),
    ]
    assert [one.is_own for one in public.entries] == [True, True]
    assert [one.url_key for one in private.entries] == [one.url_key for one in public.entries]


@pytest.mark.parametrize(
    ("given", "page", "icon"),
    [
        ("", "https://a.example/", None),
        ("<link>https://b.example/blog/</link>", "https://b.example/blog/", None),
        ("<link>https://b.example/8c1f6a5b4d3e2f1a0b9c8d7e/</link>", "https://b.example/", None),
        ("<image><url>/logo.png</url></image>", "https://a.example/", "https://a.example/logo.png"),
        (f"<image><url>/{'x' * 3000}</url></image>", "https://a.example/", None),
    ],
)
def test_a_feed_names_its_site_and_its_icon(given: str, page: str, icon: str | None) -> None:
    feed = read(f"<rss version='2.0'><channel><title>News</title>{given}<item/></channel></rss>".encode())

    assert (feed.page_url, feed.icon_url) == (page, icon)
