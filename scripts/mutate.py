"""Mutation testing of the decision files: changes one operator, comparison, constant or return value at a time, and
runs the file's pure tests against it. A mutant that no test notices has survived.

    make mutate                               every file, 60 random mutants each
    make mutate FILES=alerts/decide.py ALL=1  every mutant of one file

Each mutant runs in a fork of this process, which has imported everything already. scripts/mutants.toml lists equivalent
mutants, with the reason; they are not counted.
"""

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import resource
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "headwater"
EXPLAINED = tomllib.loads((ROOT / "scripts" / "mutants.toml").read_text())
# Tests of a file elsewhere than in tests/PACKAGE/test_NAME.py.
TESTS = {
    "urls.py": ["tests/test_urls.py"],
    "fetching/classify.py": ["tests/fetching/test_classify.py", "tests/fetching/test_decide.py"],
    "polling/classify.py": ["tests/polling/test_classify.py", "tests/polling/test_freshness.py"],
    "publishing/decide.py": ["tests/publishing/test_decide.py", "tests/publishing/test_documents.py"],
    "sources/custom/decide.py": ["tests/sources/test_custom_decide.py"],
    "sources/health/decide.py": ["tests/sources/test_health_words.py"],
}
NAMES = ["decide.py", "breaker.py", "rhythm.py", "classify.py"]
OTHERS = ["net/guard.py", "hosts/outage.py", "urls.py"]
LEAST_SCORE = 95
# Without conftest.py, which imports the whole project: the pure tests of decisions need no fixture of it.
PYTEST = [
    "-x", "-q", "--noconftest", "--import-mode=importlib", "-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin",
    "--tb=no", "--assert=plain", "-o", "addopts=", "-o", "filterwarnings=", "-m", "not database",
]  # fmt: skip

COMPARISONS: dict[type[ast.cmpop], list[ast.cmpop]] = {
    ast.Lt: [ast.LtE(), ast.GtE()], ast.LtE: [ast.Lt(), ast.Gt()], ast.Gt: [ast.GtE(), ast.LtE()],
    ast.GtE: [ast.Gt(), ast.Lt()], ast.Eq: [ast.NotEq()], ast.NotEq: [ast.Eq()], ast.Is: [ast.IsNot()],
    ast.IsNot: [ast.Is()], ast.In: [ast.NotIn()], ast.NotIn: [ast.In()],
}  # fmt: skip
OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.Div(), ast.Div: ast.Mult(), ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.Mult(), ast.Pow: ast.Mult(), ast.BitOr: ast.BitAnd(), ast.BitAnd: ast.BitOr(),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    line: int
    name: str  # function: `before` → `after`
    code: CodeType


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file, in its order."""
    tree = ast.parse(path.read_text())

    def visit(node: ast.AST, parent: ast.AST, where: str) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            where = node.name
        shown = parent if isinstance(node, ast.Constant) else node  # a number alone does not say which one it is
        for change, undo in changes(node):
            before = ast.unparse(shown)
            change()
            try:
                name = f"{where}: `{before}` → `{ast.unparse(shown)}`" if len(before) < 100 else ""
                code = compile(ast.fix_missing_locations(tree), str(path), "exec")
                name = name or f"{where}: {describe(before, ast.unparse(shown))}"
                yield Mutant(getattr(node, "lineno", 0), name, code)
            finally:
                undo()
        for child in ast.iter_child_nodes(node):
            if not is_docstring(child) and not is_annotation(node, child):
                yield from visit(child, node, where)

    yield from visit(tree, tree, "module")


def describe(before: str, after: str) -> str:
    """Where two long texts differ."""
    start = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), 0)
    start = max(0, start - 30)
    return f"`…{before[start : start + 60]}…` → `…{after[start : start + 60]}…`".replace("\n", " ")


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_annotation(node: ast.AST, child: ast.AST) -> bool:
    """Also bases and decorators of classes, which decide nothing."""
    if isinstance(node, ast.ClassDef):
        return child in [*node.bases, *node.decorator_list]
    return child in (getattr(node, "annotation", None), getattr(node, "returns", None))


Change = tuple[Callable[[], None], Callable[[], None]]


def setting(target: object, name: str | int, value: object) -> Change:
    """Set an attribute of a node, or an item of a list; and set it back."""
    if isinstance(name, int):
        items: list[object] = target  # pyright: ignore[reportAssignmentType]
        old = items[name]
        return lambda: items.__setitem__(name, value), lambda: items.__setitem__(name, old)
    before = getattr(target, name)
    return lambda: setattr(target, name, value), lambda: setattr(target, name, before)


def changes(node: ast.AST) -> Iterator[Change]:  # noqa: C901, PLR0912  a table
    """The mutations of one node itself."""
    match node:
        case ast.Compare(ops=ops, comparators=operands):
            for index, op in enumerate(ops):
                yield from (setting(ops, index, other) for other in COMPARISONS.get(type(op), []))
            yield from texts(operands)
        case ast.BinOp(op=op, left=left, right=right) if type(op) in OPERATORS and not is_text(left, right):
            yield setting(node, "op", OPERATORS[type(op)])
        case ast.BoolOp(op=op):
            yield setting(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield setting(node, "operand", negated(node.operand))
        case ast.If(test=test) | ast.IfExp(test=test) if isinstance(test, ast.Name | ast.Attribute | ast.Call):
            yield setting(node, "test", negated(test))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield setting(node, "value", ast.Constant(None))
        case ast.Constant(value=bool(value)):
            yield setting(node, "value", not value)
        case ast.Constant(value=int(value) | float(value)):
            yield setting(node, "value", value + 1)
        case ast.Set(elts=elements):
            yield from (setting(node, "elts", [*elements[:at], *elements[at + 1 :]]) for at in range(len(elements)))
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            yield from texts(elements)
        case ast.Dict(keys=keys):
            yield from texts(keys)
        case _:
            pass


def negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def texts(elements: Sequence[ast.expr | None]) -> Iterator[Change]:
    """Strings that are compared or listed; those of messages are not decisions."""
    for element in elements:
        if isinstance(element, ast.Constant) and isinstance(element.value, str) and " " not in element.value:
            yield setting(element, "value", element.value + "~")


def is_text(*operands: ast.expr) -> bool:
    return any(
        isinstance(one, ast.JoinedStr) or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in operands
    )


# Running


class MutantFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant in place of its module."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self.name, self.path, self.code = name, path, code

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)  # noqa: S102


def dependents(target: str) -> set[str]:
    """Loaded modules that import a module, directly or through others; and all tests."""
    imports: dict[str, set[str]] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] not in {"headwater", "headwater_lab", "tests"} or not file:
            continue
        found = imports.setdefault(name, set())
        for node in ast.walk(ast.parse(Path(file).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
    stale = {target}
    while more := {name for name, used in imports.items() if used & stale} - stale:
        stale |= more
    return stale | {name for name in imports if name.startswith("tests.")}


def passes(tests: Sequence[str], finder: MutantFinder | None, stale: set[str], seconds: int) -> bool:
    """Whether the tests pass, in a fork. They have not passed if they use more CPU time, or wait ten times as long: on
    a busy machine the time of a clock would kill mutants that no test notices."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        for name in stale:
            module = sys.modules.pop(name, None)
            parent, _, child = name.rpartition(".")
            if module and hasattr(sys.modules.get(parent), child):
                delattr(sys.modules[parent], child)
        if finder:
            sys.meta_path.insert(0, finder)
        try:
            os._exit(int(pytest.main([*PYTEST, *tests])))
        except BaseException:  # noqa: BLE001  a mutant may raise anything
            os._exit(1)
    ends = time.monotonic() + 10 * seconds
    while time.monotonic() < ends:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def run(file: str, *, most: int | None, seed: int) -> tuple[int, int] | None:
    """Prints the survivors. How many mutants were killed and tried; None if the file has no pure tests that pass."""
    path = SOURCE / file
    module = "headwater." + file.removesuffix(".py").replace("/", ".")
    tests = TESTS.get(file, [f"tests/{Path(file).parent}/test_{Path(file).name}"])
    if not all((ROOT / test).exists() for test in tests):
        return None
    with redirect_stdout(StringIO()):
        pytest.main([*PYTEST, "--collect-only", *tests])
    stale = dependents(module)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    if not passes(tests, None, stale, 300):
        print(f"{file}: the tests fail without a mutant")
        return None
    seconds = 5 + int(5 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before))
    explained = EXPLAINED.get(file, {})
    mutants = [mutant for mutant in mutants_of(path) if mutant.name not in explained]
    if most is not None and len(mutants) > most:
        mutants = random.Random(seed).sample(mutants, most)  # noqa: S311
    killed = len(mutants)
    for one in mutants:
        if passes(tests, MutantFinder(module, path, one.code), stale, seconds):
            print(f"  {file}:{one.line}: {one.name}", flush=True)
            killed -= 1
    return killed, len(mutants)


def main() -> None:
    parser = argparse.ArgumentParser(description="Mutation testing of the decision files.")
    parser.add_argument("files", nargs="*", help="below src/headwater; all decision files by default")
    parser.add_argument("--most", type=int, default=60, help="mutants of each file, chosen at random; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, str(ROOT))
    # As in tests/conftest.py: on a busy machine an example may take longer than the deadline. An example that kills a
    # mutant is not simplified.
    settings.register_profile(
        "same",
        derandomize=True,
        max_examples=30,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        phases=[Phase.explicit, Phase.generate],
    )
    settings.load_profile("same")
    found = sorted(str(path.relative_to(SOURCE)) for name in NAMES for path in SOURCE.rglob(name))
    is_good = True
    for file in given.files or [*found, *OTHERS]:
        outcome = run(file, most=given.most or None, seed=given.seed)
        if outcome is None:
            print(f"{file}: no pure tests", flush=True)
            continue
        killed, total = outcome
        print(f"{file}: {killed} of {total} killed, {killed * 100 / max(total, 1):.0f} %", flush=True)
        is_good = is_good and killed * 100 >= LEAST_SCORE * total
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
