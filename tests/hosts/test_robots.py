"""robots.txt as RFC 9309 reads it."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.hosts.robots import FIRST_BYTES, Rules, origin_of, rules_of, sitemaps_in, stripped

ROBOT = "Headwater"
SITE = "https://example.com"


def allows(body: str, path: str) -> bool:
    return Rules(stripped(body.encode()), ROBOT).allow(SITE + path)


@pytest.mark.parametrize(
    ("body", "allowed", "blocked"),
    [
        ("", ["/", "/a"], []),
        ("User-agent: *\nDisallow: /", [], ["/", "/a"]),
        ("User-agent: *\nDisallow:", ["/", "/a"], []),
        ("User-agent: *\nDisallow: /a", ["/", "/b"], ["/a", "/ab", "/a/b"]),
        ("User-agent: *\nDisallow: /a/\nAllow: /a/b", ["/a", "/a/b"], ["/a/", "/a/c"]),
        ("User-agent: *\nAllow: /a\nDisallow: /a", ["/a"], []),
        ("User-agent: *\nDisallow: /*.pdf$", ["/a.pdf?x", "/a"], ["/a.pdf"]),
        ("User-agent: *\nDisallow: /*?print=", ["/a"], ["/a?print=1"]),
        ("user-AGENT: HEADWATER\nDisallow: /", [], ["/a"]),
        ("User-agent: headwater/2.0\nDisallow: /", [], ["/a"]),
        ("User-agent: headwaterbot\nDisallow: /", ["/a"], []),
        ("User-agent: water\nDisallow: /", ["/a"], []),
        ("User-agent: other\nDisallow: /", ["/a"], []),
        ("User-agent: headwater\nAllow: /\n\nUser-agent: *\nDisallow: /", ["/a"], []),
        ("User-agent: *\nDisallow: /\n\nUser-agent: headwater\nDisallow: /x", ["/a"], ["/x"]),
        ("User-agent: a\nUser-agent: headwater\nUser-agent: b\nDisallow: /x", ["/a"], ["/x"]),
        ("User-agent: headwater\nDisallow: /x\nUser-agent: *\nDisallow: /\nUser-agent: headwater\nDisallow: /y",
         ["/a"], ["/x", "/y"]),
        ("User-agent: *\nNoindex: /b\nClean-param: x\nDisallow: /a", ["/b"], ["/a"]),
        ("User-agent: headwater\nNonsense: 1\nUser-agent: b\nDisallow: /a", ["/b"], ["/a"]),
        ("User-agent: headwater\nSitemap: /s.xml\nDisallow: /a", ["/b"], ["/a"]),
        ("Disallow: /a\nUser-agent: *\nDisallow: /b", ["/a"], ["/b"]),
        ("User-agent *\nDisallow /a", ["/b"], ["/a"]),
        ("User-agent: *\nDissallow: /a", ["/b"], ["/a"]),
        ("User-agent: * # all\nDisallow: /a # not this", ["/b"], ["/a"]),
        ("User-agent: *\r\nDisallow: /a\r\n", ["/b"], ["/a"]),
        ("User-agent: *\rDisallow: /a\r", ["/b"], ["/a"]),
        ("\ufeffUser-agent: *\nDisallow: /a", ["/b"], ["/a"]),
        ("User-agent: *\nDisallow: /ü", ["/u"], ["/%C3%BC"]),
        ("User-agent: *\nDisallow: /a%3Cb", ["/a"], ["/a%3cb"]),
        ("<!doctype html><title>Welcome</title><p>Disallow: nothing, we love robots!</p>", ["/", "/a"], []),
        ("User-agent: *\nDisallow: /", ["/robots.txt"], ["/robots.txt/a"]),
    ],
)  # fmt: skip
def test_rules_hold(body: str, allowed: list[str], blocked: list[str]) -> None:
    assert [path for path in allowed if not allows(body, path)] == []
    assert [path for path in blocked if allows(body, path)] == []


@pytest.mark.parametrize(
    ("line", "seconds"),
    [("2", 2), ("0.5", 0.5), ("500", 60), ("1e99", 60), ("inf", None), ("nan", None), ("-1", None), ("x", None)],
)
def test_a_crawl_delay_is_granted_up_to_our_most(line: str, seconds: float | None) -> None:
    rules = Rules(stripped(f"User-agent: *\nCrawl-delay: {line}\n".encode()), ROBOT)

    wanted = None if seconds is None else timedelta(seconds=seconds)
    assert rules.crawl_delay(most=timedelta(minutes=1)) == wanted


def test_the_crawl_delay_of_another_robot_is_not_ours() -> None:
    assert Rules(stripped(b"User-agent: slowbot\nCrawl-delay: 9\n"), ROBOT).crawl_delay(timedelta(60)) is None


def test_sitemaps_are_found_wherever_they_stand_and_however_they_are_written() -> None:
    text = stripped(
        b"Sitemap: https://a.example/s.xml\nUser-agent: x\nDisallow: /\nSITEMAP: /t.xml\nsitemap: ftp://no/\n"
        b"Sitemap: https://a.example/s.xml\nSitemap:\n"
    )

    assert sitemaps_in(text, SITE) == ("https://a.example/s.xml", f"{SITE}/t.xml")


def test_no_more_than_a_hundred_sitemaps_are_taken() -> None:
    text = stripped(b"".join(b"Sitemap: /%d.xml\n" % number for number in range(5_000)))

    assert len(sitemaps_in(text, SITE)) == 100


def test_what_stands_within_the_first_500_kibibytes_counts() -> None:
    body = b"#" * (500 * 1024 - 40) + b"\nUser-agent: *\nDisallow: /a\n"

    assert len(body) <= FIRST_BYTES
    assert not Rules(stripped(body), ROBOT).allow(f"{SITE}/a")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://example.com/a?b#c", "https://example.com"),
        ("http://example.com:8080/", "http://example.com:8080"),
        ("http://example.com?x", "http://example.com"),
        ("http://[::1]:80/a", "http://[::1]:80"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


HOSTILE = {
    "agents": b"".join(b"User-agent: a%d\n" % n for n in range(13_000)) + b"Disallow: /\n" * 20_000,
    "wildcards": b"User-agent: *\n" + b"".join(b"Disallow: /*a*a*%d$\n" % n for n in range(20_000)),
    "one line": b"User-agent: *\nDisallow: /" + b"*a" * 250_000,
    "dollars": b"User-agent: *\nDisallow: /" + b"$" * 500_000,
    "spaces": b"User-agent" + b" " * 500_000,
    "line ends": b"\n\r\x0b\x0c" * 125_000,
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_read_in_proportion_to_its_length(body: bytes) -> None:
    rules = rules_of(stripped(body), ROBOT)

    assert rules.allow(f"{SITE}/{'b' * 2000}") in {True, False}


@given(st.lists(st.sampled_from(["User-agent: *", "Disallow: ", "Allow: /", "Crawl-delay: "]), max_size=8), st.binary())
def test_no_file_breaks_the_reader(lines: list[str], noise: bytes) -> None:
    body = b"\n".join(line.encode() + noise for line in lines)
    rules = Rules(text := stripped(body), ROBOT)

    assert rules.allow(f"{SITE}/a?b=%zz") in {True, False}
    assert all(url.startswith("http") for url in sitemaps_in(text, SITE))
