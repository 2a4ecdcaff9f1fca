"""robots.txt, in every state one meets it.

In: a Site. Out: a Document; None where there is no such file.
"""

from headwater.lab.zoo import sitemaps
from headwater.lab.zoo.documents import Document, html
from headwater.lab.zoo.sites import Robots, Site

_RULES: dict[Robots, str] = {
    "open": "User-agent: *\nAllow: /\n",
    "delay": "User-agent: *\nCrawl-delay: 2\nAllow: /\n",
    "fenced": "# Members only behind the fence.\nUser-agent: *\nDisallow: /members/\nDisallow: /*?print=\n",
    "closed": "User-agent: *\nDisallow: /\n",
}


def document(site: Site, base: str) -> Document | None:
    match site.robots:
        case "none":
            return None
        case "broken":
            return html("<h1>Internal error</h1>", status=500)
        case "garbage":
            return html("<!doctype html><title>Welcome</title><p>Disallow: nothing, we love robots!</p>")
        case rules:
            lines = "".join(f"Sitemap: {base}{path}\n" for path in sitemaps.entrances(site))
            return Document((_RULES[rules] + lines).encode(), "text/plain; charset=utf-8")
