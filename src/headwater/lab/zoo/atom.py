"""Atom 1.0 and 0.3, and JSON Feed 1.0 and 1.1.

In: a Channel. Out: the document as text.
"""

import json
from html import escape
from urllib.parse import urlsplit

from headwater.lab.zoo.press import Article
from headwater.lab.zoo.rss import Channel, paragraphs_html


def atom(channel: Channel) -> str:
    site, entries = channel.site, "\n".join(_entry(channel, article) for article in channel.articles)
    return (
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{site.language}" xml:base="{channel.site_url}/">\n'
        f'<title>{escape(site.title)}</title><subtitle>{escape(site.tagline)}</subtitle><link href="/"/>'
        f'<link rel="self" type="application/atom+xml" href="{channel.feed.path}"/><id>tag:{site.host},2000:feed</id>'
        f"<updated>{channel.updated_at.isoformat()}</updated><generator>Zoo Press</generator>\n{entries}\n</feed>"
    )


def atom03(channel: Channel) -> str:
    site, entries = channel.site, "\n".join(_entry03(channel, article) for article in channel.articles)
    return (
        f'<feed version="0.3" xmlns="http://purl.org/atom/ns#" xml:lang="{site.language}">\n'
        f"<title>{escape(site.title)}</title><tagline>{escape(site.tagline)}</tagline>"
        f'<link rel="alternate" type="text/html" href="{channel.site_url}/"/>'
        f"<modified>{channel.updated_at.isoformat()}</modified>\n{entries}\n</feed>"
    )


def json10(channel: Channel) -> str:
    return _json(channel, "https://jsonfeed.org/version/1")


def json11(channel: Channel) -> str:
    return _json(channel, "https://jsonfeed.org/version/1.1")


def _entry(channel: Channel, article: Article) -> str:
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


def _entry03(channel: Channel, article: Article) -> str:
    moment = article.published_at.isoformat()
    return (
        f"<entry><title>{escape(article.title)}</title>"
        f'<link rel="alternate" type="text/html" href="{escape(channel.link(article))}"/>'
        f"<id>tag:{channel.site.host},2000:{article.number}</id><issued>{moment}</issued><modified>{moment}</modified>"
        f"<author><name>{escape(article.author)}</name></author><summary>{escape(article.summary)}</summary>"
        f'<content type="text/html" mode="escaped">{escape(paragraphs_html(article))}</content></entry>'
    )


def _json(channel: Channel, version: str) -> str:
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


def _item(channel: Channel, article: Article, version: str) -> dict[str, object]:
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
