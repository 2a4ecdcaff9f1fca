"""A source is added, polled, and its articles are seen: by command line and on the page."""

from collections.abc import Iterator

import pytest

from headwater_lab.zoo import EXHIBITS, Zoo
from tests.flows.zoo_thread import open_zoo
from tests.headwater_process import Headwater, wait_for
from tests.reader import Reader

pytestmark = pytest.mark.database

BY_NAME = {exhibit.name: exhibit for exhibit in EXHIBITS}


@pytest.fixture(scope="module")
def zoo() -> Iterator[Zoo]:
    with open_zoo() as zoo:
        yield zoo


def test_a_source_is_added_polled_listed_and_removed(headwater: Headwater, zoo: Zoo) -> None:
    url = zoo.url_of(BY_NAME["daily"])

    added = headwater.run("source", "add", url, "--name", "The Daily")
    again = headwater.run("source", "add", url)
    listed = headwater.json("source", "list")
    articles = headwater.json("articles", "-n", "100")
    polled = headwater.json("source", "poll", url)
    shown = headwater.run("articles", "--source", url)
    unasked = headwater.run("source", "remove", url)
    removed = headwater.run("source", "remove", url, "--yes")

    assert (added.returncode, added.stderr) == (0, "")
    assert "Following The Daily" in added.stdout
    assert "25 new articles" in added.stdout
    assert (again.returncode, "is already followed" in again.stderr) == (4, True)
    assert [(source["name"], source["state"], source["article_count"]) for source in listed] == [
        ("The Daily", "working", 25)
    ]
    assert len(articles) == 25
    assert articles[0]["sources"] == ["The Daily"]
    assert polled[0]["outcome"] in {"polled", "not_modified"}
    assert articles[0]["title"].split()[0] in shown.stdout
    assert (unasked.returncode, "--yes" in unasked.stderr) == (2, True)
    assert removed.returncode == 0
    assert headwater.json("source", "list") == headwater.json("articles") == []


def test_a_poll_that_fails_says_why_and_exits_with_1(headwater: Headwater, zoo: Zoo) -> None:
    urls = [zoo.url_of(BY_NAME[name]) for name in ("daily", "missing", "lobby")]
    added = headwater.run("source", "add", *urls)

    polled = headwater.run("source", "poll", "--all")

    assert "There is no feed at this URL. (HTTP 404) [not_found]" in added.stdout
    assert polled.returncode == 1
    assert "It is a web page. [not_a_feed]" in polled.stdout
    assert "Traceback" not in added.stderr + polled.stderr


def test_a_running_headwater_polls_what_a_reader_adds_and_shows_it(headwater: Headwater, zoo: Zoo) -> None:
    with headwater.start("up") as up, Reader(up.url) as reader:
        first = reader.open("/")
        reader.register()
        empty = reader.open("/feeds")
        added = reader.add_feed("The Gazette", zoo.url_of(BY_NAME["gazette"]))
        feeds = wait_for(lambda: text if "The Gazette" in (text := reader.open("/feeds?status=working")) else None, up)
        page = reader.open("/read")
        ready = up.get("/readyz", "application/json")
        metrics = up.get("/metrics")[1]
        code = up.stop()

    assert "This is the first account" in first
    assert "No feeds yet." in empty
    assert added == 204
    assert "The Gazette" in feeds
    assert page.count("<article>") == 15
    assert ready == (200, '{"status":"ready"}')
    assert 'headwater_polls_total{outcome="polled"} 1.0' in metrics
    assert 'headwater_stage_lag_seconds{stage="polling"}' in metrics
    assert code == 0


def test_a_reader_follows_what_was_added_beside_a_running_headwater(headwater: Headwater, zoo: Zoo) -> None:
    url = zoo.url_of(BY_NAME["gazette"])
    with headwater.start("up") as up, Reader(up.url) as reader:
        added = headwater.run("source", "add", url, "--name", "The Gazette", "--later")
        wait_for(lambda: headwater.json("source", "list")[0]["state"] == "working", up)
        reader.register()
        reader.add_feed("My Gazette", url)
        page = reader.open("/read")
    sources = headwater.json("source", "list")

    assert added.returncode == 0
    assert page.count("<article>") == 15
    assert [source["name"] for source in sources] == ["The Gazette"]  # one source, polled once


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("source", "add", "javascript:alert(1)"), 2, "only http and https are followed"),
        (
            ("source", "add", "https://a.example", "https://b.example", "--name", "x"),
            2,
            "can be used with one URL only.",
        ),
        (("source", "poll"), 2, "Name the sources to poll, or pass --all."),
        (("source", "poll", "https://unknown.example/"), 3, "There is no source"),
        (("source", "remove", "not-there", "--yes"), 3, "There is no source"),
        (("articles", "--source", "not-there"), 3, "There is no source"),
        (("articles", "-n", "0"), 2, "Invalid value"),
        (("work", "sleeping"), 2, "There is no stage 'sleeping'. There are: polling, moving, rediscovery,"),
        (("nonsense",), 2, "No such command"),
    ],
)
def test_nonsense_gets_a_sentence_and_an_exit_code(
    arguments: tuple[str, ...], code: int, message: str, headwater: Headwater
) -> None:
    done = headwater.run(*arguments)

    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_feed_says_has_no_effect_on_the_terminal(headwater: Headwater, zoo: Zoo) -> None:
    headwater.run("source", "add", zoo.url_of(BY_NAME["gazette"]), "--name", "[red]\x1b[31mred[/]")

    listed = headwater.run("source", "list")

    assert "[red]" in listed.stdout
    assert "\x1b" not in listed.stdout


def test_a_source_without_a_name_gets_the_title_of_its_feed(headwater: Headwater, zoo: Zoo) -> None:
    headwater.run("source", "add", zoo.url_of(BY_NAME["daily"]))

    (listed,) = headwater.json("source", "list")

    assert listed["name"] == "The Zoo Daily"


def test_a_source_is_edited_switched_off_explained_and_enabled(headwater: Headwater, zoo: Zoo) -> None:
    gone, missing = zoo.url_of(BY_NAME["gone"]), zoo.url_of(BY_NAME["missing"])
    headwater.run("source", "add", gone, "--name", "Gone")

    off = headwater.run("source", "list")
    story = headwater.run("source", "poll", gone, "--explain")
    edited = headwater.run("source", "edit", gone, "--policy", "once", "--interval", "30m", "--url", missing)
    after = headwater.run("source", "poll", missing, "--explain")
    enabled = headwater.run("source", "enable", missing)

    assert off.stdout.splitlines()[1].split()[0] == "auto_disabled"
    assert "That is the class gone." in story.stdout
    assert "It was a probe: the feed stays disabled" in story.stdout
    assert edited.returncode == 0
    assert "the feed is disabled, reason not_found" in after.stdout
    assert "It is not polled again until a user enables it" in after.stdout
    assert enabled.returncode == 0
    (listed,) = headwater.json("source", "list")
    assert (listed["state"], listed["feed_disabled_at"]) == ("pending", None)
