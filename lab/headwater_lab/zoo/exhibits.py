"""EXHIBITS, every feed with the outcome that polling it must have: articles, or a failure class; SIGHTS, other URLs."""

from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

from headwater_lab.zoo.sites import DOMAIN

Expectation: TypeAlias = Literal[
    "articles", "rate_limited", "unauthorized", "forbidden", "not_found", "gone", "bad_request", "upstream_failure",
    "network", "dns", "parse_error", "not_a_feed", "too_large", "redirect_loop", "bot_challenge", "ssrf_blocked",
    "unexpected",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A feed to follow; the name is also its host's first label."""

    name: str
    host: str
    path: str
    caption: str
    expects: Expectation
    group: str
    scheme: Literal["http", "https"] = "http"

    @property
    def fails(self) -> bool:
        return self.expects != "articles"


@dataclass(frozen=True, slots=True)
class Sight:
    """A URL that is not a feed: a site, a page, a robots.txt, a sitemap."""

    name: str
    host: str
    path: str
    caption: str
    group: str
    scheme: Literal["http"] = "http"


_Row: TypeAlias = tuple[str, str, str]
_BadRow: TypeAlias = tuple[Expectation, str, str]


def _good(group: str, *rows: _Row) -> tuple[Exhibit, ...]:
    return tuple(Exhibit(n, f"{n}.{DOMAIN}", path, caption, "articles", group) for n, path, caption in rows)


def _bad(group: str, *rows: _BadRow) -> tuple[Exhibit, ...]:
    return tuple(Exhibit(n, f"{n}.{DOMAIN}", "/feed.xml", caption, expects, group) for expects, n, caption in rows)


def _sights(group: str, *rows: _Row) -> tuple[Sight, ...]:
    return tuple(Sight(f"{n}{path}", f"{n}.{DOMAIN}", path, caption, group) for n, path, caption in rows)


EXHIBITS: tuple[Exhibit, ...] = tuple(chain(
    _good("Newspapers in every dialect",
        ("daily", "/feed.xml", "RSS 2.0 with full text, authors, pictures and enclosures; a new story every 20 s."),
        ("gazette", "/index.rdf", "RSS 1.0, the one that is RDF."),
        ("courier", "/rss.xml", "RSS 0.92: no dates, categories and enclosures."),
        ("almanac", "/rss.xml", "RSS 0.91 with its Netscape DOCTYPE."),
        ("museum", "/feed.rdf", "RSS 0.90, the very first: titles and links only."),
        ("observatory", "/atom.xml", "Atom 1.0: xhtml, html and text content in turn, relative links under xml:base."),
        ("lantern", "/atom.xml", "Atom 0.3, from before the standard."),
        ("signal", "/feed.json", "JSON Feed 1.0."),
        ("meadow", "/feed.json", "JSON Feed 1.1."),
        ("campfire", "/podcast.xml", "A podcast, with audio enclosures and durations."),
        ("sparrow", "/feed.xml", "A microblog: entries without titles."),
        ("ledger", "/feed.xml", "A feed that lists its last thousand entries; its pages are behind a paywall."),
        ("permalink", "/feed.xml", "Entries without a link, whose guid is the address."),
        ("calendar", "/feed.xml", "Entries dated in the future, and entries without a date."),
        ("patient", "/feed.xml", "Limits polling: max-age, ttl, skipHours, skipDays and sy:updatePeriod."),
        ("morning-echo", "/feed.xml", "Lists the same article URLs as the two other Echoes, as RSS."),
        ("evening-echo", "/atom.xml", "Lists the same article URLs as the two other Echoes, as Atom."),
        ("night-echo", "/feed.json", "Lists the same article URLs as the two other Echoes, with tracking tags."),
        ("hermit", "/feed.xml", "A good feed on a host whose robots.txt disallows every page."),
        ("robots-broken", "/feed.xml", "A good feed on a host whose robots.txt answers 500."),
        ("robots-garbage", "/feed.xml", "A good feed on a host whose robots.txt is a web page."),
    ),
    _good("Newsrooms that report the same events",
        ("tribune", "/feed.xml", "Sport, politics, business and more, in RSS; pages rich in JSON-LD."),
        ("standard", "/atom.xml", "The same events in other words, in Atom."),
        ("chronicle", "/feed.xml", "The same events in other words."),
        ("dispatch", "/feed.json", "The same events in other words, in JSON Feed."),
        ("newswire", "/atom.xml", "The same events in other words, on pages full of menus."),
    ),
    _good("Languages and encodings",
        ("rivage", "/flux.xml", "French in ISO-8859-1."),
        ("moewe", "/feed.xml", "German in windows-1252 that calls itself UTF-8."),
        ("plaza", "/atom.xml", "Spanish in UTF-8."),
        ("akti", "/feed.xml", "Greek in UTF-16 with a byte order mark."),
        ("chaoshi", "/feed.xml", "Chinese in GB18030."),
        ("minato", "/feed.xml", "Japanese in Shift_JIS."),
        ("bogus-encoding", "/feed.xml", "UTF-8 that declares an unknown encoding."),
        ("contradiction", "/feed.xml", "UTF-8 whose Content-Type insists on us-ascii."),
    ),
    _good("Broken, and still readable",
        ("ampersand", "/feed.xml", "Bare ampersands in every title."),
        ("entities", "/feed.xml", "HTML entities that XML does not define."),
        ("unclosed", "/feed.xml", "A tag that is never closed."),
        ("preamble", "/feed.xml", "Blank lines before the XML declaration."),
        ("epilogue", "/feed.xml", "Markup and prose after the end of the document."),
        ("control", "/feed.xml", "Control characters that XML forbids."),
        ("undeclared", "/feed.xml", "A namespace prefix that is never declared."),
        ("cut", "/feed.xml", "Served cleanly, and cut off in the middle: what came before counts."),
        ("outsider", "/feed.xml", "Refers to /etc/passwd as an external entity: read the feed, never the file."),
    ),
    _good("Oddly labelled, compressed or validated",
        ("as-html", "/feed.xml", "A good feed that is called text/html."),
        ("as-text", "/feed.xml", "A good feed that is called text/plain."),
        ("as-bytes", "/feed.xml", "A good feed that is called application/octet-stream."),
        ("untyped", "/feed.xml", "A good feed with an empty Content-Type."),
        ("gzipped", "/feed.xml", "Compressed with gzip, accepted or not."),
        ("deflated", "/feed.xml", "Compressed with deflate, in its zlib wrapper."),
        ("raw-deflated", "/feed.xml", "Compressed with deflate, without the wrapper."),
        ("brotli", "/feed.xml", "Compressed with brotli."),
        ("zstandard", "/feed.xml", "Compressed with zstd."),
        ("weak-tag", "/feed.xml", "A weak ETag."),
        ("tag-only", "/feed.xml", "An ETag and no Last-Modified."),
        ("date-only", "/feed.xml", "Last-Modified and no ETag."),
        ("no-validators", "/feed.xml", "Neither ETag nor Last-Modified: always 200."),
        ("stuck", "/feed.xml", "Its validators never change, so that it always answers 304."),
    ),
    _good("Redirects to a good feed",
        ("moved", "/feed.xml", "301 to another path of its own."),
        ("moved-308", "/feed.xml", "308 to another path of its own."),
        ("merged", "/feed.xml", "301 to the feed of the Zoo Daily, which others follow already."),
        ("visiting", "/feed.xml", "302 to another path: temporary."),
        ("visiting-307", "/feed.xml", "307 to another path: temporary."),
        ("hops", "/feed.xml", "A chain of four redirects."),
    ),
    _good("Feeds that fail after a while",
        ("flicker", "/feed.xml", "Works for 20 s, 503 for 10 s, and again."),
        ("forgetful", "/feed.xml", "Works for 30 s, 404 for 30 s, and again."),
        ("farewell", "/feed.xml", "Works for 45 s, then 410 for ever."),
        ("mover", "/feed.xml", "Works for 45 s, then 301 to its new address."),
    ),
    _bad("Failures: statuses",
        ("bad_request", "bad-request", "400: bad request."),
        ("unauthorized", "unauthorized", "401: needs a password."),
        ("forbidden", "forbidden", "403: without a reason."),
        ("not_found", "missing", "404: nothing there."),
        ("gone", "gone", "410: gone for good."),
        ("bad_request", "teapot", "418: one of the other 4xx."),
        ("bad_request", "legal", "451: withheld by law."),
        ("rate_limited", "busy-seconds", "429 with Retry-After: 120."),
        ("rate_limited", "busy-until", "429 with Retry-After as a date, two minutes from now."),
        ("rate_limited", "busy", "429 without Retry-After."),
        ("upstream_failure", "broken", "500: an internal error."),
        ("upstream_failure", "bad-gateway", "502: a server behind it is down."),
        ("upstream_failure", "resting", "503 with Retry-After: 300."),
        ("upstream_failure", "gateway-timeout", "504: a server behind it is slow."),
        ("bot_challenge", "challenge", "403 with a challenge page for browsers."),
        ("bot_challenge", "challenge-503", "503 with a challenge page for browsers."),
    ),
    _bad("Failures: connections",
        ("network", "silent", "Accepts the connection and never answers."),
        ("network", "drip", "One byte every half second, for ever."),
        ("network", "slammed", "Resets the connection before it answers."),
        ("network", "dropped", "Resets the connection in the middle of the body."),
        ("network", "short", "Promises more bytes than it sends."),
        ("network", "mailman", "Answers, and not in HTTP."),
        ("network", "shouting", "Headers of three megabytes."),
    ),
    (
        Exhibit("plaintext", f"plaintext.{DOMAIN}", "/feed.xml", "https, on a port without TLS.", "network",
                "Failures: connections", "https"),
        Exhibit("nowhere", "nowhere.invalid", "/feed.xml", "A host name that does not exist.", "dns",
                "Failures: connections"),
    ),
    _bad("Failures: not a feed",
        ("not_a_feed", "picture", "A PNG image."),
        ("not_a_feed", "leaflet", "A PDF."),
        ("not_a_feed", "parcel", "A zip archive that is called RSS."),
        ("not_a_feed", "lobby", "A web page, with a link to where the feed really is."),
        ("not_a_feed", "login", "A login page that is called RSS."),
        ("not_a_feed", "prose", "Plain text."),
        ("not_a_feed", "api", "JSON that is not a JSON Feed."),
        ("not_a_feed", "drawing", "Well-formed XML that is not a feed."),
        ("parse_error", "noise", "Begins like RSS and goes on as noise."),
        ("parse_error", "empty", "200 with no body at all."),
        ("parse_error", "blank", "200 with nothing but white space."),
        ("parse_error", "laughs", "A billion laughs: entities that expand to gigabytes."),
        ("parse_error", "abyss", "A hundred thousand tags deep before the feed begins."),
    ),
    _bad("Failures: redirects",
        ("redirect_loop", "too-many-hops", "A chain of six redirects."),
        ("redirect_loop", "carousel", "Two URLs that redirect to each other."),
        ("redirect_loop", "mirror", "Redirects to itself."),
        ("unexpected", "signpost", "302 without a Location."),
        ("ssrf_blocked", "tunnel-metadata", "Redirects to a cloud's metadata service."),
        ("ssrf_blocked", "tunnel-private", "Redirects into a private network."),
        ("ssrf_blocked", "tunnel-loopback", "Redirects to the reader's own machine, over IPv6."),
        ("ssrf_blocked", "tunnel-file", "Redirects to a file."),
        ("ssrf_blocked", "tunnel-ftp", "Redirects to FTP."),
    ),
    _bad("Failures: too large",
        ("too_large", "elephant", "50 MB, and says so in Content-Length."),
        ("too_large", "whale", "50 MB in chunks, without saying so."),
        ("too_large", "bomb-gzip", "256 MB of white space, compressed with gzip."),
        ("too_large", "bomb-brotli", "256 MB of white space, compressed with brotli."),
        ("too_large", "bomb-zstd", "256 MB of white space, compressed with zstd."),
        ("too_large", "bomb-stacked", "256 MB of white space, compressed with gzip twice over."),
    ),
))  # fmt: skip

SIGHTS: tuple[Sight, ...] = tuple(chain(
    _sights("Sites, by what they offer a crawler",
        ("daily", "/", "Feed, sitemap, news sitemap and robots.txt; pages rich in JSON-LD and Open Graph."),
        ("atlas", "/", "Sitemaps in a nested index and no feed."),
        ("village", "/", "Neither feed nor sitemap; some paths are fenced off."),
        ("wire", "/", "Pages full of menus, advertisements and related links."),
        ("labyrinth", "/", "A trap for spiders: every page links deeper, for ever."),
    ),
    _sights("robots.txt",
        ("daily", "/robots.txt", "Allows all, names two sitemaps."),
        ("gazette", "/robots.txt", "Asks for two seconds between requests."),
        ("village", "/robots.txt", "Keeps robots out of /members/."),
        ("hermit", "/robots.txt", "Keeps robots out altogether."),
        ("sparrow", "/robots.txt", "404: all is allowed."),
        ("robots-broken", "/robots.txt", "500: nothing is allowed."),
        ("robots-garbage", "/robots.txt", "A web page in place of rules."),
    ),
    _sights("Sitemaps",
        ("daily", "/sitemap.xml", "One XML file."),
        ("daily", "/news-sitemap.xml", "A news sitemap."),
        ("observatory", "/sitemap.xml.gz", "Compressed with gzip."),
        ("courier", "/sitemap.txt", "Plain text."),
        ("atlas", "/sitemap_index.xml", "An index of parts, one of them an index again, one of them missing."),
    ),
    _sights("Hostile pages",
        ("den", "/huge.html", "A page of 50 MB."),
        ("den", "/nested.html", "A million nested tags."),
        ("den", "/attributes.html", "One tag with a megabyte of attributes."),
        ("den", "/bomb.html", "A gzip bomb of 256 MB."),
        ("den", "/drip.html", "A drip that never ends."),
        ("den", "/archive.html", "A page that is really a zip."),
        ("den", "/leaflet.html", "A page that is really a PDF."),
    ),
))  # fmt: skip
