"""Where feeds stand by custom. Pure: an address in, addresses of feeds worth asking for out.

`KNOWN` is what single sites are known to do; `CUSTOMS` what a kind of software does on whatever host it runs. Only
patterns that hold are here. What a site declares on its own pages is not repeated, save where those pages are refused
to readers or are large.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import can_ada

_REDDIT = r"(?:www|old|new|np)\.reddit\.com|reddit\.com"
_YOUTUBE = r"(?:(?:www|m|music)\.)?youtube\.com"
_STACK_EXCHANGE = (
    r"(?:\w+\.)?(?:stackoverflow|stackexchange|superuser|serverfault|askubuntu|stackapps)\.com|mathoverflow\.net"
)
_BLOGGER = r"[\w-]+\.blogspot\.(?:com|com\.\w\w|co\.\w\w|\w\w)"
_REPOSITORY = r"/(?P<owner>[\w-]+)/(?P<repository>[\w.-]+?)(?:\.git)?"
_NO_OWNER = (
    r"/(?!(?:about|apps|collections|explore|features|login|marketplace|orgs|search|settings|sponsors|topics|trending)/)"
)


@dataclass(frozen=True, slots=True)
class Known:
    """Pages of a kind, by host and by path with query; and their feeds, with the named parts of both put in."""

    kind: str
    host: str
    path: str
    feeds: tuple[str, ...]


def _github(name: str, below: str, *feeds: str) -> Known:
    repository = "https://github.com/{owner}/{repository}"
    path = _NO_OWNER + _REPOSITORY.removeprefix("/") + below
    return Known(f"GitHub {name}", r"(?:www\.)?github\.com", path, tuple(repository + feed for feed in feeds))


def _whole_site(kind: str, host: str, feed: str) -> Known:
    """A host that is one publication: its feed is the same for all of its pages."""
    return Known(kind, host, r"/.*", ("https://{host}" + feed,))


# The first row that fits is taken.
KNOWN = (
    Known("YouTube channel", _YOUTUBE, r"/channel/(?P<id>UC[\w-]{22})(?:/.*)?",
          ("https://www.youtube.com/feeds/videos.xml?channel_id={id}",)),
    Known("YouTube user", _YOUTUBE, r"/user/(?P<name>\w+)(?:/.*)?",
          ("https://www.youtube.com/feeds/videos.xml?user={name}",)),
    Known("YouTube playlist", _YOUTUBE, r"/(?:playlist|watch)\?(?:.*&)?list=(?P<id>(?:PL|UU)[\w-]+)(?:&.*)?",
          ("https://www.youtube.com/feeds/videos.xml?playlist_id={id}",)),
    Known("Reddit thread", _REDDIT, r"/r/(?P<name>\w+)/comments/(?P<id>\w+)(?:/.*)?",
          ("https://www.reddit.com/r/{name}/comments/{id}/.rss",)),
    Known("Reddit community, sorted", _REDDIT, r"/r/(?P<name>[\w+]+)/(?P<order>hot|new|rising|top)/?(?:\?.*)?",
          ("https://www.reddit.com/r/{name}/{order}/.rss",)),
    Known("Reddit community", _REDDIT, r"/r/(?P<name>[\w+]+)/?(?:\?.*)?", ("https://www.reddit.com/r/{name}/.rss",)),
    Known("Reddit collection", _REDDIT, r"/user/(?P<name>[\w-]+)/m/(?P<collection>\w+)/?",
          ("https://www.reddit.com/user/{name}/m/{collection}/.rss",)),
    Known("Reddit user", _REDDIT, r"/(?:user|u)/(?P<name>[\w-]+)(?:/.*)?",
          ("https://www.reddit.com/user/{name}/.rss",)),
    Known("Reddit", _REDDIT, r"/", ("https://www.reddit.com/.rss",)),
    _github("releases", r"/releases(?:/.*)?", "/releases.atom"),
    _github("tags", r"/tags/?", "/tags.atom"),
    _github("commits of a branch", r"/(?:commits|tree)/(?P<branch>[\w./-]+?)/?", "/commits/{branch}.atom"),
    _github("commits", r"/commits/?", "/commits.atom"),
    _github("repository", r"(?:/.*)?", "/releases.atom", "/tags.atom", "/commits.atom"),
    Known("GitHub user", r"(?:www\.)?github\.com", _NO_OWNER + r"(?P<owner>[\w-]+)/?(?:\?.*)?",
          ("https://github.com/{owner}.atom",)),
    Known("GitLab project", r"gitlab\.com", r"(?P<project>/[\w.-]+(?:/(?!-/)[\w.-]+)+)(?:/-/.*|/)?",
          ("https://gitlab.com{project}/-/tags?format=atom", "https://gitlab.com{project}.atom")),
    Known("Codeberg repository", r"codeberg\.org", _REPOSITORY + r"(?:/.*)?",
          ("https://codeberg.org/{owner}/{repository}/releases.rss", "https://codeberg.org/{owner}/{repository}.rss")),
    Known("Codeberg user", r"codeberg\.org", r"/(?P<owner>[\w.-]+)/?", ("https://codeberg.org/{owner}.rss",)),
    Known("Medium author", r"medium\.com", r"/(?P<name>@[\w.-]+)(?:/.*)?", ("https://medium.com/feed/{name}",)),
    Known("Medium tag", r"medium\.com", r"/tag/(?P<tag>[\w-]+)(?:/.*)?", ("https://medium.com/feed/tag/{tag}",)),
    Known("Medium publication", r"medium\.com", r"/(?!m/|me/|p/)(?P<name>[\w-]+)(?:/.*)?",
          ("https://medium.com/feed/{name}",)),
    _whole_site("Medium author's own host", r"(?!www\.|help\.)[\w-]+\.medium\.com", "/feed"),
    _whole_site("Substack newsletter", r"(?!www\.|support\.)[\w-]+\.substack\.com", "/feed"),
    Known("WordPress.com topic", r"(?!www\.)[\w-]+\.wordpress\.com", r"(?P<topic>/(?:category|tag|author)/[^?]+?)/?",
          ("https://{host}{topic}/feed/",)),
    _whole_site("WordPress.com blog", r"(?!www\.)[\w-]+\.wordpress\.com", "/feed/"),
    Known("Blogger label", _BLOGGER, r"/search/label/(?P<label>[^/?]+)(?:\?.*)?",
          ("https://{host}/feeds/posts/default/-/{label}",)),
    _whole_site("Blogger blog", _BLOGGER, "/feeds/posts/default"),
    Known("Tumblr tag", r"(?!www\.)[\w-]+\.tumblr\.com", r"/tagged/(?P<tag>[^/?]+)/?", ("https://{host}/tagged/{tag}/rss",)),
    _whole_site("Tumblr blog", r"(?!www\.)[\w-]+\.tumblr\.com", "/rss"),
    Known("Tumblr blog in the dashboard", r"(?:www\.)?tumblr\.com",
          r"/(?!dashboard|explore|tagged|search|settings|login|register)(?:blog/)?(?P<name>[\w-]+)(?:/\d+.*)?/?",
          ("https://{name}.tumblr.com/rss",)),
    Known("Bluesky profile", r"bsky\.app", r"/profile/(?P<name>[\w.:-]+)(?:/.*)?",
          ("https://bsky.app/profile/{name}/rss",)),
    Known("Hacker News", r"news\.ycombinator\.com", r"/(?:news(?:\?.*)?)?", ("https://news.ycombinator.com/rss",)),
    Known("Lobsters tag", r"lobste\.rs", r"/t/(?P<tag>[\w.+-]+)/?", ("https://lobste.rs/t/{tag}.rss",)),
    Known("Lobsters", r"lobste\.rs", r"/", ("https://lobste.rs/rss",)),
    Known("Stack Exchange tag", _STACK_EXCHANGE, r"/(?:questions/tagged|tags)/(?P<tag>[^/?]+)(?:[/?].*)?",
          ("https://{host}/feeds/tag/{tag}",)),
    Known("Stack Exchange question", _STACK_EXCHANGE, r"/questions/(?P<id>\d+)(?:/.*)?",
          ("https://{host}/feeds/question/{id}",)),
    Known("Stack Exchange user", _STACK_EXCHANGE, r"/users/(?P<id>\d+)(?:/.*)?", ("https://{host}/feeds/user/{id}",)),
    Known("Stack Exchange site", _STACK_EXCHANGE, r"/(?:questions/?)?", ("https://{host}/feeds",)),
    Known("Vimeo channel", r"(?:www\.)?vimeo\.com", r"/channels/(?P<name>[\w-]+)/?",
          ("https://vimeo.com/channels/{name}/videos/rss",)),
    Known("Vimeo user", r"(?:www\.)?vimeo\.com",
          r"/(?!\d+(?:/|$)|channels|categories|features|log_in|watch)(?P<name>[\w-]+)/?",
          ("https://vimeo.com/{name}/videos/rss",)),
    Known("DEV tag", r"dev\.to", r"/t/(?P<tag>\w+)(?:/.*)?", ("https://dev.to/feed/tag/{tag}",)),
    Known("DEV author", r"dev\.to", r"/(?P<name>\w+)(?:/.*)?", ("https://dev.to/feed/{name}",)),
    _whole_site("Hashnode blog", r"[\w-]+\.hashnode\.dev", "/rss.xml"),
    _whole_site("Bear blog", r"(?!www\.|docs\.)[\w-]+\.bearblog\.dev", "/feed/"),
    Known("Buttondown newsletter", r"buttondown\.(?:com|email)", r"/(?P<name>[\w.-]+)(?:/archive.*)?/?",
          ("https://buttondown.com/{name}/rss",)),
    Known("Letterboxd member", r"(?:www\.)?letterboxd\.com", r"/(?!film|list|member|journal)(?P<name>\w+)/?",
          ("https://letterboxd.com/{name}/rss/",)),
    Known("arXiv listing", r"(?:www\.)?arxiv\.org", r"/list/(?P<name>[\w.-]+)(?:[/?].*)?",
          ("https://rss.arxiv.org/rss/{name}",)),
    Known("PyPI project", r"pypi\.org", r"/project/(?P<name>[\w.-]+)(?:/.*)?",
          ("https://pypi.org/rss/project/{name}/releases.xml",)),
    Known("Steam game", r"store\.steampowered\.com", r"/app/(?P<id>\d+)(?:/.*)?",
          ("https://store.steampowered.com/feeds/news/app/{id}",)),
)  # fmt: skip

CUSTOMS = (
    Known("Mastodon profile", r".*", r"/@(?P<name>\w+)(?:/.*)?", ("{origin}/@{name}.rss",)),
    Known("Mastodon hashtag", r".*", r"/tags/(?P<tag>\w+)/?", ("{origin}/tags/{tag}.rss",)),
    Known("Lemmy community", r".*", r"/c/(?P<name>\w+(?:@[\w.-]+)?)/?(?:\?.*)?",
          ("{origin}/feeds/c/{name}.xml?sort=New",)),
    Known("Lemmy user", r".*", r"/u/(?P<name>\w+)/?(?:\?.*)?", ("{origin}/feeds/u/{name}.xml?sort=New",)),
)  # fmt: skip

COMMON_PATHS = (
    "/feed", "/feed.xml", "/rss.xml", "/atom.xml", "/index.xml", "/rss", "/feed.json", "/blog/feed", "/blog/rss.xml",
    "/feeds/posts/default", "/index.rdf",
)  # fmt: skip

_FEED_WORD = r"(?:rss|rss2|atom|rdf|feeds?)"
_FEED_ADDRESS = re.compile(
    rf"/\.?{_FEED_WORD}(?:[-_.]?(?:\d|rss|atom|full|index|all|main|news|blog|posts))?(?:\.(?:xml|json|php|aspx?|cgi))?(?:/|$|\?)"
    rf"|\.(?:rss|atom|rdf)(?:$|\?)|[-_.](?:rss|atom|feed)\.(?:xml|json)(?:$|\?)|/(?:index|videos)\.xml(?:$|\?)"
    rf"|[?&](?:\w*feed|format|type|alt|output|mode|view)=(?:rss|rss2|atom|feed|json-?feed)(?:&|$)",
    re.IGNORECASE,
)


def known_feeds(url: str) -> Sequence[str]:
    """The feeds of a page on a site whose ways are known; none for an address that is a feed's already."""
    return () if says_feed(url) else _first(KNOWN, url)


def customary_feeds(url: str) -> Sequence[str]:
    """Where feeds stand on most sites, the likeliest first: below a section that was named, then at the root."""
    parsed = can_ada.parse(url)
    section = parsed.pathname.rstrip("/")
    is_folder = 0 < section.count("/") <= 2 and "." not in section and not says_feed(url)
    near = [f"{parsed.origin}{section}{path}" for path in COMMON_PATHS[:2]] if is_folder else []
    return (*_first(CUSTOMS, url), *near, *(parsed.origin + path for path in COMMON_PATHS))


def says_feed(url: str) -> bool:
    """Whether an address looks like that of a feed: `/feed/`, `news.rss`, `?format=atom`."""
    parsed = can_ada.parse(url)
    return _FEED_ADDRESS.search(parsed.pathname + parsed.search) is not None


def _first(table: Sequence[Known], url: str) -> Sequence[str]:
    parsed = can_ada.parse(url)
    path = parsed.pathname + parsed.search
    for known in table:
        if re.fullmatch(known.host, parsed.hostname) and (parts := re.fullmatch(known.path, path)):
            named = {**parts.groupdict(), "host": parsed.hostname, "origin": parsed.origin}
            return tuple(feed.format_map(named) for feed in known.feeds)
    return ()
