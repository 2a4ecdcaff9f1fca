"""A newcomer sees a living system within a minute, with no network."""

import json
import re

import httpx
import pytest

from headwater_lab.zoo import EXHIBITS
from headwater_lab.zoo.visits import Visit, impolite
from tests.headwater_process import Headwater, wait_for
from tests.reader import Reader

PER_PAGE = 20
DELAY_S = 0.5  # of pages in the demo
SITES = 2  # that no feed tells of


@pytest.mark.soak
def test_the_demo_shows_a_reader_their_articles_and_leaves_nothing(headwater: Headwater) -> None:
    temporary = headwater.folder / "temporary"
    temporary.mkdir(mode=0o755)
    with headwater.start("demo", TMPDIR=str(temporary), DATABASE_URL="postgresql://not.used/") as demo:
        email, password = wait_for(lambda: login_told(demo.output), demo)
        with Reader(demo.url) as reader:
            behind_the_door = reader.log_in(email, password)
            followed = reader.open("/feeds")
            wait_for(lambda: "No feeds match this filter" in reader.open("/feeds?status=pending"), demo)
            working = reader.open("/feeds?status=working")
            articles = reader.open("/read")
            found = wait_for(lambda: lines(reader.open("/read?shelf=all&q=lighthouse")), demo)
            sport = wait_for(lambda: lines(reader.open("/read?shelf=all&topic=sport")), demo)
            story = wait_for(lambda: also_reported(reader), demo)
            usage = wait_for(lambda: spent(reader.open("/admin/ai-usage")), demo)
            article = reader.open(re.findall(r"/articles/[0-9a-f-]{36}", articles)[0])
            visits = visits_to_the_zoo(followed)
        code = demo.stop()
        said = demo.output

    meadows = [exhibit for exhibit in EXHIBITS if not exhibit.fails]
    assert "Log out" in behind_the_door
    assert told_total(followed) == len(meadows) + SITES
    assert told_total(working) >= 0.8 * len(meadows)  # some exhibits have moods
    assert articles.count("<article>") >= PER_PAGE
    assert "<article" in article
    assert found
    assert any(re.search("cup|final", title, re.IGNORECASE) for title in sport)
    assert story
    assert usage > 0
    assert code == 0
    assert "Traceback" not in said
    assert list(temporary.iterdir()) == []
    assert {"/robots.txt", "/feed.xml"} <= {visit.path for visit in visits}
    assert impolite(visits, DELAY_S - 0.02) == []


def visits_to_the_zoo(page: str) -> list[Visit]:
    """What the zoo was asked so far, of which the page names some feeds."""
    found = re.search(r"http://[a-z0-9.-]+\.zoo\.[a-z]+:(\d+)", page)
    assert found is not None, page
    answer = httpx.get(f"http://127.0.0.1:{found[1]}/__zoo__/visits", headers={"Host": "zoo.test"})
    return [Visit(**json.loads(line)) for line in answer.text.splitlines()]


def login_told(said: str) -> tuple[str, str] | None:
    found = re.search(r"Log in as (\S+) with the password (\S+)", said)
    return (found[1], found[2]) if found else None


def also_reported(reader: Reader) -> list[str]:
    """The other newsrooms that report an event, on the page of one of the articles about sport."""
    for article in re.findall(r"/articles/[0-9a-f-]{36}", reader.open("/read?shelf=all&topic=sport")):
        _, _, after = reader.open(article).partition("Also reported by")
        if others := re.findall(r"/articles/[0-9a-f-]{36}", after):
            return others
    return []


def spent(page: str) -> float:
    """What language models have cost, of the page on AI usage."""
    found = re.search(r"<dt>Spent</dt><dd>\$([0-9.]+)", page)
    return float(found[1]) if found else 0.0


def told_total(page: str) -> int:
    found = re.search(r"Page \d+ of \d+, (\d+) feeds", page)
    assert found is not None, page
    return int(found[1])


def lines(page: str) -> list[str]:
    return re.findall(r"data-open>([^<]+)<", page)
