import re

import pytest

from headwater.spider.classify import classify
from headwater.spider.types import LinkKind
from headwater.urls import parse_url

ARTICLES = [
    "/2026/03/01/storm-hits-coast",
    "/2026/03/storm",
    "/2026-03-01-storm-hits.html",
    "/news/2026/3/1/storm/",
    "/tag/2026/03/01/about-tags-and-more",
    "/world/why-the-river-changed-its-course",
    "/news/storm-hits-coast.html",
    "/article/123456",
    "/news/a1234567",
    "/politik/sturm-an-der-kueste-a-123456.html",
    "/story-41285319.html",
    "/harbour/in-pictures-the-night-market-41285271.html",
    "/潮声日报水边的好消息潮声",
    "/news/storm_hits_the_coast.php?id=7",
    "/river-changed-its-course",
    "/news/storm-hits-coast",
    "/news/storm-12345",
]
LISTS = [
    "/",
    "/news",
    "/news/world/",
    "/2026",
    "/2026/03/",
    "/2026/03/01",
    "/category/food-and-drink-for-all",
    "/tags/storm",
    "/author/jane-doe-of-the-coast",
    "/archive/2",
    "/page/1234",
    "/news?page=2",
    "/index.html",
    "/topics/climate-change",
    "/storm-hits-coast",
    "/storm-hits.html",
    "/storm-12345",
    "/12345.html",
    "/news/2026",
    "/news/storm-hits",
    "/international",
    "/潮声日报水边的好消息潮",
]
NOTHING = [
    "/login",
    "/about",
    "/privacy-policy",
    "/search?q=x",
    "/?s=storm",
    "/cart",
    "/feed/",
    "/2026/03/01/storm?replytocom=7",
    "/picture.jpg",
    "/report.pdf",
    "/wp-admin/edit.php",
    "/news/why-the-river-changed-its-course/print",
]


def kind(url: str, *patterns: str) -> LinkKind:
    return classify(parse_url(url), sites=["example.com"], patterns=[re.compile(pattern) for pattern in patterns])


@pytest.mark.parametrize("path", ARTICLES)
def test_an_article_is_known_by_its_address(path: str) -> None:
    assert kind(f"https://example.com{path}") is LinkKind.ARTICLE


@pytest.mark.parametrize("path", LISTS)
def test_a_list_is_no_article(path: str) -> None:
    assert kind(f"https://www.example.com{path}") is LinkKind.LIST


@pytest.mark.parametrize("path", NOTHING)
def test_what_is_nothing_to_read_is_not_asked_for(path: str) -> None:
    assert kind(f"https://example.com{path}") is LinkKind.NOTHING


def test_the_patterns_of_a_source_settle_it() -> None:
    assert kind("https://example.com/p/7", r"/p/\d+$") is LinkKind.ARTICLE
    assert kind("https://example.com/login", r"/login$") is LinkKind.ARTICLE
    assert kind("https://example.com/2026/03/01/storm-hits-coast", r"/p/\d+$") is LinkKind.LIST
    assert kind("https://example.com/2/7", r"/p/\d+$", r"/2/\d+$") is LinkKind.ARTICLE
    assert kind("https://other.example/p/7", r"/p/\d+$") is LinkKind.NOTHING


def test_of_other_sites_only_articles_count() -> None:
    assert kind("https://other.example/2026/03/01/storm-hits-coast") is LinkKind.EXTERNAL
    assert kind("https://other.example/2026/03/01/storm-hits-coast", "/p/") is LinkKind.EXTERNAL
    assert kind("https://other.example/") is LinkKind.NOTHING
    assert kind("https://blog.example.com/2026/03/01/storm-hits-coast") is LinkKind.ARTICLE
