"""RSS in every version, Atom 1.0 and 0.3, JSON Feed 1.0 and 1.1, from the articles of a site."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape
from urllib.parse import urlsplit

from headwater_lab.zoo.articles import EPOCH, Article
from headwater_lab.zoo.pages import AUDIO_BYTES
from headwater_lab.zoo.sites import Site, ZooFeed

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
class FeedContent:
    """What a feed document is made from."""

    site: Site
    feed: ZooFeed
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


def rss2(channel: FeedContent) -> str:
    return _document(channel, _full_item)


def podcast(channel: FeedContent) -> str:
    head = f"<itunes:author>{_x(channel.site.title)}</itunes:author><itunes:explicit>false</itunes:explicit>"
    return _document(channel, _episode, head)


def microblog(channel: FeedContent) -> str:
    return _document(channel, _note)


def calendar(channel: FeedContent) -> str:
    return _document(channel, _loosely_dated_item)


def permalink(channel: FeedContent) -> str:
    return _document(channel, _linkless_item)


def patient(channel: FeedContent) -> str:
    head = (
        "<ttl>180</ttl><skipHours><hour>2</hour><hour>3</hour></skipHours><skipDays><day>Sunday</day></skipDays>"
        "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>1</sy:updateFrequency>"
    )
    return _document(channel, _full_item, head)


def rss092(channel: FeedContent) -> str:
    items = "\n".join(
        f"<item>{_title(a)}<link>{_x(channel.link(a))}</link><description>{_x(paragraphs_html(a))}</description>"
        f"<category>{a.section}</category>{_picture_enclosure(a)}</item>"
        for a in channel.articles
    )
    return f'<rss version="0.92">\n<channel>\n{_basics(channel)}\n{items}\n</channel>\n</rss>'


def rss091(channel: FeedContent) -> str:
    items = "\n".join(_bare_item(channel, article) for article in channel.articles)
    return f'{_NETSCAPE}\n<rss version="0.91">\n<channel>\n{_basics(channel)}\n{items}\n</channel>\n</rss>'


def rss090(channel: FeedContent) -> str:
    head = f"<channel>{_heading(channel)}</channel>"
    items = "\n".join(f"<item>{_title(a)}<link>{_x(channel.link(a))}</link></item>" for a in channel.articles)
    return f'<rdf:RDF {_RDF} xmlns="http://my.netscape.com/rdf/simple/0.9/">\n{head}\n{items}\n</rdf:RDF>'


def rdf(channel: FeedContent) -> str:
    listing = "".join(f'<rdf:li rdf:resource="{_x(channel.link(a))}"/>' for a in channel.articles)
    items = "\n".join(_rdf_item(channel, article) for article in channel.articles)
    return (
        f'<rdf:RDF {_RDF} xmlns="http://purl.org/rss/1.0/" {_NAMESPACES}>\n'
        f'<channel rdf:about="{channel.feed_url}">{_heading(channel)}'
        f"<dc:language>{channel.site.language}</dc:language>"
        f"<items><rdf:Seq>{listing}</rdf:Seq></items></channel>\n{items}\n</rdf:RDF>"
    )


def _document(channel: FeedContent, item: Callable[[FeedContent, Article], str], head: str = "") -> str:
    items = "\n".join(f"<item>{item(channel, article)}</item>" for article in channel.articles)
    return (
        f'<rss version="2.0" {_NAMESPACES}>\n<channel>\n{_basics(channel)}'
        f'<atom:link rel="self" type="application/rss+xml" href="{channel.feed_url}"/>'
        f"<lastBuildDate>{_date(channel.updated_at)}</lastBuildDate><generator>Zoo Publisher</generator>{head}\n"
        f"{items}\n</channel>\n</rss>"
    )


def _basics(channel: FeedContent) -> str:
    return f"{_heading(channel)}<language>{channel.site.language}</language>"


def _heading(channel: FeedContent) -> str:
    site = channel.site
    return (
        f"<title>{_x(site.title)}</title><link>{channel.site_url}/</link><description>{_x(site.tagline)}</description>"
    )


def _full_item(channel: FeedContent, article: Article) -> str:
    return (
        f"{_title(article)}{_identity(channel, article)}{_published(article.published_at)}{_description(article)}"
        f"<content:encoded><![CDATA[{paragraphs_html(article)}]]></content:encoded>"
        f"<dc:creator>{_x(article.author)}</dc:creator><category>{article.section}</category>"
        f'<media:content url="{article.image_url}" medium="image" type="image/svg+xml" width="640" height="360"/>'
        f"{_picture_enclosure(article)}"
    )


def _episode(channel: FeedContent, article: Article) -> str:
    minutes = 12 + article.number % 40
    return (
        f"{_title(article)}{_identity(channel, article)}{_published(article.published_at)}{_description(article)}"
        f'<enclosure url="{article.audio_url}" type="audio/mpeg" length="{AUDIO_BYTES}"/>'
        f"<itunes:duration>{minutes}:30</itunes:duration><itunes:episode>{article.number}</itunes:episode>"
        f'<itunes:image href="{article.image_url}"/>'
    )


def _note(channel: FeedContent, article: Article) -> str:
    return f"{_identity(channel, article)}{_published(article.published_at)}{_description(article)}"


def _loosely_dated_item(channel: FeedContent, article: Article) -> str:
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


def _linkless_item(channel: FeedContent, article: Article) -> str:
    guid = f'<guid isPermaLink="true">{_x(channel.link(article))}</guid>'
    return f"{_title(article)}{guid}{_published(article.published_at)}{_description(article)}"


def _bare_item(channel: FeedContent, article: Article) -> str:
    return f"<item>{_title(article)}<link>{_x(channel.link(article))}</link>{_description(article)}</item>"


def _rdf_item(channel: FeedContent, article: Article) -> str:
    link = _x(channel.link(article))
    return (
        f'<item rdf:about="{link}">{_title(article)}<link>{link}</link>{_description(article)}'
        f"<dc:date>{article.published_at.isoformat()}</dc:date><dc:creator>{_x(article.author)}</dc:creator>"
        f"<dc:subject>{article.section}</dc:subject>"
        f"<content:encoded>{_x(paragraphs_html(article))}</content:encoded></item>"
    )


def _identity(channel: FeedContent, article: Article) -> str:
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


def atom(channel: FeedContent) -> str:
    site, entries = channel.site, "\n".join(_entry(channel, article) for article in channel.articles)
    return (
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{site.language}" xml:base="{channel.site_url}/">\n'
        f'<title>{escape(site.title)}</title><subtitle>{escape(site.tagline)}</subtitle><link href="/"/>'
        f'<link rel="self" type="application/atom+xml" href="{channel.feed.path}"/><id>tag:{site.host},2000:feed</id>'
        f"<updated>{channel.updated_at.isoformat()}</updated><generator>Zoo Publisher</generator>\n{entries}\n</feed>"
    )


def atom03(channel: FeedContent) -> str:
    site, entries = channel.site, "\n".join(_entry03(channel, article) for article in channel.articles)
    return (
        f'<feed version="0.3" xmlns="http://purl.org/atom/ns#" xml:lang="{site.language}">\n'
        f"<title>{escape(site.title)}</title><tagline>{escape(site.tagline)}</tagline>"
        f'<link rel="alternate" type="text/html" href="{channel.site_url}/"/>'
        f"<modified>{channel.updated_at.isoformat()}</modified>\n{entries}\n</feed>"
    )


def json10(channel: FeedContent) -> str:
    return _json(channel, "https://jsonfeed.org/version/1")


def json11(channel: FeedContent) -> str:
    return _json(channel, "https://jsonfeed.org/version/1.1")


def _entry(channel: FeedContent, article: Article) -> str:
    """The link is relative, so that only a reader that honours xml:base gets it right."""
    link = escape(urlsplit(article.url).path if not channel.feed.articles_of else channel.link(article))
    moment = article.published_at.isoformat()
    return (
        f'<entry><title type="html">{escape(escape(article.title, quote=False))}</title><link href="{link}"/>'
        f"<id>tag:{channel.site.host},2000:{article.number}</id><published>{moment}</published>"
        f"<updated>{moment}</updated><author><name>{escape(article.author)}</name></author>"
        f'<category term="{article.section}"/><summary>{escape(article.summary)}</summary>{_content(article)}</entry>'
    )


def _content(article: Article) -> str:
    """Three kinds of content take turns, as they do in the wild."""
    match article.number % 3:
        case 0:
            inside = f'<div xmlns="http://www.w3.org/1999/xhtml">{paragraphs_html(article)}</div>'
            return f'<content type="xhtml" xml:base="pictures/">{inside}</content>'
        case 1:
            return f'<content type="html">{escape(paragraphs_html(article))}</content>'
        case _:
            return f'<content type="text">{escape(" ".join(article.paragraphs))}</content>'


def _entry03(channel: FeedContent, article: Article) -> str:
    moment = article.published_at.isoformat()
    return (
        f"<entry><title>{escape(article.title)}</title>"
        f'<link rel="alternate" type="text/html" href="{escape(channel.link(article))}"/>'
        f"<id>tag:{channel.site.host},2000:{article.number}</id><issued>{moment}</issued><modified>{moment}</modified>"
        f"<author><name>{escape(article.author)}</name></author><summary>{escape(article.summary)}</summary>"
        f'<content type="text/html" mode="escaped">{escape(paragraphs_html(article))}</content></entry>'
    )


def _json(channel: FeedContent, version: str) -> str:
    site = channel.site
    feed = {
        "version": version,
        "title": site.title,
        "description": site.tagline,
        "home_page_url": f"{channel.site_url}/",
        "feed_url": channel.feed_url,
        "items": [_item(channel, article, version) for article in channel.articles],
    }
    if version.endswith("1.1"):
        feed["language"] = site.language
    return json.dumps(feed, ensure_ascii=False, indent=1)


def _item(channel: FeedContent, article: Article, version: str) -> dict[str, object]:
    author = {"name": article.author}
    return {
        "id": f"tag:{channel.site.host},2000:{article.number}",
        "url": channel.link(article),
        "title": article.title,
        "summary": article.summary,
        "content_html": paragraphs_html(article),
        "date_published": article.published_at.isoformat(),
        "image": article.image_url,
        "tags": [article.section],
        **({"authors": [author]} if version.endswith("1.1") else {"author": author}),
    }
