"""Every SQL statement of every store is understood by PostgreSQL, and SQL stands nowhere else.

A store is `store.py` or any module of a folder `store/`. A statement is a string known before the program runs: a
literal, or literals and constants joined by `+` or an f-string. A constant is a name of the module or of the function
that is assigned once. Nothing that a caller passes gets into it, except the condition of a query: an argument whose
annotation is `SqlCondition`. Only query/sql.py makes those, of constants that are prepared here, too.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pytest

import headwater
from headwater.db import Connection
from headwater.query.sql import ARTICLE, LEAVES, LISTED_FOR_EVERYONE, LISTED_FOR_READER

Locals = Mapping[str, ast.expr | None]  # the names of a function; None: not assigned exactly once
SOURCE = Path(headwater.__file__).parent
CALLS = {"execute", "executemany", "copy", "stream"}
FETCHES = {
    "fetch_all": 2,
    "fetch_one": 2,
    "fetch_column": 1,
    "fetch_row": 1,
    "fetch_rows": 1,
    "fetch_value": 1,
}  # db/query.py: which argument is SQL
WRITES = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM|MERGE INTO)\s+(\w+)")
# Polling disables and enables feeds; seed 000 keeps that in the sources' table.
# Each stage after extraction has its own columns of an article's state.
# What waits for the search index is queued below channels, by extraction and labels.
# A new password ends what an account shows without a log-in.
SHARED = {
    "views": {"accounts", "library/views"},
    "notification_targets": {"accounts", "library/notifications"},
    "channels": {"channels", "documents"},
    "deliveries": {"channels", "documents"},
    "sources": {"sources", "polling"},
    "article_state": {"articles", "understanding", "understanding/tagging", "stories", "channels"},
}
NOT_TABLES = {"SET", "SKIP", "OF"}  # as in ON CONFLICT … DO UPDATE SET, FOR UPDATE SKIP LOCKED, FOR UPDATE OF


@dataclass(frozen=True)
class Statement:
    file: Path
    function: str
    line: int
    sql: str | None

    def __str__(self) -> str:
        return f"{self.file.relative_to(SOURCE)}:{self.line}"

    @property
    def package(self) -> str:
        folder = self.file.parent.parent if self.file.parent.name == "store" else self.file.parent
        return str(folder.relative_to(SOURCE))


class Module:
    """The statements of one module, and the constants that they may be made of."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.tree = ast.parse(text)
        self.values: dict[str, ast.expr] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        bound = [name for node in self.tree.body for name in names_bound(node)]
        for node in self.tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if bound.count(name) == 1:
                    self.values[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if bound.count(name) == 1:
                    self.values[name] = value
                case ast.ImportFrom(module=str(module), level=0):
                    self.imports |= {alias.asname or alias.name: (module, alias.name) for alias in node.names}
                case _:
                    pass
        self.imports = {name: origin for name, origin in self.imports.items() if bound.count(name) == 1}

    def statements(self) -> Iterator[Statement]:
        yield from self._statements(self.tree, "", {})

    def _statements(self, node: ast.AST, function: str, local: Locals) -> Iterator[Statement]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            local = {**local, **locals_of(node), **conditions_of(node)}
            function = function if isinstance(node, ast.Lambda) else node.name
        if sql := sql_in(node):
            yield Statement(self.file, function, sql.lineno, self.text_of(sql, local))
        for child in ast.iter_child_nodes(node):
            yield from self._statements(child, function, local)

    def text_of(self, value: ast.expr, local: Locals = MappingProxyType({})) -> str | None:
        """The string that an expression stands for, or None if that is known at run time only."""
        match value:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name) if name not in local:
                return self.constant(name)
            case ast.Name(id=name) if assigned := local[name]:
                return self.text_of(assigned, {**local, name: None})
            case ast.Attribute(value=ast.Name(id=name), attr=part) if assigned := local.get(f"{name}.{part}"):
                return self.text_of(assigned)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return joined([self.text_of(left, local), self.text_of(right, local)])
            case ast.JoinedStr(values=parts):
                return joined([self.text_of(part, local) for part in parts])
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                return self.text_of(inner, local)
            case _:
                return None

    def constant(self, name: str) -> str | None:
        if name in self.values:
            return self.text_of(self.values[name])
        module, original = self.imports.get(name, ("", ""))
        path = SOURCE.parent / module.replace(".", "/")
        files = [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()]
        return module_at(files[0]).constant(original) if module.startswith("headwater.") and files else None


@cache
def module_at(file: Path) -> Module:
    return Module(file, file.read_text(encoding="utf-8"))


def locals_of(function: ast.AST) -> Locals:
    bound = Counter(name for child in ast.iter_child_nodes(function) for name in names_bound(child))
    assigned = {
        node.targets[0].id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and len(node.targets) == 1
    }
    return {name: assigned.get(name) if times == 1 else None for name, times in bound.items()}


def conditions_of(function: ast.AST) -> Locals:
    """What the attributes of arguments stand for that are conditions of queries: here, one that always holds."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return {}
    bound = Counter(name for child in ast.iter_child_nodes(function) for name in names_bound(child))
    return {
        f"{one.arg}.{part}": ast.Constant(text) if bound[one.arg] == 1 else None
        for one in ast.walk(function.args)
        if isinstance(one, ast.arg) and isinstance(one.annotation, ast.Name) and one.annotation.id == "SqlCondition"
        for part, text in (("joins", ""), ("sql", "true"))
    }


def names_bound(node: ast.AST) -> Iterator[str]:
    """Every name that a node assigns, imports, defines or takes as an argument, in it or below it."""
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case _:
                pass


def joined(parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return "".join(known) if len(known) == len(parts) else None


def sql_in(node: ast.AST) -> ast.expr | None:
    """The argument that is a statement, where a node runs one."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=[sql, *_]) if name in CALLS:
            return sql
        case ast.Call(func=ast.Name(id=name), args=args) if name in FETCHES:
            return args[FETCHES[name]] if len(args) > FETCHES[name] else node.func
        case _:
            return None


def is_store(file: Path) -> bool:
    return file.name == "store.py" or file.parent.name == "store"


def runs_sql(file: Path) -> bool:
    """Whether one of the names is in a file at all: parsing the others would take each test process two seconds."""
    text = file.read_text(encoding="utf-8")
    return any(name in text for name in (*CALLS, *FETCHES))


FILES = sorted(filter(runs_sql, SOURCE.rglob("*.py")))
EVERY = [statement for file in FILES for statement in module_at(file).statements()]
IN_STORES = [statement for statement in EVERY if is_store(statement.file)]


def sql_of(name: str) -> str:
    """The one statement of a function, such as `custom.list_own` or `library.marks.remove`: for tests of its plan."""
    package, _, function = name.rpartition(".")
    (found,) = (
        statement
        for statement in IN_STORES
        if statement.function == function and is_below(package, statement.file.relative_to(SOURCE))
    )
    assert found.sql is not None
    return found.sql


def is_below(package: str, file: Path) -> bool:
    """Whether a store is that of a package, or the module of a package's `store/` that is named after it."""
    folders = [part for part in file.with_suffix("").parts if part != "store"]
    is_module = file.parent.name == "store"
    return any(".".join(names).endswith(package) for names in ([folders, folders[:-1]] if is_module else [folders]))


def test_there_are_statements_to_look_at() -> None:
    assert len(IN_STORES) >= 10


def test_sql_stands_in_stores_and_in_db_only() -> None:
    elsewhere = [str(found) for found in EVERY if not is_store(found.file) and found.file.parent != SOURCE / "db"]

    assert elsewhere == []


def test_every_statement_of_a_store_is_known_before_it_runs() -> None:
    assert [str(found) for found in IN_STORES if found.sql is None] == []


CONSTANTS = """
from headwater.db.pool import APP_ROLE
COLUMNS = "id, name"
FEEDS: Final = f"SELECT {COLUMNS} FROM feeds"
FEEDS_OF_ONE = FEEDS + " WHERE id = %(id)s"
CHANGED = "SELECT 1"
CHANGED += ", 2"
REBOUND = "SELECT 1"
IMPORTED_TWICE = "SELECT 1"
from headwater.db.pool import PERSON_ROLE as IMPORTED_TWICE
SECRET = os.environ["SECRET"]
CALLED = "SELECT %s".format("id")
"""
FUNCTION = """
def rebind():
    global REBOUND
async def find(conn, argument):
    local = argument
    constant = f"SELECT {COLUMNS} FROM feeds LIMIT 1"
    changed = "SELECT 1"
    changed += argument
    for looped in argument: pass
    unknown = unknown + "SELECT 1"
"""


@pytest.mark.parametrize(
    ("expression", "sql"),
    [
        ('"SELECT 1"', "SELECT 1"),
        ('"SELECT "  "1"', "SELECT 1"),
        ("FEEDS", "SELECT id, name FROM feeds"),
        ("FEEDS_OF_ONE", "SELECT id, name FROM feeds WHERE id = %(id)s"),
        ('f"SELECT {COLUMNS} FROM feeds"', "SELECT id, name FROM feeds"),
        ('"SELECT " + COLUMNS + " FROM feeds"', "SELECT id, name FROM feeds"),
        ('f"SET ROLE {APP_ROLE}"', "SET ROLE headwater_app"),
        ("constant", "SELECT id, name FROM feeds LIMIT 1"),
    ],
)
def test_a_statement_may_be_put_together_from_constants(expression: str, sql: str) -> None:
    assert [found.sql for found in written(f"conn.execute({expression})")] == [sql]


@pytest.mark.parametrize(
    "expression",
    [
        "argument",
        "local",
        "changed",
        "looped",
        "unknown",
        'f"SELECT {argument}"',
        'f"{constant} {argument}"',
        '"SELECT " + argument',
        'f"SELECT {COLUMNS.upper()}"',
        'f"SELECT {COLUMNS!r}"',
        'f"SELECT {COLUMNS:>20}"',
        '"SELECT {}".format(COLUMNS)',
        '"SELECT %s" % COLUMNS',
        '", ".join([COLUMNS])',
        "CHANGED",
        "REBOUND",
        "IMPORTED_TWICE",
        "SECRET",
        "CALLED",
        "UNKNOWN",
        "conn.name",
    ],
)
def test_a_statement_made_at_run_time_is_found(expression: str) -> None:
    assert [found.sql for found in written(f"conn.execute({expression})")] == [None]


@pytest.mark.parametrize(
    "call",
    [
        "fetch_all(conn, Row, {})",
        "fetch_one(conn, Row, {})",
        "fetch_column(conn, {})",
        "fetch_value(conn, {})",
        "fetch_rows(conn, {})",
    ],
)
def test_a_statement_is_found_wherever_rows_are_fetched(call: str) -> None:
    assert [found.sql for found in written(call.format("FEEDS"))] == ["SELECT id, name FROM feeds"]
    assert [found.sql for found in written(call.format("argument"))] == [None]
    assert [found.sql for found in written(call.format("statement=FEEDS"))] == [None]


def test_a_statement_may_have_the_condition_of_a_query() -> None:
    (found,) = conditional("where: SqlCondition", 'conn.execute(f"SELECT 1 {where.joins} WHERE {where.sql}")')

    assert found.sql == "SELECT 1  WHERE true"


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        ("where: str", "conn.execute(where.sql)"),
        ("where", "conn.execute(where.sql)"),
        ("where: SqlCondition", "where = other; conn.execute(where.sql)"),
        ("where: SqlCondition", "conn.execute(where.values)"),
    ],
)
def test_another_argument_is_no_condition_of_a_query(argument: str, line: str) -> None:
    assert [found.sql for found in conditional(argument, line)] == [None]


def conditional(argument: str, line: str) -> list[Statement]:
    return list(Module(SOURCE / "store.py", f"async def find(conn, {argument}):\n    {line}\n").statements())


def test_only_one_module_makes_conditions_of_queries_and_of_constants() -> None:
    module = module_at(SOURCE / "query/sql.py")
    parts = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "LeafSql"
    ]

    assert len(parts) == len(LEAVES)
    assert [ast.unparse(part) for part in parts if module.text_of(part.args[0]) is None] == []
    makers = [file for file in SOURCE.rglob("*.py") if "SqlCondition(" in file.read_text(encoding="utf-8")]
    assert [file for file in makers if file != module.file] == []


@pytest.mark.parametrize("shadow", ["COLUMNS = argument", "for COLUMNS in argument: pass", "import os as COLUMNS"])
def test_a_local_name_hides_a_constant(shadow: str) -> None:
    assert [found.sql for found in written(f"{shadow}; conn.execute(COLUMNS)".replace(": pass;", ":"))] == [None]


def written(line: str) -> list[Statement]:
    return list(Module(SOURCE / "store.py", CONSTANTS + FUNCTION + f"    {line}\n").statements())


@pytest.mark.parametrize(
    ("file", "package"),
    [
        ("sources/store.py", "sources"),
        ("sources/store/lists.py", "sources"),
        ("sources/custom/store.py", "sources/custom"),
    ],
)
def test_a_package_has_one_store_or_a_folder_of_them(file: str, package: str) -> None:
    assert is_store(SOURCE / file)
    assert Statement(SOURCE / file, "find", 1, None).package == package


@pytest.mark.parametrize("file", ["sources/decide.py", "sources/store_lists.py", "store/sources/lists.py"])
def test_no_other_file_is_a_store(file: str) -> None:
    assert not is_store(SOURCE / file)


def test_a_table_is_written_by_one_package() -> None:
    writers: dict[str, set[str]] = defaultdict(set)
    for found in IN_STORES:
        for table in set(WRITES.findall(found.sql or "")) - NOT_TABLES:
            writers[table].add(found.package)

    assert {table: owners for table, owners in writers.items() if len(owners) > 1} == SHARED
    assert writers["articles"] == {"articles"}


@pytest.mark.database
async def test_a_view_is_read_only(conn: Connection) -> None:
    cur = await conn.execute(
        "SELECT relname::text FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace"
    )
    views = {name for (name,) in await cur.fetchall()}

    assert views
    assert [str(found) for found in IN_STORES if views.intersection(WRITES.findall(found.sql or ""))] == []


@pytest.mark.database
@pytest.mark.parametrize("statement", IN_STORES, ids=str)
async def test_postgresql_understands(statement: Statement, conn: Connection) -> None:
    assert statement.sql is not None
    await prepare(conn, statement.sql)


@pytest.mark.database
@pytest.mark.parametrize("name", LEAVES)
async def test_postgresql_understands_each_part_of_a_query(name: str, conn: Connection) -> None:
    part = LEAVES[name]
    for listed in (LISTED_FOR_READER, LISTED_FOR_EVERYONE) if LISTED_FOR_EVERYONE in part.joins else ("",):
        joins = "".join(listed if one is LISTED_FOR_EVERYONE else one for one in part.joins)
        await prepare(conn, f"SELECT FROM articles AS wanted {ARTICLE} {joins} WHERE ({part.sql})")


async def prepare(conn: Connection, sql: str) -> None:
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    prepared = re.sub(r"%\((\w+)\)[sb]", number, sql).replace("%%", "%")

    await conn.execute(f"PREPARE checked AS {prepared}".encode())
    await conn.execute("DEALLOCATE checked")
