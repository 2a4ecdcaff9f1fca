"""URLs at which feeds usually are. Pure. Only patterns that hold are here. What a site declares on its own pages is not
repeated, unless those pages are large or refused to programs."""

import re
from collections.abc import Mapping, Sequence

import can_ada

_GITHUB_OWNER = (
    r"/(?!(?:about|apps|collections|explore|features|login|marketplace|orgs|search|settings|sponsors|topics|trending)/)"
    r"(?P<owner>[\w-]+)"
)
_REPOSITORY = r"/(?P<repository>[\w.-]+?)(?:\.git)?"
_GITHUB_REPOSITORY = _GITHUB_OWNER + _REPOSITORY
_GITHUB_URL = "https://github.com/{owner}/{repository}"
_STACK_EXCHANGE = (
    r"(?:\w+\.)?(?:stackoverflow|stackexchange|superuser|serverfault|askubuntu|stackapps)\.com|mathoverflow\.net"
)

# By host: the path with query of a page, and its feeds, with the named parts of the path. The first match is taken.
_Table = Mapping[str, Sequence[tuple[str, ...]]]
KNOWN: _Table = {
    r"(?:(?:www|m|music)\.)?youtube\.com": (
        (r"/channel/(?P<id>UC[\w-]{22})(?:/.*)?", "https://www.youtube.com/feeds/videos.xml?channel_id={id}"),
        (r"/user/(?P<name>\w+)(?:/.*)?", "https://www.youtube.com/feeds/videos.xml?user={name}"),
        (r"/(?:playlist|watch)\?(?:.*&)?list=(?P<id>(?:PL|UU)[\w-]+)(?:&.*)?",
         "https://www.youtube.com/feeds/videos.xml?playlist_id={id}"),
    ),
    r"(?:www|old|new|np)\.reddit\.com|reddit\.com": (
        (r"/r/(?P<name>\w+)/comments/(?P<id>\w+)(?:/.*)?", "https://www.reddit.com/r/{name}/comments/{id}/.rss"),
        (r"/r/(?P<name>[\w+]+)/(?P<order>hot|new|rising|top)/?(?:\?.*)?", "https://www.reddit.com/r/{name}/{order}/.rss"),
        (r"/r/(?P<name>[\w+]+)/?(?:\?.*)?", "https://www.reddit.com/r/{name}/.rss"),
        (r"/user/(?P<name>[\w-]+)/m/(?P<collection>\w+)/?", "https://www.reddit.com/user/{name}/m/{collection}/.rss"),
        (r"/(?:user|u)/(?P<name>[\w-]+)(?:/.*)?", "https://www.reddit.com/user/{name}/.rss"),
        (r"/", "https://www.reddit.com/.rss"),
    ),
    r"(?:www\.)?github\.com": (
        (_GITHUB_REPOSITORY + r"/releases(?:/.*)?", _GITHUB_URL + "/releases.atom"),
        (_GITHUB_REPOSITORY + r"/tags/?", _GITHUB_URL + "/tags.atom"),
        (_GITHUB_REPOSITORY + r"/(?:commits|tree)/(?P<branch>[\w./-]+?)/?", _GITHUB_URL + "/commits/{branch}.atom"),
        (_GITHUB_REPOSITORY + r"/commits/?", _GITHUB_URL + "/commits.atom"),
        (_GITHUB_REPOSITORY + r"(?:/.*)?", *(f"{_GITHUB_URL}/{kind}.atom" for kind in ("releases", "tags", "commits"))),
        (_GITHUB_OWNER + r"/?(?:\?.*)?", "https://github.com/{owner}.atom"),
    ),
    r"gitlab\.com": (
        (r"(?P<project>/[\w.-]+(?:/(?!-/)[\w.-]+)+)(?:/-/.*|/)?",
         "https://gitlab.com{project}/-/tags?format=atom", "https://gitlab.com{project}.atom"),
    ),
    r"codeberg\.org": (
        (r"/(?P<owner>[\w-]+)" + _REPOSITORY + r"(?:/.*)?",
         "https://codeberg.org/{owner}/{repository}/releases.rss", "https://codeberg.org/{owner}/{repository}.rss"),
        (r"/(?P<owner>[\w.-]+)/?", "https://codeberg.org/{owner}.rss"),
    ),
    r"medium\.com": (
        (r"/(?P<name>@[\w.-]+)(?:/.*)?", "https://medium.com/feed/{name}"),
        (r"/tag/(?P<tag>[\w-]+)(?:/.*)?", "https://medium.com/feed/tag/{tag}"),
        (r"/(?!m/|me/|p/)(?P<name>[\w-]+)(?:/.*)?", "https://medium.com/feed/{name}"),
    ),
    r"(?!www\.|help\.)[\w-]+\.medium\.com": ((r"/.*", "https://{host}/feed"),),
    r"(?!www\.|support\.)[\w-]+\.substack\.com": ((r"/.*", "https://{host}/feed"),),
    r"(?!www\.)[\w-]+\.wordpress\.com": (
        (r"(?P<topic>/(?:category|tag|author)/[^?]+?)/?", "https://{host}{topic}/feed/"),
        (r"/.*", "https://{host}/feed/"),
    ),
    r"[\w-]+\.blogspot\.(?:com|com\.\w\w|co\.\w\w|\w\w)": (
        (r"/search/label/(?P<label>[^/?]+)(?:\?.*)?", "https://{host}/feeds/posts/default/-/{label}"),
        (r"/.*", "https://{host}/feeds/posts/default"),
    ),
    r"(?!www\.)[\w-]+\.tumblr\.com": (
        (r"/tagged/(?P<tag>[^/?]+)/?", "https://{host}/tagged/{tag}/rss"),
        (r"/.*", "https://{host}/rss"),
    ),
    r"(?:www\.)?tumblr\.com": (
        (r"/(?!dashboard|explore|tagged|search|settings|login|register)(?:blog/)?(?P<name>[\w-]+)(?:/\d+.*)?/?",
         "https://{name}.tumblr.com/rss"),
    ),
    r"bsky\.app": ((r"/profile/(?P<name>[\w.:-]+)(?:/.*)?", "https://bsky.app/profile/{name}/rss"),),
    r"news\.ycombinator\.com": ((r"/(?:news(?:\?.*)?)?", "https://news.ycombinator.com/rss"),),
    r"lobste\.rs": ((r"/t/(?P<tag>[\w.+-]+)/?", "https://lobste.rs/t/{tag}.rss"), (r"/", "https://lobste.rs/rss")),
    _STACK_EXCHANGE: (
        (r"/(?:questions/tagged|tags)/(?P<tag>[^/?]+)(?:[/?].*)?", "https://{host}/feeds/tag/{tag}"),
        (r"/questions/(?P<id>\d+)(?:/.*)?", "https://{host}/feeds/question/{id}"),
        (r"/users/(?P<id>\d+)(?:/.*)?", "https://{host}/feeds/user/{id}"),
        (r"/(?:questions/?)?", "https://{host}/feeds"),
    ),
    r"(?:www\.)?vimeo\.com": (
        (r"/channels/(?P<name>[\w-]+)/?", "https://vimeo.com/channels/{name}/videos/rss"),
        (r"/(?!\d+(?:/|$)|channels|categories|features|log_in|watch)(?P<name>[\w-]+)/?",
         "https://vimeo.com/{name}/videos/rss"),
    ),
    r"dev\.to": (
        (r"/t/(?P<tag>\w+)(?:/.*)?", "https://dev.to/feed/tag/{tag}"),
        (r"/(?P<name>\w+)(?:/.*)?", "https://dev.to/feed/{name}"),
    ),
    r"[\w-]+\.hashnode\.dev": ((r"/.*", "https://{host}/rss.xml"),),
    r"(?!www\.|docs\.)[\w-]+\.bearblog\.dev": ((r"/.*", "https://{host}/feed/"),),
    r"buttondown\.(?:com|email)": ((r"/(?P<name>[\w.-]+)(?:/archive.*)?/?", "https://buttondown.com/{name}/rss"),),
    r"(?:www\.)?letterboxd\.com": (
        (r"/(?!film|list|member|journal)(?P<name>\w+)/?", "https://letterboxd.com/{name}/rss/"),
    ),
    r"(?:www\.)?arxiv\.org": ((r"/list/(?P<name>[\w.-]+)(?:[/?].*)?", "https://rss.arxiv.org/rss/{name}"),),
    r"pypi\.org": ((r"/project/(?P<name>[\w.-]+)(?:/.*)?", "https://pypi.org/rss/project/{name}/releases.xml"),),
    r"store\.steampowered\.com": ((r"/app/(?P<id>\d+)(?:/.*)?", "https://store.steampowered.com/feeds/news/app/{id}"),),
}  # fmt: skip
# Mastodon and Lemmy, on any host.
BY_SOFTWARE: _Table = {
    r".*": (
        (r"/@(?P<name>\w+)(?:/.*)?", "{origin}/@{name}.rss"),
        (r"/tags/(?P<tag>\w+)/?", "{origin}/tags/{tag}.rss"),
        (r"/c/(?P<name>\w+(?:@[\w.-]+)?)/?(?:\?.*)?", "{origin}/feeds/c/{name}.xml?sort=New"),
        (r"/u/(?P<name>\w+)/?(?:\?.*)?", "{origin}/feeds/u/{name}.xml?sort=New"),
    )
}

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
    """The feeds of a page of a known site; none for the URL of a feed."""
    return () if looks_like_feed(url) else _first(KNOWN, url)


def usual_feeds(url: str) -> Sequence[str]:
    """Usual URLs of feeds, the likeliest first: below the section of this URL, then at the root."""
    parsed = can_ada.parse(url)
    section = parsed.pathname.rstrip("/")
    is_folder = 0 < section.count("/") <= 2 and "." not in section and not looks_like_feed(url)
    near = [f"{parsed.origin}{section}{path}" for path in COMMON_PATHS[:2]] if is_folder else []
    return (*_first(BY_SOFTWARE, url), *near, *(parsed.origin + path for path in COMMON_PATHS))


def looks_like_feed(url: str) -> bool:
    """Whether a URL looks like that of a feed: `/feed/`, `news.rss`, `?format=atom`."""
    parsed = can_ada.parse(url)
    return _FEED_ADDRESS.search(parsed.pathname + parsed.search) is not None


def _first(table: _Table, url: str) -> Sequence[str]:
    parsed = can_ada.parse(url)
    rows = [row for host, rows in table.items() if re.fullmatch(host, parsed.hostname) for row in rows]
    for path, *feeds in rows:
        if parts := re.fullmatch(path, parsed.pathname + parsed.search):
            named = {**parts.groupdict(), "host": parsed.hostname, "origin": parsed.origin}
            return tuple(feed.format_map(named) for feed in feeds)
    return ()
