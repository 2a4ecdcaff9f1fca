"""Small feeds for tests: what stands inside an item or a channel, and the feed around it."""

from headwater.feeds import Entry, ParsedFeed, parse_feed

URL = "https://example.com/blog/feed.xml"

_NAMESPACES = {
    "atom": "http://www.w3.org/2005/Atom",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "feedburner": "http://rssnamespace.org/feedburner/ext/1.0",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "georss": "http://www.georss.org/georss",
    "gml": "http://www.opengis.net/gml",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "podcast": "https://podcastindex.org/namespace/1.0",
    "media": "http://search.yahoo.com/mrss/",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "thr": "http://purl.org/syndication/thread/1.0",
}
_DECLARED = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in _NAMESPACES.items())


def rss(channel: str) -> ParsedFeed:
    """An RSS 2.0 feed with this inside its channel."""
    return parse_feed(f'<rss version="2.0" {_DECLARED}><channel>{channel}</channel></rss>'.encode(), url=URL)


def rss_item(item: str) -> Entry:
    """The one entry of an RSS feed with this inside its item."""
    return rss(f"<item>{item}</item>").entries[0]


def atom(feed: str, attributes: str = "") -> ParsedFeed:
    """An Atom feed with this inside."""
    return parse_feed(f'<feed xmlns="{_NAMESPACES["atom"]}" {_DECLARED} {attributes}>{feed}</feed>'.encode(), url=URL)


def atom_entry(entry: str) -> Entry:
    """The one entry of an Atom feed with this inside."""
    return atom(f"<entry>{entry}</entry>").entries[0]
