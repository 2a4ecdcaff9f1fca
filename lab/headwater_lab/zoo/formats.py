"""RSS in every version, Atom 1.0 and 0.3, JSON Feed 1.0 and 1.1, from the articles of a site."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape
from urllib.parse import urlsplit

from headwater_lab.zoo.articles import EPOCH, Article
from headwater_lab.zoo.pages import AUDIO_BYTES
from headwater_lab.zoo.sites import Dialect, Site, ZooFeed

_NAMESPACES = (
    'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:media="http://search.yahoo.com/mrss/" '
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
    'xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" '
    'xmlns:atom="http://www.w3.org/2005/Atom"'
)
_RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
_XHTML = '<div xmlns="http://www.w3.org/1999/xhtml">'
_NETSCAPE = '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">'


@dataclass(frozen=True, slots=True)
class FeedContent:
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

    def id(self, article: Article) -> str:
        return f"tag:{self.site.host},2000:{article.number}"


def _html(article: Article) -> str:
    return "".join(f"<p>{escape(text, quote=False)}</p>" for text in article.paragraphs)


def _tag(name: str, text: str) -> str:
    return f"<{name}>{escape(text)}</{name}>"


def _published(moment: datetime) -> str:
    return _tag("pubDate", format_datetime(moment, usegmt=True))


def _heading(channel: FeedContent) -> str:
    site = channel.site
    return f"{_tag('title', site.title)}<link>{channel.site_url}/</link>{_tag('description', site.tagline)}"


def _rss2(channel: FeedContent, item: Callable[[FeedContent, Article], str], head: str = "") -> str:
    items = "\n".join(f"<item>{item(channel, article)}</item>" for article in channel.articles)
    return (
        f'<rss version="2.0" {_NAMESPACES}>\n<channel>\n{_heading(channel)}<language>{channel.site.language}</language>'
        f'<atom:link rel="self" type="application/rss+xml" href="{channel.feed_url}"/>'
        f"<lastBuildDate>{format_datetime(channel.updated_at, usegmt=True)}</lastBuildDate>"
        f"<generator>Zoo Publisher</generator>{head}\n{items}\n</channel>\n</rss>"
    )


def _old_rss(channel: FeedContent, version: str, item: Callable[[FeedContent, Article], str]) -> str:
    items = "\n".join(f"<item>{item(channel, article)}</item>" for article in channel.articles)
    head = f"{_heading(channel)}<language>{channel.site.language}</language>"
    return f'<rss version="{version}">\n<channel>\n{head}\n{items}\n</channel>\n</rss>'


def _bare_item(channel: FeedContent, article: Article) -> str:
    return f"{_tag('title', article.title)}{_tag('link', channel.link(article))}"


def _summary_item(channel: FeedContent, article: Article) -> str:
    return f"{_bare_item(channel, article)}{_tag('description', article.summary)}"


def _rss092_item(channel: FeedContent, article: Article) -> str:
    return (
        f"{_bare_item(channel, article)}{_tag('description', _html(article))}"
        f"<category>{article.section}</category>{_picture_enclosure(article)}"
    )


def _note(channel: FeedContent, article: Article, when: str | None = None) -> str:
    """An item without a title."""
    when = _published(article.published_at) if when is None else when
    guid = f'<guid isPermaLink="false">{channel.id(article)}</guid>'
    return f"{_tag('link', channel.link(article))}{guid}{when}{_tag('description', article.summary)}"


def _titled(channel: FeedContent, article: Article, when: str | None = None) -> str:
    return f"{_tag('title', article.title)}{_note(channel, article, when)}"


def _full_item(channel: FeedContent, article: Article) -> str:
    return (
        f"{_titled(channel, article)}<content:encoded><![CDATA[{_html(article)}]]></content:encoded>"
        f"{_tag('dc:creator', article.author)}<category>{article.section}</category>"
        f'<media:content url="{article.image_url}" medium="image" type="image/png" width="640" height="360"/>'
        f"{_picture_enclosure(article)}"
    )


def _episode(channel: FeedContent, article: Article) -> str:
    return (
        f"{_titled(channel, article)}"
        f'<enclosure url="{article.audio_url}" type="audio/mpeg" length="{AUDIO_BYTES}"/>'
        f"<itunes:duration>{12 + article.number % 40}:30</itunes:duration>"
        f'<itunes:episode>{article.number}</itunes:episode><itunes:image href="{article.image_url}"/>'
    )


def _loosely_dated_item(channel: FeedContent, article: Article) -> str:
    """Of five items one is dated three days ahead, one in 2099, one not at all."""
    at = article.published_at
    odd = {0: _published(at + timedelta(days=3)), 1: _published(at.replace(year=2099, month=1, day=1)), 2: ""}
    return _titled(channel, article, odd.get(article.number % 5))


def _linkless_item(channel: FeedContent, article: Article) -> str:
    guid = f'<guid isPermaLink="true">{escape(channel.link(article))}</guid>'
    when = _published(article.published_at)
    return f"{_tag('title', article.title)}{guid}{when}{_tag('description', article.summary)}"


def _picture_enclosure(article: Article) -> str:
    return f'<enclosure url="{article.image_url}" type="image/png" length="900"/>'


def _rss090(channel: FeedContent) -> str:
    items = "\n".join(f"<item>{_bare_item(channel, article)}</item>" for article in channel.articles)
    return (
        f'<rdf:RDF {_RDF} xmlns="http://my.netscape.com/rdf/simple/0.9/">\n'
        f"<channel>{_heading(channel)}</channel>\n{items}\n</rdf:RDF>"
    )


def _rdf(channel: FeedContent) -> str:
    listing = "".join(f'<rdf:li rdf:resource="{escape(channel.link(a))}"/>' for a in channel.articles)
    items = "\n".join(
        f'<item rdf:about="{escape(channel.link(a))}">{_summary_item(channel, a)}'
        f"<dc:date>{a.published_at.isoformat()}</dc:date>{_tag('dc:creator', a.author)}"
        f"<dc:subject>{a.section}</dc:subject>{_tag('content:encoded', _html(a))}</item>"
        for a in channel.articles
    )
    return (
        f'<rdf:RDF {_RDF} xmlns="http://purl.org/rss/1.0/" {_NAMESPACES}>\n'
        f'<channel rdf:about="{channel.feed_url}">{_heading(channel)}'
        f"<dc:language>{channel.site.language}</dc:language>"
        f"<items><rdf:Seq>{listing}</rdf:Seq></items></channel>\n{items}\n</rdf:RDF>"
    )


def _atom(channel: FeedContent) -> str:
    site, entries = channel.site, "\n".join(_entry(channel, article) for article in channel.articles)
    return (
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{site.language}" xml:base="{channel.site_url}/">\n'
        f'{_tag("title", site.title)}{_tag("subtitle", site.tagline)}<link href="/"/>'
        f'<link rel="self" type="application/atom+xml" href="{channel.feed.path}"/><id>tag:{site.host},2000:feed</id>'
        f"<updated>{channel.updated_at.isoformat()}</updated><generator>Zoo Publisher</generator>\n{entries}\n</feed>"
    )


def _entry(channel: FeedContent, article: Article) -> str:
    """The link is relative, so that only a reader that honours xml:base gets it right."""
    link = escape(urlsplit(article.url).path if not channel.feed.articles_of else channel.link(article))
    moment = article.published_at.isoformat()
    contents = (  # three kinds of content take turns
        f'<content type="xhtml" xml:base="pictures/">{_XHTML}{_html(article)}</div></content>',
        f'<content type="html">{escape(_html(article))}</content>',
        f'<content type="text">{escape(" ".join(article.paragraphs))}</content>',
    )
    return (
        f'<entry><title type="html">{escape(escape(article.title, quote=False))}</title><link href="{link}"/>'
        f"<id>{channel.id(article)}</id><published>{moment}</published>"
        f"<updated>{moment}</updated><author>{_tag('name', article.author)}</author>"
        f'<category term="{article.section}"/>{_tag("summary", article.summary)}{contents[article.number % 3]}</entry>'
    )


def _atom03(channel: FeedContent) -> str:
    site, entries = channel.site, "\n".join(_entry03(channel, article) for article in channel.articles)
    return (
        f'<feed version="0.3" xmlns="http://purl.org/atom/ns#" xml:lang="{site.language}">\n'
        f"{_tag('title', site.title)}{_tag('tagline', site.tagline)}"
        f'<link rel="alternate" type="text/html" href="{channel.site_url}/"/>'
        f"<modified>{channel.updated_at.isoformat()}</modified>\n{entries}\n</feed>"
    )


def _entry03(channel: FeedContent, article: Article) -> str:
    moment = article.published_at.isoformat()
    return (
        f"<entry>{_tag('title', article.title)}"
        f'<link rel="alternate" type="text/html" href="{escape(channel.link(article))}"/>'
        f"<id>{channel.id(article)}</id><issued>{moment}</issued><modified>{moment}</modified>"
        f"<author>{_tag('name', article.author)}</author>{_tag('summary', article.summary)}"
        f'<content type="text/html" mode="escaped">{escape(_html(article))}</content></entry>'
    )


def _json(channel: FeedContent, version: str) -> str:
    site, is_newer = channel.site, version == "1.1"
    items = [
        {
            "id": channel.id(one), "url": channel.link(one), "title": one.title, "summary": one.summary,
            "content_html": _html(one), "date_published": one.published_at.isoformat(), "image": one.image_url,
            "tags": [one.section],
            **({"authors": [{"name": one.author}]} if is_newer else {"author": {"name": one.author}}),
        }
        for one in channel.articles
    ]  # fmt: skip
    feed = {
        "version": f"https://jsonfeed.org/version/{version}", "title": site.title, "description": site.tagline,
        "home_page_url": f"{channel.site_url}/", "feed_url": channel.feed_url, "items": items,
    }  # fmt: skip
    return json.dumps(feed | ({"language": site.language} if is_newer else {}), ensure_ascii=False, indent=1)


_PODCAST = "<itunes:author>{}</itunes:author><itunes:explicit>false</itunes:explicit>"
_PATIENT = (
    "<ttl>180</ttl><skipHours><hour>2</hour><hour>3</hour></skipHours><skipDays><day>Sunday</day></skipDays>"
    "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>1</sy:updateFrequency>"
)
RENDERERS: Mapping[Dialect, Callable[[FeedContent], str]] = {
    "rss2": lambda channel: _rss2(channel, _full_item),
    "podcast": lambda channel: _rss2(channel, _episode, _PODCAST.format(escape(channel.site.title))),
    "microblog": lambda channel: _rss2(channel, _note),
    "calendar": lambda channel: _rss2(channel, _loosely_dated_item),
    "permalink": lambda channel: _rss2(channel, _linkless_item),
    "patient": lambda channel: _rss2(channel, _full_item, _PATIENT),
    "rss092": lambda channel: _old_rss(channel, "0.92", _rss092_item),
    "rss091": lambda channel: f"{_NETSCAPE}\n{_old_rss(channel, '0.91', _summary_item)}",
    "rss090": _rss090,
    "rdf": _rdf,
    "atom": _atom,
    "atom03": _atom03,
    "json10": lambda channel: _json(channel, "1"),
    "json11": lambda channel: _json(channel, "1.1"),
}
