"""`headwater alerts`, as an operator or their cron runs it."""

from pathlib import Path

import psycopg
import pytest

from tests.alerts.receiver import Receiver, open_receiver
from tests.headwater_process import Headwater

pytestmark = pytest.mark.database


@pytest.fixture
def headwater(open_folder: Path, conninfo: str) -> Headwater:
    return Headwater(open_folder, DATABASE_URL=conninfo)


def test_open_incidents_are_listed_with_an_exit_code(headwater: Headwater, conninfo: str) -> None:
    nothing = headwater.run("alerts", "list")
    with psycopg.connect(conninfo) as conn:
        conn.execute(
            """
            INSERT INTO incidents (id, condition, subject, summary, since, began_at, last_held_at, ended_at)
            VALUES
                (gen_random_uuid(), 'HeadwaterOwnOutage', '', '[red]Gone.[/]', now(), now(), now(), NULL),
                (gen_random_uuid(), 'HeadwaterStageStopped', 'fetching', 'It was so.', now(), now(), now(), now())
            """
        )
    listed = headwater.run("alerts", "list", "--past", "5")
    told = headwater.json("alerts", "list")
    with psycopg.connect(conninfo) as conn:
        conn.execute("UPDATE incidents SET ended_at = now()")
    over = headwater.run("alerts", "list")

    assert (nothing.returncode, listed.returncode, over.returncode) == (0, 1, 0)
    assert "Not evaluated yet" in nothing.stdout
    assert "No active alerts." in nothing.stdout
    assert "[red]Gone.[/]" in listed.stdout
    assert "It was so." in listed.stdout
    assert "none" in listed.stdout
    assert [one["condition"] for one in told["open"]] == ["HeadwaterOwnOutage"]
    assert told["past"] == []


def test_a_test_message_goes_to_every_channel(headwater: Headwater) -> None:
    with open_receiver() as receiver:
        done = headwater.run("alerts", "test", HEADWATER_ALERT_WEBHOOK_URL=receiver.url)
        refused = refusing(receiver, headwater)

    assert done.returncode == 0, done.stderr
    assert "webhook: sent." in done.stdout
    assert receiver.bodies[0]["text"].startswith("This is a test")
    assert refused.returncode == 1
    assert "webhook: It answered with 403: no" in refused.stderr
    assert receiver.url not in refused.stderr


def refusing(receiver: Receiver, headwater: Headwater):
    receiver.status, receiver.answer = 403, b"no"
    return headwater.run("alerts", "test", HEADWATER_ALERT_WEBHOOK_URL=receiver.url)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "set HEADWATER_ALERT_WEBHOOK_URL or HEADWATER_ALERT_EMAIL"),
        ({"HEADWATER_ALERT_EMAIL": "ann@example.com"}, "HEADWATER_ALERT_EMAIL needs HEADWATER_SMTP_URL"),
        ({"HEADWATER_ALERT_EVERY": "10m"}, "HEADWATER_ALERT_EVERY is too long"),
        ({"HEADWATER_ALERT_EMAIL": "ann"}, "a list of addresses, such as ann@example.com"),
        ({"HEADWATER_ALERT_WEBHOOK_URL": "ftp://x/SECRET"}, "HEADWATER_ALERT_WEBHOOK_URL is ********: a URL such as"),
    ],
    ids=["nothing", "no-smtp", "too-seldom", "no-address", "no-url"],
)
def test_missing_channels_are_reported(headwater: Headwater, settings: dict[str, str], message: str) -> None:
    done = headwater.run("alerts", "test", **settings)

    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "SECRET" not in done.stderr
