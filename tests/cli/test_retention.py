"""`headwater retention`, as a process of its own."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from headwater.articles.store.records import keep
from headwater.articles.types import ListedEntry
from headwater.audit import store as audit
from headwater.db import Database
from tests.builders import a_source, an_article
from tests.cli.test_index import Commands
from tests.months import make_months
from tests.owner import as_owner

pytestmark = pytest.mark.database

LONG_AGO = datetime(2024, 1, 20, tzinfo=UTC)


@pytest.fixture
async def headwater(database: Database, tmp_path: Path, conninfo: str) -> Commands:
    """A Headwater that has two articles of long ago."""
    async with as_owner(database) as owner:
        await make_months(owner, since=date(2024, 1, 1), until=date(2024, 3, 1))
    async with database.as_system() as conn:
        source = await a_source(conn)
        for number in range(2):
            listed = ListedEntry(source.id, an_article(f"https://example.com/{number}"))
            await keep(conn, seen_at=LONG_AGO, listed=[listed])
    return Commands(tmp_path, conninfo, None)


async def test_a_dry_run_shows_what_a_run_deletes(headwater: Commands, database: Database) -> None:
    planned = await headwater.run("retention", "run", "--dry-run")
    planned_json = await headwater.run("retention", "run", "--dry-run", "--json")
    before = await headwater.run("retention", "show", "--json")
    done = await headwater.run("retention", "run", "--minutes", "5")
    again = await headwater.run("retention", "run")
    after = await headwater.run("retention", "show")

    async with database.as_system() as conn:
        log = (await audit.list_entries(conn, limit=10)).entries

    assert [line.subject_name.partition(" to ")[0] for line in reversed(log)] == ["2024-01", "no month"]
    assert "2024-01 would be deleted: 2 articles; 0 are starred and kept." in planned.stdout
    assert planned.stdout.rstrip().endswith("Nothing was changed.")
    assert json.loads(planned_json.stdout)["months"][0] == {"month": "2024-01-01", "articles": 2, "starred": 0}
    assert json.loads(before.stdout)["months"][0]["articles"] == 2
    assert "2024-01 is deleted: 2 articles; 0 are starred and kept." in done.stdout
    assert again.stdout.strip().endswith("Nothing has expired.")
    assert "2024-01" not in after.stdout
    assert "Retention runs next at" in after.stdout
    assert [one.returncode for one in (planned, planned_json, before, done, again, after)] == [0] * 6


async def test_a_second_run_is_refused_while_one_is_running(headwater: Commands, database: Database) -> None:
    async with database.as_system() as conn:
        await conn.execute(
            "UPDATE retention_state SET lease = gen_random_uuid(), due_at = now() + interval '5 minutes'"
        )

    refused = await headwater.run("retention", "run")

    assert refused.returncode == 4
    assert "Retention is running; it ends by" in refused.stderr


async def test_after_a_jump_of_the_clock_nothing_is_deleted_until_confirmed(
    headwater: Commands, database: Database
) -> None:
    async with database.as_system() as conn:
        await conn.execute("UPDATE clock_state SET trusted_at = now() - interval '200 days'")

    refused = await headwater.run("retention", "run")
    confirmed = await headwater.run("retention", "run", "--confirm")
    again = await headwater.run("retention", "run")

    assert refused.returncode == 4
    assert "200 days ahead of the last run" in refused.stderr
    assert "--confirm" in refused.stderr
    assert (confirmed.returncode, again.returncode) == (0, 0)


async def test_a_run_that_was_killed_while_the_clock_was_ahead_does_not_stop_the_next_one(
    headwater: Commands, database: Database
) -> None:
    async with database.as_system() as conn:
        await conn.execute("UPDATE retention_state SET lease = gen_random_uuid(), due_at = now() + interval '400 days'")

    done = await headwater.run("retention", "run", "--confirm")

    assert done.returncode == 0
    assert "2024-01 is deleted" in done.stdout
