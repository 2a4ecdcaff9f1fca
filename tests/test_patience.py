"""Rules for tests that a busy machine must not break, as far as their code shows."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ENOUGH_S = 60
# Whose first argument is the longest wait for something that a passing test sees sooner.
LIMITS = {"timeout", "join", "result", "communicate"}


def short_limits(code: str) -> Iterator[tuple[int, str]]:
    """Lines with a limit that a busy machine may exceed."""
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in LIMITS:
            continue
        given = [*node.args[:1], *(one.value for one in node.keywords if one.arg in {"timeout", "delay"})]
        if any(
            isinstance(one, ast.Constant) and isinstance(one.value, int | float) and one.value < ENOUGH_S
            for one in given
        ):
            yield node.lineno, ast.unparse(node)


def own_ports(code: str) -> Iterator[tuple[int, str]]:
    """Functions that return a port which they do not hold."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Return) and node.value is not None and "getsockname()" in ast.unparse(node.value):
            yield node.lineno, ast.unparse(node)


def waits_for_promises(code: str) -> Iterator[tuple[int, str]]:
    """`wait_for_function` with an async function, whose promise ends the wait at once."""
    for node in ast.walk(ast.parse(code)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "wait_for_function"
            and "async" in ast.unparse(node.args[0])
        ):
            yield node.lineno, ast.unparse(node)


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("async with asyncio.timeout(20): pass", True),
        ("process.join(timeout=3)", True),
        ("future.result(300)", False),
        ("', '.join(words)", False),
        ("return server.getsockname()[1]", True),
        ("page.wait_for_function('async () => await read()')", True),
        ("page.wait_for_function('() => window.ready')", False),
    ],
)
def test_what_a_busy_machine_breaks_is_found(code: str, is_found: bool) -> None:
    assert any((*short_limits(code), *own_ports(code), *waits_for_promises(code))) is is_found


def test_no_test_gives_up_before_a_busy_machine_is_done() -> None:
    found = {str(path.relative_to(TESTS)): [*short_limits(path.read_text())] for path in TESTS.rglob("*.py")}

    assert {name: lines for name, lines in found.items() if lines} == {}


def test_no_test_uses_a_port_that_it_has_given_up() -> None:
    found = {str(path.relative_to(TESTS)): [*own_ports(path.read_text())] for path in TESTS.rglob("*.py")}

    assert {name: lines for name, lines in found.items() if lines} == {}


def test_no_test_takes_a_promise_for_what_it_waits_for() -> None:
    found = {str(path.relative_to(TESTS)): [*waits_for_promises(path.read_text())] for path in TESTS.rglob("*.py")}

    assert {name: lines for name, lines in found.items() if lines} == {}
