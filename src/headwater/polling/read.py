"""Reading a body, in a process of the sandbox: what is kept of a feed comes back packed, and is unpacked by the poller.

The process does all that can be done there, cleaning and hashing too, and returns no more than is written. One string
of bytes passes the sandbox untouched; msgspec makes it into values many times faster than Python could, and refuses
what has not the shape of a ReadFeed.
"""

import msgspec

from headwater.polling.entries import articles_of
from headwater.polling.parse import parse_feed
from headwater.polling.types import ReadFeed
from headwater.reading.encodings import storable
from headwater.sandbox import Overrun
from headwater.urls import site_of

_ENCODER = msgspec.msgpack.Encoder(enc_hook=str)  # for what is nearly a str, as lxml's text
_DECODER = msgspec.msgpack.Decoder(ReadFeed)

site_of("https://example.com/")  # reads the public suffix list, before the first feed waits for it


def read_feed(body: bytes, *, url: str, feed_url: str, content_type: str | None, max_entries: int) -> bytes:
    """What is kept of the feed that was served from `url`, packed. Raises UnreadableBody."""
    site = site_of(url)
    feed = parse_feed(body, url=url, content_type=content_type, max_entries=max_entries)
    read = ReadFeed(
        format=feed.format,
        title=storable(feed.title),
        ttl=feed.ttl,
        update_period=feed.update_period,
        skip_hours=feed.skip_hours,
        skip_days=feed.skip_days,
        site=site,
        entries=articles_of(feed, feed_url, site=site),
    )
    return _ENCODER.encode(read)


def unpack_feed(packed: bytes) -> ReadFeed:
    """What `read_feed` packed. Raises Overrun for an answer that it never gave."""
    try:
        return _DECODER.decode(packed)
    except (msgspec.DecodeError, TypeError) as error:
        raise Overrun("crash", f"Its answer was refused: {str(error)[:200]}.") from error
