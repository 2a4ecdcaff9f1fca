"""`headwater parse`, as a script and as a person would use it: on files, and on the zoo."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from headwater.cli.output import out
from headwater.cli.parse import parse
from headwater_lab.zoo import DOMAIN, EXHIBITS, Zoo
from tests.headwater_process import run_headwater

APP = typer.Typer()
APP.command()(parse)

FEED = """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0"><channel>
  <title>River notes</title><link>https://river.example/</link><ttl>90</ttl>
  <skipHours><hour>3</hour><hour>1</hour></skipHours>
  <item><title>High water</title><link>/high</link><guid>1</guid><pubDate>Tue, 02 Jan 2024 08:30:00 GMT</pubDate></item>
  <item><title>Низкая вода</title><link>https://river.example/low</link><guid>2</guid></item>
</channel></rss>
"""


@pytest.fixture(autouse=True)
def _log_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command configures the log of its process, which all tests share."""
    monkeypatch.setattr("headwater.cli.terminal.configure_log", lambda *_: None)
    monkeypatch.setattr(out, "width", 200)


@pytest.fixture
def feed(tmp_path: Path) -> str:
    path = tmp_path / "feed.xml"
    path.write_text(FEED, encoding="utf-8")
    return str(path)


@pytest.fixture
async def zoo(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Zoo]:
    monkeypatch.setenv("HEADWATER_ALLOW_LOOPBACK", "true")
    monkeypatch.setenv("HEADWATER_RESOLVE", f"{DOMAIN}=127.0.0.1")
    monkeypatch.setenv("HEADWATER_POLL_TIMEOUT", "5s")
    async with Zoo() as zoo:
        yield zoo


def run(*arguments: str, typed: str | bytes = "") -> Result:
    return CliRunner().invoke(APP, list(arguments), input=typed)


def run_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with the log of a terminal."""
    return run_headwater(arguments, {**os.environ, "COLUMNS": "200"}, Path.cwd())


def lines(result: Result | subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def found(*arguments: str, typed: str | bytes = "") -> list[dict[str, Any]]:
    return lines(run(*arguments, "--json", typed=typed))


def test_a_feed_is_one_object_with_its_entries(feed: str) -> None:
    [told] = found(feed, "--base-url", "https://river.example/feed.xml")

    assert (told["file"], told["title"], told["ttl"], told["skip_hours"]) == (feed, "River notes", 5400, [1, 3])
    assert [entry["title"] for entry in told["entries"]] == ["High water", "Низкая вода"]
    assert told["entries"][0]["url"] == "https://river.example/high"
    assert told["entries"][0]["published_at"] == "2024-01-02T08:30:00+00:00"


def test_an_unreadable_feed_is_reported_and_the_run_continues(feed: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<!doctype html><title>A page</title><p>Hello")
    (tmp_path / "nothing").touch()
    names = [str(tmp_path / name) for name in ("page.html", "nothing", "missing", "")]

    result = run(*names, "\0", feed, "--json")

    told = lines(result)
    assert [one.get("error") for one in told] == [
        "not_a_feed", "parse_error", "unreadable", "unreadable", "unreadable", None,
    ]  # fmt: skip
    assert all(one["reason"] for one in told[:5])
    assert told[5]["title"] == "River notes"
    assert result.exit_code == 1


def test_the_exit_code_is_0_when_all_could_be_read(feed: str) -> None:
    assert run(feed, feed).exit_code == 0


def test_thousands_of_files_are_read(feed: str) -> None:
    assert len(found(*[feed] * 3_000)) == 3_000


def test_no_more_entries_than_asked_for_are_taken(feed: str) -> None:
    [told] = found(feed, "--max-entries", "1")

    assert len(told["entries"]) == 1


def test_the_content_type_that_is_given_decides_how_bytes_are_read() -> None:
    feed = "<rss version='2.0'><channel><title>Вода</title><item><title>a</title></item></channel></rss>"

    [told] = found("-", "--content-type", "text/xml; charset=koi8-r", typed=feed.encode("koi8-r"))

    assert (told["file"], told["title"]) == ("-", "Вода")


def test_a_file_larger_than_the_setting_is_not_read(feed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_POLL_MAX_BYTES", "1000")
    Path(feed).write_text(FEED + " " * 1000, encoding="utf-8")

    [told] = found(feed)

    assert (told["error"], told["reason"]) == ("too_large", "It is larger than 1,000 bytes.")


def test_a_file_name_of_invalid_bytes_does_not_stop_the_run(tmp_path: Path) -> None:
    name = str(tmp_path / "\udcff.xml")
    Path(name).write_text(FEED, encoding="utf-8")

    [told] = found(name)
    shown = run(name)

    assert (told["file"], told["title"]) == (name, "River notes")
    assert shown.exit_code == 0


async def test_urls_are_fetched_within_the_limits_of_the_settings(zoo: Zoo) -> None:
    kept = {exhibit.name: exhibit for exhibit in EXHIBITS}
    names = ("daily", "moved", "tunnel-metadata", "whale", "mirror")
    urls = [zoo.url_of(kept[name]) for name in names]

    # In a thread, since the zoo needs this one.
    result = await asyncio.to_thread(
        run_process, "parse", *urls, f"http://daily.{DOMAIN}:{zoo.port}/nothing-here", "--json"
    )

    told = lines(result)
    assert [one["url"] for one in told[:5]] == urls
    assert [one.get("error") for one in told] == [
        None, None, "ssrf_blocked", "too_large", "redirect_loop", "not_found",
    ]  # fmt: skip
    assert told[0]["entries"]
    assert result.returncode == 1


async def test_a_url_is_requested_once_with_a_user_agent(zoo: Zoo) -> None:
    daily = next(exhibit for exhibit in EXHIBITS if exhibit.name == "daily")

    await asyncio.to_thread(run, zoo.url_of(daily))

    [visit] = zoo.visits_to("daily")
    assert visit.path == "/feed.xml"


def test_on_a_terminal_title_and_entries_are_printed(feed: str) -> None:
    shown = run(feed).stdout

    assert re.search(r"^River notes \(rss.*, 2 entries\): .*feed\.xml", shown)
    assert re.search(r"^2024-01-02 08:30 +High water", shown, re.MULTILINE)


def test_on_a_terminal_failures_are_explained(tmp_path: Path) -> None:
    assert "missing: The file cannot be read: No such file" in run(str(tmp_path / "missing")).stdout


def test_control_characters_of_a_feed_are_not_printed() -> None:
    version = "https://jsonfeed.org/version/1.1"
    feed = json.dumps({"version": version, "title": "a\x1b[31m[bold]", "items": [{"id": "\x1b]0;x"}]})

    shown = run("-", typed=feed).stdout

    assert "\x1b" not in shown
    assert "[bold]" in shown


def test_a_bug_in_the_parser_is_one_failure_among_others(feed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["headwater.cli.parse"], "parse_feed", lambda *_, **__: 1 / 0)

    told = found(feed, feed)

    assert [one["error"] for one in told] == ["unexpected", "unexpected"]
    assert "ZeroDivisionError" in told[0]["reason"]


def test_help_has_an_example() -> None:
    assert "Example: headwater parse" in run("--help").stdout
