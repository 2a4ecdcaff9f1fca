"""`headwater channel`, as an operator or a script runs it."""

import json
import subprocess
from pathlib import Path

import psycopg
import pytest

from headwater.ids import new_id
from tests.headwater_process import PATIENCE_S, Headwater

pytestmark = pytest.mark.database
HOOK = ("--to", "webhook", "--option", "url=https://hooks.example.com/in?key=hunter2", "--option", "batch=7")


@pytest.fixture
def headwater(open_folder: Path, conninfo: str) -> Headwater:
    return Headwater(open_folder, DATABASE_URL=conninfo)


def fill(conninfo: str) -> None:
    """A dead letter and two deliveries."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(
            """
            INSERT INTO deliveries (channel_id, revision, article_id, queued_at, delivered_at, reason)
            SELECT id, n, gen_random_uuid(), now(), CASE WHEN n > 1 THEN now() END, CASE WHEN n = 1 THEN 'HTTP 422' END
            FROM channels, generate_series(1, 3) AS n
            """
        )


def test_a_channel_is_created_shown_and_deleted(headwater: Headwater, conninfo: str) -> None:
    assert "No channels yet." in headwater.run("channel", "list").stdout
    made = headwater.json("channel", "create", "articles:crime", "topic:crime", *HOOK)
    fill(conninfo)

    [listed] = headwater.json("channel", "list")
    shown = headwater.run("channel", "show", "articles:crime")
    assert made["secret"].startswith("whsec_")
    assert (listed["name"], listed["dead_letters"], listed["options"]["batch"]) == ("articles:crime", 1, 7)
    assert "HTTP 422" in shown.stdout
    assert "hunter2" not in shown.stdout
    assert headwater.run("channel", "delete", "articles:crime").returncode == 2
    assert "Deleted articles:crime." in headwater.run("channel", "delete", "articles:crime", "--yes").stdout
    gone = headwater.run("channel", "show", "articles:crime")
    assert (gone.returncode, "There is no channel" in gone.stderr) == (3, True)


def test_a_channel_is_paused_resumed_replayed_and_retried(headwater: Headwater, conninfo: str) -> None:
    headwater.run("channel", "create", "crime", "topic:crime", *HOOK)
    fill(conninfo)

    assert "crime is paused." in headwater.run("channel", "pause", "crime").stdout
    assert headwater.json("channel", "show", "crime")["status"] == "paused"
    assert "crime is resumed." in headwater.run("channel", "resume", "crime").stdout
    assert headwater.json("channel", "replay", "crime", "--since", "1h") == {"queued": 2}
    assert headwater.json("channel", "retry", "crime", "--revision", "1") == {"queued": 1}
    assert "0 deliveries will be sent again." in headwater.run("channel", "retry", "crime").stdout


def submit(headwater: Headwater, *numbers: int) -> None:
    """Make these articles public: no feed lists them."""
    assert headwater.run("frontier", "submit", *(f"https://example.com/{one}" for one in numbers)).returncode == 0


def publish(conninfo: str, number: int) -> None:
    """A classified article with a revision, queued for all channels."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(
            """
            WITH made AS (
                INSERT INTO articles (id, url, url_key, title, seen_at)
                VALUES (%(id)s, %(url)s, sha256(%(url)s::text::bytea), %(title)s, now()) RETURNING id
            ), counted AS (UPDATE publishing_state SET last_revision = %(number)s)
            INSERT INTO deliveries (channel_id, revision, article_id, queued_at)
            SELECT channels.id, %(number)s, made.id, now() FROM channels, made
            """,
            {"id": new_id(), "url": f"https://example.com/{number}", "title": f"Harbour {number}", "number": number},
        )


def test_messages_are_followed_from_a_revision(headwater: Headwater, conninfo: str) -> None:
    headwater.run("channel", "create", "crime", "topic:crime")
    submit(headwater, 1, 2, 3)
    for number in (1, 2, 3):
        publish(conninfo, number)

    done = headwater.run("channel", "follow", "crime", "--after", "1", "--no-wait")
    assert done.returncode == 0
    assert [json.loads(line)["revision"] for line in done.stdout.splitlines()] == [2, 3]
    assert headwater.run("channel", "follow", "crime", "--no-wait").stdout == ""
    assert headwater.run("channel", "follow", "sport").returncode == 3


def test_following_goes_on_until_its_output_is_closed(headwater: Headwater, conninfo: str) -> None:
    headwater.run("channel", "create", "crime", "topic:crime")
    submit(headwater, 1, 2)
    publish(conninfo, 1)
    command = (headwater.python, "-m", "headwater", "channel", "follow", "crime", "--after", "0")
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=headwater.environment,
        cwd=headwater.folder,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = json.loads(process.stdout.readline())
        publish(conninfo, 2)
        second = json.loads(process.stdout.readline())
        process.stdout.close()
        code = process.wait(timeout=PATIENCE_S)
        errors = process.stderr.read()

    assert (first["title"], second["title"]) == ("Harbour 1", "Harbour 2")
    assert (code, errors) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "crime", "topik:crime"), "did you mean `topic:`?"),
        (("create", "crime", "crime or -crime"), "This query matches every article."),
        (("create", "crime", "crime", "--to", "webhook"), "url is missing"),
        (("create", "crime", "crime", "--to", "webhook", "--option", "url"), "is not NAME=VALUE"),
        (("create", "crime", "crime", "--password-file", "absent"), "absent cannot be read"),
        (("replay", "crime", "--since", "soon"), "'soon' is not a time"),
        (("replay", "crime", "--since", "2026-11-15T09:00"), "has no time zone"),
    ],
)
def test_what_is_wrong_is_named(headwater: Headwater, arguments: tuple[str, ...], message: str) -> None:
    done = headwater.run("channel", *arguments)

    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
