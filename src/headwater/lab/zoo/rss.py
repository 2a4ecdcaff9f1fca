"""RSS in every version that was ever in use, written out by hand as its publishers do.

In: a Channel (site, feed, articles). Out: the XML as text; encoding, packing and damage come later.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape

from headwater.lab.zoo.pictures import AUDIO_BYTES
from headwater.lab.zoo.press import EPOCH, Article
from headwater.lab.zoo.sites import Feed, Site

_NAMESPACES = (
    'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:media="http://search.yahoo.com/mrss/" '
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
    'xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" '
    'xmlns:atom="http://www.w3.org/2005/Atom"'
)
_RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
_NETSCAPE = '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">'


@dataclass(frozen=True, slots=True)
class Channel:
    """What a feed document is made from."""

    site: Site
    feed: Feed
    site_url: str
    articles: Sequence[Article]

    @property
    def feed_url(self) -> str:
        return self.site_url + self.feed.path

    @property
    def updated_at(self) -> datetime:
        return self.articles[0].published_at if self.articles else datetime.fromtimestamp(EPOCH, UTC)

    def link(self, article: Article) -> str:
        return article.url + self.feed.link_suffix


def paragraphs_html(article: Article) -> str:
    return "".join(f"<p>{escape(text, quote=False)}</p>" for text in article.paragraphs)


def rss2(channel: Channel) -> str:
    return _document(channel, _full_item)


def podcast(channel: Channel) -> str:
    head = f"<itunes:author>{_x(channel.site.title)}</itunes:author><itunes:explicit>false</itunes:explicit>"
    return _document(channel, _episode, head)


def microblog(channel: Channel) -> str:
    return _document(channel, _note)


def calendar(channel: Channel) -> str:
    return _document(channel, _loosely_dated_item)


def permalink(channel: Channel) -> str:
    return _document(channel, _linkless_item)


def patient(channel: Channel) -> str:
    head = (
        "<ttl>180</ttl><skipHours><hour>2</hour><hour>3</hour></skipHours><skipDays><day>Sunday</day></skipDays>"
        "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>1</sy:updateFrequency>"
    )
    return _document(channel, _full_item, head)


def rss092(channel: Channel) -> str:
    items = "\n".join(
        f"<item>{_title(a)}<link>{_x(channel.link(a))}</link><description>{_x(paragraphs_html(a))}</description>"
        f"<category>{a.section}</category>{_picture_enclosure(a)}</item>"
        for a in channel.articles
    )
    return f'<rss version="0.92">\n<channel>\n{_basics(channel)}\n{items}\n</channel>\n</rss>'


def rss091(channel: Channel) -> str:
    items = "\n".join(_bare_item(channel, article) for article in channel.articles)
    return f'{_NETSCAPE}\n<rss version="0.91">\n<channel>\n{_basics(channel)}\n{items}\n</channel>\n</rss>'


def rss090(channel: Channel) -> str:
    head = f"<channel>{_heading(channel)}</channel>"
    items = "\n".join(f"<item>{_title(a)}<link>{_x(channel.link(a))}</link></item>" for a in channel.articles)
    return f'<rdf:RDF {_RDF} xmlns="http://my.netscape.com/rdf/simple/0.9/">\n{head}\n{items}\n</rdf:RDF>'


def rdf(channel: Channel) -> str:
    listing = "".join(f'<rdf:li rdf:resource="{_x(channel.link(a))}"/>' for a in channel.articles)
    items = "\n".join(_rdf_item(channel, article) for article in channel.articles)
    return (
        f'<rdf:RDF {_RDF} xmlns="http://purl.org/rss/1.0/" {_NAMESPACES}>\n'
        f'<channel rdf:about="{channel.feed_url}">{_heading(channel)}'
        f"<dc:language>{channel.site.language}</dc:language>"
        f"<items><rdf:Seq>{listing}</rdf:Seq></items></channel>\n{items}\n</rdf:RDF>"
    )


def _document(channel: Channel, item: Callable[[Channel, Article], str], head: str = "") -> str:
    items = "\n".join(f"<item>{item(channel, article)}</item>" for article in channel.articles)
    return (
        f'<rss version="2.0" {_NAMESPACES}>\n<channel>\n{_basics(channel)}'
        f'<atom:link rel="self" type="application/rss+xml" href="{channel.feed_url}"/>'
        f"<lastBuildDate>{_date(channel.updated_at)}</lastBuildDate><generator>Zoo Press</generator>{head}\n"
        f"{items}\n</channel>\n</rss>"
    )


def _basics(channel: Channel) -> str:
    return f"{_heading(channel)}<language>{channel.site.language}</language>"


def _heading(channel: Channel) -> str:
    site = channel.site
    return (
        f"<title>{_x(site.title)}</title><link>{channel.site_url}/</link><description>{_x(site.tagline)}</description>"
    )


def _full_item(channel: Channel, article: Article) -> str:
    return (
        f"{_title(article)}{_identity(channel, article)}{_published(article.published_at)}{_description(article)}"
        f"<content:encoded><![CDATA[{paragraphs_html(article)}]]></content:encoded>"
        f"<dc:creator>{_x(article.author)}</dc:creator><category>{article.section}</category>"
        f'<media:content url="{article.image_url}" medium="image" type="image/svg+xml" width="640" height="360"/>'
        f"{_picture_enclosure(article)}"
    )


def _episode(channel: Channel, article: Article) -> str:
    minutes = 12 + article.number % 40
    return (
        f"{_title(article)}{_identity(channel, article)}{_published(article.published_at)}{_description(article)}"
        f'<enclosure url="{article.audio_url}" type="audio/mpeg" length="{AUDIO_BYTES}"/>'
        f"<itunes:duration>{minutes}:30</itunes:duration><itunes:episode>{article.number}</itunes:episode>"
        f'<itunes:image href="{article.image_url}"/>'
    )


def _note(channel: Channel, article: Article) -> str:
    return f"{_identity(channel, article)}{_published(article.published_at)}{_description(article)}"


def _loosely_dated_item(channel: Channel, article: Article) -> str:
    """Of five items one is dated three days ahead, one in 2099, one not at all."""
    match article.number % 5:
        case 0:
            when = _published(article.published_at + timedelta(days=3))
        case 1:
            when = _published(article.published_at.replace(year=2099, month=1, day=1))
        case 2:
            when = ""
        case _:
            when = _published(article.published_at)
    return f"{_title(article)}{_identity(channel, article)}{when}{_description(article)}"


def _linkless_item(channel: Channel, article: Article) -> str:
    guid = f'<guid isPermaLink="true">{_x(channel.link(article))}</guid>'
    return f"{_title(article)}{guid}{_published(article.published_at)}{_description(article)}"


def _bare_item(channel: Channel, article: Article) -> str:
    return f"<item>{_title(article)}<link>{_x(channel.link(article))}</link>{_description(article)}</item>"


def _rdf_item(channel: Channel, article: Article) -> str:
    link = _x(channel.link(article))
    return (
        f'<item rdf:about="{link}">{_title(article)}<link>{link}</link>{_description(article)}'
        f"<dc:date>{article.published_at.isoformat()}</dc:date><dc:creator>{_x(article.author)}</dc:creator>"
        f"<dc:subject>{article.section}</dc:subject>"
        f"<content:encoded>{_x(paragraphs_html(article))}</content:encoded></item>"
    )


def _identity(channel: Channel, article: Article) -> str:
    guid = f"tag:{channel.site.host},2000:{article.number}"
    return f'<link>{_x(channel.link(article))}</link><guid isPermaLink="false">{guid}</guid>'


def _picture_enclosure(article: Article) -> str:
    return f'<enclosure url="{article.image_url}" type="image/svg+xml" length="900"/>'


def _title(article: Article) -> str:
    return f"<title>{_x(article.title)}</title>"


def _description(article: Article) -> str:
    return f"<description>{_x(article.summary)}</description>"


def _published(moment: datetime) -> str:
    return f"<pubDate>{_date(moment)}</pubDate>"


def _date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


def _x(text: str) -> str:
    return escape(text)
