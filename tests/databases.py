"""Databases for tests: made from a template, or one for all tests of a worker that is emptied after each."""

import asyncio
from collections.abc import Sequence
from typing import LiteralString, Self
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from headwater.db import Connection

KEPT = "kept_for_tests"
# Every catalogue in which something changes when a test changes more than rows. Statistics count too: a plan would
# depend on what an earlier test had in its tables. TRUNCATE forgets those, so only tables that have some are named.
# What PostgreSQL itself makes has numbers below 16384.
FINGERPRINT = """
    WITH ours AS MATERIALIZED (
        SELECT pg_class.*
        FROM pg_class
        JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname IN ('public', 'months')
    )
    SELECT md5(concat_ws(
        ' ',
        (
            SELECT string_agg(concat_ws(' ', oid, relname, relacl, relrowsecurity, relforcerowsecurity), ',' ORDER BY oid)
            FROM ours
        ),
        (SELECT count(*) FROM ours WHERE reltuples > 0 AND relkind IN ('r', 'p')),
        (SELECT sum(xmin::text::bigint) FROM pg_proc WHERE oid >= 16384),
        (SELECT sum(xmin::text::bigint) FROM pg_trigger),
        (SELECT sum(xmin::text::bigint) FROM pg_policy),
        (SELECT sum(xmin::text::bigint) FROM pg_constraint),
        (SELECT sum(xmin::text::bigint) FROM pg_attribute WHERE attnum > 0 AND attrelid >= 16384),
        (SELECT string_agg(concat(nspname, nspacl), ',' ORDER BY nspname) FROM pg_namespace),
        (SELECT count(*) FROM pg_db_role_setting)
    ))
"""  # noqa: E501
# The schema without what depends on the month of the test: two databases with the same rows here are alike.
SCHEMA: LiteralString = """
    SELECT 'column', table_schema || '.' || table_name,
        concat_ws(' ', column_name, data_type, is_nullable, column_default, generation_expression)
    FROM information_schema.columns WHERE table_schema IN ('public', 'months')
    UNION ALL
    SELECT 'index', schemaname || '.' || tablename, regexp_replace(indexdef, 'y\\d+m\\d+|\\d+_\\d+', '') FROM pg_indexes
    WHERE schemaname IN ('public', 'months')
    UNION ALL
    SELECT 'constraint', conrelid::regclass::text, conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'months'))
    UNION ALL
    SELECT 'trigger', tgrelid::regclass::text, tgname || ' ' || pg_get_triggerdef(oid) FROM pg_trigger
    WHERE NOT tgisinternal
    UNION ALL
    SELECT 'view', viewname::text, definition FROM pg_views WHERE schemaname = 'public'
    UNION ALL
    SELECT 'sequence', sequencename::text, data_type::text FROM pg_sequences WHERE schemaname = 'public'
    UNION ALL
    SELECT 'function', proname::text, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'policy', tablename::text, policyname || coalesce(qual, '') FROM pg_policies
    UNION ALL
    SELECT 'schema', nspname::text, '' FROM pg_namespace WHERE nspname !~ '^pg_|^information_schema$'
    ORDER BY 1, 2, 3
"""


class new_database:  # noqa: N801  used as a function
    """Makes a database, drops it at the end."""

    def __init__(self, server: str, template: str = "template0") -> None:
        self._server = server
        self._template = template
        self._name = f"test_{uuid4().hex}"

    async def __aenter__(self) -> str:
        await self._execute(f'CREATE DATABASE "{self._name}" TEMPLATE "{self._template}"')
        return self._name

    async def __aexit__(self, *_: object) -> None:
        for _attempt in range(100):
            try:
                return await self._execute(f'DROP DATABASE "{self._name}" WITH (FORCE)')
            except psycopg.errors.InsufficientPrivilege:
                await asyncio.sleep(0.1)  # autovacuum is in it, which is the server's own: soon it is done
        return await self._execute(f'DROP DATABASE "{self._name}"')

    async def _execute(self, statement: str) -> None:
        async with await psycopg.AsyncConnection.connect(self._server, autocommit=True) as conn:
            await conn.execute(statement.encode())


class EmptiedDatabase:
    """A migrated database that is as new after each `reset`.

    Emptying it takes a tenth of the time that a new one takes. A test that changed more than rows, or left statistics
    behind, costs a new one.
    """

    def __init__(self, server: str, template: str) -> None:
        self._server = server
        self._template = template

    async def __aenter__(self) -> Self:
        await self._create()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._drop()

    @property
    def conninfo(self) -> str:
        return make_conninfo(self._server, dbname=self._name)

    async def reset(self) -> None:
        """Disconnect everyone and remove what a test has left."""
        try:
            while await self._disconnect():
                await asyncio.sleep(0.002)
            is_unchanged = await self._fingerprint() == self._made
            if is_unchanged:
                await self._empty()
        except psycopg.Error:  # a test ended our connection, or more than that
            is_unchanged = False
        if not is_unchanged:
            await self._drop()
            await self._create()

    async def _disconnect(self) -> int:
        """How many others were connected. PostgreSQL itself would look only every 100 ms whether they are gone."""
        cur = await self._conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return cur.rowcount

    async def _create(self) -> None:
        self._database = new_database(self._server, self._template)
        self._name = await self._database.__aenter__()
        self._conn: Connection = await psycopg.AsyncConnection.connect(self.conninfo, autocommit=True)
        cur = await self._conn.execute("SELECT current_setting('is_superuser') = 'on'")
        self._is_superuser = await cur.fetchone() == (True,)
        await self._keep_rows()
        self._made = await self._fingerprint()

    async def _drop(self) -> None:
        await self._conn.close()
        await self._database.__aexit__()

    async def _fingerprint(self) -> str:
        cur = await self._conn.execute(FINGERPRINT)
        row = await cur.fetchone()
        assert row is not None
        return row[0]

    async def _filled(self) -> list[Identifier]:
        """The tables that have had rows since they were made or truncated."""
        cur = await self._conn.execute(
            "SELECT nspname, relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
            " WHERE nspname IN ('public', 'months') AND relkind = 'r' AND pg_relation_size(pg_class.oid) > 0"
            " ORDER BY 1, 2"
        )
        return [Identifier(*row) for row in await cur.fetchall()]

    async def _keep_rows(self) -> None:
        """Keep the rows that migrations wrote, to write them again."""
        await self._conn.execute(SQL("CREATE SCHEMA {}").format(Identifier(KEPT)))
        self._kept: list[tuple[Identifier, Identifier, SQL]] = []
        for table in await self._filled():
            copy = Identifier(KEPT, table._obj[-1])
            await self._conn.execute(SQL("CREATE TABLE {} AS TABLE {}").format(copy, table))
            cur = await self._conn.execute(
                "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
                " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''",
                (table.as_string(self._conn),),
            )
            row = await cur.fetchone()
            assert row is not None
            self._kept.append((table, copy, SQL(row[0])))

    async def _empty(self) -> None:
        kept = {table.as_string(self._conn) for table, _, _ in self._kept}
        filled = [table for table in await self._filled() if table.as_string(self._conn) not in kept]
        changed = await self._changed()
        filled += [table for table, _, _ in changed]
        if not filled:
            return
        async with self._conn.transaction():
            await self._truncate(filled)
            if not self._is_superuser:
                changed = await self._changed()
            for table, copy, columns in changed:
                await self._conn.execute(
                    SQL("INSERT INTO {} ({}) SELECT {} FROM {}").format(table, columns, columns, copy)
                )

    async def _truncate(self, tables: Sequence[Identifier]) -> None:
        """TRUNCATE refuses a table that another one references unless it empties that too, and half of all tables
        reference sources or users. Where we may, we hide the references instead: the other tables are empty."""
        truncate = SQL("TRUNCATE {} RESTART IDENTITY").format(SQL(", ").join(tables))
        if not self._is_superuser:
            await self._conn.execute(truncate + SQL(" CASCADE"))
            return
        cur = await self._conn.execute(
            "UPDATE pg_class SET relhastriggers = false WHERE oid = ANY(%s::regclass[]) AND relhastriggers"
            " RETURNING oid",
            ([table.as_string(self._conn) for table in tables],),
        )
        hidden = [oid for (oid,) in await cur.fetchall()]
        await self._conn.execute(truncate)
        await self._conn.execute("UPDATE pg_class SET relhastriggers = true WHERE oid = ANY(%s::oid[])", (hidden,))

    async def _changed(self) -> list[tuple[Identifier, Identifier, SQL]]:
        """Of the tables that migrations wrote to, those that have other rows now."""
        differs = SQL("EXISTS (TABLE {0} EXCEPT ALL TABLE {1}) OR EXISTS (TABLE {1} EXCEPT ALL TABLE {0})")
        every = SQL(", ").join(differs.format(table, copy) for table, copy, _ in self._kept)
        cur = await self._conn.execute(SQL("SELECT ARRAY[{}]").format(every))
        row = await cur.fetchone()
        assert row is not None
        return [kept for kept, is_changed in zip(self._kept, row[0], strict=True) if is_changed]
