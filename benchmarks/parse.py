"""How fast feeds are parsed, as a multiple of feedparser: real feeds, sanitised, links absolute, on one core.

Both get the same bytes, the same URL and the same Content-Type, and both do all they do by default: decode, parse,
sanitise, resolve relative links. They take turns, feed by feed, and of each feed the best of some rounds counts, in CPU
time, so that a busy machine tells the same story as an idle one. The last line is one JSON object.

Feeds come from ../shared/corpora beside the project; where that is absent, a set is made up here.
"""

import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import feedparser

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from headwater.feeds import parse_feed  # noqa: E402

parse_theirs = cast("Callable[..., dict[str, list[object]]]", feedparser.parse)  # pyright: ignore[reportUnknownMemberType]

CORPUS = ROOT.parent / "shared" / "corpora" / "feeds" / "real"
URL = "https://example.com/blog/feed.xml"
TYPE = "application/xml"
ROUNDS = 5


def main() -> None:
    """Measure, print a table, and end with the numbers as JSON."""
    feeds, origin = load()
    size = sum(map(len, feeds))
    entries = sum(ours(feed) for feed in feeds)
    print(f"{len(feeds)} feeds ({origin}), {size / 1e6:.1f} MB, {entries} entries; best of {ROUNDS} rounds, CPU time")
    candidates: dict[str, Callable[[bytes], int]] = {"headwater": ours, "feedparser": theirs, "newest 50": as_polled}
    best = dict.fromkeys(candidates, 0.0)
    for feed in feeds:
        for name, parse in candidates.items():
            best[name] += quickest(parse, feed)
    print(f"{'':12}{'seconds':>9}{'MB/s':>9}{'entries/s':>12}{'ratio':>8}")
    for name, took in best.items():
        print(f"{name:12}{took:9.3f}{size / 1e6 / took:9.1f}{entries / took:12.0f}{best['feedparser'] / took:8.1f}")
    took = best["headwater"]
    print(
        json.dumps(
            {
                "bench": "parse",
                "ratio": round(best["feedparser"] / took, 1),
                "ratio_newest_50": round(best["feedparser"] / best["newest 50"], 1),
                "mb_per_second": round(size / 1e6 / took, 1),
                "entries_per_second": round(entries / took),
                "feeds": len(feeds),
                "megabytes": round(size / 1e6, 1),
                "entries": entries,
                "corpus": origin,
            }
        )
    )


def quickest(parse: Callable[[bytes], int], feed: bytes) -> float:
    """The least CPU time that it takes to parse a feed."""
    took: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        parse(feed)
        took.append(time.process_time() - start)
    return min(took)


def ours(feed: bytes) -> int:
    """Headwater, every entry."""
    return len(parse_feed(feed, url=URL, content_type=TYPE).entries)


def as_polled(feed: bytes) -> int:
    """Headwater as a poll calls it: the newest 50 entries."""
    return len(parse_feed(feed, url=URL, content_type=TYPE, max_entries=50).entries)


def theirs(feed: bytes) -> int:
    """feedparser with its defaults: sanitised, links resolved."""
    headers = {"content-type": TYPE, "content-location": URL}
    result = parse_theirs(io.BytesIO(feed), response_headers=headers)
    return len(result["entries"])


def load() -> tuple[list[bytes], str]:
    """The real feeds, or some that look like them."""
    if CORPUS.is_dir():
        return [path.read_bytes() for path in sorted(CORPUS.iterdir()) if path.is_file()], "real"
    return [synthetic(number) for number in range(40)], "made up"


def synthetic(number: int) -> bytes:
    """A feed as a common blog engine writes it, 25 entries of a few paragraphs."""
    paragraph = (
        '<p class="wp-block-paragraph">A paragraph of some length, with <a href="/about">a link</a>, <em>stress</em> '
        "&amp; <strong>weight</strong>, long enough to be prose.</p>\n"
        '<figure class="wp-block-image"><img src="/one.jpg" alt="A picture" width="640" height="480"/></figure>\n'
        "<ul><li>one</li><li>two</li></ul>\n"
    )
    items = "".join(
        f"<item><title>Entry {entry} of feed {number}</title><link>https://example.com/{number}/{entry}</link>"
        f"<pubDate>Mon, 06 Jul 2026 10:{entry:02}:00 +0000</pubDate><dc:creator>Ann Author</dc:creator>"
        f"<category>News</category><guid>https://example.com/?p={entry}</guid><description>In short, entry {entry}."
        f"</description><content:encoded><![CDATA[{paragraph * (3 + entry % 5)}]]></content:encoded></item>"
        for entry in range(25)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        f'xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>Feed {number}</title>'
        f"<link>https://example.com/</link><description>Made up</description>{items}</channel></rss>"
    ).encode()


if __name__ == "__main__":
    main()
