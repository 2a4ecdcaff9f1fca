"""Parsing, normalising and comparing URLs.

A URL is stored as given, for fetching; `canonical` and `url_key` compare. The key omits the scheme, so that http and
https are one page and a site without https still works, and the final dot of a host: `example.com.` is `example.com`.
"""

import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

import can_ada
from tld import get_fld  # pyright: ignore[reportUnknownVariableType]  its **kwargs have no type

from headwater.errors import InvalidUrl

MAX_LENGTH = 2048
HOST_MAX = 253  # RFC 1035: no longer name can be resolved

TRACKING_PARAMETERS = frozenset(
    {"fbclid", "gclid", "gclsrc", "dclid", "msclkid", "ref"}
    | {f"utm_{name}" for name in ("source", "medium", "campaign", "term", "content")}
)

# Blog hosts that the public suffix list does not name; each of their subdomains has an owner of its own.
BLOG_HOSTS = frozenset({
    "beehiiv.com", "blog.jp", "blogfa.com", "canalblog.com", "cocolog-nifty.com", "dreamwidth.org", "exblog.jp",
    "ghost.io", "hashnode.dev", "jimdofree.com", "livedoor.blog", "livejournal.com", "mataroa.blog", "medium.com",
    "micro.blog", "neocities.org", "over-blog.com", "posthaven.com", "prose.sh", "squarespace.com", "substack.com",
    "svbtle.com", "tistory.com", "tumblr.com", "typepad.com", "weebly.com", "wordpress.com", "write.as",
})  # fmt: skip

_FILE = re.compile(
    r""".*\.(?:
    avif|bmp|gif|heic|ico|jpe?g|png|psd|svg|tiff?|webp
    |3gp|aac|avi|flac|flv|m3u8|m4[av]|mkv|mov|mp[34]|mpe?g|og[agv]|opus|wav|webm|wm[av]
    |7z|apk|bin|bz2|deb|dmg|exe|gz|iso|jar|msi|pkg|rar|rpm|tar|tgz|xz|zip
    |csv|docx?|epub|key|mobi|od[pst]|pdf|pp[st]x?|ps|rtf|xlsx?
    |atom|css|eot|ics|js|json|map|mjs|otf|rss|torrent|ttf|txt|wasm|woff2?|xml
    )""",
    re.IGNORECASE | re.VERBOSE,
)
MASK = "***"
# Of any scheme, or of none: a redirect may lead to ftp://…, or to //host/…. An apostrophe may be part of a path. The
# length of a scheme is bounded, because a server chooses the text: `a.a.a…` would take time in its square.
_URL = re.compile(
    r"(?:\b[a-z][a-z0-9+.-]{0,30}:)?//(?:[^\s\"'<>]|'(?![,:;.)\]}]*(?:\s|$)|[,:;.)\]}]+['\"]))+", re.IGNORECASE
)
# A path segment that looks like a key: a UUID, or 20 or more letters and digits without a hyphen.
_KEY = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?:\.\w{1,5})?"
    r"|(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_]{20,}(?:\.\w{1,5})?"
)
# With hyphens or dots, words are told from keys by how often letters and digits change within a part. Four random keys
# in ten of `secrets.token_urlsafe(32)` have a hyphen; in a slug such as `iPhone15-and-COP29-news`, few parts have both.
_PARTED = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[\w.~=-]{20,}", re.ASCII)
_RUN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_PART = re.compile(r"[A-Za-z0-9]+")
_LEAST_CHANGES = 0.25  # per character
_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:")
_PATH = re.compile(r"[/\\](?![/\\][^/\\])|[.~]{1,2}(?:[/\\]|$)")  # /feed, ./feed, ~/feed; //host/feed is none
_HOST_AND_PORT = re.compile(r"^[^/?#@\s]+:\d+(?:[/?#]|$)")


class ReadUrl(NamedTuple):
    """A URL without its fragment, its canonical form, and its host without port."""

    href: str
    canonical: str
    host: str


def read_url(text: str) -> ReadUrl:
    """Raises InvalidUrl."""
    parsed = _parsed(text)
    host = _host(parsed)
    return ReadUrl(parsed.href.partition("#")[0], _canonical(parsed, host), host)


def parse_url(text: str, base: str | None = None) -> str:
    """The absolute http(s) URL that a browser would open for this text. Raises InvalidUrl."""
    return _parsed(text, base).href


def _parsed(text: str, base: str | None = None) -> can_ada.URL:
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise InvalidUrl(f"{text[:60]}…", f"longer than {MAX_LENGTH} characters")
    try:
        parsed = can_ada.parse(base) + text if base else can_ada.parse(text)
    except (ValueError, TypeError) as error:  # TypeError: a lone surrogate
        raise InvalidUrl(text, "it cannot be understood") from error
    if len(parsed.hostname) > HOST_MAX:
        raise InvalidUrl(f"{text[:60]}…", f"its host name is longer than {HOST_MAX} characters")
    if parsed.protocol not in {"http:", "https:"}:
        raise InvalidUrl(text, "only http and https are followed")
    if parsed.username or parsed.password:
        raise InvalidUrl(text, "a name or password inside a URL is not sent")
    return parsed


def complete_url(text: str) -> str:
    """What a user typed, as a URL: `example.com/feed` becomes https://example.com/feed. Raises InvalidUrl."""
    text = text.strip()
    if not text:
        raise InvalidUrl(text, "it is empty")
    if _PATH.match(text):
        raise InvalidUrl(text, "it is a path, and names no host")
    if not _SCHEME.match(text) or _HOST_AND_PORT.match(text):
        text = f"https://{text}"
    return parse_url(text)


def canonical(url: str) -> str:
    """The form in which URLs are compared (seed 004's rules on WHATWG parsing). Raises InvalidUrl."""
    parsed = _parsed(url)
    return _canonical(parsed, _host(parsed))


def _canonical(parsed: can_ada.URL, host: str) -> str:
    port = "" if parsed.port in {"80", "443"} else parsed.port
    if port:
        host = f"{host}:{port}"
    path = parsed.pathname.rstrip("/") or "/"
    query = _clean_query(search) if (search := parsed.search.removeprefix("?")) else ""
    return f"https://{host}{path}{'?' + query if query else ''}"


def url_key(url: str) -> bytes:
    """SHA-256 of the canonical form without its scheme: 32 bytes that identify the page. Raises InvalidUrl."""
    return key_of(canonical(url))


def key_or_none(url: str) -> bytes | None:
    """The same; None for an invalid URL."""
    try:
        return url_key(url)
    except InvalidUrl:
        return None


def url_and_key(text: str) -> tuple[str, bytes]:
    """The result of `parse_url`, and its key, parsed once. Raises InvalidUrl."""
    parsed = _parsed(text)
    return parsed.href, key_of(_canonical(parsed, _host(parsed)))


def key_of(canonical_url: str) -> bytes:
    return hashlib.sha256(canonical_url.removeprefix("https").encode()).digest()


def host_of(url: str) -> str:
    """The host name, without port and without the dot of the root. Raises InvalidUrl."""
    return _host(_parsed(url))


def _host(parsed: can_ada.URL) -> str:
    host = parsed.hostname
    return _without_root(host) if host[-1:] == "." else host


def _without_root(host: str) -> str:
    """A final dot makes no difference (RFC 1034, 3.1). Two dots, or a dot alone, are an invalid name."""
    name = host.removesuffix(".")
    return host if not name or name.endswith(".") else name


def masked(text: str) -> str:
    """A URL, or a text with URLs in it, with possible secrets masked, for users who do not own it.

    Masked are credentials, the values of the query, and path segments that look like keys: `/f/8c1f…/feed.xml`.
    """
    return _URL.sub(_mask, text) if "//" in text else text


def _mask(found: re.Match[str]) -> str:
    before, _, fragment = found[0].partition("#")
    address, question, query = before.partition("?")
    scheme, _, rest = address.partition("//")
    authority, slash, path = rest.partition("/")
    host = authority.rpartition("@")
    authority = f"{MASK}@{host[2]}" if host[1] else authority
    path = "/".join(MASK if _is_key(segment) else segment for segment in path.split("/"))
    pairs = [f"{name}{equals}{MASK if value else ''}" for name, equals, value in _pairs(query)]
    hidden = f"#{MASK}" if fragment else ""
    return f"{scheme}//{authority}{slash}{path}{question}{'&'.join(pairs)}{hidden}"


def _is_key(segment: str) -> bool:
    if _KEY.fullmatch(segment):
        return True
    if not _PARTED.fullmatch(segment):
        return False
    parts = _PART.findall(segment)
    changes = sum(len(_RUN.findall(part)) - 1 for part in parts)
    return changes >= _LEAST_CHANGES * sum(map(len, parts))


def _pairs(query: str) -> list[tuple[str, str, str]]:
    """Names and values; a part without a name is a value."""
    return [pair.partition("=") if "=" in pair else ("", "", pair) for pair in query.split("&")] if query else []


def is_same_site(host: str, other: str) -> bool:
    """Whether two host names are equal, or one is a subdomain of the other; `www.` is ignored."""
    host, other = (_without_root(name).removeprefix("www.") for name in (host, other))
    return host == other or host.endswith(f".{other}") or other.endswith(f".{host}")


def site_of(url: str) -> str:
    """The site of a URL, which decides who may write about it. Raises InvalidUrl.

    It is the registrable domain by the public suffix list with its private section: `news.example.co.uk` belongs to
    `example.co.uk`, and `a.github.io` and `b.github.io` are two sites, as are subdomains of BLOG_HOSTS. Scheme and port
    do not matter. A host without a registrable domain (an address, `localhost`) is a site of its own on each port.
    """
    try:
        parsed = can_ada.parse(url)  # of any length: a stored URL may be longer than MAX_LENGTH
    except (ValueError, TypeError) as error:
        raise InvalidUrl(url[:60], "it cannot be understood") from error
    return _site(_host(parsed), "" if parsed.port in {"80", "443"} else parsed.port)


@lru_cache(maxsize=50_000)
def domain_of(host: str) -> str:
    """The registrable domain of a host name, in its spelling; the host itself where it has none."""
    domain = _registrable_domain(host)
    return ".".join(host.split(".")[-len(domain.split(".")) :]) if domain else host


@lru_cache(maxsize=50_000)
def _site(host: str, port: str) -> str:
    if domain := _registrable_domain(host):
        is_blog = domain in BLOG_HOSTS and host != f"www.{domain}"
        return ".".join(host.split(".")[-3:]) if is_blog else domain
    return f"{host}:{port}" if port else host


def _registrable_domain(host: str) -> str | None:
    """None for an IP address, and for a name of one label."""
    labels = _in_unicode(host).split(".")
    if len(labels) < 2 or "" in labels or host.startswith("[") or labels[-1].isdecimal():
        return None
    # A suffix that the list does not know is one label long (publicsuffix.org: "the prevailing rule is *").
    return get_fld(f"https://{'.'.join(labels)}", fail_silently=True) or ".".join(labels[-2:])


def _in_unicode(host: str) -> str:
    """The list names suffixes in Unicode; a browser and `can_ada` name hosts in Punycode."""
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return host


def is_file(url: str) -> bool:
    """Whether the extension of a URL is that of a picture, an archive or another file that is not a page."""
    return _FILE.fullmatch(can_ada.parse(url).pathname.rpartition("/")[2]) is not None


def _clean_query(query: str) -> str:
    kept = [pair for pair in query.split("&") if pair and pair.partition("=")[0].lower() not in TRACKING_PARAMETERS]
    return "&".join(sorted(kept, key=lambda pair: pair.partition("=")[0]))


def http_url(host: str, port: int) -> str:
    """The URL of a server that listens at this address, for a browser on its machine."""
    shown = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104  shown, not bound
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
