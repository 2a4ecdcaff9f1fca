"""A newcomer sees a living system within a minute, with no network."""

import re

from headwater.lab.zoo import EXHIBITS
from tests.headwater_process import Headwater, wait_for
from tests.reader import Reader

PER_PAGE = 20
SITES = 2  # that no feed tells of


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
            article = reader.open(re.findall(r"/articles/[0-9a-f-]{36}", articles)[0])
        code = demo.stop()
        said = demo.output

    meadows = [exhibit for exhibit in EXHIBITS if not exhibit.is_cage]
    assert "Log out" in behind_the_door
    assert told_total(followed) == len(meadows) + SITES
    assert told_total(working) >= 0.8 * len(meadows)  # some exhibits have moods
    assert articles.count("<article>") >= PER_PAGE
    assert "<article" in article
    assert found
    assert code == 0
    assert "Traceback" not in said
    assert list(temporary.iterdir()) == []


def login_told(said: str) -> tuple[str, str] | None:
    found = re.search(r"Log in as (\S+) with the password (\S+)", said)
    return (found[1], found[2]) if found else None


def told_total(page: str) -> int:
    found = re.search(r"Page \d+ of \d+, (\d+) feeds", page)
    assert found is not None, page
    return int(found[1])


def lines(page: str) -> list[str]:
    return re.findall(r"data-open>([^<]+)<", page)
