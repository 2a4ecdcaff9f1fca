from datetime import UTC, datetime, timedelta

import pytest

from tests.feeds.feeds import atom, rss

RSS = """
<title>A &amp;amp; B</title><link>/</link><description>About &lt;b&gt;it&lt;/b&gt;</description>
<language>en_US</language>
<ttl>60</ttl><generator>Pen</generator><lastBuildDate>Thu, 01 Jan 2026 00:00:00 GMT</lastBuildDate>
<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>
<skipHours><hour>0</hour><hour>24</hour><hour>7</hour><hour>x</hour></skipHours>
<skipDays><day>Saturday</day><day>Funday</day></skipDays>
<image><url>/logo.png</url><title>Logo</title><link>/elsewhere</link></image>
<atom:link rel="self" href="/feed"/><atom:link rel="hub" href="https://hub.example/"/>
<atom:link rel="next" href="?page=2"/>
"""


def test_a_channel_says_what_it_is_and_how_often_to_ask():
    feed = rss(RSS)

    assert feed.title == "A & B"
    assert feed.site_url == "https://example.com/"
    assert feed.description == "About <b>it</b>"
    assert feed.language == "en-US"
    assert feed.generator == "Pen"
    assert feed.updated_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert feed.icon_url == feed.image_url == "https://example.com/logo.png"
    assert feed.ttl == timedelta(hours=1)
    assert feed.update_period == timedelta(hours=6)
    assert feed.skip_hours == {0, 7}
    assert feed.skip_days == {5}
    assert feed.hub_urls == ("https://hub.example/",)
    assert feed.self_url == "https://example.com/feed"
    assert feed.next_url == "https://example.com/blog/feed.xml?page=2"


def test_an_atom_feed_says_the_same_in_its_own_words():
    feed = atom(
        '<title type="html">A &amp;amp; B</title><link href="/"/><link rel="self" href="/feed"/>'
        "<subtitle>About</subtitle>"
        "<icon>/icon.png</icon><logo>/logo.png</logo><generator uri='x'>Pen</generator>",
        'xml:lang="en"',
    )

    assert (feed.title, feed.site_url, feed.self_url, feed.description) == (
        "A & B",
        "https://example.com/",
        "https://example.com/feed",
        "About",
    )
    assert (feed.icon_url, feed.image_url) == ("https://example.com/icon.png", "https://example.com/logo.png")
    assert (feed.language, feed.generator) == ("en", "Pen")


@pytest.mark.parametrize(
    ("channel", "ttl"),
    [
        ("<ttl>0</ttl>", None),
        ("<ttl>-5</ttl>", None),
        ("<ttl>x</ttl>", None),
        ("<ttl>99999999999</ttl>", timedelta(days=366)),
    ],
)
def test_an_absurd_ttl_does_no_harm(channel: str, ttl: timedelta | None):
    assert rss(channel).ttl == ttl


@pytest.mark.parametrize(
    ("channel", "period"),
    [
        ("<sy:updatePeriod>hourly</sy:updatePeriod>", timedelta(hours=1)),
        ("<sy:updatePeriod> weekly </sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", timedelta(weeks=1)),
        ("<sy:updateFrequency>2</sy:updateFrequency>", timedelta(hours=12)),
        ("<sy:updatePeriod>sometimes</sy:updatePeriod>", timedelta(days=1)),
        ("", None),
    ],
)
def test_an_update_period_is_a_length_of_time(channel: str, period: timedelta | None):
    assert rss(f"<title>x</title>{channel}").update_period == period
