"""SITES, every site that publishes, by host: how often, in which language, and through which feeds.

Each has a front page, sections, article pages and pictures. Periods are seconds between two articles at tempo 1.
"""

from dataclasses import dataclass
from typing import Literal

DOMAIN = "zoo.test"

Dialect = Literal[
    "rss2", "podcast", "microblog", "calendar", "permalink", "patient", "rss092", "rss091", "rss090", "rdf",
    "atom", "atom03", "json10", "json11",
]  # fmt: skip
Layout = Literal["semantic", "busy", "tables", "rich", "paywall"]
Compression = Literal["", "gzip", "deflate", "raw-deflate", "br", "zstd"]
Robots = Literal["none", "open", "delay", "fenced", "closed", "broken", "garbage"]
Sitemap = Literal["xml", "gzip", "index", "news", "text"]
Validators = Literal["both", "etag", "weak", "date", "none", "stuck"]


@dataclass(frozen=True, slots=True)
class ZooFeed:
    path: str
    dialect: Dialect = "rss2"
    content_type: str | None = None  # None: that of the dialect; "": a header without a value
    encoding: str = "utf-8"
    declared: str | None = None  # what the XML declaration claims; None: the encoding
    compression: Compression = ""
    validators: Validators = "both"
    damage: str = ""
    articles_of: str = ""  # the host whose articles it lists, when not its own
    link_suffix: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    host: str
    title: str
    tagline: str
    feeds: tuple[ZooFeed, ...] = ()
    language: str = "en"
    period: float = 90.0
    listed: int = 20
    layout: Layout = "semantic"
    robots: Robots = "none"
    sitemaps: tuple[Sitemap, ...] = ()
    newsroom: int | None = None  # reports the events of events.toml, in the words of this number


def _site(name: str, title: str, tagline: str, *feeds: ZooFeed) -> Site:
    return Site(f"{name}.{DOMAIN}", title, tagline, feeds)


def _odd(name: str, title: str, feed: ZooFeed) -> Site:
    return Site(f"{name}.{DOMAIN}", title, "All the news, oddly served", (feed,), layout="busy")


_MINUTE, _HOUR = 60.0, 3600.0
_ECHO = f"wire.{DOMAIN}"

_NEWSPAPERS = (
    Site(f"daily.{DOMAIN}", "The Zoo Daily", "Good news from the waterside", (ZooFeed("/feed.xml"),), period=20,
         listed=25, layout="rich", robots="open", sitemaps=("xml", "news")),
    Site(f"gazette.{DOMAIN}", "The Lindow Gazette", "Printed on both sides since 1999",
         (ZooFeed("/index.rdf", "rdf"),), period=2 * _MINUTE, listed=15, layout="tables", robots="delay"),
    Site(f"museum.{DOMAIN}", "Museum Notes", "What we found in the attic", (ZooFeed("/feed.rdf", "rss090"),),
         period=6 * _HOUR, listed=10, layout="tables"),
    Site(f"almanac.{DOMAIN}", "The Tidal Almanac", "Ebb, flow and hearsay", (ZooFeed("/rss.xml", "rss091"),),
         period=_HOUR, listed=15, layout="tables", robots="fenced"),
    Site(f"courier.{DOMAIN}", "The Fennick Courier", "By post-boat, twice a day", (ZooFeed("/rss.xml", "rss092"),),
         period=10 * _MINUTE, listed=15, layout="busy", robots="open", sitemaps=("text",)),
    Site(f"observatory.{DOMAIN}", "Observatory Hill", "Looking up, writing it down", (ZooFeed("/atom.xml", "atom"),),
         period=45, listed=20, layout="semantic", robots="open", sitemaps=("gzip",)),
    Site(f"lantern.{DOMAIN}", "The Old Lantern", "A weblog, kept alight", (ZooFeed("/atom.xml", "atom03"),),
         period=3 * _HOUR, listed=10, layout="tables"),
    Site(f"signal.{DOMAIN}", "Signal Station", "Short, clear, twice", (ZooFeed("/feed.json", "json10"),),
         period=3 * _MINUTE, listed=12, layout="rich"),
    Site(f"meadow.{DOMAIN}", "Meadow Letters", "Slow news from tall grass", (ZooFeed("/feed.json", "json11"),),
         period=75, listed=20, layout="semantic"),
    Site(f"campfire.{DOMAIN}", "Campfire Hour", "A podcast told after dark", (ZooFeed("/podcast.xml", "podcast"),),
         period=_HOUR, listed=12, layout="rich"),
    Site(f"sparrow.{DOMAIN}", "Sparrow", "Small thoughts without titles", (ZooFeed("/feed.xml", "microblog"),),
         period=30, listed=20, layout="semantic"),
    Site(f"calendar.{DOMAIN}", "The Loose Calendar", "Dated, undated and ahead of its time",
         (ZooFeed("/feed.xml", "calendar"),), period=4 * _MINUTE, listed=15),
    Site(f"permalink.{DOMAIN}", "The Permalink Post", "Every item its own address",
         (ZooFeed("/feed.xml", "permalink"),), period=5 * _MINUTE, listed=12),
    Site(f"patient.{DOMAIN}", "The Patient Quarterly", "Please do not ask again so soon",
         (ZooFeed("/feed.xml", "patient", headers=(("Cache-Control", "max-age=3600"),)),), period=_HOUR, listed=10),
    Site(f"ledger.{DOMAIN}", "The Long Ledger", "A thousand entries at a time", (ZooFeed("/feed.xml"),),
         period=8 * _MINUTE, listed=1000, layout="paywall"),
    Site(_ECHO, "The Harbour Wire", "Reported once, printed thrice", (), period=50, listed=15, layout="busy"),
    _site("morning-echo", "The Morning Echo", "What the Wire said, early", ZooFeed("/feed.xml", articles_of=_ECHO)),
    _site("evening-echo", "The Evening Echo", "What the Wire said, late",
          ZooFeed("/atom.xml", "atom", articles_of=_ECHO)),
    _site("night-echo", "The Night Echo", "What the Wire said, with a tracking tag",
          ZooFeed("/feed.json", "json11", articles_of=_ECHO, link_suffix="?utm_source=night-echo&utm_medium=feed")),
    Site(f"atlas.{DOMAIN}", "The Coastal Atlas", "A site with sitemaps and no feed", (), period=15 * _MINUTE,
         listed=25, layout="rich", robots="open", sitemaps=("index",)),
    Site(f"village.{DOMAIN}", "Village Noticeboard", "A site with neither feed nor sitemap", (), period=2 * _MINUTE,
         listed=15, layout="semantic", robots="fenced"),
    Site(f"hermit.{DOMAIN}", "The Hermit’s Page", "Asks every robot to stay away", (ZooFeed("/feed.xml"),),
         period=_HOUR, listed=10, robots="closed"),
    Site(f"robots-broken.{DOMAIN}", "The Broken Gate", "Its robots.txt is an error", (ZooFeed("/feed.xml"),),
         period=_HOUR, listed=10, robots="broken"),
    Site(f"robots-garbage.{DOMAIN}", "The Chatty Gate", "Its robots.txt is a web page", (ZooFeed("/feed.xml"),),
         period=_HOUR, listed=10, robots="garbage"),
)  # fmt: skip


def _newsroom(number: int, name: str, title: str, feed: ZooFeed, layout: Layout) -> Site:
    """All have one period: number n of each is about event n."""
    return Site(
        f"{name}.{DOMAIN}", title, "The news of the day", (feed,), period=4 * _MINUTE, listed=20, layout=layout,
        robots="open", newsroom=number,
    )  # fmt: skip


_NEWSROOMS = (
    _newsroom(0, "tribune", "The Lindow Tribune", ZooFeed("/feed.xml"), "rich"),
    _newsroom(1, "standard", "The Northern Standard", ZooFeed("/atom.xml", "atom"), "semantic"),
    _newsroom(2, "chronicle", "Saltmere Chronicle", ZooFeed("/feed.xml"), "semantic"),
    _newsroom(3, "dispatch", "The Evening Dispatch", ZooFeed("/feed.json", "json11"), "rich"),
    _newsroom(4, "newswire", "Coastal Newswire", ZooFeed("/atom.xml", "atom"), "busy"),
)

_FOREIGN = (
    Site(f"rivage.{DOMAIN}", "Le Rivage", "Le journal de l’eau", (ZooFeed("/flux.xml", encoding="iso-8859-1"),),
         language="fr", period=_MINUTE, listed=15, layout="semantic", robots="open"),
    Site(f"moewe.{DOMAIN}", "Die Möwe", "Nachrichten von der Küste",
         (ZooFeed("/feed.xml", encoding="windows-1252", declared="utf-8"),), language="de", period=2 * _MINUTE,
         listed=15, layout="busy"),
    Site(f"plaza.{DOMAIN}", "La Plaza", "Noticias de la orilla", (ZooFeed("/atom.xml", "atom"),), language="es",
         period=80, listed=12, layout="rich"),
    Site(f"akti.{DOMAIN}", "Η Ακτή", "Νέα από τη θάλασσα", (ZooFeed("/feed.xml", encoding="utf-16"),), language="el",
         period=3 * _MINUTE, listed=12),
    Site(f"chaoshi.{DOMAIN}", "潮声日报", "水边的好消息", (ZooFeed("/feed.xml", encoding="gb18030"),), language="zh",
         period=70, listed=15, layout="tables"),
    Site(f"minato.{DOMAIN}", "みなと新聞", "水辺のたより", (ZooFeed("/feed.xml", encoding="shift_jis"),), language="ja",
         period=100, listed=15, layout="semantic"),
)  # fmt: skip

_ODD = (
    _odd("ampersand", "Salt & Sons", ZooFeed("/feed.xml", damage="bare ampersand")),
    _odd("entities", "The Undefined Review", ZooFeed("/feed.xml", damage="undefined entities")),
    _odd("unclosed", "The Open Door", ZooFeed("/feed.xml", damage="unclosed tag")),
    _odd("preamble", "A Few Words First", ZooFeed("/feed.xml", damage="junk before")),
    _odd("epilogue", "One Last Thing", ZooFeed("/feed.xml", damage="junk after")),
    _odd("control", "The Bell Character", ZooFeed("/feed.xml", damage="control characters")),
    _odd("undeclared", "Nameless Spaces", ZooFeed("/feed.xml", damage="undeclared namespace")),
    _odd("cut", "The Unfinished Ti", ZooFeed("/feed.xml", damage="cut in the middle")),
    _odd("outsider", "The Outside Reference", ZooFeed("/feed.xml", damage="external entity")),
    _odd("bogus-encoding", "The Unpronounceable", ZooFeed("/feed.xml", declared="x-old-harbour-8")),
    _odd("contradiction", "On the Other Hand", ZooFeed("/feed.xml", content_type="text/xml; charset=us-ascii")),
    _odd("as-html", "Dressed as a Page", ZooFeed("/feed.xml", content_type="text/html; charset=utf-8")),
    _odd("as-text", "Dressed as Prose", ZooFeed("/feed.xml", content_type="text/plain")),
    _odd("as-bytes", "Dressed as Nothing", ZooFeed("/feed.xml", content_type="application/octet-stream")),
    _odd("untyped", "Not Dressed at All", ZooFeed("/feed.xml", content_type="")),
    _odd("gzipped", "Pressed Once", ZooFeed("/feed.xml", compression="gzip")),
    _odd("deflated", "Let Down Gently", ZooFeed("/feed.xml", compression="deflate")),
    _odd("raw-deflated", "Let Down Roughly", ZooFeed("/feed.xml", compression="raw-deflate")),
    _odd("brotli", "Baked Small", ZooFeed("/feed.xml", compression="br")),
    _odd("zstandard", "Folded Thrice", ZooFeed("/feed.xml", compression="zstd")),
    _odd("weak-tag", "More or Less", ZooFeed("/feed.xml", validators="weak")),
    _odd("tag-only", "Known by Its Tag", ZooFeed("/feed.xml", validators="etag")),
    _odd("date-only", "Known by Its Date", ZooFeed("/feed.xml", validators="date")),
    _odd("no-validators", "Always as if New", ZooFeed("/feed.xml", validators="none")),
    _odd("stuck", "Nothing Ever Changes", ZooFeed("/feed.xml", validators="stuck")),
)

# Sites whose feed is behind a redirect or a fault.
_BEHIND = (
    _site("moved", "The Moving Van", "Gone to the path next door", ZooFeed("/current.xml")),
    _site("moved-308", "The Firm Removal", "Moved, and means it", ZooFeed("/current.xml")),
    _site("visiting", "The Visitor", "Elsewhere today", ZooFeed("/today.xml")),
    _site("visiting-307", "The Polite Visitor", "Elsewhere today, same method", ZooFeed("/today.xml")),
    _site("hops", "Four Hops Away", "Nearly there", ZooFeed("/end.xml")),
    _site("too-many-hops", "Six Hops Away", "Further than anyone goes", ZooFeed("/end.xml")),
    _site("flicker", "The Flickering Lamp", "On, off, on again", ZooFeed("/steady.xml")),
    _site("forgetful", "The Forgetful Clerk", "It was here a moment ago", ZooFeed("/steady.xml")),
    _site("farewell", "The Last Edition", "Here for a while, then gone for good", ZooFeed("/steady.xml")),
    _site("mover", "The Restless Paper", "Packing its boxes", ZooFeed("/steady.xml"), ZooFeed("/new-address.xml")),
    _site("lobby", "The Front Desk", "The feed is upstairs", ZooFeed("/upstairs.xml")),
)

SITES = {site.host: site for site in (*_NEWSPAPERS, *_NEWSROOMS, *_FOREIGN, *_ODD, *_BEHIND)}
