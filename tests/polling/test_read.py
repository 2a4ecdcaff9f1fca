from datetime import timedelta

import msgspec
import pytest

from headwater.polling.parse import NotAFeed
from headwater.polling.read import read_feed, unpack_feed
from headwater.sandbox import Overrun

RSS = b"""<rss version="2.0"><channel><title>News</title><ttl>60</ttl>
<item><guid>1</guid><link>/1</link><title>One</title><pubDate>Sun, 01 Mar 2026 12:00:00 GMT</pubDate></item>
<item><guid>2</guid><link>/2</link></item><item><guid>3</guid><link>/3</link></item></channel></rss>"""


def read(body: bytes) -> bytes:
    return read_feed(
        body, url="https://a.example/feed", feed_url="https://a.example/", content_type=None, max_entries=2
    )


def test_what_was_read_is_unpacked_as_it_was() -> None:
    feed = unpack_feed(read(RSS))

    assert (feed.title, feed.ttl) == ("News", timedelta(hours=1))
    assert [entry.url for entry in feed.entries] == ["https://a.example/1", "https://a.example/2"]
    assert feed.entries[0].published_at is not None
    assert len(feed.entries[0].url_key) == 32


def test_what_is_no_feed_is_refused_in_words() -> None:
    with pytest.raises(NotAFeed):
        read(b"<html><body>Hello</body></html>")


@pytest.mark.parametrize("forged", [b"", b"\xc1", b"\xff" * 20, msgspec.msgpack.encode({"format": 7}), None, ["x"]])
def test_an_answer_of_another_shape_is_refused(forged: object) -> None:
    with pytest.raises(Overrun, match="refused"):
        unpack_feed(forged)  # type: ignore[arg-type]
