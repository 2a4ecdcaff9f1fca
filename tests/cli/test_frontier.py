"""`headwater frontier`, on a real database."""

import gzip
import json
import os
import signal
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from typer.testing import CliRunner, Result

from headwater.cli.frontier import frontier_app
from tests.headwater_process import Headwater, wait_for

pytestmark = pytest.mark.database

PAGE = "https://news.example/2026/harbour"


@pytest.fixture(autouse=True)
def _database_and_log_of_the_tests(monkeypatch: pytest.MonkeyPatch, conninfo: str) -> None:
    monkeypatch.setenv("DATABASE_URL", conninfo)
    monkeypatch.setattr("headwater.cli.terminal.configure_log", lambda *_: None)


def run(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(frontier_app, list(arguments), input=typed)


def lines(*arguments: str) -> list[Any]:
    done = run(*arguments, "--json")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return [json.loads(line) for line in done.stdout.splitlines()]


def pending(conninfo: str) -> int:
    with psycopg.connect(conninfo) as conn:
        row = conn.execute("SELECT count(*) FROM frontier_url WHERE status = 'p'").fetchone()
        return row[0] if row else 0


def kill(conninfo: str) -> None:
    """As a fetcher would leave them."""
    with psycopg.connect(conninfo) as conn:
        conn.execute("UPDATE frontier_url SET status = 'd', next_fetch_at = 'infinity', last_error = 'gone: 410'")


def shut(conninfo: str, server: str) -> None:
    """Refuse new connections, and end the open ones."""
    name = conninfo_to_dict(conninfo)["dbname"]
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
        conn.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])


def test_submitted_urls_are_printed_with_their_result() -> None:
    first = run("submit", PAGE, "https://b.example/", "--priority", "9")
    again = run("submit", PAGE, "nonsense")

    assert first.exit_code == 0
    assert first.output.splitlines() == [f"queued   {PAGE}", "queued   https://b.example/"]
    assert again.exit_code == 1
    assert again.output.splitlines() == [f"known    {PAGE}", "invalid  nonsense: it cannot be understood"]
    assert {url["priority"] for url in lines("list")} == {9}


def test_a_source_is_named_by_its_id_or_feed_and_must_exist(conninfo: str) -> None:
    source_id = str(uuid4())
    with psycopg.connect(conninfo) as conn:
        conn.execute(
            """
            INSERT INTO sources (id, name, feed_url, feed_url_key)
            VALUES (%s, 'News', 'https://a.example/feed', '\\x00')
            """,
            [source_id],
        )

    assert run("submit", PAGE, "--source", source_id).exit_code == 0
    assert [url["source_id"] for url in lines("list", "--source", source_id)] == [source_id]
    assert str(run("submit", PAGE, "--source", str(uuid4())).exception).startswith("There is no source")
    assert "News" in run("stats").output


def test_lines_of_a_file_set_source_and_priority(tmp_path: Path, conninfo: str) -> None:
    file = tmp_path / "urls.csv"
    file.write_text(f"url,priority\n{PAGE},9\nhttps://b.example/,\nmailto:ann@example.com,\n{PAGE},99\n{PAGE},1\n")

    done = run("import", str(file), "--priority", "3")
    again = run("import", str(file), "--priority", "3", "--lenient", "--json")

    assert done.exit_code == 1
    assert "2 queued, 1 known, 0 revived, 2 invalid" in done.stdout
    assert "line 4: 'mailto:ann@example.com': only http and https are followed" in done.stderr
    assert "line 5: " in done.stderr
    assert again.exit_code == 0
    told = json.loads(again.stdout)
    assert (told["complete"], told["last_line"], told["known"], told["queued"]) == (True, 6, 3, 0)
    assert [problem["line"] for problem in told["problems"]] == [4, 5]
    assert {url["url"]: url["priority"] for url in lines("list")} == {PAGE: 9, "https://b.example/": 3}
    assert pending(conninfo) == 2


def test_problems_are_shown_up_to_a_number_and_counted_beyond(tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_text("\n".join(f"nonsense {number}" for number in range(12_000)))

    done = run("import", str(file))

    assert done.exit_code == 1
    assert done.stderr.count("line ") == 20
    assert "and 11,980 more invalid lines" in " ".join(done.stderr.split())
    assert "12,000 invalid" in done.stdout


def test_a_compressed_file_is_imported_in_batches(tmp_path: Path, conninfo: str) -> None:
    file = tmp_path / "urls.jsonl.gz"
    records = (json.dumps({"url": f"https://site-{number % 40}.example/{number}"}) for number in range(12_000))
    file.write_bytes(gzip.compress("\n".join(records).encode()))

    done = run("import", str(file))

    assert (done.exit_code, done.stderr) == (0, "")
    assert "12,000 queued" in done.stdout
    assert pending(conninfo) == 12_000


def test_a_line_of_an_unknown_source_is_a_problem_of_that_line(tmp_path: Path) -> None:
    file = tmp_path / "urls.jsonl"
    file.write_text(f'{{"url": "{PAGE}", "source": "https://nobody.example/feed"}}\n{{"url": "{PAGE}"}}\n')

    done = run("import", str(file))

    assert "1 queued, 0 known, 0 revived, 1 invalid" in done.stdout
    assert "there is no such source" in done.stderr


@pytest.mark.parametrize("name", ["/nowhere/urls.txt", "x" * 9_000])
def test_a_missing_file_is_refused(name: str) -> None:
    done = run("import", name)

    assert "cannot be read" in str(done.exception)


@pytest.fixture
def headwater(open_folder: Path, conninfo: str) -> Headwater:
    return Headwater(open_folder, DATABASE_URL=conninfo)


def test_standard_input_is_imported(headwater: Headwater, conninfo: str) -> None:
    done = headwater.run("frontier", "import", "-", typed=f"{PAGE}\nhttps://b.example/\n")

    assert (done.returncode, done.stderr) == (0, "")
    assert "2 queued" in done.stdout
    assert pending(conninfo) == 2


def test_ctrl_c_keeps_queued_urls_and_says_how_to_continue(headwater: Headwater, conninfo: str) -> None:
    pipe = headwater.folder / "urls.txt"
    os.mkfifo(pipe)
    with headwater.start("frontier", "import", str(pipe)) as running:
        with pipe.open("w") as writing:
            writing.writelines(f"https://a.example/{number}\n" for number in range(5_001))
            writing.flush()
            wait_for(lambda: pending(conninfo) == 5_000, running)
            code = running.stop(signal.SIGINT)
        told = " ".join(running.output.split())

    assert code == 130
    assert "5,000 queued" in told
    assert "frontier import" in told
    assert "--from-line 5001" in told
    assert pending(conninfo) == 5_000


def test_an_outage_is_reported_with_the_last_imported_line(
    headwater: Headwater, conninfo: str, server_conninfo: str
) -> None:
    pipe = headwater.folder / "urls.txt"
    os.mkfifo(pipe)
    with headwater.start("frontier", "import", str(pipe)) as running:
        with pipe.open("w") as writing:
            writing.writelines(f"https://a.example/{number}\n" for number in range(5_000))
            writing.flush()
            wait_for(lambda: pending(conninfo) == 5_000, running)
            shut(conninfo, server_conninfo)
            writing.writelines(f"https://b.example/{number}\n" for number in range(5_000))
        code = running.process.wait(300)
        told = " ".join(running.output.split())

    assert code == 5
    assert "5,000 queued" in told
    assert "--from-line 5001" in told
    assert "does not answer" in told


def test_a_list_is_filtered_and_read_in_pages(tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_text("\n".join(f"https://site-{number % 3}.example/{number}" for number in range(1_200)))
    run("import", str(file))

    assert len(lines("list", "-n", "1100")) == 1_100
    assert len(lines("list", "-n", "5000", "--host", "site-1.example")) == 400
    assert [url["url"] for url in lines("list", "-q", "/1199")] == ["https://site-2.example/1199"]
    assert lines("list", "--status", "dead") == []
    assert lines("list", "--origin", "feed") == []
    assert "No URLs match" in run("list", "--status", "dead").output
    assert "https://site-2" in run("list", "-q", "/1199").output


def test_stats_count_and_draw(conninfo: str) -> None:
    run("submit", PAGE, "https://b.example/")

    told = run("stats").output
    [counted] = lines("stats")

    assert "█" in told
    assert counted["by_status"] == {"pending": 2, "fetching": 0, "fetched": 0, "failed": 0, "dead": 0}
    assert counted["by_source"][0]["pending"] == 2


def test_an_empty_frontier_has_stats_too() -> None:
    assert run("stats").exit_code == 0


def test_dead_urls_are_retried(conninfo: str) -> None:
    first = lines("submit", PAGE, "https://b.example/", "https://c.example/")[0]["id"]
    kill(conninfo)

    assert run("retry", first).output == "1 URL is queued again.\n"
    assert run("retry", "--host", "b.example").output == "1 URL is queued again.\n"
    assert run("retry", "--status", "failed").output == "0 URLs are queued again.\n"
    assert lines("retry", "--status", "dead") == [{"retried": 1}]
    assert pending(conninfo) == 3


@pytest.mark.parametrize("arguments", [[], ["--status", "pending"], [str(uuid4()), "--status", "dead"]], ids=len)
def test_a_retry_without_ids_or_filter_is_refused(arguments: list[str]) -> None:
    assert run("retry", *arguments).exit_code != 0
