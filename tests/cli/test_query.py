"""`headwater query`: how a query is read."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli import make_app
from headwater.db import Database
from tests.cli.test_index import Commands
from tests.labels.given import an_article_of


def run(*arguments: str) -> Result:
    return CliRunner().invoke(make_app("query"), ["query", *arguments])


def test_a_query_is_explained() -> None:
    result = run('flood "sea level" -(topic:politics or source:daily)')

    assert result.exit_code == 0
    assert result.output.splitlines() == [
        'flood "sea level" -(topic:politics or source:daily)',
        "  all of",
        "    flood  the word in the text or a title",
        '    "sea level"  the phrase in the text or a title',
        "    not",
        "      one of",
        "        topic:politics  category “Politics” or topic “politics and government”",
        "        source:daily  in the source's name",
    ]


def test_an_error_points_at_the_place() -> None:
    result = run("storm topik:sport")

    assert result.exit_code == 2
    assert "Unknown field `topik:`, did you mean `topic:`?" in result.stderr
    assert result.stderr.splitlines()[-2:] == ["  storm topik:sport", "        ^^^^^^"]


def test_a_program_gets_the_place() -> None:
    refused, read = run("a (", "--json"), run("a  OR b", "--json", "--everyone")

    assert refused.exit_code == 2
    assert json.loads(refused.stdout) == {
        "error": "There is nothing in these parentheses.", "position": 2, "length": 1, "suggestion": "",
    }  # fmt: skip
    assert json.loads(read.stdout) == {"query": "a or b", "audience": "everyone", "is_limited": True}


def test_fields_of_a_reader_are_refused_for_everyone_and_a_query_that_only_excludes_is_named() -> None:
    assert run("is:unread").exit_code == 0
    assert run("is:unread", "--everyone").exit_code == 2
    assert "It only excludes" in run("--", "-sport").output


@pytest.mark.database
async def test_articles_of_a_query_are_listed(database: Database, tmp_path: Path, conninfo: str) -> None:
    async with database.transaction() as conn:
        found = await an_article_of(conn, "Night ferry sinks", url="https://example.com/1")
        other = await an_article_of(conn, "Night train runs", url="https://example.com/2")
        await conn.execute(
            "INSERT INTO article_state (article_id, revision) VALUES (%(one)s, 1), (%(two)s, 2)"
            " ON CONFLICT (article_id) DO UPDATE SET revision = excluded.revision",
            {"one": found, "two": other},
        )
    headwater = Commands(tmp_path, conninfo, None)

    listed = await headwater.run("articles", "--query", "night -train host:example.com", "--json")
    refused = await headwater.run("articles", "--query", "night is:unread")
    both = await headwater.run("articles", "--query", "night", "--search", "night")

    assert [one["title"] for one in json.loads(listed.stdout)] == ["Night ferry sinks"]
    assert (refused.returncode, both.returncode) == (2, 2)
    assert "`is:` is about one reader" in refused.stderr
