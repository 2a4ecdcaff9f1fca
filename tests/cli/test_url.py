"""`headwater url`, as a script and as a person would use it. Only names given in settings are resolved."""

import hashlib
import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from headwater.cli.output import out
from headwater.cli.url import url
from tests.test_urls import SEED_EXAMPLES

APP = typer.Typer()
APP.command()(url)


@pytest.fixture(autouse=True)
def _log_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command configures the log of its process, which all tests share."""
    monkeypatch.setattr("headwater.cli.terminal.configure_log", lambda *_: None)


def run(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(APP, list(arguments), input=typed)


def verdicts(*arguments: str, typed: str = "") -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*arguments, "--json", typed=typed).stdout.splitlines()]


@pytest.mark.parametrize(("given", "canonical"), SEED_EXAMPLES)
def test_the_canonical_form_is_shown_with_its_hash(given: str, canonical: str) -> None:
    [told] = verdicts(given)

    assert told["canonical"] == canonical
    assert told["hash"] == hashlib.sha256(canonical.removeprefix("https").encode()).hexdigest()
    assert (told["url"], told["host"], told["allowed"], told["reason"]) == (given, "example.com", True, None)


REFUSED = {
    "http://2130706433/": "127.0.0.1 is this machine itself",
    "http://１０.０.０.１/feed": "10.0.0.1 is private",
    "http://[::ffff:a9fe:a9fe]/": "::ffff:a9fe:a9fe is link-local",
    "http://127.0.0.1../": "127.0.0.1.. is not written as an address should be",
    "localhost:8000": "localhost is this machine itself",
    "https://example.com:25/": "port 25 is kept for smtp",
    "file:///etc/passwd": "only http and https are followed",
    "http://ann:secret@example.com/": "a name or password inside a URL is not sent",
    "http://[::1": "it cannot be understood",
    "": "it is empty",
}


@pytest.mark.parametrize("path", ["/path", " /etc/hosts", "///path", "\\path", "./feed.xml", "../", "..", "~/feed.xml"])
def test_a_path_is_not_a_url(path: str) -> None:
    result = run(path, "--json")

    told = json.loads(result.stdout)
    assert (told["url"], told["allowed"], told["reason"]) == (path, False, "it is a path, and names no host")
    assert (told["canonical"], told["hash"], told["host"]) == (None, None, None)
    assert result.exit_code == 1


@pytest.mark.parametrize("given", ["//example.com/path", "example.com/path", ".example.com/path"])
def test_a_url_without_a_scheme_is_one(given: str) -> None:
    [told] = verdicts(given)

    assert told["canonical"] == f"https://{given.removeprefix('//')}"
    assert told["allowed"]


@pytest.mark.parametrize(("given", "reason"), REFUSED.items())
def test_a_refused_url_has_a_reason(given: str, reason: str) -> None:
    [told] = verdicts(given)

    assert (told["url"], told["allowed"], told["reason"]) == (given, False, reason)


def test_the_exit_code_is_1_when_one_url_of_many_is_refused() -> None:
    good = run("https://example.com/", "example.org")
    mixed = run("https://example.com/", "http://10.0.0.1/", "https://example.org/")

    assert (good.exit_code, mixed.exit_code) == (0, 1)


def test_thousands_come_through_standard_input_one_object_a_line_each() -> None:
    typed = "".join(f"https://example.com/{number}\n\n" for number in range(5_000))

    told = verdicts("https://example.org/", "-", typed=typed)

    assert len(told) == 5_001
    assert (told[0]["host"], told[-1]["canonical"]) == ("example.org", "https://example.com/4999")


def test_invalid_bytes_do_not_stop_the_run() -> None:
    assert [told["allowed"] for told in verdicts("https://a.example/\udcff", "https://b.example/")] == [True, True]


def test_a_name_is_resolved_only_with_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_RESOLVE", "inside.test=10.0.0.1, outside.test=93.184.215.14")
    urls = ("http://feeds.inside.test/", "http://outside.test/", "http://93.184.215.14/", "http://a..b/")

    unresolved = verdicts(*urls)
    resolved = verdicts(*urls, "--resolve")

    assert [(told["allowed"], told["addresses"]) for told in unresolved] == [(True, None)] * 4
    assert [(told["allowed"], told["addresses"], told["reason"]) for told in resolved] == [
        (False, None, "10.0.0.1 is private"),
        (True, ["93.184.215.14"], None),
        (True, ["93.184.215.14"], None),
        (False, None, "its name cannot be resolved"),
    ]


def test_loopback_is_allowed_by_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_ALLOW_LOOPBACK", "true")

    told = verdicts("http://127.0.0.1:8000/", "http://localhost:8000/", "http://[::1]/", "http://10.0.0.1/")

    assert [one["allowed"] for one in told] == [True, True, False, False]


def test_on_a_terminal_a_table_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "width", 200)

    shown = run("https://example.com/?utm_source=x", "http://10.0.0.1/", "data:,\x1b[31m").stdout

    assert "allowed  https://example.com/" in shown
    assert "10.0.0.1 is private" in shown
    assert "only http and https are followed" in shown
    assert "\x1b" not in shown


def test_help_has_an_example() -> None:
    assert "Example: headwater url" in run("--help").stdout
