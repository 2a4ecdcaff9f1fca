"""Article pages in five layouts, with the title and text of the feed, among boilerplate that extraction must remove."""

import json
from collections.abc import Callable
from html import escape

from headwater_lab.zoo.articles import Article
from headwater_lab.zoo.sites import Layout, Site

_ADVERT = "Sponsored: waterproof socks for the discerning lighthouse handler, now half price"
_COOKIES = "We bake biscuits, not cookies. By reading on you agree that this is funny."


def article_page(site: Site, article: Article) -> str:
    return _LAYOUTS[site.layout](site, article)


def feed_links(site: Site) -> str:
    """The links by which feed readers discover feeds."""
    return "".join(
        f'<link rel="alternate" type="{_type_of(feed.dialect)}" title="{escape(site.title)}" href="{feed.path}">'
        for feed in site.feeds
    )


def declares_icon(site: Site) -> bool:
    return site.layout in {"semantic", "rich"}


def icon_link(site: Site) -> str:
    return '<link rel="icon" type="image/png" sizes="64x64" href="/icon.png">' if declares_icon(site) else ""


def menu(site: Site, sections: tuple[str, ...]) -> str:
    links = "".join(f'<li><a href="/{section}/">{section.title()}</a></li>' for section in sections)
    return (
        f'<ul class="menu"><li><a href="/">{escape(site.title)}</a></li>{links}<li><a href="/about">About</a></li></ul>'
    )


def _semantic(site: Site, article: Article) -> str:
    facts = {"description": article.summary, "author": article.author}
    head = "".join(f'<meta name="{key}" content="{escape(value)}">' for key, value in facts.items())
    head += f'<meta property="og:image" content="{article.image_url}">'
    return _page(site, article, head, f"""
<header><nav>{menu(site, (article.section,))}</nav></header>
<main><article>
<h1>{escape(article.title)}</h1>
<p class="byline">By <span class="author">{escape(article.author)}</span>,
<time datetime="{article.published_at.isoformat()}">{article.published_at:%d %B %Y, %H:%M}</time></p>
<figure><img src="{article.image_url}" alt="" width="640" height="360"></figure>
{_paragraphs(article)}
</article></main>
<footer><p>{escape(site.title)}: {escape(site.tagline)}.</p></footer>""")  # fmt: skip


def _busy(site: Site, article: Article) -> str:
    related = "".join(f'<div class="card"><a href="/{article.section}/">More from {article.section}</a></div>' * 4)
    return _page(site, article, "", f"""
<div id="cookie-banner">{_COOKIES} <button>Fine</button></div>
<div class="topbar">{menu(site, (article.section,))}<div class="search"><input placeholder="Search"></div></div>
<div class="ad leaderboard">{_ADVERT}</div>
<div class="wrap"><div class="sidebar"><div class="most-read">Most read today</div>{related}</div>
<div class="content"><h1 class="headline">{escape(article.title)}</h1>
<div class="meta">{escape(article.author)} | {article.published_at:%Y-%m-%d %H:%M}</div>
<div class="body">{_paragraphs(article).replace("</p>", f'</p><div class="ad">{_ADVERT}</div>', 1)}</div>
<div class="share">Share this with somebody who would enjoy it</div><div class="related">{related}</div></div></div>
<div class="footer">Terms, conditions and the tide tables</div>""")  # fmt: skip


def _tables(site: Site, article: Article) -> str:
    breaks = "<br><br>\n".join(escape(text, quote=False) for text in article.paragraphs)
    return (
        f"<HTML><HEAD><TITLE>{escape(article.title)} - {escape(site.title)}</TITLE>"
        f'<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=utf-8"></HEAD>\n<BODY BGCOLOR="#FFFFEE">'
        f'<TABLE WIDTH="100%" BORDER=0><TR><TD COLSPAN=2 BGCOLOR="#336699"><FONT COLOR="white" SIZE=5>'
        f"{escape(site.title)}</FONT></TD></TR>\n<TR VALIGN=top><TD WIDTH=150><A HREF=/>Home</A><BR>"
        f"<A HREF=/{article.section}/>{article.section.title()}</A><BR><A HREF=/guestbook>Guestbook</A></TD>\n"
        f"<TD><FONT SIZE=5><B>{escape(article.title)}</B></FONT><BR><I>{escape(article.author)},"
        f" {article.published_at:%d.%m.%Y}</I><P>\n{breaks}\n</TD></TR></TABLE>"
        f"<HR><CENTER>Best viewed at low tide</CENTER></BODY></HTML>"
    )


def _rich(site: Site, article: Article) -> str:
    facts = {
        "@context": "https://schema.org", "@type": "NewsArticle", "headline": article.title,
        "datePublished": article.published_at.isoformat(),
        "author": [{"@type": "Person", "name": article.author}], "image": [article.image_url],
        "articleSection": article.section, "inLanguage": article.language,
        "publisher": {"@type": "Organization", "name": site.title}, "mainEntityOfPage": article.url,
    }  # fmt: skip
    graph = {"type": "article", "title": article.title, "url": article.url, "image": article.image_url,
             "site_name": site.title, "description": article.summary}  # fmt: skip
    head = "".join(f'<meta property="og:{key}" content="{escape(value)}">' for key, value in graph.items())
    script = json.dumps(facts, ensure_ascii=False).replace("</", "<\\/")
    head += f'<script type="application/ld+json">{script}</script>'
    return _page(site, article, head, f"""
<nav>{menu(site, (article.section,))}</nav>
<div class="story"><h1>{escape(article.title)}</h1><p class="standfirst">{escape(site.tagline)}</p>
<img src="{article.image_url}" alt=""><section class="story-text">{_paragraphs(article)}</section></div>
<aside><h2>Newsletter</h2><p>One letter a week, weather permitting.</p></aside>""")  # fmt: skip


def _paywall(site: Site, article: Article) -> str:
    stub = f'<article><h1>{escape(article.title)}</h1><p class="teaser">{escape(article.summary)}</p></article>'
    wall = '<div class="paywall"><h2>The rest is for subscribers</h2><p>Ask at the counter; cash or jam.</p></div>'
    head = '<meta name="robots" content="noarchive">'
    return _page(site, article, head, f"<nav>{menu(site, (article.section,))}</nav>{stub}{wall}")


def _page(site: Site, article: Article, head: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="{article.language}"><head><meta charset="utf-8">'
        f"<title>{escape(article.title)} | {escape(site.title)}</title>"
        f'<link rel="canonical" href="{article.url}">{feed_links(site)}{head}</head>\n<body>{body}</body></html>'
    )


def _paragraphs(article: Article) -> str:
    return "\n".join(f"<p>{escape(text, quote=False)}</p>" for text in article.paragraphs)


def _type_of(dialect: str) -> str:
    if dialect.startswith("json"):
        return "application/feed+json"
    return "application/atom+xml" if dialect.startswith("atom") else "application/rss+xml"


_LAYOUTS: dict[Layout, Callable[[Site, Article], str]] = {
    "semantic": _semantic,
    "busy": _busy,
    "tables": _tables,
    "rich": _rich,
    "paywall": _paywall,
}
