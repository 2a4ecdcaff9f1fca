"""Migrations: numbered `.up.sql` files, each with its `.down.sql`, and a row for each that was applied.

Each runs in its own transaction. A lock in the database makes a second migrating process wait.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from importlib.resources import files
from typing import LiteralString, NamedTuple, cast

import psycopg

from headwater.db.pool import Connection, first_line, unavailable
from headwater.db.query import fetch_value
from headwater.db.rights import check_rights, complete_rights
from headwater.errors import MigrationFailed, SchemaBehind, SchemaTooNew, SchemaUnreleased

# An arbitrary number: "headwate" in ASCII.
LOCK_KEY = int.from_bytes(b"headwate") & (2**63 - 1)


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    up: str
    down: str

    @property
    def digest(self) -> str:
        return sha256(self.up.encode()).hexdigest()


class AppliedMigration(NamedTuple):
    name: str
    applied_at: datetime
    digest: str | None  # of its script; None in a database from before digests were stored


@dataclass(frozen=True, slots=True)
class MigrationState:
    version: int
    name: str
    applied_at: datetime | None


Progress = Callable[[Migration], None]


def known_migrations() -> Sequence[Migration]:
    folder = files("headwater.db") / "migrations"
    ups = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".up.sql"))
    return tuple(
        Migration(
            version=int(name.partition("_")[0]),
            name=name.removesuffix(".up.sql"),
            up=(folder / name).read_text(encoding="utf-8"),
            down=(folder / name.replace(".up.sql", ".down.sql")).read_text(encoding="utf-8"),
        )
        for name in ups
    )


async def migrate_up(
    conninfo: str, *, to: int | None = None, progress: Progress | None = None, is_app_login: bool = True
) -> Sequence[Migration]:
    """Apply missing migrations, up to `to`, with roles before and grants and policies after them.

    `is_app_login`: the pool uses this login too. Raises SchemaTooNew, SchemaUnreleased, MigrationFailed,
    RightsMissing, DatabaseUnavailable.
    """
    known = known_migrations()
    async with _locked(conninfo) as conn:
        applied = await _applied(conn)
        _refuse_foreign(applied, known)
        wanted = [step for step in known if step.version not in applied and (to is None or step.version <= to)]
        await complete_rights(conn, is_app_login=is_app_login)
        for step in wanted:
            await _run(conn, step, step.up)
            if progress:
                progress(step)
        if wanted:
            await complete_rights(conn, is_app_login=is_app_login)
    return wanted


async def migrate_down(conninfo: str, *, to: int, progress: Progress | None = None) -> Sequence[Migration]:
    """Undo every migration after `to`. Raises SchemaTooNew, SchemaUnreleased, MigrationFailed, DatabaseUnavailable."""
    known = known_migrations()
    async with _locked(conninfo) as conn:
        applied = await _applied(conn)
        _refuse_foreign(applied, known)
        wanted = [step for step in reversed(known) if step.version in applied and step.version > to]
        for step in wanted:
            await _run(conn, step, step.down)
            if progress:
                progress(step)
    return wanted


async def migration_states(conninfo: str) -> Sequence[MigrationState]:
    """Every known or applied migration. Raises SchemaUnreleased, DatabaseUnavailable."""
    known = known_migrations()
    async with _connected(conninfo) as conn:
        applied = await _applied(conn)
    _refuse_unreleased(applied, known)
    names = {version: found.name for version, found in applied.items()} | {step.version: step.name for step in known}
    return tuple(
        MigrationState(version, name, applied[version].applied_at if version in applied else None)
        for version, name in sorted(names.items())
    )


async def check_schema(conn: Connection) -> None:
    """Raises SchemaBehind, SchemaTooNew, SchemaUnreleased, RightsMissing unless the schema is current."""
    known = known_migrations()
    applied = await _applied(conn)
    _refuse_foreign(applied, known)
    if any(step.version not in applied for step in known):
        raise SchemaBehind(found=max(applied, default=0), wanted=known[-1].version)
    await check_rights(conn)


async def check_database(conninfo: str) -> None:
    """As `check_schema`; not through the pool, which hides why it has no connection. Raises DatabaseUnavailable too."""
    async with _connected(conninfo) as conn:
        await check_schema(conn)


@asynccontextmanager
async def _connected(conninfo: str) -> AsyncIterator[Connection]:
    with unavailable():
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True, connect_timeout=10) as conn:
            yield conn


@asynccontextmanager
async def _locked(conninfo: str) -> AsyncIterator[Connection]:
    async with _connected(conninfo) as conn:
        await conn.execute("SELECT pg_advisory_lock(%(key)s)", {"key": LOCK_KEY})
        await conn.execute("SET client_min_messages = warning")
        if not await _has_table(conn):  # a login that may not create it can still find that nothing is missing
            try:
                await conn.execute("""
                    CREATE TABLE schema_migration (
                        version integer PRIMARY KEY, name text NOT NULL, digest text NOT NULL,
                        applied_at timestamptz NOT NULL DEFAULT now()
                    )""")
            except psycopg.errors.InsufficientPrivilege as error:
                raise MigrationFailed("schema_migration", first_line(error)) from error
        yield conn


async def _has_table(conn: Connection) -> bool:
    return await fetch_value(conn, "SELECT to_regclass('schema_migration') IS NOT NULL")


async def _applied(conn: Connection) -> dict[int, AppliedMigration]:
    if not await _has_table(conn):
        return {}
    rows = await conn.execute("SELECT version, name, applied_at, to_jsonb(one) ->> 'digest' FROM schema_migration one")
    return {version: AppliedMigration(*values) for version, *values in await rows.fetchall()}


def _refuse_unreleased(applied: dict[int, AppliedMigration], known: Sequence[Migration]) -> None:
    """Development versions had other migrations with the same numbers or names."""
    for step in known:
        found = applied.get(step.version)
        if found is not None and (found.name, found.digest) != (step.name, step.digest):
            raise SchemaUnreleased(found.name)


def _refuse_foreign(applied: dict[int, AppliedMigration], known: Sequence[Migration]) -> None:
    _refuse_unreleased(applied, known)
    newest = known[-1].version
    if max(applied, default=0) > newest:
        raise SchemaTooNew(found=max(applied), known=newest)


async def _run(conn: Connection, step: Migration, script: str) -> None:
    note = "DELETE FROM schema_migration WHERE version = %(version)s"
    if script is step.up:
        note = "INSERT INTO schema_migration (version, name, digest) VALUES (%(version)s, %(name)s, %(digest)s)"
    try:
        async with conn.transaction():
            await conn.execute(cast("LiteralString", script))  # from our own package, never from outside
            await conn.execute(note, {"version": step.version, "name": step.name, "digest": step.digest})
    except psycopg.Error as error:
        if conn.broken:
            raise
        raise MigrationFailed(step.name, first_line(error)) from error
