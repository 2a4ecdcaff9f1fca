"""`headwater source` for sites without a feed, as a person runs it."""

import re

import pytest
from typer.testing import CliRunner

from headwater.cli import make_app
from headwater.db import Database
from headwater.sources.follow import follow
from headwater.sources.types import SourceOverrides
from tests.clock import START
from tests.headwater_process import Headwater

pytestmark = pytest.mark.database


@pytest.fixture
def headwater(conninfo: str, tmp_path_factory: pytest.TempPathFactory) -> Headwater:
    return Headwater(tmp_path_factory.mktemp("headwater"), DATABASE_URL=conninfo)


def test_a_site_is_followed_listed_changed_and_left(headwater: Headwater) -> None:
    added = headwater.run(
        "source", "add", "--site", "example.com", "--pattern", r"/\d{4}/", "--selector", "title=h1", "--selector",
        "remove=.ad", "--max-depth", "3", "--budget", "50", "--delay", "2s", "--external-links", "--priority", "7",
    )  # fmt: skip
    shown = headwater.run("source", "list").stdout
    (source,) = headwater.json("source", "list")
    edited = headwater.run("source", "edit", "example.com", "--mode", "spider", "--no-external-links", "--pattern", "")
    polled = headwater.run("source", "poll", "example.com")
    left = headwater.run("source", "remove", "example.com", "--yes")

    assert added.returncode == 0, added.stderr
    assert "Following example.com (https://example.com/)." in added.stdout
    assert "It is read when Headwater next runs." in added.stdout
    assert re.search(r"pending +example\.com +sitemap\+spider +0 +https://example\.com/", shown)
    assert (source["badge"], source["feed_url"], source["next_poll_at"]) == ("sitemap+spider", None, None)
    assert edited.returncode == 0, edited.stderr
    assert (polled.returncode, "has no feed to poll" in polled.stderr) == (2, True)
    assert left.returncode == 0, left.stderr
    assert headwater.json("source", "list") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "A source needs the URL of a feed, a site or a sitemap."),
        (["--site", "example.com", "--selector", "title=h1["], "'h1[' is not a valid CSS selector."),
        (["a.example", "b.example", "--site", "example.com"], "can be used with one URL only."),
    ],
    ids=["nothing", "selector", "several"],
)
def test_what_makes_no_sense_ends_in_a_sentence(options: list[str], message: str, headwater: Headwater) -> None:
    done = headwater.run("source", "add", *options)

    assert (done.returncode, done.stdout) == (2, "")
    assert message in re.sub(r"\s+", " ", done.stderr)


def test_help_names_every_way_to_read_a_site() -> None:
    for command in ("add", "edit"):
        shown = CliRunner().invoke(make_app(), ["source", command, "--help"], env={"COLUMNS": "200"}).output

        for option in (
            "--site",
            "--sitemap",
            "--mode",
            "--pattern",
            "--selector",
            "--max-depth",
            "--budget",
            "--delay",
        ):
            assert option in shown


async def test_a_source_without_a_feed_works_once_its_links_are_read(headwater: Headwater, database: Database) -> None:
    async with database.as_system() as conn:
        await follow(conn, url=None, name="The Village", now=START, overrides=SourceOverrides(site="example.com"))
    (pending,) = headwater.json("source", "list")
    async with database.as_system() as conn:
        await conn.execute(
            """
            INSERT INTO daily_reads (source_id, kind, last_read_at, day, spent)
            SELECT id, 'list', %(now)s, %(now)s, 1 FROM sources
            """,
            {"now": START},
        )
    (working,) = headwater.json("source", "list")

    assert (pending["state"], pending["badge"]) == ("pending", "sitemap+spider")
    assert (working["state"], working["name"]) == ("working", "The Village")
