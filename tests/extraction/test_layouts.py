"""The zoo's pages, in the layouts of four decades and in many languages: their articles, and nothing else of them.

Most rules of extraction were written with other pages in view; the one for tables that arrange a page, with these.
"""

import pytest
from trafilatura import extract as extract_theirs

from headwater.extraction.extract import extract
from headwater_lab.zoo.articles import Publisher
from headwater_lab.zoo.layouts import article_page
from headwater_lab.zoo.sites import SITES, Site
from tests.eval.articles import MarkedPage, score_of

LAYOUTS = {"semantic": 0.999, "busy": 0.995, "rich": 0.98, "paywall": 0.99, "tables": 0.96}
PRESS = Publisher(lambda host: f"https://{host}", 1.0)


def pages(layout: str) -> list[MarkedPage]:
    return [a_page(site, number) for site in SITES.values() if site.layout == layout for number in range(1, 5)]


def a_page(site: Site, number: int) -> MarkedPage:
    article = PRESS.article(site, number)
    told = article.summary if site.layout == "paywall" else "\n".join(article.paragraphs)
    return MarkedPage(f"{site.host}/{number}", article.url, article_page(site, article).encode(), told)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_text_is_the_articles_and_nothing_else(layout: str) -> None:
    ours = score_of(lambda page: extract(page.html, url=page.url).text, pages(layout))
    theirs = score_of(lambda page: extract_theirs(page.html) or "", pages(layout))

    print(f"{layout}: F1 {ours.f1:.4f}, trafilatura {theirs.f1:.4f}")  # noqa: T201

    assert ours.f1 >= LAYOUTS[layout]
    assert ours.f1 >= theirs.f1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_title_is_the_articles_own(layout: str) -> None:
    for site in (site for site in SITES.values() if site.layout == layout):
        article = PRESS.article(site, 1)

        record = extract(article_page(site, article).encode(), url=article.url)

        # In a script that no host name has, the name of the site cannot be told from the title.
        assert (
            record.title == article.title if article.title.isascii() else (record.title or "").startswith(article.title)
        )


def test_all_layouts_are_looked_at() -> None:
    assert {site.layout for site in SITES.values()} == set(LAYOUTS)
