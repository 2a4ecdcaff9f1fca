"""Rows of users are visible only in as_user and as_system, and every table is covered."""

import ast
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import psycopg
import pytest

import headwater
from headwater.db import Connection, Database
from headwater.db.migrate import check_schema, migrate_up
from headwater.db.rights import (
    APPEND_ONLY,
    INTERNAL,
    NAMING_A_USER,
    OWNED,
    READABLE,
    ROLES,
    find_gaps,
)
from headwater.errors import RightsMissing
from headwater.ids import new_id
from headwater.types import UserId

pytestmark = pytest.mark.database

SOURCE = Path(headwater.__file__).parent
# Every module that may look at the rows of all users, and why.
SEES_ALL_USERS = {
    "accounts/access.py": "log in and sessions: the user is not known yet",
    "accounts/bearers.py": "API tokens: the user is not known yet",
    "accounts/changes.py": "an operator makes accounts and sets passwords",
    "accounts/mail/worker.py": "sends mail to any user",
    "accounts/external.py": "logins by another issuer: the user is not known yet",
    "api/routes/custom.py": "taking back a suggestion leaves sources that nobody follows",
    "api/routes/moderation.py": "moderators see everybody's suggestions",
    "api/routes/sources.py": "operators' actions on sources ask whether anybody follows them",
    "asgi/handlers.py": "operators' actions on sources ask whether anybody follows them",
    "cli/demo.py": "makes a reader with subscriptions",
    "cli/retention.py": "counts what users starred, which stays",
    "cli/source.py": "operators' actions on sources ask whether anybody follows them",
    "cli/up.py": "whether there is any account",
    "cli/user.py": "an operator's commands on accounts",
    "db/pool.py": "defines it",
    "fetching/worker.py": "moves what any reader saved to the page that it redirects to",
    "library/digests/worker.py": "sends unread articles to any reader",
    "library/notifications/worker.py": "sends notifications to any reader",
    "library/rules/worker.py": "applies the rules of all readers to an article",
    "library/summaries/writer.py": "counts the calls that all readers together make to the service",
    "removal/worker.py": "deletes the rows of deleted users and sources",
    "retention/worker.py": "keeps what users starred, and deletes old events and clicks",
    "sources/bulk.py": "operators' actions on sources ask whether anybody follows them",
    "sources/catalogue.py": "operators' actions on sources ask whether anybody follows them",
    "sources/custom/submit.py": "a suggestion reads the karma of its submitter",
    "sources/opml_import.py": "finds running imports, holds the account and claims a line before it acts as the user",
    "sources/health/counter.py": "counts the readers of sources",
    "sources/mover.py": "subscriptions of a merged source move to the other",
    "understanding/tagging/worker.py": "counts the readers of articles, since the most read are tagged first",
    "web/view_feeds.py": "the address of a feed says whose view it is",
    "web/routes/account.py": "makes API tokens",
    "web/routes/auth.py": "whether there is any account, and ending a session",
    "web/routes/discover.py": "counts followers, and leaves sources that nobody follows",
    "web/routes/feeds.py": "leaves sources that nobody follows",
    "web/routes/admin/audit.py": "operators read the audit log",
    "web/routes/admin/bulk.py": "what an operator changes at once is hidden from others",
    "web/routes/admin/moderation.py": "moderators see everybody's suggestions",
    "web/routes/admin/people.py": "operators see the accounts",
    "web/routes/admin/popularity.py": "counts followers and clicks",
    "web/routes/admin/sources.py": "operators' actions on sources ask whether anybody follows them",
}


@pytest.fixture
async def owner(conninfo: str) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
        yield conn


async def column(conn: Connection, query: str) -> list[str]:
    return [row[0] for row in await (await conn.execute(query.encode())).fetchall()]


async def problems(conn: Connection) -> list[str]:
    return [gap.problem for gap in await find_gaps(conn, is_app_login=True)]


# The catalogue


async def test_every_table_that_names_a_user_is_declared_in_db_rights(conn: Connection) -> None:
    naming = await column(
        conn,
        """
        SELECT DISTINCT relname::text
        FROM pg_class
        JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
        LEFT JOIN pg_constraint ON conrelid = pg_class.oid AND contype = 'f'
            AND confrelid IN ('users'::regclass, 'user_ids'::regclass)
        WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
            AND (pg_constraint.oid IS NOT NULL OR attname ~ '(^|_)(user|account|person|actor|reader)_id$')
        """,
    )

    # A table with rows of users goes into OWNED; any other that names a user into NAMING_A_USER, with the reason.
    assert sorted(set(naming) - set(OWNED) - set(NAMING_A_USER)) == []


async def test_every_declared_table_exists(conn: Connection) -> None:
    tables = await column(conn, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")

    assert sorted({*OWNED, *INTERNAL, *NAMING_A_USER, *READABLE, *APPEND_ONLY} - set(tables)) == []


async def test_every_table_with_rows_of_users_has_row_level_security_and_policies(conn: Connection) -> None:
    secured = await column(
        conn, "SELECT relname::text FROM pg_class WHERE relrowsecurity AND relnamespace = 'public'::regnamespace"
    )
    own = await column(conn, "SELECT tablename::text FROM pg_policies WHERE policyname = 'own'")
    system = await column(conn, "SELECT tablename::text FROM pg_policies WHERE policyname = 'system'")

    assert sorted(secured) == sorted({*OWNED, *INTERNAL})
    assert sorted(own) == sorted(name for name, owned in OWNED.items() if owned.column)
    assert sorted(system) == sorted(OWNED)


async def test_a_user_has_the_grants_that_are_declared_and_no_others(conn: Connection) -> None:
    granted = await column(
        conn,
        """
        SELECT relname || ': ' || privilege_type
        FROM pg_class, aclexplode(relacl)
        WHERE relnamespace = 'public'::regnamespace AND grantee = 'headwater_person'::regrole
        UNION ALL
        SELECT relname || ': ' || privilege_type || ' (' || attname || ')'
        FROM pg_class
        JOIN pg_attribute ON attrelid = pg_class.oid, aclexplode(attacl)
        WHERE relnamespace = 'public'::regnamespace AND grantee = 'headwater_person'::regrole
        """,
    )
    declared = {f"{table}: SELECT" for table in READABLE}
    for table, owned in OWNED.items():
        for grant in owned.grants:
            kind, _, columns = grant.partition(" (")
            names = columns.rstrip(")").split(", ") if columns else []
            declared |= {f"{table}: {kind} ({name})" for name in names} or {f"{table}: {kind}"}

    assert sorted(granted) == sorted(declared)


async def test_the_roles_of_the_application_own_nothing_and_bypass_nothing(conn: Connection) -> None:
    names = ", ".join(f"'{role}'" for role in ROLES)
    strong = await column(
        conn, f"SELECT rolname FROM pg_roles WHERE rolname IN ({names}) AND (rolsuper OR rolbypassrls OR rolcreaterole)"
    )
    owned = await column(conn, f"SELECT relname FROM pg_class WHERE pg_get_userbyid(relowner) IN ({names})")

    assert (strong, owned) == ([], [])


async def test_functions_with_the_owners_rights_have_a_fixed_path_and_one_caller(conn: Connection) -> None:
    open_ones = await column(
        conn,
        """
        SELECT proname::text
        FROM pg_proc
        WHERE prosecdef AND pronamespace = 'public'::regnamespace AND (
            NOT proconfig && '{"search_path=pg_catalog, public, pg_temp", "search_path=public, pg_temp"}'
            OR prorettype <> 'trigger'::regtype AND (
                has_function_privilege('headwater_app', oid, 'EXECUTE')
                OR has_function_privilege('headwater_person', oid, 'EXECUTE')
            )
        )
        """,
    )

    assert open_ones == []


# What a transaction sees


async def test_every_connection_of_the_pool_is_restricted_whatever_its_login_may_do(database: Database) -> None:
    async with database.transaction() as conn:
        row = await (
            await conn.execute("SELECT current_user, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
        ).fetchone()

    assert row == ("headwater_app", False, False)


@pytest.mark.parametrize("table", sorted(OWNED))
async def test_outside_of_as_user_no_row_of_a_user_is_seen(database: Database, table: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with database.transaction() as conn:
            await conn.execute(f"SELECT * FROM {table}".encode())


@pytest.mark.parametrize("table", sorted(OWNED))
async def test_not_even_where_it_was_granted_by_mistake(database: Database, owner: Connection, table: str) -> None:
    user_id = new_id()
    await owner.execute(
        "INSERT INTO users (id, email, email_key, password_hash, role, created_at)"
        " VALUES (%(id)s, 'a@b.c', 'a@b.c', '', 'reader', now())",
        {"id": user_id},
    )
    await owner.execute(
        "INSERT INTO audit_log (id, actor_name, action, subject_name, at) VALUES (gen_random_uuid(), '', '', '', now())"
    )
    await owner.execute(f"GRANT SELECT, UPDATE, DELETE ON {table} TO headwater_app".encode())

    async with database.transaction() as conn:
        assert await (await conn.execute(f"SELECT FROM {table}".encode())).fetchall() == []
        assert (await conn.execute(f"DELETE FROM {table}".encode())).rowcount == 0
    async with database.as_system() as conn:
        assert await (await conn.execute(b"SELECT count(*) FROM users")).fetchone() == (1,)


async def test_a_view_shows_no_row_of_a_user_outside_of_as_user(
    database: Database, owner: Connection, conninfo: str
) -> None:
    await owner.execute("CREATE VIEW everyone AS SELECT email FROM users")
    await migrate_up(conninfo)

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with database.transaction() as conn:
            await conn.execute("SELECT * FROM everyone")


async def test_a_transaction_cannot_reach_the_partitions_behind_the_policies(database: Database) -> None:
    for transaction in (database.transaction(), database.as_user(UserId(new_id())), database.as_system()):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with transaction as conn:
                await conn.execute("SELECT * FROM months.marks_kept")


async def test_the_roles_end_with_the_transaction(database: Database) -> None:
    async with database.as_system():
        pass
    async with database.as_user(UserId(new_id())):
        pass

    async with database.transaction() as conn:
        assert await column(conn, "SELECT current_user::text") == ["headwater_app"]


def test_only_these_modules_see_the_rows_of_all_users() -> None:
    calls = {"as_system", "see_all_users"}
    using = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name)
        and (getattr(node, "attr", "") or getattr(node, "id", "")) in calls
    }

    assert sorted(using) == sorted(SEES_ALL_USERS)


def test_nothing_but_the_pool_and_the_embedded_server_connects_or_changes_the_role() -> None:
    allowed = {"db/diagnose.py", "db/migrate.py", "db/pool.py", "db/embedded.py"}
    pattern = re.compile(
        r"Connection\.connect\(|psycopg\.connect\(|SET (LOCAL )?ROLE|RESET ROLE|SESSION AUTHORIZATION|'role', '"
    )
    found = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if pattern.search(file.read_text(encoding="utf-8"))
    }

    assert sorted(found - allowed) == []


# What is missing


BREAKS: Sequence[tuple[str, str]] = [
    ("DROP POLICY own ON marks", "marks has no policy own"),
    ("DROP POLICY system ON sessions", "sessions has no policy system"),
    ("ALTER POLICY own ON sessions USING (true)", "the policy own of sessions is different"),
    ("CREATE POLICY wide ON sessions USING (true)", "the policy wide opens sessions"),
    ("CREATE POLICY wide ON marks TO headwater_person USING (true)", "the policy wide opens marks"),
    ("ALTER TABLE users DISABLE ROW LEVEL SECURITY", "users has no row-level security"),
    ("GRANT SELECT ON users TO headwater_app", "headwater_app has rights on users"),
    ("GRANT SELECT ON events TO PUBLIC", "PUBLIC has rights on events"),
    ("REVOKE SELECT ON sources FROM headwater_person", "headwater_person lacks SELECT on sources"),
    ("REVOKE SELECT (email) ON users FROM headwater_person", "headwater_person lacks SELECT (id, email"),
    ("REVOKE INSERT ON feed_state FROM headwater_app", "headwater_app lacks INSERT on feed_state"),
    ("GRANT EXECUTE ON FUNCTION drop_gone_table(text) TO PUBLIC", "anyone may call drop_gone_table(text)"),
    ("REVOKE EXECUTE ON FUNCTION current_person() FROM PUBLIC", "headwater_person may not call current_person()"),
    ("ALTER FUNCTION analyze_articles() RESET search_path", "analyze_articles() runs as its owner without a fixed"),
    ("GRANT CREATE ON SCHEMA public TO headwater_app", "headwater_app may create in the schema"),
    ("CREATE TABLE diary (user_id uuid)", "diary has no row-level security"),
    ("CREATE VIEW followed AS SELECT * FROM subscriptions", "the view followed has the rights of its owner"),
]


@pytest.mark.parametrize(("statement", "problem"), BREAKS, ids=[statement for statement, _ in BREAKS])
async def test_what_is_missing_or_too_much_is_refused_and_mended_by_migrate_up(
    owner: Connection, database: Database, conninfo: str, statement: str, problem: str
) -> None:
    await owner.execute(statement.encode())

    with pytest.raises(RightsMissing, match=re.escape(problem)) as refused:
        async with database.transaction() as conn:
            await check_schema(conn)
    assert all(f"{line};" in str(refused.value) for line in refused.value.statements)

    await migrate_up(conninfo)
    assert await problems(owner) == []


@pytest.mark.parametrize("member", ["headwater_app", "headwater_person", "headwater_system"])
async def test_a_role_that_could_become_a_stronger_one_is_refused(owner: Connection, member: str) -> None:
    async with owner.transaction(force_rollback=True):  # roles belong to the whole server
        await owner.execute(f"GRANT pg_read_all_data TO {member}".encode())
        found = await find_gaps(owner, is_app_login=False)

    assert [gap.problem for gap in found] == [f"{member} is a member of pg_read_all_data"]
    assert found[0].statement == f"REVOKE pg_read_all_data FROM {member}"


async def test_a_complete_database_lacks_nothing(conn: Connection) -> None:
    assert await problems(conn) == []
