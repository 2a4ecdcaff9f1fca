"""The zoo's entrance: one page that lists every exhibit and sight with its caption, for a person to look at.

In: EXHIBITS and SIGHTS. Out: HTML.
"""

from collections.abc import Callable
from html import escape
from itertools import groupby

from headwater.lab.zoo.exhibits import EXHIBITS, SIGHTS, Exhibit, Sight

_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 3rem auto; padding: 0 1.5rem }
h1 { font-size: 2rem; margin-bottom: .2rem } h2 { font-size: 1.1rem; margin-top: 2.5rem }
table { width: 100%; border-collapse: collapse } td { padding: .4rem .6rem .4rem 0; border-top: 1px solid var(--line) }
td:first-child { width: 15rem } td:last-child { width: 9rem; text-align: right; opacity: .7; font-size: .9rem }
a { color: #0a6e8a; text-decoration: none } a:hover { text-decoration: underline }
@media (prefers-color-scheme: dark) { a { color: #6cc5df } }
"""


def landing_page(url_of: Callable[[Exhibit | Sight], str]) -> str:
    halls = "".join(
        f"<h2>{escape(group)}</h2><table>{''.join(_row(one, url_of(one)) for one in members)}</table>\n"
        for group, members in groupby((*EXHIBITS, *SIGHTS), key=lambda one: one.group)
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>The zoo</title><style>{_STYLE}</style>'
        f'<meta name="viewport" content="width=device-width"></head>\n<body><h1>The zoo</h1><p>A small web on this'
        f" machine: {len(EXHIBITS)} feeds to follow, well and unwell, and the sites behind them."
        f' <a href="/__zoo__/visits">Who was here</a></p>\n{halls}</body></html>'
    )


def _row(one: Exhibit | Sight, url: str) -> str:
    expects = one.expects.replace("_", " ") if isinstance(one, Exhibit) else ""
    return f'<tr><td><a href="{url}">{escape(one.name)}</a></td><td>{escape(one.caption)}</td><td>{expects}</td></tr>'
