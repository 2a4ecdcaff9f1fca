"""Every SQL statement of every store is understood by PostgreSQL, and SQL stands nowhere else."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

import pytest

import headwater
from headwater.db import Connection

SOURCE = Path(headwater.__file__).parent
CALLS = {"execute", "executemany", "copy", "stream"}
WRITES = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM|MERGE INTO)\s+(\w+)")
# Polling alone knows that a feed went off or came back; where that is kept is the sources' table, as seed 000 says.
SHARED = {"sources": {"sources", "polling"}}
NOT_TABLES = {"SET", "SKIP", "OF"}  # as in ON CONFLICT … DO UPDATE SET, FOR UPDATE SKIP LOCKED, FOR UPDATE OF


@dataclass(frozen=True)
class Statement:
    file: Path
    function: str
    line: int
    sql: str | None

    def __str__(self) -> str:
        return f"{self.file.relative_to(SOURCE)}:{self.line}"


def statements(file: Path) -> Iterator[Statement]:
    for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in ast.walk(function):
                if is_statement(call):
                    yield Statement(file, function.name, call.lineno, text_of(call.args[0]))


def is_statement(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CALLS
        and bool(node.args)
    )


def text_of(argument: ast.expr) -> str | None:
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None


EVERY = [statement for file in sorted(SOURCE.rglob("*.py")) for statement in statements(file)]
IN_STORES = [statement for statement in EVERY if statement.file.name == "store.py"]


def test_there_are_statements_to_look_at() -> None:
    assert len(IN_STORES) >= 10


def test_sql_stands_in_stores_and_in_db_only() -> None:
    elsewhere = [str(found) for found in EVERY if found.file.name != "store.py" and found.file.parent != SOURCE / "db"]

    assert elsewhere == []


def test_every_statement_of_a_store_is_a_literal() -> None:
    assert [str(found) for found in IN_STORES if found.sql is None] == []


def test_a_table_is_written_by_one_package() -> None:
    writers: dict[str, set[str]] = defaultdict(set)
    for found in IN_STORES:
        for table in set(WRITES.findall(found.sql or "")) - NOT_TABLES:
            writers[table].add(found.file.parent.name)

    assert {table: owners for table, owners in writers.items() if len(owners) > 1} == SHARED
    assert writers["articles"] == {"articles"}


@pytest.mark.database
@pytest.mark.parametrize("statement", IN_STORES, ids=str)
async def test_postgresql_understands(statement: Statement, conn: Connection) -> None:
    assert statement.sql is not None
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    prepared = re.sub(r"%\((\w+)\)[sb]", number, statement.sql).replace("%%", "%")

    await conn.execute(f"PREPARE checked AS {prepared}".encode())
    await conn.execute("DEALLOCATE checked")
