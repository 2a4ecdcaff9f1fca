"""`headwater extract` and `headwater source test`, as a script and as a person would use them."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from headwater.cli.extract import extract
from headwater.cli.output import out
from headwater.cli.try_source import try_source
from headwater_lab.zoo import DOMAIN, EXHIBITS, Zoo
from tests.extraction.pages import JSON_LD, PARAGRAPHS, a_page
from tests.headwater_process import run_headwater

EXTRACT = typer.Typer()
EXTRACT.command()(extract)
TEST = typer.Typer()
TEST.command()(try_source)


@pytest.fixture(autouse=True)
def _log_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command configures the log of its process, which all tests share."""
    monkeypatch.setattr("headwater.cli.terminal.configure_log", lambda *_: None)
    monkeypatch.setattr(out, "width", 200)


@pytest.fixture
def page(tmp_path: Path) -> str:
    path = tmp_path / "page.html"
    path.write_bytes(a_page(JSON_LD))
    return str(path)


@pytest.fixture
async def zoo(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Zoo]:
    monkeypatch.setenv("HEADWATER_ALLOW_LOOPBACK", "true")
    monkeypatch.setenv("HEADWATER_RESOLVE", f"{DOMAIN}=127.0.0.1")
    monkeypatch.setenv("HEADWATER_REQUEST_TIMEOUT", "5s")
    async with Zoo() as zoo:
        yield zoo


def run(*arguments: str, typed: str | bytes = "", app: typer.Typer = EXTRACT) -> Result:
    return CliRunner().invoke(app, list(arguments), input=typed)


def run_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with the log of a terminal."""
    return run_headwater(arguments, {**os.environ, "COLUMNS": "200"}, Path.cwd())


def lines(result: Result | subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_page_is_one_object_with_origins_of_fields(page: str) -> None:
    result = run(page, "--json", "--base-url", "https://river.example/flood")

    (told,) = lines(result)
    assert (told["file"], told["title"], told["text"].split("\n")) == (page, "High water at Tarn", list(PARAGRAPHS))
    assert told["published_at"] == "2024-03-01T06:30:00+00:00"
    assert told["origins"] | {"title": "json-ld", "text": "trafilatura"} == told["origins"]
    assert len(told["content_hash"]) == 64
    assert result.exit_code == 0


def test_an_unreadable_page_is_reported_and_the_run_continues(page: str, tmp_path: Path) -> None:
    (tmp_path / "zip").write_bytes(b"PK\x03\x04" + bytes(100))

    result = run(str(tmp_path / "zip"), str(tmp_path / "missing"), "", page, "\0", "--json")

    told = lines(result)
    assert [one.get("error") for one in told] == ["unreadable", "unreadable", "unreadable", None, "unreadable"]
    assert all(one["reason"] for one in told if "error" in one)
    assert result.exit_code == 1


def test_a_folder_stands_for_its_pages_and_names_come_from_standard_input_too(page: str, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "two.HTM").write_bytes(a_page())
    (tmp_path / "other.txt").write_text("no page")

    told = lines(run(str(tmp_path), "--from-stdin", "--json", typed=f"{page}\n\n"))

    assert [Path(one["file"]).name for one in told] == ["two.HTM", "page.html", "page.html"]


def test_many_files_are_read_and_printed_in_order(page: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.html"
    empty.touch()
    names = [page if number % 10 == 0 else str(empty) for number in range(1_000)]

    told = lines(run(*names, "--json", "--no-html"))

    assert [one["file"] for one in told] == names
    assert "html" not in told[0]


def test_a_page_on_standard_input_is_read() -> None:
    (told,) = lines(run("-", "--json", typed=a_page()))

    assert told["text"].split("\n") == list(PARAGRAPHS)


def test_without_a_page_it_is_a_usage_error() -> None:
    assert run("--json").exit_code == 2


def test_selectors_can_be_tried(page: str) -> None:
    (told,) = lines(run(page, "--json", "--title", "footer p", "--remove", "article"))

    assert (told["title"], told["origins"]["title"]) == ("Copyright River Post. All rights reserved.", "selector")
    assert PARAGRAPHS[0] not in told["text"]


def test_a_hostile_page_is_one_failure_among_others(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_EXTRACT_TIMEOUT", "3s")
    (tmp_path / "evil.html").write_bytes(b"<html><body><article>" + b"<p>" * 1_000_000)

    told = lines(run(str(tmp_path / "evil.html"), page, "--json"))

    assert [one.get("error") for one in told] == ["extraction_overrun", None]


def test_on_a_terminal_fields_and_text_are_printed(page: str) -> None:
    shown = run(page).stdout

    assert "High water at Tarn" in shown
    assert "Ann Author, Bo Writer" in shown
    assert "json-ld" in shown
    assert PARAGRAPHS[0] in shown


def test_control_characters_of_a_page_are_not_printed() -> None:
    shown = run("-", typed=b"<title>a\x1b[31m[bold]</title><p>\x1b]0;x").stdout

    assert "\x1b" not in shown
    assert "[bold]" in shown


async def test_urls_are_fetched_within_the_limits_of_the_settings(zoo: Zoo) -> None:
    kept = {exhibit.name: exhibit for exhibit in EXHIBITS}
    urls = [zoo.url_of(kept[name]) for name in ("tunnel-metadata", "mirror")]

    # In a thread, since the zoo needs this one.
    result = await asyncio.to_thread(
        run_process, "extract", *urls, f"http://daily.{DOMAIN}:{zoo.port}/nothing-here", "--json"
    )

    told = lines(result)
    assert [one.get("error") for one in told] == ["blocked", "redirect_loop", "http_404"]
    assert [one["url"] for one in told[:2]] == urls
    assert result.returncode == 1


async def test_a_sources_selectors_are_shown_beside_extraction(zoo: Zoo) -> None:
    url = f"http://daily.{DOMAIN}:{zoo.port}/"

    result = await asyncio.to_thread(run, url, "--title", "title", "--body", ".nothing", app=TEST)

    assert "with selectors" in result.stdout
    assert "selector" in result.stdout
    assert "The selector for body found nothing" in result.stderr
    assert result.exit_code == 1


async def test_results_of_selectors_are_printed_as_json(zoo: Zoo) -> None:
    url = f"http://daily.{DOMAIN}:{zoo.port}/"

    result = await asyncio.to_thread(run, url, "--title", "title", "--json", app=TEST)

    told = json.loads(result.stdout)
    assert (told["in_vain"], told["with_selectors"]["origins"]["title"]) == ([], "selector")
    assert told["without"]["origins"].get("title") != "selector"
    assert result.exit_code == 0


async def test_a_missing_page_is_reported(zoo: Zoo) -> None:
    url = f"http://daily.{DOMAIN}:{zoo.port}/nothing-here"

    result = await asyncio.to_thread(run, url, "--title", "h1", app=TEST)

    assert "404" in result.stderr
    assert result.exit_code == 1


@pytest.mark.parametrize("app", [EXTRACT, TEST], ids=["extract", "source test"])
def test_help_has_an_example(app: typer.Typer) -> None:
    assert "Example: headwater" in run("--help", app=app).stdout
